// A disk that is full: coded `internal`, nothing half-written, and service resumes when there is space again.
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Client } from "../../src/client.ts";
import type { HomePaths } from "../../src/home.ts";
import { ProtocolError } from "../../src/protocol/errors.ts";
import { exportAll, inHome, integrity, join, must, refusalOf, sendOne, spawnBroker, withBroker } from "./broker.ts";

/** Sends until the broker refuses; the ids that it answered, and the refusal. */
async function sendUntilRefused(client: Client): Promise<{ ids: number[]; refusal: ProtocolError }> {
  const ids: number[] = [];
  for (let n = 0; n < 5_000; n++)
    try {
      ids.push((await sendOne(client, 20_000)).messageId);
    } catch (error) {
      if (error instanceof ProtocolError) return { ids, refusal: error };
      throw error;
    }
  throw new Error("5,000 messages of 20 kB fitted into a full disk");
}

async function checkFull(paths: HomePaths, makeRoom: () => void): Promise<void> {
  (await join(paths, "reader")).close();
  const sender = await join(paths, "sender");
  const { ids, refusal } = await sendUntilRefused(sender);
  must(refusal.code === "internal", `a full disk gave ${refusal.code}`);
  must(/stored nothing/.test(refusal.message), `the refusal does not say what became of the message: ${refusal.message}`);
  const looking = await sender.call("threads", {});
  must(looking.threads.length > 0, "a broker on a full disk answers no question any more");
  must((await refusalOf(sendOne(sender, 20_000))).code === "internal", "the second send on a full disk was not refused the same way");
  makeRoom();
  const after = await sendOne(sender, 20_000);
  const stored = (await exportAll(sender)).map((m) => m.id);
  must(
    ids.every((id) => stored.includes(id)),
    "an answered message is missing after the disk was full",
  );
  must(
    stored.length === ids.length + 1 && stored.includes(after.messageId),
    `${stored.length} messages are stored, ${ids.length + 1} were answered`,
  );
  sender.close();
}

/** Runs `step` with an empty disk of `size`; needs root. */
async function onSmallDisk(size: string, step: (mount: string) => Promise<void>): Promise<void> {
  const mount = mkdtempSync(`${tmpdir()}/renn-full-`);
  try {
    const mounted =
      process.getuid?.() === 0 && Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size},mode=700`, "renn", mount]).success;
    must(mounted, "skipped: needs to be root to mount a small disk");
    try {
      await step(mount);
    } finally {
      Bun.spawnSync(["umount", mount]);
    }
  } finally {
    rmSync(mount, { recursive: true, force: true });
  }
}

/** Disk full: coded `internal`, nothing half-written, and service resumes when there is space again. */
export function diskFull(): Promise<void> {
  return onSmallDisk("6m", (mount) =>
    inHome(async (paths) => {
      const filler = `${mount}/filler`;
      writeFileSync(filler, Buffer.alloc(2 * 1_048_576));
      await withBroker(paths, () => checkFull(paths, () => unlinkSync(filler)));
      must(integrity(paths.database) === "ok", "the store is damaged after the disk was full");
    }, mount),
  );
}

/** A disk that is full before the broker starts: the broker, and whoever wanted to start it, says so and where; with room it serves. */
export function diskFullAtStart(): Promise<void> {
  return onSmallDisk("1m", (mount) =>
    inHome(async (paths) => {
      const filler = `${mount}/filler`;
      Bun.spawnSync(["dd", "if=/dev/zero", `of=${filler}`, "bs=4096"], { stderr: "ignore" });
      const child = spawnBroker(paths);
      const said = await child.stderr.text();
      must((await child.exited) === 3 && said.includes("is full") && said.includes(paths.home), `the broker says: ${said}`);
      const why = (await refusalOf(Client.connect({ paths, start: true }))).message;
      must(why.includes("is full") && why.includes(paths.home), `who starts it is told: ${why}`);
      unlinkSync(filler);
      await withBroker(paths, async () => (await join(paths, "reader")).close());
    }, mount),
  );
}

/** A file size limit in the place of a full disk: works for every user. The broker must not die of the signal that comes with it. */
export async function fileTooLarge(): Promise<void> {
  must(Bun.which("prlimit") !== null, "skipped: no prlimit here");
  await inHome(async (paths) => {
    await withBroker(paths, (child) => checkFull(paths, () => void Bun.spawnSync(["prlimit", `--fsize=unlimited`, `--pid=${child.pid}`])), [
      "prlimit",
      "--fsize=1000000:unlimited",
    ]);
    must(integrity(paths.database) === "ok", "the store is damaged after a file could not grow");
  });
}
