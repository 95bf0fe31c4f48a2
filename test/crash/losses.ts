// What is taken from a running broker, or denied to one that starts: disk space, its socket, its token, its lock, its database, write permission.
// Each check throws where the fault is not noticed, said, and survived or refused cleanly.
import { chmodSync, existsSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import type { HomePaths } from "../../src/home.ts";
import { rennCommand } from "../binary.ts";
import { brokerEnv, exportAll, inHome, integrity, join, must, refusalOf, sendOne, spawnBroker, until, withBroker } from "./broker.ts";
import { diskFull, diskFullAtStart, fileTooLarge } from "./full.ts";

const log = (paths: HomePaths) => (existsSync(paths.log) ? readFileSync(paths.log, "utf8") : "");
/** A home in which nothing can be written: the broker says which and why, and ends with status 3. */
async function readOnlyHome(): Promise<void> {
  await inHome(async (paths) => {
    const asUser = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
    must(
      !asUser.length || Bun.spawnSync([...asUser, ...rennCommand(), "--version"]).success,
      "skipped: root writes everywhere, and others cannot read this folder",
    );
    if (asUser.length) Bun.spawnSync(["chown", "-R", "65534", paths.home]);
    chmodSync(paths.home, 0o500);
    const child = spawnBroker(paths, asUser);
    const [exitCode, stderr] = await Promise.all([child.exited, child.stderr.text()]);
    chmodSync(paths.home, 0o700);
    must(exitCode === 3, `exit status ${exitCode}: ${stderr}`);
    must(stderr.includes(paths.home) && /permission|read-only|EACCES/i.test(stderr), `does not say what cannot be written: ${stderr}`);
  });
}

async function statusAgain(paths: HomePaths): Promise<void> {
  const started = performance.now();
  const status = Bun.spawn([...rennCommand(), "status", "--json"], {
    env: brokerEnv(paths),
    cwd: "/",
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [exitCode, stderr] = await Promise.all([status.exited, status.stderr.text()]);
  must(exitCode === 0, `renn status ends with ${exitCode}: ${stderr}`);
  must(performance.now() - started < 5_000, "it took more than 5 s");
}

/** The socket is removed under the broker: a client works again within 5 s, and the same broker serves. */
async function removedSocket(): Promise<void> {
  await inHome((paths) =>
    withBroker(paths, async (child) => {
      (await join(paths, "reader")).close();
      unlinkSync(paths.socket);
      await statusAgain(paths);
      const client = await join(paths, "sender");
      must((await client.call("stats", {})).pid === child.pid, "another broker serves now");
      await sendOne(client);
      client.close();
    }),
  );
}

/** The token is removed under the broker: open connections go on, and clients get in again with the same token. */
async function removedToken(): Promise<void> {
  await inHome((paths) =>
    withBroker(paths, async () => {
      const open = await join(paths, "reader");
      const token = readFileSync(paths.token, "utf8");
      unlinkSync(paths.token);
      await open.call("status", {});
      await statusAgain(paths);
      must(
        readFileSync(paths.token, "utf8") === token && (statSync(paths.token).mode & 0o777) === 0o600,
        "the token is another, or open to others",
      );
      open.close();
    }),
  );
}

/** The lock's file is removed under the broker, and another one starts: never two on the store, and clients find the one that is left. */
async function removedLock(): Promise<void> {
  await inHome((paths) =>
    withBroker(paths, async (first) => {
      const client = await join(paths, "sender");
      (await join(paths, "reader")).close();
      const { messageId } = await sendOne(client);
      unlinkSync(paths.lock);
      await withBroker(paths, async (second) => {
        await until("one of the two has ended", () => first.exitCode !== null || second.exitCode !== null);
        const fresh = await join(paths, "sender");
        const { pid } = await fresh.call("stats", {});
        must(pid === (first.exitCode === null ? first : second).pid, "clients find a broker that is none of the two");
        must(
          (await exportAll(fresh)).some((m) => m.id === messageId),
          "an answered message is lost",
        );
        fresh.close();
      });
      client.close();
    }),
  );
}

/** A cleaner removes all but the database under a broker that has nothing to do: whoever comes next is served, and the old broker writes no more. */
async function removedAll(): Promise<void> {
  await inHome((paths) =>
    withBroker(paths, async (first) => {
      const client = await join(paths, "sender");
      (await join(paths, "reader")).close();
      const { messageId } = await sendOne(client);
      for (const name of ["bus.sock", "broker.lock", "token", "broker.pid", "broker.log"]) unlinkSync(`${paths.home}/${name}`);
      await withBroker(paths, async (second) => {
        const fresh = await join(paths, "reader");
        must((await fresh.call("stats", {})).pid === second.pid, "clients do not find the new broker");
        const refusal = await refusalOf(sendOne(client));
        must(["internal", "broker_closed"].includes(refusal.code), `the old broker refuses with ${refusal.code}`);
        must(await Promise.race([first.exited.then(() => true), Bun.sleep(5_000).then(() => false)]), "two brokers serve one store");
        must(
          (await exportAll(fresh)).some((m) => m.id === messageId),
          "an answered message is lost",
        );
        fresh.close();
      });
    }),
  );
}

/** The database is moved away or replaced under the broker: nothing is answered that would be lost, and nothing that was answered is lost. */
async function replacedDatabase(): Promise<void> {
  for (const replace of [true, false])
    await inHome((paths) =>
      withBroker(paths, async (child) => {
        const client = await join(paths, "sender");
        (await join(paths, "reader")).close();
        const { messageId } = await sendOne(client);
        for (const end of ["", "-wal", "-shm"])
          if (existsSync(paths.database + end)) renameSync(paths.database + end, `${paths.home}/away.db${end}`);
        if (replace) writeFileSync(paths.database, "", { mode: 0o600 });
        const refusal = await refusalOf(sendOne(client));
        must(["internal", "broker_closed"].includes(refusal.code), `refused with ${refusal.code}`);
        must(
          await Promise.race([child.exited.then(() => true), Bun.sleep(5_000).then(() => false)]),
          "the broker goes on without its database",
        );
        must(/database|store/.test(log(paths)), "the log does not say it");
        for (const end of ["", "-wal", "-shm"])
          if (existsSync(`${paths.home}/away.db${end}`)) renameSync(`${paths.home}/away.db${end}`, paths.database + end);
        await withBroker(paths, async () => {
          const again = await join(paths, "sender");
          must(
            (await exportAll(again)).some((m) => m.id === messageId),
            "an answered message is lost",
          );
          again.close();
        });
      }),
    );
}

/** Ten brokers started at once, after a kill -9 with the stale socket in place: one serves, nine end with status 0 and say who does. */
async function tenAtOnce(): Promise<void> {
  await inHome(async (paths) => {
    const before = spawnBroker(paths);
    (await join(paths, "reader")).close();
    before.kill("SIGKILL");
    await before.exited;
    const children = Array.from({ length: 10 }, () => spawnBroker(paths));
    try {
      const client = await join(paths, "sender");
      const { pid } = await client.call("stats", {});
      await until("nine have ended", () => children.filter((c) => c.exitCode !== null).length === 9);
      const ended = children.filter((c) => c.exitCode !== null);
      must(
        ended.every((c) => c.exitCode === 0),
        `they ended with ${ended.map((c) => c.exitCode)}`,
      );
      must(children.find((c) => c.exitCode === null)?.pid === pid, "the one that lives is not the one that serves");
      for (const child of ended) must(/serves/.test(await child.stdout.text()), "one does not say who serves");
      await sendOne(client);
      client.close();
    } finally {
      for (const child of children) child.kill("SIGTERM");
      await Promise.all(children.map((c) => c.exited));
    }
    must(integrity(paths.database) === "ok", "the store is damaged");
  });
}

/** An ok comes after the disk has it: in the order of system calls, each answer to a send follows an fsync of its own. */
async function syncedBeforeAnswer(): Promise<void> {
  must(Bun.which("strace") !== null, "skipped: no strace here");
  await inHome(async (paths) => {
    const trace = `${paths.home}/trace`;
    const child = spawnBroker(paths, ["strace", "-f", "-qq", "-s", "64", "-e", "trace=fdatasync,fsync,sendto", "-o", trace]);
    const client = await join(paths, "sender");
    (await join(paths, "reader")).close();
    for (let n = 0; n < 20; n++) await sendOne(client);
    process.kill((await client.call("stats", {})).pid, "SIGTERM");
    await child.exited;
    let synced = 0;
    let answers = 0;
    for (const line of readFileSync(trace, "utf8").split("\n")) {
      if (/ f(data)?sync\(/.test(line)) synced++;
      if (!line.includes("messageId")) continue;
      answers++;
      must(synced > 0, `answer ${answers} left before anything was synced`);
      synced = 0;
    }
    must(answers === 20, `the trace shows ${answers} answers of 20`);
  });
}

/** All checks by name. A message that starts with "skipped" says why one cannot run here. */
export const losses: Readonly<Record<string, () => Promise<void>>> = {
  "disk full": diskFull,
  "disk full at start": diskFullAtStart,
  "file size limit": fileTooLarge,
  "read-only home": readOnlyHome,
  "removed socket": removedSocket,
  "removed token": removedToken,
  "removed lock": removedLock,
  "removed everything but the database": removedAll,
  "replaced database": replacedDatabase,
  "ten at once": tenAtOnce,
  "synced before the answer": syncedBeforeAnswer,
};
