// The floors that figures are held against, as a program of its own: `echo` answers each line with as many bytes as a broker's answer has;
// `commit` also parses the line and puts the rows of one send into the broker's own tables, in one FULL-synchronous transaction per turn of
// the event loop. It checks nothing and knows nobody: no correct broker can do less.
import type { Socket } from "bun";
import { openStore } from "../../src/broker/store/migrate.ts";
import { LineSplitter } from "../../src/wire.ts";

const [mode, socketPath, databasePath] = process.argv.slice(2) as [string, string, string];

const answer = (id: number, message: number): string =>
  `{"v":2,"id":${id},"ok":true,"result":{"messageId":${message},"threadId":1,"seq":${message},"via":null,"deliveries":[{"handle":"recipient","state":"queued","mode":"push","presence":"offline","reach":"when-back"}]}}\n`;

if (mode === "echo") echo();
else if (mode === "commit") commit();
else throw new Error("floor echo|commit SOCKET [DATABASE]");

function echo(): void {
  const text = answer(1, 1);
  Bun.listen({
    unix: socketPath,
    socket: {
      data(socket, bytes) {
        let count = 0;
        for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++;
        socket.write(text.repeat(count));
      },
    },
  });
}

type Connection = { splitter: LineSplitter; answers: string };

function commit(): void {
  const { db } = openStore(databasePath, 0);
  const message = db.prepare(
    `INSERT INTO messages (id, thread_id, seq, sender_id, via, reply_to, ask_id, verdict, mode, at, length, recipients, first_line, refs, body)
     VALUES (?1, ?5, ?6, 1, NULL, NULL, NULL, NULL, 0, ?2, ?3, '[2]', ?4, NULL, ?4)`,
  );
  const delivery = db.prepare(
    `INSERT INTO deliveries (message_id, peer_id, state, mode, thread_id, is_reply, waited, attempts, channel, state_at, mark)
     VALUES (?1, 2, 0, 0, ?3, 0, 1, 0, NULL, ?2, NULL)`,
  );
  const thread = db.prepare("INSERT OR REPLACE INTO threads (id, latest_seq, latest_message_id) VALUES (?1, ?2, ?3)");
  const threads = new Map<number, { seq: number; message: number }>();
  const begin = db.prepare("BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  let next = 1;
  let ready: { socket: Socket<Connection>; line: string }[] = [];
  const turn = (): void => {
    const batch = ready;
    ready = [];
    const sockets = new Set<Socket<Connection>>();
    const written = new Set<number>();
    begin.run();
    for (const { socket, line } of batch) {
      const request: { id: number; threadId: number; body: string } = JSON.parse(line);
      const at = Date.now();
      const seq = (threads.get(request.threadId)?.seq ?? 0) + 1;
      threads.set(request.threadId, { seq, message: next });
      written.add(request.threadId);
      message.run(next, at, request.body.length, request.body, request.threadId, seq);
      delivery.run(next, at, request.threadId);
      socket.data.answers += answer(request.id, next++);
      sockets.add(socket);
    }
    for (const id of written) thread.run(id, threads.get(id)?.seq ?? 0, threads.get(id)?.message ?? 0);
    end.run();
    for (const socket of sockets) {
      socket.write(socket.data.answers);
      socket.data.answers = "";
    }
  };
  const decoder = new TextDecoder();
  Bun.listen<Connection>({
    unix: socketPath,
    socket: {
      open(socket) {
        socket.data = { splitter: new LineSplitter(), answers: "" };
      },
      data(socket, bytes) {
        if (ready.length === 0) setImmediate(turn);
        socket.data.splitter.push(bytes, (line) => {
          if (line !== "too-long") ready.push({ socket, line: decoder.decode(line) });
        });
      },
    },
  });
}
