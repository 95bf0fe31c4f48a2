// Load over a Unix socket: connections that keep a number of requests in flight, and what that took. Speaks any protocol whose answers are lines.
import type { Socket } from "bun";

/** What is sent, and how an answer is told. */
export type Traffic = {
  /** The `index`-th request of a connection, with its newline. */
  request(connection: number, index: number): string;
  /** Sent first on each connection; answered before the clock starts. */
  opening?(connection: number): string;
  /** How many lines the answer to `opening` has; 0 without one. */
  openingLines?: number;
  /** Lines of one answer; 1 here, 2 in redis. */
  linesPerAnswer?: number;
};
export type Load = { connections: number; depth: number; total: number };
/** Times in ms; `perSecond` counts answered requests. */
export type Measured = { perSecond: number; p50: number; p99: number };

const newline = 10;

/** The value below which `share` (0 to 1) of `values` lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** A socket that takes strings of any length and hands over how many lines came. */
export async function connect(
  path: string,
  onLines: (count: number, bytes: Buffer) => void,
): Promise<{ write(text: string): void; end(): void }> {
  let unsent: Buffer = Buffer.alloc(0);
  const flush = (socket: Socket): void => {
    if (unsent.length > 0) unsent = unsent.subarray(socket.write(unsent));
  };
  const socket = await Bun.connect({
    unix: path,
    socket: {
      data(_socket, bytes) {
        if (bytes.includes('"ok":false')) throw new Error(`refused under load: ${bytes.toString().slice(0, 300)}`);
        let count = 0;
        for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
        onLines(count, bytes);
      },
      drain: flush,
    },
  });
  return {
    write(text) {
      unsent = unsent.length > 0 ? Buffer.concat([unsent, Buffer.from(text)]) : Buffer.from(text);
      flush(socket);
    },
    end: () => socket.end(),
  };
}

/** Keeps `depth` requests in flight on each of `connections` until `total` are answered. Throws when one is refused. */
export async function drive(path: string, traffic: Traffic, load: Load): Promise<Measured> {
  const share = Math.ceil(load.total / load.connections);
  const workers = await Promise.all(
    Array.from({ length: load.connections }, (_, index) => worker(path, traffic, index, share, load.depth)),
  );
  const started = performance.now();
  const times = await Promise.all(workers.map((work) => work.run()));
  const seconds = (performance.now() - started) / 1000;
  for (const work of workers) work.end();
  const all = times.flat();
  return { perSecond: all.length / seconds, p50: quantile(all, 0.5), p99: quantile(all, 0.99) };
}

async function worker(path: string, traffic: Traffic, connection: number, total: number, depth: number) {
  const linesPerAnswer = traffic.linesPerAnswer ?? 1;
  const times: number[] = [];
  const sentAt: number[] = [];
  let awaited = traffic.openingLines ?? 0;
  let extra = 0;
  let running = false;
  const opened = Promise.withResolvers<void>();
  const done = Promise.withResolvers<number[]>();
  const submit = (count: number): void => {
    let text = "";
    const upTo = Math.min(total, sentAt.length + count);
    const now = performance.now();
    while (sentAt.length < upTo) {
      text += traffic.request(connection, sentAt.length);
      sentAt.push(now);
    }
    if (text) line.write(text);
  };
  const line = await connect(path, (count) => {
    if (!running) {
      awaited -= count;
      if (awaited <= 0) opened.resolve();
      return;
    }
    const now = performance.now();
    extra += count;
    const answers = Math.floor(extra / linesPerAnswer);
    extra -= answers * linesPerAnswer;
    for (let i = 0; i < answers; i++) times.push(now - (sentAt[times.length] as number));
    if (times.length >= total) done.resolve(times);
    else submit(answers);
  });
  if (traffic.opening) {
    line.write(traffic.opening(connection));
    await opened.promise;
  }
  return {
    run() {
      running = true;
      submit(depth);
      return done.promise;
    },
    end: line.end,
  };
}
