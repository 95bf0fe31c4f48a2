-- The first schema. Times are Unix ms. Small integers for words: state 0 queued, 1 sent, 2 delivered, 3 acknowledged, 4 replied;
-- mode 0 push, 1 notify, 2 silent; verdict 1 agree, 2 disagree, 3 info. Released migrations are never edited.

-- A peer: one handle and what is known of whoever speaks under it. used = it ever sent or received; last_end 0 no session ended last,
-- 1 its last session said goodbye, 2 its host went away without a word.
CREATE TABLE peers (
  id INTEGER PRIMARY KEY,
  handle TEXT NOT NULL UNIQUE,
  display TEXT,
  role TEXT,
  client TEXT,
  cwd TEXT,
  version TEXT,
  owner INTEGER NOT NULL DEFAULT 0,
  used INTEGER NOT NULL DEFAULT 0,
  last_end INTEGER NOT NULL DEFAULT 0 CHECK (last_end = 0 OR last_end = 1 OR last_end = 2),
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL
) STRICT;
CREATE INDEX peers_bare ON peers (id) WHERE used = 0;
CREATE INDEX peers_owner ON peers (id) WHERE owner = 1;

-- A session: one conversation in a CLI, and the process that runs it. ended_at is null while it lives.
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  peer_id INTEGER NOT NULL,
  client TEXT NOT NULL,
  cli_session_id TEXT NOT NULL,
  host_pid INTEGER NOT NULL,
  host_start TEXT NOT NULL,
  host_boot TEXT NOT NULL,
  transcript_path TEXT,
  title TEXT,
  cwd TEXT,
  pinned INTEGER NOT NULL DEFAULT 0,
  headless INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  UNIQUE (client, cli_session_id)
) STRICT;
CREATE INDEX sessions_peer ON sessions (peer_id);
CREATE INDEX sessions_host ON sessions (host_pid);
CREATE INDEX sessions_id ON sessions (cli_session_id);
CREATE INDEX sessions_live ON sessions (id) WHERE ended_at IS NULL;

-- An alias: the handle that a renamed peer had, which reaches it until until_at.
CREATE TABLE aliases (
  handle TEXT PRIMARY KEY,
  peer_id INTEGER NOT NULL,
  until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A thread: messages numbered from 1 without gaps.
CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  latest_seq INTEGER NOT NULL,
  latest_message_id INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_latest ON threads (latest_message_id);

-- A participant: a peer that sent to the thread, received from it, or spoke in it as via.
CREATE TABLE participants (
  thread_id INTEGER NOT NULL,
  peer_id INTEGER NOT NULL,
  PRIMARY KEY (thread_id, peer_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participants_peer ON participants (peer_id, thread_id);

-- A message: an ask (reply_to is null) or a reply. recipients is a JSON array of peer ids in the order of the sender; ask_id is the ask that a
-- reply's chain leads to; length counts code points; idem_key and idem_hash remember the sender's idempotency key and what it stood for.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  sender_id INTEGER NOT NULL,
  via INTEGER,
  reply_to INTEGER,
  ask_id INTEGER,
  verdict INTEGER,
  mode INTEGER NOT NULL,
  at INTEGER NOT NULL,
  length INTEGER NOT NULL,
  recipients TEXT NOT NULL,
  first_line TEXT NOT NULL,
  refs TEXT,
  idem_key TEXT,
  idem_hash TEXT,
  body TEXT NOT NULL,
  UNIQUE (thread_id, seq)
) STRICT;
CREATE INDEX messages_key ON messages (sender_id, idem_key) WHERE idem_key IS NOT NULL;

-- A delivery: one message for one recipient. state_at is when it came into its state; waited = the recipient was away when it was sent;
-- pull = a channel that pushes has failed, only hooks, fetches and new listeners take it; attempts counts hand-overs, channel names the running one;
-- mark is inode:size of the transcript at the hand-over; history holds finished attempts as JSON arrays [channel, at, outcome, ended_at] joined by commas.
CREATE TABLE deliveries (
  message_id INTEGER NOT NULL,
  peer_id INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state >= 0 AND state <= 4),
  mode INTEGER NOT NULL,
  thread_id INTEGER NOT NULL,
  is_reply INTEGER NOT NULL,
  waited INTEGER NOT NULL DEFAULT 0,
  pull INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  channel TEXT,
  state_at INTEGER NOT NULL,
  mark TEXT,
  history TEXT,
  PRIMARY KEY (message_id, peer_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_peer ON deliveries (peer_id, message_id, thread_id);
CREATE INDEX deliveries_unread ON deliveries (peer_id, message_id) WHERE state <= 2;
CREATE INDEX deliveries_sent ON deliveries (peer_id, message_id) WHERE state = 1;

-- A group: a name that stands for its members.
CREATE TABLE groups (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  created_by INTEGER NOT NULL
) STRICT;
CREATE TABLE group_members (
  group_id INTEGER NOT NULL,
  peer_id INTEGER NOT NULL,
  PRIMARY KEY (group_id, peer_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX group_members_peer ON group_members (peer_id);

-- A mute: until until_at the messages of muted_id (0 = everybody's) come to peer_id as silent.
CREATE TABLE mutes (
  peer_id INTEGER NOT NULL,
  muted_id INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (peer_id, muted_id)
) STRICT, WITHOUT ROWID;

-- Small facts of the store by name: how far full-text search is filled, when retention last looked.
CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Full-text search over bodies. It is filled before a search and in idle steps, never while sending.
CREATE VIRTUAL TABLE messages_search USING fts5 (body, content = 'messages', content_rowid = 'id');
