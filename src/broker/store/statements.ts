// Every SQL statement of the broker, prepared once.
import type { Database } from "bun:sqlite";

const messageColumns =
  "m.id, m.thread_id, m.seq, m.sender_id, m.via, m.reply_to, m.ask_id, m.verdict, m.mode, m.at, m.length, m.recipients, m.first_line, m.refs";

const peerColumns = "id, handle, display, role, client, cwd, version, owner, used, last_end, last_seen_at";

type Prepare = (sql: string) => ReturnType<Database["prepare"]>;

/** Statements over transactions, peers, aliases and sessions. */
function transactionsAndPeers(p: Prepare) {
  return {
    begin: p("BEGIN IMMEDIATE"),
    commit: p("COMMIT"),
    rollback: p("ROLLBACK"),
    peers: p(`SELECT ${peerColumns} FROM peers ORDER BY id`),
    peer: p(`SELECT ${peerColumns} FROM peers WHERE id = ?`),
    peerNamed: p(`SELECT ${peerColumns} FROM peers WHERE handle = ?`),
    owners: p("SELECT id FROM peers WHERE owner = 1"),
    unusedPeers: p("SELECT id FROM peers WHERE used = 0"),
    handles: p("SELECT handle FROM peers LIMIT ?"),
    insertPeer: p(
      "INSERT INTO peers (handle, display, role, client, cwd, version, owner, created_at, last_seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) RETURNING id",
    ),
    updatePeer: p("UPDATE peers SET display = ?, role = ?, client = ?, cwd = ?, version = ? WHERE id = ?"),
    setHandle: p("UPDATE peers SET handle = ? WHERE id = ?"),
    setOwner: p("UPDATE peers SET owner = ? WHERE id = ?"),
    setUsed: p("UPDATE peers SET used = 1 WHERE id = ?"),
    setLastEnd: p("UPDATE peers SET last_end = ? WHERE id = ?"),
    setSeen: p("UPDATE peers SET last_seen_at = ? WHERE id = ?"),
    deletePeer: p("DELETE FROM peers WHERE id = ?"),
    deletePeerSessions: p("DELETE FROM sessions WHERE peer_id = ?"),
    deletePeerAliases: p("DELETE FROM aliases WHERE peer_id = ?"),
    deletePeerMutes: p("DELETE FROM mutes WHERE peer_id = ? OR muted_id = ?"),
    aliases: p("SELECT handle, peer_id, until_at FROM aliases"),
    putAlias: p("INSERT OR REPLACE INTO aliases (handle, peer_id, until_at) VALUES (?, ?, ?)"),
    deleteAlias: p("DELETE FROM aliases WHERE handle = ?"),
    liveSessions: p("SELECT * FROM sessions WHERE ended_at IS NULL ORDER BY id"),
    session: p("SELECT * FROM sessions WHERE client = ? AND cli_session_id = ?"),
    sessionById: p("SELECT * FROM sessions WHERE cli_session_id = ? LIMIT 2"),
    latestOnHost: p(
      "SELECT * FROM sessions WHERE host_pid = ? AND host_start = ? AND host_boot = ? AND client = ? ORDER BY id DESC LIMIT 1",
    ),
    latestSession: p("SELECT * FROM sessions WHERE peer_id = ? ORDER BY id DESC LIMIT 1"),
    putSession: p(
      `INSERT INTO sessions (peer_id, client, cli_session_id, host_pid, host_start, host_boot, transcript_path, title, cwd, pinned, headless, bypass, started_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (client, cli_session_id) DO UPDATE SET peer_id = excluded.peer_id, host_pid = excluded.host_pid, host_start = excluded.host_start,
         host_boot = excluded.host_boot, transcript_path = excluded.transcript_path, title = excluded.title, cwd = excluded.cwd,
         pinned = excluded.pinned, headless = excluded.headless, bypass = excluded.bypass, ended_at = NULL
       RETURNING id`,
    ),
    endSession: p("UPDATE sessions SET ended_at = ? WHERE id = ?"),
    setPinned: p("UPDATE sessions SET pinned = 1 WHERE id = ?"),
    endedSessionsOfBarePeers: p(
      `SELECT s.id FROM peers p CROSS JOIN sessions s ON s.peer_id = p.id
       WHERE p.used = 0 AND s.ended_at < ? AND NOT EXISTS (SELECT 1 FROM group_members g WHERE g.peer_id = p.id)`,
    ),
    deleteSession: p("DELETE FROM sessions WHERE id = ?"),
  };
}

