// Opens a home's database: schema version, migrations, columns that older files lack, and what to do with a file that is none of ours.
import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import first from "../migrations/0001-start.sql" with { type: "text" };

/** Numbered migrations; `PRAGMA user_version` counts those that a file has had. */
const migrations: readonly string[] = [first];
/** The schema version that this build writes. */
export const schemaVersion: number = migrations.length;

/** Columns that files of older builds may lack (the first two by the protocol page; bypass = the session bypasses permissions); added where `PRAGMA table_info` does not have them. */
const lateColumns = [
  { table: "messages", column: "via", type: "INTEGER" },
  { table: "sessions", column: "pinned", type: "INTEGER NOT NULL DEFAULT 0" },
  { table: "sessions", column: "bypass", type: "INTEGER NOT NULL DEFAULT 0" },
] as const;

/** The store is of a newer build; it is left untouched. */
export class NewerStoreError extends Error {
  constructor(path: string, found: number) {
    super(
      `${path} has schema version ${found}, and this renn knows only up to ${schemaVersion}: it was written by a newer renn. Install that version, or set RENN_HOME to another home. The file was not touched.`,
    );
  }
}

/** An open store; `moved` names the damaged one that was moved aside, and `kept` says whether the open one has all that it held. */
export type OpenedStore = { db: Database; moved: string | null; kept: boolean };

/**
 * Opens (or makes) the store at `path`, mode 0600, in WAL mode, brought to this build's schema.
 * A file that SQLite calls corrupt or no database is moved aside as `<path>.corrupt-<now>`, and `moved` names it. Where only its search index is
 * damaged, everything else is taken over. Throws NewerStoreError for a file of a newer schema.
 */
export function openStore(path: string, now: number): OpenedStore {
  try {
    return openAndMend(path, now);
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    const moved = moveAside(path, now);
    return { db: openAndMigrate(path), moved, kept: false };
  }
}

/** A store whose search index is damaged is replaced by a copy without it: the index cannot be dropped without being read. */
function openAndMend(path: string, now: number): OpenedStore {
  const db = openAndMigrate(path);
  try {
    db.query("SELECT rowid FROM messages_search WHERE messages_search MATCH 'renn' LIMIT 1").all();
    return { db, moved: null, kept: true };
  } catch (error) {
    db.close();
    if (!isCorrupt(error)) throw error;
  }
  const draft = `${path}.mending`;
  removeStore(draft);
  try {
    copyStore(path, draft);
  } catch (error) {
    removeStore(draft);
    throw error;
  }
  const moved = moveAside(path, now);
  renameSync(draft, path);
  return { db: openAndMigrate(path), moved, kept: true };
}

/** Copies everything but the search index, which is filled from the messages again. */
function copyStore(from: string, to: string): void {
  const db = openAndMigrate(to);
  try {
    db.run("ATTACH ? AS damaged", [from]);
    const tables = db.query("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'messages_search%'").all();
    db.transaction(() => {
      for (const { name } of tables as { name: string }[]) {
        const columns = columnsOf(db, name).join(", ");
        db.run(`INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM damaged.${name}`);
      }
      db.run("DELETE FROM main.facts WHERE name = 'search_filled'");
    })();
  } finally {
    db.close();
  }
}

const storeFiles = (path: string): string[] => [`${path}-wal`, `${path}-shm`, path];

function removeStore(path: string): void {
  for (const file of storeFiles(path)) rmSync(file, { force: true });
}

/** Whether SQLite says that a file is corrupt or no database. */
export function isCorrupt(error: unknown): boolean {
  if (!(error instanceof SQLiteError)) return false;
  // Damage to the search index has no code of its own.
  return (
    error.code?.startsWith("SQLITE_CORRUPT") === true ||
    error.code === "SQLITE_NOTADB" ||
    error.message.startsWith("invalid fts5 file format") ||
    (error.code === "SQLITE_ERROR" && error.message.startsWith("vtable constructor failed"))
  );
}

/** Moves a store that nobody has open out of the way; its new path. The log goes first: one that is left behind would be taken for the new file's. */
export function moveAside(path: string, now: number): string {
  const moved = `${path}.corrupt-${now}`;
  for (const file of storeFiles(path)) if (existsSync(file)) renameSync(file, moved + file.slice(path.length));
  return moved;
}

function openAndMigrate(path: string): Database {
  // The file is made with its mode, never chmod'ed later.
  if (path !== ":memory:") {
    closeSync(openSync(path, "a", 0o600));
    refuseNewer(path);
  }
  const db = new Database(path, { create: true, readwrite: true, strict: true });
  try {
    const version = versionOf(db);
    db.run("PRAGMA journal_mode = WAL");
    db.run("PRAGMA synchronous = FULL");
    if (process.platform === "darwin") db.run("PRAGMA fullfsync = 1");
    db.run("PRAGMA journal_size_limit = 4194304");
    db.run("PRAGMA cache_size = -8192");
    db.run("PRAGMA temp_store = MEMORY");
    migrate(db, version);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Looks at the version through a connection that cannot write: one that can would move the log of a killed broker into the file as it closes. */
function refuseNewer(path: string): void {
  const db = new Database(path, { readonly: true });
  let version: number;
  try {
    version = versionOf(db);
  } finally {
    db.close();
  }
  if (version > schemaVersion) throw new NewerStoreError(path, version);
}

function versionOf(db: Database): number {
  return (db.query("PRAGMA user_version").get() as { user_version: number }).user_version;
}

function migrate(db: Database, version: number): void {
  if (version < schemaVersion)
    db.transaction(() => {
      for (const sql of migrations.slice(version)) db.run(sql);
      db.run(`PRAGMA user_version = ${schemaVersion}`);
    })();
  for (const { table, column, type } of lateColumns) {
    if (!columnsOf(db, table).includes(column)) db.run(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`);
  }
}

function columnsOf(db: Database, table: string): string[] {
  return (db.query(`PRAGMA main.table_info(${table})`).all() as { name: string }[]).map((column) => column.name);
}
