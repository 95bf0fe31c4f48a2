// Stores of a given size, written straight into the broker's tables: a million sends would take the disk minutes.
import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { openStore } from "../../src/broker/store/migrate.ts";

export type Size = { messages: number; peers: number; threads: number };

const body = "A message as it lies in a store: about a hundred characters, in one line, from one agent to another.";

/**
 * Fills the store of `home`. Thread t has messages/threads messages, from peers in turn; each message went to one other peer, which has
 * acknowledged all but its last two. Peers are `peer-1` …; the owner is made by the broker.
 */
export function fill(home: string, size: Size): void {
  const { db } = openStore(join(home, "renn.db"), Date.now());
  db.run("PRAGMA synchronous = OFF");
  db.run("BEGIN");
  const now = Date.now() - 86_400_000;
  const peer = db.prepare(
    "INSERT INTO peers (id, handle, client, used, created_at, last_seen_at) VALUES (?1, 'peer-' || ?1, 'opencode', 1, ?2, ?2)",
  );
  for (let id = 1; id <= size.peers; id++) peer.run(id, now);
  fillThreads(db, size, now);
  db.run("COMMIT");
  db.run("ANALYZE");
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

function fillThreads(db: Database, size: Size, now: number): void {
  const perThread = size.messages / size.threads;
  const unreadFrom = size.messages - 2 * size.peers;
  const thread = db.prepare("INSERT INTO threads (id, latest_seq, latest_message_id) VALUES (?, ?, ?)");
  const participant = db.prepare("INSERT OR IGNORE INTO participants (thread_id, peer_id) VALUES (?, ?)");
  const message = db.prepare(
    `INSERT INTO messages (id, thread_id, seq, sender_id, mode, at, length, recipients, first_line, body) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?8)`,
  );
  const delivery = db.prepare(
    "INSERT INTO deliveries (message_id, peer_id, state, mode, thread_id, is_reply, state_at) VALUES (?, ?, ?, 0, ?, 0, ?)",
  );
  for (let id = 1; id <= size.messages; id++) {
    // Threads grow side by side, as they do on a bus, and each is a talk between two.
    const threadId = ((id - 1) % size.threads) + 1;
    const seq = Math.floor((id - 1) / size.threads) + 1;
    const pair = [(threadId % size.peers) + 1, ((threadId + 1) % size.peers) + 1] as const;
    const [sender, recipient] = seq % 2 === 1 ? pair : [pair[1], pair[0]];
    message.run(id, threadId, seq, sender, now + id, body.length, `[${recipient}]`, body);
    delivery.run(id, recipient, id > unreadFrom ? 0 : 3, threadId, now + id);
    if (seq === 1) for (const peerId of pair) participant.run(threadId, peerId);
    if (seq === perThread) thread.run(threadId, seq, id);
  }
}
