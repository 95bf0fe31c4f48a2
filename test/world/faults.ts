// A database that fails when it is told to: the nth write from now on, or the next COMMIT.
import type { Database } from "bun:sqlite";

/** What goes wrong next. */
export type Faults = {
  /** This many more writes go well, the one after fails; null = none fails. */
  writesLeft: number | null;
  /** What `writesLeft` becomes after a failure, one after the other. */
  next: number[];
  /** The next COMMIT fails, so many times. */
  commits: number;
  /** SQLite rolls the whole transaction back by itself on the failure, as it does when the disk is full. */
  endsTransaction: boolean;
  /** Faults that have happened. */
  happened: number;
};

/** No fault. */
export function noFaults(): Faults {
  return { writesLeft: null, next: [], commits: 0, endsTransaction: false, happened: 0 };
}

const write = /^\s*(INSERT|UPDATE|DELETE|REPLACE)/i;

function strike(db: Database, faults: Faults, sql: string): void {
  const commit = sql === "COMMIT" && faults.commits > 0;
  if (commit) faults.commits--;
  else if (!write.test(sql) || faults.writesLeft === null || faults.writesLeft-- > 0) return;
  else faults.writesLeft = faults.next.shift() ?? null;
  faults.happened++;
  if (faults.endsTransaction && db.inTransaction) db.run("ROLLBACK");
  throw new Error(`simulated fault: ${sql.slice(0, 60)}`);
}

/** Statements by database, so that a broker that comes back to the same one finds them prepared. */
const prepared = new WeakMap<Database, Map<string, object>>();

function prepare(db: Database, sql: string): object {
  const known = prepared.get(db) ?? new Map<string, object>();
  prepared.set(db, known);
  const statement = known.get(sql) ?? db.prepare(sql);
  known.set(sql, statement);
  return statement;
}

/** The same database, whose prepared statements heed `faults`. */
export function faulty(db: Database, faults: Faults): Database {
  const wrapStatement = (statement: object, sql: string) =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (name === "run" || name === "get" || name === "all" || name === "values") strike(db, faults, sql);
          return value.apply(target, args);
        };
      },
    });
  return new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "prepare") return (sql: string) => wrapStatement(prepare(target, sql), sql);
      return value.bind(target);
    },
  });
}
