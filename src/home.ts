// Where a home's files are. No imports: hook mode uses it.

/** The files of one home; all absolute. */
export type HomePaths = {
  home: string;
  socket: string;
  token: string;
  database: string;
  lock: string;
  log: string;
  hookLog: string;
  config: string;
  bin: string;
};

/** `$RENN_HOME`, else `~/.renn`, as absolute paths (semantics §1). `$RENN_HOME` must be absolute: a relative one would follow the current folder. */
export function homePaths(env: Record<string, string | undefined> = process.env): HomePaths {
  let home = env.RENN_HOME || `${env.HOME || "/"}/.renn`;
  while (home.length > 1 && home.endsWith("/")) home = home.slice(0, -1);
  if (!home.startsWith("/")) throw new Error(`RENN_HOME must be an absolute path, and is ${JSON.stringify(home)}`);
  return {
    home,
    socket: `${home}/bus.sock`,
    token: `${home}/token`,
    database: `${home}/renn.db`,
    lock: `${home}/broker.lock`,
    log: `${home}/broker.log`,
    hookLog: `${home}/hook.log`,
    config: `${home}/config.json`,
    bin: `${home}/bin/renn`,
  };
}
