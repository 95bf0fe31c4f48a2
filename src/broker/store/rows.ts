// What the store's statements give back.

export type PeerRow = {
  id: number;
  handle: string;
  display: string | null;
  role: string | null;
  client: string | null;
  cwd: string | null;
  version: string | null;
  owner: number;
  used: number;
  last_end: number;
  last_seen_at: number;
};
export type SessionRow = {
  id: number;
  peer_id: number;
  client: string;
  cli_session_id: string;
  host_pid: number;
  host_start: string;
  host_boot: string;
  transcript_path: string | null;
  title: string | null;
  cwd: string | null;
  pinned: number;
  headless: number;
  bypass: number;
  ended_at: number | null;
};
/** A message without its body. */
export type MessageRow = {
  id: number;
  thread_id: number;
  seq: number;
  sender_id: number;
  via: number | null;
  reply_to: number | null;
  ask_id: number | null;
  verdict: number | null;
  mode: number;
  at: number;
  length: number;
  recipients: string;
  first_line: string;
  refs: string | null;
};
export type FullMessageRow = MessageRow & { body: string };
export type DeliveryRow = {
  message_id: number;
  peer_id: number;
  state: number;
  mode: number;
  thread_id: number;
  is_reply: number;
  waited: number;
  pull: number;
  attempts: number;
  channel: string | null;
  state_at: number;
  mark: string | null;
  history: string | null;
};
/** How a delivery begins; the rest is its message's. */
export type DeliveryStart = Pick<DeliveryRow, "state" | "mode" | "waited" | "channel" | "mark">;
/** A queued delivery with its message, ready to be handed over. */
export type QueuedRow = FullMessageRow & { delivery_mode: number; attempts: number; pull: number };
