// Who is kept out, and what never leaks: other users, odd umasks, process lists, logs, TCP, other programs on the database. SECURITY.md names these tests.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { rennCommand } from "../binary.ts";
import { brokerEnv, inHome, join, makeHome, refusalOf, sendOne, spawnBroker, withBroker } from "./broker.ts";

const home = makeHome();
let broker: ReturnType<typeof spawnBroker>;
let token = "";
const secretBody = "the body that no log may hold";

beforeAll(async () => {
  broker = spawnBroker(home, ["env", "RENN_LOG=debug"]);
  (await join(home, "reader")).close();
  token = readFileSync(home.token, "utf8").trim();
}, 20_000);
afterAll(async () => {
  broker.kill("SIGTERM");
  await broker.exited;
  home.remove();
});

const filesOf = (folder: string) => readdirSync(folder).filter((name) => name !== "config.json");
const onLinux = process.platform === "linux";

describe("other users of the machine", () => {
  for (const umask of ["0000", "0277"])
    test(`every file of a home is its user's alone from its first moment, also under umask ${umask}`, async () => {
      await inHome(async (paths) => {
        chmodSync(paths.home, 0o2700);
        await withBroker(paths, async () => {
          const client = await join(paths, "sender");
          (await join(paths, "reader")).close();
          await sendOne(client);
          client.close();
          const open = filesOf(paths.home).filter((name) => (lstatSync(`${paths.home}/${name}`).mode & 0o077) !== 0);
          expect(open).toEqual([]);
          expect(filesOf(paths.home)).toContain("bus.sock");
        }, ["sh", "-c", `umask ${umask}; exec "$@"`, "sh"]);
      });
    }, 20_000);

  test("a home that others can enter is refused, with the command that mends it", async () => {
    await inHome(async (paths) => {
      chmodSync(paths.home, 0o750);
      const child = spawnBroker(paths);
      const [exitCode, stderr] = await Promise.all([child.exited, child.stderr.text()]);
      expect(exitCode).toBe(3);
      expect(stderr).toContain("chmod 700");
    });
  }, 20_000);

  test("nothing listens on the network", () => {
    const inodes = new Set(
      (onLinux ? readdirSync(`/proc/${broker.pid}/fd`) : []).flatMap((fd) => {
        try {
          return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${broker.pid}/fd/${fd}`))?.[1] ?? [];
        } catch {
          return [];
        }
      }),
    );
    const tables = ["tcp", "tcp6", "udp", "udp6"].filter((name) => onLinux && existsSync(`/proc/${broker.pid}/net/${name}`));
    const found = tables.flatMap((name) =>
      readFileSync(`/proc/${broker.pid}/net/${name}`, "utf8")
        .split("\n")
        .filter((line) => inodes.has(line.trim().split(/\s+/)[9] ?? "")),
    );
    expect(found).toEqual([]);
    expect(inodes.size > 0 || !onLinux).toBe(true);
  });
});

describe("the token", () => {
  test("stands in no argument and no environment of the broker", () => {
    const seen = onLinux ? ["cmdline", "environ"].map((name) => readFileSync(`/proc/${broker.pid}/${name}`, "latin1")).join("\n") : "";
    expect(seen.includes(token)).toBe(false);
    expect(seen.includes("renn") || !onLinux).toBe(true);
  });

  test("and no body stand in the log, whose lines are JSON whatever a peer calls itself", async () => {
    const client = await join(home, "sender");
    const hostile = '"\n{"at":"forged","level":"error"}\n\u001b[2J';
    await client.call("register", { handle: "sender", clientKind: "cli", display: hostile, role: hostile, cwd: hostile });
    const process_ = { hostPid: process.pid, hostStart: "1" };
    await client.call("session", {
      event: "session-start",
      client: "claude",
      cliSessionId: hostile,
      host: process_,
      title: hostile,
      transcriptPath: hostile,
    });
    await client.call("send", { threadId: null, to: ["reader"], body: `${secretBody}\n${token}` });
    await client.call("session", { event: "session-end", client: "claude", cliSessionId: hostile, host: process_ });
    client.close();
    const text = readFileSync(home.log, "utf8");
    const lines = text.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(Object.keys(JSON.parse(line))).toContain("event");
    expect(lines.filter((line) => line.startsWith('{"at":"forged"'))).toEqual([]);
    expect(text.includes(secretBody) || text.includes(token)).toBe(false);
  }, 20_000);

  test("is printed by no command but the one that is asked for it", async () => {
    const outputs = await Promise.all(
      [["status", "--json"], ["doctor", "--json"], ["broker", "status", "--json"], ["token"]].map(async (args) => {
        const run = Bun.spawn([...rennCommand(), ...args], {
          env: brokerEnv(home),
          cwd: "/",
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
        });
        return `${await run.stdout.text()}${await run.stderr.text()}`;
      }),
    );
    expect(outputs.join("").includes(token)).toBe(false);
    expect(outputs[0]).toContain("reader");
  }, 20_000);

  test("must be the first thing that is said, and is compared whole", async () => {
    const answers: string[] = [];
    const ended = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      unix: home.socket,
      socket: { data: (_socket, bytes) => void answers.push(bytes.toString()), close: () => ended.resolve(), error: () => ended.resolve() },
    });
    socket.write('{"v":2,"id":1,"type":"status"}\n');
    socket.write(`{"v":2,"id":2,"type":"auth","token":"${token.slice(0, -1)}"}\n`);
    await ended.promise;
    expect(answers.join("")).toContain("auth_required");
    expect(answers.join("")).toContain("bad_token");
    expect(answers.join("")).not.toContain('"ok":true');
  });
});

describe("names that", () => {
  test("look alike: no handle but of lowercase letters, digits and hyphens", async () => {
    const client = await join(home, "sender");
    const alike = [
      "rеnn",
      "ｒｅｎｎ",
      "Reader",
      "reader\u200b",
      "re\u0301ader",
      "reader ",
      "-reader",
      "rea_der",
      "read\u202eer",
      "r".repeat(49),
    ];
    for (const handle of alike) {
      const refusal = await refusalOf(client.call("register", { handle, clientKind: "cli" }));
      expect([handle, refusal.code]).toEqual([handle, "bad_request"]);
    }
    client.close();
  });
});

describe("other programs", () => {
  test("that hold the database's lock make a send fail cleanly, and not for longer than they hold it", async () => {
    const client = await join(home, "sender");
    const other = new Database(home.database);
    other.run("BEGIN IMMEDIATE");
    const refusal = await refusalOf(sendOne(client));
    other.run("ROLLBACK");
    other.close();
    expect(refusal.code).toBe("internal");
    const { messageId } = await sendOne(client);
    expect(messageId).toBeGreaterThan(0);
    client.close();
  }, 20_000);

  test("that read the database see whole messages, and keep nobody from sending", async () => {
    const client = await join(home, "sender");
    const reader = new Database(home.database, { readonly: true });
    reader.run("BEGIN");
    const count = () => (reader.query("SELECT count(*) AS n FROM messages").get() as { n: number }).n;
    const before = count();
    await sendOne(client);
    expect(count()).toBe(before);
    reader.run("COMMIT");
    expect(count()).toBe(before + 1);
    reader.close();
    client.close();
  }, 20_000);

  test("that take another user's name are refused by the kernel's word, where a test can be another user", async () => {
    const other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const asOther =
      process.getuid?.() === 0 && Bun.which("setpriv") !== null && Bun.spawnSync([...other, process.execPath, "--version"]).success;
    await inHome((paths) =>
      withBroker(paths, async () => {
        (await join(paths, "reader")).close();
        // As open as a careless user could make it.
        chmodSync(paths.home, 0o755);
        chmodSync(paths.socket, 0o666);
        const code = `const s = await Bun.connect({unix: ${JSON.stringify(paths.socket)}, socket: {data(_, b) {console.log("answered", b.toString()); process.exit(0)}, close() {console.log("closed"); process.exit(0)}, connectError() {console.log("closed"); process.exit(0)}}}); s.write('{"v":2,"id":1,"type":"status"}\\n');`;
        const user = asOther ? other : [];
        const run = Bun.spawn([...user, process.execPath, "-e", code], {
          cwd: "/",
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
          timeout: 15_000,
        });
        const [seen, wrong] = await Promise.all([run.stdout.text(), run.stderr.text()]);
        expect(wrong).toBe("");
        if (asOther) expect(seen.trim()).toBe("closed");
        else expect(seen).toContain("auth_required");
      }),
    );
  }, 30_000);
});