/** Statements over threads and messages. */
function threadsAndMessages(p: Prepare) {
  return {
    nextIds: p(
      `SELECT max(coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT value FROM facts WHERE name = 'last_message'), 0)) + 1 AS message,
         max(coalesce((SELECT max(id) FROM threads), 0), coalesce((SELECT value FROM facts WHERE name = 'last_thread'), 0)) + 1 AS thread`,
    ),
    thread: p("SELECT latest_seq, latest_message_id FROM threads WHERE id = ?"),
    participants: p("SELECT peer_id FROM participants WHERE thread_id = ?"),
    insertThread: p("INSERT INTO threads (id, latest_seq, latest_message_id) VALUES (?, 1, ?)"),
    updateThread: p("UPDATE threads SET latest_seq = ?, latest_message_id = ? WHERE id = ?"),
    addParticipants: p("INSERT OR IGNORE INTO participants (thread_id, peer_id) SELECT ?, value FROM json_each(?)"),
    insertMessage: p(
      `INSERT INTO messages (id, thread_id, seq, sender_id, via, reply_to, ask_id, verdict, mode, at, length, recipients, first_line, refs, idem_key, idem_hash, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    message: p(`SELECT ${messageColumns} FROM messages m WHERE m.id = ?`),
    fullMessage: p(`SELECT ${messageColumns}, m.body FROM messages m WHERE m.id = ?`),
    messageBySeq: p(`SELECT ${messageColumns} FROM messages m WHERE m.thread_id = ? AND m.seq = ?`),
    threadMessages: p(`SELECT ${messageColumns} FROM messages m WHERE m.thread_id = ? AND m.seq > ? ORDER BY m.seq`),
    latestAsk: p(
      `SELECT ${messageColumns} FROM messages m WHERE m.thread_id = ? AND m.reply_to IS NULL AND (? IS NULL OR m.sender_id = ?) ORDER BY m.seq DESC LIMIT 1`,
    ),
    repliesTo: p(`SELECT ${messageColumns} FROM messages m WHERE m.thread_id = ? AND m.ask_id = ? ORDER BY m.seq`),
    body: p("SELECT body FROM messages WHERE id = ?"),
    byKey: p(
      `SELECT ${messageColumns}, m.idem_hash FROM messages m WHERE m.sender_id = ? AND m.idem_key = ? AND m.at > ? ORDER BY m.id DESC LIMIT 1`,
    ),
    messagesAfter: p(`SELECT ${messageColumns} FROM messages m WHERE m.id > ? ORDER BY m.id LIMIT ?`),
    threadMessagesAfter: p(`SELECT ${messageColumns} FROM messages m WHERE m.thread_id = ? AND +m.id > ? ORDER BY m.seq LIMIT ?`),
    recentThreads: p("SELECT id, latest_seq, latest_message_id FROM threads ORDER BY latest_message_id DESC LIMIT ?"),
    recentThreadsOf: p(
      `SELECT t.id, t.latest_seq, t.latest_message_id FROM participants p JOIN threads t ON t.id = p.thread_id
       WHERE p.peer_id = ? ORDER BY p.thread_id DESC LIMIT ?`,
    ),
  };
}

/** Statements over deliveries. */
function deliveries(p: Prepare) {
  return {
    insertDelivery: p(
      `INSERT INTO deliveries (message_id, peer_id, state, mode, thread_id, is_reply, waited, attempts, channel, state_at, mark)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertDeliveries: p(
      `INSERT INTO deliveries (message_id, peer_id, state, mode, thread_id, is_reply, waited, attempts, channel, state_at, mark)
       SELECT ?, value, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM json_each(?)`,
    ),
    delivery: p("SELECT * FROM deliveries WHERE message_id = ? AND peer_id = ?"),
    deliveries: p("SELECT * FROM deliveries WHERE message_id = ?"),
    moveDelivery: p(
      "UPDATE deliveries SET state = ?, state_at = ? WHERE message_id = ? AND peer_id = ? AND state >= ? AND state <= ? RETURNING *",
    ),
    handOver: p(
      `UPDATE deliveries SET state = 1, channel = ?, state_at = ?, mark = ?, attempts = attempts + 1
       WHERE message_id = ? AND peer_id = ? AND state = 0 RETURNING *`,
    ),
    requeue: p(
      "UPDATE deliveries SET state = 0, state_at = ?, pull = max(pull, ?) WHERE message_id = ? AND peer_id = ? AND state = 1 RETURNING *",
    ),
    addHistory: p("UPDATE deliveries SET history = coalesce(history || ',', '') || ? WHERE message_id = ? AND peer_id = ?"),
    deleteDelivery: p("DELETE FROM deliveries WHERE message_id = ? AND peer_id = ?"),
    sentDeliveries: p("SELECT * FROM deliveries WHERE state = 1 ORDER BY message_id"),
    countUnread: p("SELECT count(*) AS n FROM deliveries WHERE peer_id = ? AND state <= 2"),
    countUnanswered: p("SELECT count(*) AS n FROM deliveries WHERE peer_id = ? AND state <= 2 AND is_reply = 0"),
    unread: p(
      `SELECT ${messageColumns}, d.state FROM deliveries d JOIN messages m ON m.id = d.message_id
       WHERE d.peer_id = ? AND d.state <= 2 ORDER BY d.message_id`,
    ),
    recentDeliveries: p(
      "SELECT message_id, thread_id FROM deliveries WHERE peer_id = ? AND message_id < ? ORDER BY message_id DESC LIMIT ?",
    ),
    queued: p(
      `SELECT ${messageColumns}, m.body, d.mode AS delivery_mode, d.attempts, d.pull
       FROM deliveries d JOIN messages m ON m.id = d.message_id
       WHERE d.peer_id = ? AND d.state <= 2 AND d.state = 0 AND d.mode <= ? AND d.attempts < ? AND d.pull <= ? ORDER BY d.message_id LIMIT ?`,
    ),
    countQueued: p("SELECT count(*) AS n FROM deliveries WHERE peer_id = ? AND state <= 2 AND state = 0 AND mode <= ? AND attempts < ?"),
    unreadByState: p("SELECT state, count(*) AS n FROM deliveries WHERE state <= 2 GROUP BY state"),
    oldestQueued: p(
      "SELECT min(m.at) AS at FROM messages m WHERE m.id = (SELECT min(message_id) FROM deliveries WHERE state <= 2 AND state = 0)",
    ),
  };
}

/** Statements over groups, mutes, facts, search and retention. */
function theRest(p: Prepare) {
  return {
    groups: p("SELECT id, name, created_at, created_by FROM groups ORDER BY name"),
    groupMembers: p("SELECT group_id, peer_id FROM group_members"),
    insertGroup: p("INSERT INTO groups (name, created_at, created_by) VALUES (?, ?, ?) RETURNING id"),
    deleteGroup: p("DELETE FROM groups WHERE id = ?"),
    deleteGroupMembers: p("DELETE FROM group_members WHERE group_id = ?"),
    addMember: p("INSERT OR IGNORE INTO group_members (group_id, peer_id) VALUES (?, ?)"),
    removeMember: p("DELETE FROM group_members WHERE group_id = ? AND peer_id = ?"),
    mutes: p("SELECT muted_id, until_at FROM mutes WHERE peer_id = ?"),
    putMute: p("INSERT OR REPLACE INTO mutes (peer_id, muted_id, until_at) VALUES (?, ?, ?)"),
    deleteMute: p("DELETE FROM mutes WHERE peer_id = ? AND muted_id = ?"),
    fact: p("SELECT value FROM facts WHERE name = ?"),
    setFact: p("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)"),
    bodiesAfter: p("SELECT id, body FROM messages WHERE id > ? ORDER BY id LIMIT ?"),
    insertSearch: p("INSERT INTO messages_search (rowid, body) VALUES (?, ?)"),
    deleteSearch: p("INSERT INTO messages_search (messages_search, rowid, body) VALUES ('delete', ?, ?)"),
    search: p(
      `SELECT ${messageColumns}, substr(m.body, 1, 20000) AS head
       FROM messages_search s JOIN messages m ON m.id = s.rowid
       WHERE messages_search MATCH ? AND (? IS NULL OR m.thread_id = ?) ORDER BY bm25(messages_search) LIMIT ?`,
    ),
    oldThreads: p(
      "SELECT t.id, m.at FROM threads t JOIN messages m ON m.id = t.latest_message_id WHERE t.id > ? AND m.at < ? ORDER BY t.id LIMIT ?",
    ),
    threadHasOpen: p(
      "SELECT 1 AS open FROM messages m JOIN deliveries d ON d.message_id = m.id WHERE m.thread_id = ? AND d.state <= 2 LIMIT 1",
    ),
    threadBodies: p("SELECT id, body FROM messages WHERE thread_id = ?"),
    mergeMessages: [
      p(`UPDATE messages SET recipients = (SELECT json_group_array(DISTINCT iif(e.value = ?1, ?2, e.value)) FROM json_each(messages.recipients) e)
         WHERE id IN (SELECT message_id FROM deliveries WHERE peer_id = ?1)`),
      p("UPDATE messages SET sender_id = ?2 WHERE sender_id = ?1"),
      p("UPDATE messages SET via = ?2 WHERE via = ?1"),
      p("UPDATE OR IGNORE deliveries SET peer_id = ?2 WHERE peer_id = ?1"),
      p("UPDATE OR IGNORE participants SET peer_id = ?2 WHERE peer_id = ?1"),
      p("UPDATE peers SET used = 1 WHERE id = ?2 AND ?1"),
    ],
    mergeRest: [
      p("UPDATE OR IGNORE group_members SET peer_id = ?2 WHERE peer_id = ?1"),
      p("UPDATE groups SET created_by = ?2 WHERE created_by = ?1"),
      p("UPDATE OR IGNORE mutes SET peer_id = ?2 WHERE peer_id = ?1"),
      p("UPDATE OR IGNORE mutes SET muted_id = ?2 WHERE muted_id = ?1"),
      p("UPDATE sessions SET peer_id = ?2 WHERE peer_id = ?1"),
      p("UPDATE aliases SET peer_id = ?2 WHERE peer_id = ?1"),
    ],
    deleteMerged: [
      p("DELETE FROM deliveries WHERE peer_id = ?"),
      p("DELETE FROM participants WHERE peer_id = ?"),
      p("DELETE FROM group_members WHERE peer_id = ?"),
    ],
    deleteThread: [
      p("DELETE FROM deliveries WHERE message_id IN (SELECT id FROM messages WHERE thread_id = ?)"),
      p("DELETE FROM messages WHERE thread_id = ?"),
      p("DELETE FROM participants WHERE thread_id = ?"),
      p("DELETE FROM threads WHERE id = ?"),
    ],
  };
}

/** All statements over one open database, by what they do. */
export function prepareAll(db: Database) {
  const prepare: Prepare = (sql) => db.prepare(sql);
  return { ...transactionsAndPeers(prepare), ...threadsAndMessages(prepare), ...deliveries(prepare), ...theRest(prepare) };
}
