// What the broker reads and writes. Nothing here knows a rule of the bus: handlers decide, the store does.
import type { Database } from "bun:sqlite";
import type { DeliveryRow, DeliveryStart, FullMessageRow, MessageRow, PeerRow, QueuedRow, SessionRow } from "./rows.ts";
import { prepareAll } from "./statements.ts";

/** The statements over one open database. All are synchronous; errors are bun:sqlite's. */
export class Store {
  readonly db: Database;
  private readonly sql: ReturnType<typeof prepareAll>;
  private synchronous: "FULL" | "NORMAL" = "FULL";
  private readonly inPlace: () => boolean;
  /** Threads that a turn has gone on with, by id: number and id of the newest message. Each is written once, before it is read or committed. */
  private readonly grown = new Map<number, { seq: number; messageId: number }>();

  /** `inPlace` says whether the file that `db` has open still stands at its path. */
  constructor(db: Database, inPlace: () => boolean = () => true) {
    this.db = db;
    this.inPlace = inPlace;
    this.sql = prepareAll(db);
  }

  /** Opens a write transaction; `durable` decides whether its commit waits for the disk (semantics §10). */
  begin(durable: boolean): void {
    // What went into a file that nobody finds again would be answered with ok and lost.
    if (durable && !this.inPlace()) throw new Error("the database was removed or replaced while it was in use");
    const wanted = durable ? "FULL" : "NORMAL";
    if (wanted !== this.synchronous) {
      this.db.run(`PRAGMA synchronous = ${wanted}`);
      this.synchronous = wanted;
    }
    this.sql.begin.run();
  }
  commit(): void {
    this.writeThreads();
    this.sql.commit.run();
  }
  /** Takes the transaction back, if there still is one: SQLITE_FULL and the like end it by themselves. */
  rollback(): void {
    this.grown.clear();
    if (this.db.inTransaction) this.sql.rollback.run();
  }
  get inTransaction(): boolean {
    return this.db.inTransaction;
  }
  /** Moves what the WAL holds into the file and cuts it; for idle times and the end. */
  checkpoint(): void {
    this.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  /** Moves what the WAL holds into the file that is open, wherever that is by now, and touches no other. */
  settle(): void {
    this.db.run("PRAGMA wal_checkpoint(PASSIVE)");
  }
  close(): void {
    this.db.close();
  }

  // Peers, aliases, sessions
  peers(): PeerRow[] {
    return this.sql.peers.all() as PeerRow[];
  }
  peer(id: number): PeerRow | null {
    return this.sql.peer.get(id) as PeerRow | null;
  }
  peerNamed(handle: string): PeerRow | null {
    return this.sql.peerNamed.get(handle) as PeerRow | null;
  }
  owners(): number[] {
    return (this.sql.owners.values() as [number][]).map(([id]) => id);
  }
  /** Those that never sent or received. */
  unusedPeers(): number[] {
    return (this.sql.unusedPeers.values() as [number][]).map(([id]) => id);
  }
  handles(limit: number): string[] {
    return (this.sql.handles.values(limit) as [string][]).map(([handle]) => handle);
  }
  insertPeer(p: Omit<PeerRow, "id" | "used" | "last_end">): number {
    const row = this.sql.insertPeer.get(p.handle, p.display, p.role, p.client, p.cwd, p.version, p.owner, p.last_seen_at) as { id: number };
    return row.id;
  }
  updatePeer(id: number, p: Pick<PeerRow, "display" | "role" | "client" | "cwd" | "version">): void {
    this.sql.updatePeer.run(p.display, p.role, p.client, p.cwd, p.version, id);
  }
  setHandle(id: number, handle: string): void {
    this.sql.setHandle.run(handle, id);
  }
  setOwner(id: number, owner: boolean): void {
    this.sql.setOwner.run(owner ? 1 : 0, id);
  }
  setUsed(id: number): void {
    this.sql.setUsed.run(id);
  }
  setLastEnd(id: number, lastEnd: number): void {
    this.sql.setLastEnd.run(lastEnd, id);
  }
  setSeen(id: number, at: number): void {
    this.sql.setSeen.run(at, id);
  }
  /** Removes a peer with its ended sessions, aliases and mutes. */
  deletePeer(id: number): void {
    this.sql.deletePeer.run(id);
    this.sql.deletePeerSessions.run(id);
    this.sql.deletePeerAliases.run(id);
    this.sql.deletePeerMutes.run(id, id);
  }
  /** Everything of one peer becomes another's, and the first is gone. What both have of the same message stays the other's. */
  mergePeers(fromId: number, intoId: number, hasMessages: boolean): void {
    for (const statement of hasMessages ? [...this.sql.mergeMessages, ...this.sql.mergeRest] : this.sql.mergeRest)
      statement.run(fromId, intoId);
    for (const statement of this.sql.deleteMerged) statement.run(fromId);
    this.deletePeer(fromId);
  }
  aliases(): { handle: string; peer_id: number; until_at: number }[] {
    return this.sql.aliases.all() as { handle: string; peer_id: number; until_at: number }[];
  }
  putAlias(handle: string, peerId: number, untilAt: number): void {
    this.sql.putAlias.run(handle, peerId, untilAt);
  }
  deleteAlias(handle: string): void {
    this.sql.deleteAlias.run(handle);
  }
  liveSessions(): SessionRow[] {
    return this.sql.liveSessions.all() as SessionRow[];
  }
  session(client: string, cliSessionId: string): SessionRow | null {
    return this.sql.session.get(client, cliSessionId) as SessionRow | null;
  }
  /** A session by the CLI's id alone; null where none or more than one has it. */
  sessionById(cliSessionId: string): SessionRow | null {
    const rows = this.sql.sessionById.all(cliSessionId) as SessionRow[];
    return rows.length === 1 ? (rows[0] ?? null) : null;
  }
  /** The newest session of a CLI in a process, ended or not. */
  latestOnHost(client: string, pid: number, start: string, boot: string): SessionRow | null {
    return this.sql.latestOnHost.get(pid, start, boot, client) as SessionRow | null;
  }
  /** The peer's newest session, ended or not. */
  latestSession(peerId: number): SessionRow | null {
    return this.sql.latestSession.get(peerId) as SessionRow | null;
  }
  putSession(s: Omit<SessionRow, "id" | "ended_at">, now: number): number {
    const row = this.sql.putSession.get(
      s.peer_id,
      s.client,
      s.cli_session_id,
      s.host_pid,
      s.host_start,
      s.host_boot,
      s.transcript_path,
      s.title,
      s.cwd,
      s.pinned,
      s.headless,
      s.bypass,
      now,
    ) as { id: number };
    return row.id;
  }
  endSession(id: number, at: number): void {
    this.sql.endSession.run(at, id);
  }
  setPinned(id: number): void {
    this.sql.setPinned.run(id);
  }
  /** Sessions that ended before `at` and whose peers have no message, delivery or group. */
  endedSessionsOfBarePeers(at: number): number[] {
    return this.sql.endedSessionsOfBarePeers.values(at).map((r) => r[0] as number);
  }
  deleteSession(id: number): void {
    this.sql.deleteSession.run(id);
  }

  // Threads and messages
  nextIds(): { message: number; thread: number } {
    return this.sql.nextIds.get() as { message: number; thread: number };
  }
  private writeThreads(): void {
    if (!this.grown.size) return;
    for (const [id, { seq, messageId }] of this.grown) this.sql.updateThread.run(seq, messageId, id);
    this.grown.clear();
  }
  thread(id: number): { latest_seq: number; latest_message_id: number } | null {
    this.writeThreads();
    return this.sql.thread.get(id) as { latest_seq: number; latest_message_id: number } | null;
  }
  participants(threadId: number): number[] {
    return this.sql.participants.values(threadId).map((r) => r[0] as number);
  }
  putThread(id: number, seq: number, messageId: number): void {
    if (seq === 1) this.sql.insertThread.run(id, messageId);
    else this.grown.set(id, { seq, messageId });
  }
  addParticipants(threadId: number, peerIds: readonly number[]): void {
    this.sql.addParticipants.run(threadId, `[${peerIds}]`);
  }
  insertMessage(m: FullMessageRow, key: string | null, keyHash: string | null): void {
    this.sql.insertMessage.run(
      m.id,
      m.thread_id,
      m.seq,
      m.sender_id,
      m.via,
      m.reply_to,
      m.ask_id,
      m.verdict,
      m.mode,
      m.at,
      m.length,
      m.recipients,
      m.first_line,
      m.refs,
      key,
      keyHash,
      m.body,
    );
  }
  message(id: number): MessageRow | null {
    return this.sql.message.get(id) as MessageRow | null;
  }
  fullMessage(id: number): FullMessageRow | null {
    return this.sql.fullMessage.get(id) as FullMessageRow | null;
  }
  messageBySeq(threadId: number, seq: number): MessageRow | null {
    return this.sql.messageBySeq.get(threadId, seq) as MessageRow | null;
  }
  threadMessages(threadId: number, sinceSeq: number): MessageRow[] {
    return this.sql.threadMessages.all(threadId, sinceSeq) as MessageRow[];
  }
  /** The thread's newest ask, of `senderId` where given. */
  latestAsk(threadId: number, senderId: number | null): MessageRow | null {
    return this.sql.latestAsk.get(threadId, senderId, senderId) as MessageRow | null;
  }
  repliesTo(threadId: number, askId: number): MessageRow[] {
    return this.sql.repliesTo.all(threadId, askId) as MessageRow[];
  }
  body(id: number): string {
    return (this.sql.body.get(id) as { body: string } | null)?.body ?? "";
  }
  byKey(senderId: number, key: string, after: number): (MessageRow & { idem_hash: string }) | null {
    return this.sql.byKey.get(senderId, key, after) as (MessageRow & { idem_hash: string }) | null;
  }
  messagesAfter(id: number, limit: number): MessageRow[] {
    return this.sql.messagesAfter.all(id, limit) as MessageRow[];
  }
  threadMessagesAfter(threadId: number, id: number, limit: number): MessageRow[] {
    return this.sql.threadMessagesAfter.all(threadId, id, limit) as MessageRow[];
  }
  recentThreads(limit: number): { id: number; latest_seq: number; latest_message_id: number }[] {
    this.writeThreads();
    return this.sql.recentThreads.all(limit) as { id: number; latest_seq: number; latest_message_id: number }[];
  }
  recentThreadsOf(peerId: number, limit: number): { id: number; latest_seq: number; latest_message_id: number }[] {
    this.writeThreads();
    return this.sql.recentThreadsOf.all(peerId, limit) as { id: number; latest_seq: number; latest_message_id: number }[];
  }

  // Deliveries
  /** Stores a delivery of a message. One that begins as sent is handed over for the first time. */
  insertDelivery(m: MessageRow, d: DeliveryStart, peerId: number): void {
    const isReply = m.reply_to === null ? 0 : 1;
    this.sql.insertDelivery.run(m.id, peerId, d.state, d.mode, m.thread_id, isReply, d.waited, d.state, d.channel, m.at, d.mark);
  }
  /** The same for many that begin alike. */
  insertDeliveries(m: MessageRow, d: DeliveryStart, peerIds: readonly number[]): void {
    const isReply = m.reply_to === null ? 0 : 1;
    this.sql.insertDeliveries.run(m.id, d.state, d.mode, m.thread_id, isReply, d.waited, d.state, d.channel, m.at, d.mark, `[${peerIds}]`);
  }
  delivery(messageId: number, peerId: number): DeliveryRow | null {
    return this.sql.delivery.get(messageId, peerId) as DeliveryRow | null;
  }
  deliveries(messageId: number): DeliveryRow[] {
    return this.sql.deliveries.all(messageId) as DeliveryRow[];
  }
  /** Moves a delivery from a state in [`least`, `most`] to `state`; null when it is in none of these. */
  moveDelivery(messageId: number, peerId: number, state: number, at: number, least: number, most: number): DeliveryRow | null {
    return this.sql.moveDelivery.get(state, at, messageId, peerId, least, most) as DeliveryRow | null;
  }
  /** queued → sent over `channel`; null when it is no longer queued. */
  handOver(messageId: number, peerId: number, channel: string, at: number, mark: string | null): DeliveryRow | null {
    return this.sql.handOver.get(channel, at, mark, messageId, peerId) as DeliveryRow | null;
  }
  /** sent → queued. */
  requeue(messageId: number, peerId: number, at: number, pull: boolean): DeliveryRow | null {
    return this.sql.requeue.get(at, pull ? 1 : 0, messageId, peerId) as DeliveryRow | null;
  }
  /** Adds a finished attempt, a JSON array, to a delivery's history. */
  addHistory(messageId: number, peerId: number, attemptJson: string): void {
    this.sql.addHistory.run(attemptJson, messageId, peerId);
  }
  deleteDelivery(messageId: number, peerId: number): void {
    this.sql.deleteDelivery.run(messageId, peerId);
  }
  sentDeliveries(): DeliveryRow[] {
    return this.sql.sentDeliveries.all() as DeliveryRow[];
  }
  countUnread(peerId: number): number {
    return (this.sql.countUnread.get(peerId) as { n: number }).n;
  }
  /** Unread deliveries of a peer that are no replies. */
  countUnanswered(peerId: number): number {
    return (this.sql.countUnanswered.get(peerId) as { n: number }).n;
  }
  /** Unread deliveries of a peer with their messages, oldest first. */
  unread(peerId: number): (MessageRow & { state: number })[] {
    return this.sql.unread.all(peerId) as (MessageRow & { state: number })[];
  }
  /** Newest deliveries of a peer, `before` exclusive: message and thread. */
  recentDeliveries(peerId: number, before: number, limit: number): { message_id: number; thread_id: number }[] {
    return this.sql.recentDeliveries.all(peerId, before, limit) as { message_id: number; thread_id: number }[];
  }
  /** Queued deliveries of a peer that may still be handed over, oldest first, with bodies. */
  queued(peerId: number, modeMax: number, attemptsMax: number, pullMax: number, limit: number): QueuedRow[] {
    return this.sql.queued.all(peerId, modeMax, attemptsMax, pullMax, limit) as QueuedRow[];
  }
  countQueued(peerId: number, modeMax: number, attemptsMax: number): number {
    return (this.sql.countQueued.get(peerId, modeMax, attemptsMax) as { n: number }).n;
  }
  unreadByState(): { state: number; n: number }[] {
    return this.sql.unreadByState.all() as { state: number; n: number }[];
  }
  oldestQueuedAt(): number | null {
    return (this.sql.oldestQueued.get() as { at: number | null }).at;
  }

  // Groups, mutes, facts, search
  groups(): { id: number; name: string; created_at: number; created_by: number }[] {
    return this.sql.groups.all() as { id: number; name: string; created_at: number; created_by: number }[];
  }
  groupMembers(): { group_id: number; peer_id: number }[] {
    return this.sql.groupMembers.all() as { group_id: number; peer_id: number }[];
  }
  insertGroup(name: string, at: number, by: number): number {
    return (this.sql.insertGroup.get(name, at, by) as { id: number }).id;
  }
  deleteGroup(id: number): void {
    this.sql.deleteGroupMembers.run(id);
    this.sql.deleteGroup.run(id);
  }
  addMember(groupId: number, peerId: number): void {
    this.sql.addMember.run(groupId, peerId);
  }
  removeMember(groupId: number, peerId: number): void {
    this.sql.removeMember.run(groupId, peerId);
  }
  mutes(peerId: number): { muted_id: number; until_at: number }[] {
    return this.sql.mutes.all(peerId) as { muted_id: number; until_at: number }[];
  }
  putMute(peerId: number, mutedId: number, untilAt: number): void {
    this.sql.putMute.run(peerId, mutedId, untilAt);
  }
  deleteMute(peerId: number, mutedId: number): void {
    this.sql.deleteMute.run(peerId, mutedId);
  }
  fact(name: string): number {
    return (this.sql.fact.get(name) as { value: number } | null)?.value ?? 0;
  }
  setFact(name: string, value: number): void {
    this.sql.setFact.run(name, value);
  }
  /** Puts up to `limit` more messages into full-text search; how many it were. */
  fillSearch(limit: number): number {
    const from = this.fact("search_filled");
    const rows = this.sql.bodiesAfter.all(from, limit) as { id: number; body: string }[];
    for (const row of rows) this.sql.insertSearch.run(row.id, row.body);
    const last = rows.at(-1);
    if (last) this.setFact("search_filled", last.id);
    return rows.length;
  }
  search(match: string, threadId: number | null, limit: number): (MessageRow & { head: string })[] {
    return this.sql.search.all(match, threadId, threadId, limit) as (MessageRow & { head: string })[];
  }
  /** Oldest threads, for retention. */
  oldThreads(before: number, afterId: number, limit: number): { id: number; at: number }[] {
    this.writeThreads();
    return this.sql.oldThreads.all(afterId, before, limit) as { id: number; at: number }[];
  }
  threadHasOpen(threadId: number): boolean {
    return this.sql.threadHasOpen.get(threadId) !== null;
  }
  /** Removes a thread with everything in it. */
  deleteThread(threadId: number): void {
    this.writeThreads();
    const filled = this.fact("search_filled");
    for (const row of this.sql.threadBodies.all(threadId) as { id: number; body: string }[])
      if (row.id <= filled) this.sql.deleteSearch.run(row.id, row.body);
    for (const statement of this.sql.deleteThread) statement.run(threadId);
  }
}
