// A peer on the bus that asks one thing at a time and hears events: what the benches that are about meaning, not load, speak with.
import { requestLine } from "../../src/protocol/frames.ts";
import type { Fields, RequestType, Result } from "../../src/protocol/schemas.ts";
import { LineSplitter } from "../../src/wire.ts";
import type { Broker } from "./programs.ts";

type Frame = { id: number; ok: boolean; result: unknown; type?: string; event?: string; payload?: { message: { id: number } } };

const decoder = new TextDecoder();

/** One authenticated connection. `call` throws what the broker refuses. */
export class Peer {
  /** Called when an event comes; set by whoever listens. */
  onEvent: (frame: Frame) => void = () => {};
  /** Called with the time of arrival before bytes are read; what they say is then looked at when `read` is called. Keeps 200 listeners in one process from waiting for each other. */
  onArrival: ((at: number) => void) | null = null;
  private unread: Uint8Array[] = [];
  private readonly splitter = new LineSplitter(8 * 1_048_576);
  private readonly open = new Map<number, PromiseWithResolvers<unknown>>();
  private send: (text: string) => void = () => {};
  private next = 1;
  end: () => void = () => {};

  static async connect(broker: Broker): Promise<Peer> {
    const peer = new Peer();
    const socket = await Bun.connect({
      unix: broker.socket,
      socket: {
        data(_socket, bytes) {
          peer.unread.push(bytes.slice());
          if (peer.onArrival) peer.onArrival(performance.now());
          else peer.read();
        },
      },
    });
    peer.send = (text) => socket.write(text);
    peer.end = () => socket.end();
    await peer.call("auth", { token: broker.token });
    return peer;
  }

  /** A peer with a session of its own, in a process that holds many; it hears its pushes. */
  static async session(broker: Broker, name: string, listen = true): Promise<{ peer: Peer; handle: string }> {
    const peer = await Peer.connect(broker);
    const { handle } = await peer.call("session", {
      event: "session-start",
      client: "opencode",
      cliSessionId: name,
      host: { hostPid: process.pid, hostStart: await startOf(process.pid) },
      handle: name,
      listen,
    });
    return { peer, handle };
  }

  call<T extends RequestType>(type: T, fields: Fields<T>): Promise<Result<T>> {
    const id = this.next++;
    const answer = Promise.withResolvers<unknown>();
    this.open.set(id, answer);
    this.send(requestLine(id, type, fields));
    return answer.promise as Promise<Result<T>>;
  }

  /** Looks at what has come. */
  read(): void {
    const parts = this.unread;
    this.unread = [];
    for (const bytes of parts) this.splitter.push(bytes, (line) => line !== "too-long" && this.take(JSON.parse(decoder.decode(line))));
  }

  private take(frame: Frame): void {
    if (frame.type === "event") return this.onEvent(frame);
    const answer = this.open.get(frame.id);
    this.open.delete(frame.id);
    if (frame.ok) answer?.resolve(frame.result);
    else answer?.reject(new Error(JSON.stringify(frame)));
  }
}

/** Start time of a process as `hostStart` names it on Linux. */
export async function startOf(pid: number): Promise<string> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text();
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] as string;
}
