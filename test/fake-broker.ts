// A broker that does as a test says: it listens in a home of its own and hands every line to a script.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Socket } from "bun";
import { type HomePaths, homePaths } from "../src/home.ts";
import { LineSplitter } from "../src/wire.ts";

export type Line = { v: number; id: number; type: string; [field: string]: unknown };
type Script = (line: Line, answer: (frame: object | string) => void, socket: Socket<LineSplitter>) => void;

/** An empty home with a token, mode 0700, whose path has a space and letters of other scripts. */
export function emptyHome(): HomePaths & { remove: () => void } {
  const home = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
  chmodSync(home, 0o700);
  writeFileSync(`${home}/token`, "secret", { mode: 0o600 });
  return { ...homePaths({ RENN_HOME: home }), remove: () => rmSync(home, { recursive: true, force: true }) };
}

/** Listens in `home`. Auth is answered by itself unless the script is asked (`auth: true`). `chunks` are the reads as they came. */
export function fakeBroker(paths: HomePaths, script: Script, auth = false) {
  const chunks: string[] = [];
  const decoder = new TextDecoder();
  const server = Bun.listen<LineSplitter>({
    unix: paths.socket,
    socket: {
      open(socket) {
        socket.data = new LineSplitter();
      },
      data(socket, bytes) {
        chunks.push(decoder.decode(bytes));
        socket.data.push(bytes, (raw) => {
          if (raw === "too-long") throw new Error("the client sent a line that is too long");
          const line = JSON.parse(decoder.decode(raw)) as Line;
          const answer = (frame: object | string) =>
            socket.write(typeof frame === "string" ? frame : `${JSON.stringify({ v: 2, ...frame })}\n`);
          if (line.type === "auth" && !auth) answer({ id: line.id, ok: true, result: {} });
          else script(line, answer, socket);
        });
      },
    },
  });
  return { chunks, stop: () => server.stop(true) };
}
