// Where Claude sessions send notices about our frames, and their own messages to us: a socket of this very process beside theirs, since they check who listens.
import { lstatSync, unlinkSync } from "node:fs";
import { peerCredentials } from "../credentials.ts";
import { LineSplitter } from "../wire.ts";
import { asObject, parseObject, textField } from "./payload.ts";

/** Bad news about a frame of ours: held for the user, refused, dropped, … */
export type Notice = { kind: "notice"; messageId: string; status: string; reason: string };
/** A notice, or a text that a session's own SendMessage brought; `from` is its socket as `uds:<path>`. */
export type PeerWord = Notice | { kind: "said"; from: string; body: string };

/** Hears a word and the pid of the process that brought it, where the platform tells. */
export type Hear = (word: PeerWord, pid: number | null) => void;

/** A socket of ours; `address` is what frames name in `from`. */
export type PeerListener = { address: string };

const openMsMax = 30_000;
/** More connections at a time are closed at once: a session makes one for each word. */
const openMax = 64;

/** Listens in the folder of Claude's sockets; null where that is not our user's alone. Ends with the process. */
export function peerListener(folder: string, hear: Hear): PeerListener | null {
  const path = `${folder}/${process.pid}.sock`;
  // Sockets appear with the mode that the umask leaves: this one is for our user.
  const umask = process.umask(0o077);
  try {
    const stats = lstatSync(folder);
    if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o077) !== 0) return null;
    remove(path);
    listen(path, hear);
    process.once("exit", () => remove(path));
    return { address: `uds:${path}` };
  } catch {
    return null;
  } finally {
    process.umask(umask);
  }
}

/** A name with our pid can only be a leftover of a process that is gone. */
function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was not there.
  }
}

type State = { pid: number | null; splitter: LineSplitter; timer: ReturnType<typeof setTimeout> };

function listen(path: string, hear: Hear): void {
  let open = 0;
  const server = Bun.listen<State>({
    unix: path,
    socket: {
      open(socket) {
        if (open >= openMax) return socket.terminate();
        open++;
        // Bun's types do not name the descriptor, but it is there.
        const pid = peerCredentials((socket as unknown as { fd: number }).fd)?.pid ?? null;
        socket.data = { pid, splitter: new LineSplitter(), timer: setTimeout(() => socket.end(), openMsMax) };
      },
      data(socket, bytes) {
        socket.data?.splitter.push(bytes, (line) => {
          const word = line === "too-long" ? null : understand(new TextDecoder().decode(line));
          if (line === "too-long") socket.end();
          if (word) hear(word, socket.data.pid);
        });
      },
      close(socket) {
        if (!socket.data) return;
        open--;
        clearTimeout(socket.data.timer);
      },
      end: (socket) => void socket.end(),
      error: () => {},
    },
  });
  server.unref();
}

/** A line from a session; null for what does not concern us. */
export function understand(line: string): PeerWord | null {
  const frame = parseObject(line);
  if (frame === null) return null;
  if (frame.type === "control" && frame.action === "peer_message_status") {
    const messageId = textField(frame, 64, "orig_msg_id");
    const told = textField(frame, 2000, "reason", "drop_reason", "status_detail") ?? "";
    const refused = frame.status_detail === "refused" ? "refused" : textField(frame, 64, "status");
    return messageId && refused ? { kind: "notice", messageId, status: refused, reason: told } : null;
  }
  const content = frame.type === "user" ? asObject(frame.message)?.content : undefined;
  const from = textField(frame, 400, "from");
  if (typeof content !== "string" || from === undefined) return null;
  const wrapped = /^<cross-session-message [^>\n]*>\n([\s\S]*)\n<\/cross-session-message>\s*$/.exec(content);
  return { kind: "said", from, body: wrapped?.[1] ?? content };
}
