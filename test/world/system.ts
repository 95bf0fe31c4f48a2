// The machine as a test wants it: clocks that stand still, processes and transcripts that are only said to be there.
import type { System, TailChunk, TailMark } from "../../src/system.ts";

type Process = { parent: number; start: string };
type File = { inode: number; text: string };

/** A simulated System. Times in ms; processes and files are what was put there. */
export class SimSystem implements System {
  wall = 1_800_000_000_000;
  mono = 1_000;
  boot = "boot-1";
  readonly processes = new Map<number, Process>();
  readonly files = new Map<string, File>();
  private nextPid = 1000;
  private nextInode = 1;
  private random = 0;

  /** Starts a process; its start time is its pid with a mark. */
  start(parent = 1, pid = this.nextPid++): number {
    this.processes.set(pid, { parent, start: `t${pid}` });
    return pid;
  }
  /** The process is gone. */
  kill(pid: number): void {
    this.processes.delete(pid);
  }
  /** Adds rows to a transcript, and makes it where it is missing. */
  append(path: string, ...rows: string[]): void {
    const file = this.files.get(path) ?? { inode: this.nextInode++, text: "" };
    this.files.set(path, { ...file, text: file.text + rows.map((row) => `${row}\n`).join("") });
  }
  /** Puts another file in a transcript's place. */
  replace(path: string, ...rows: string[]): void {
    this.files.delete(path);
    this.append(path, ...rows);
  }

  now(): number {
    return this.wall;
  }
  rest(): void {}

  self(): { pid: number; memoryBytes: number } {
    return { pid: 1, memoryBytes: 0 };
  }

  monotonic(): number {
    return this.mono;
  }
  randomHex(bytes: number): string {
    return (this.random++).toString(16).padStart(bytes * 2, "0");
  }
  bootId(): string {
    return this.boot;
  }
  alive(pid: number): boolean {
    return this.processes.has(pid);
  }
  processStart(pid: number): string | null {
    return this.processes.get(pid)?.start ?? null;
  }
  parent(pid: number): number | null {
    return this.processes.get(pid)?.parent ?? null;
  }
  tailMark(path: string): TailMark | null {
    const file = this.files.get(path);
    return file ? { inode: file.inode, size: Buffer.byteLength(file.text) } : null;
  }
  tail(path: string, mark: TailMark | null, maxBytes: number): TailChunk | null {
    const file = this.files.get(path);
    if (!file) return null;
    const bytes = Buffer.from(file.text);
    const from = mark && mark.inode === file.inode && mark.size <= bytes.length ? mark.size : 0;
    const share = bytes.subarray(from, from + maxBytes);
    const end = share.lastIndexOf(10) + 1;
    const rows = end ? share.toString("utf8", 0, end - 1).split("\n") : [];
    return { rows, mark: { inode: file.inode, size: from + end }, more: from + end < bytes.length };
  }
}
