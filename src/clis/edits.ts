// What init may do to a CLI's configuration, as data: the CLIs' files say what, src/modes/cli/init does it.

/** Where init works. All paths are absolute. */
export type SetupPlace = {
  /** The CLI's configuration folder: the user's, or `--config-dir`. */
  folder: string;
  /** Whether `folder` was named by the user (`--config-dir` or the CLI's own variable), not found under the home. */
  moved: boolean;
  /** The user's home folder. */
  userHome: string;
  /** The project folder with `--project`: its files instead of the user's. */
  project?: string;
  /** `<home>/bin/renn`. */
  program: string;
  /** Variables that renn needs there: RENN_HOME where the home is not the default one. */
  env: Readonly<Record<string, string>>;
};

export type Edit =
  /** A group appended to the array at `path` of a JSON(C) file; groups that run `renn hook <client>` are ours. */
  | { kind: "hook"; file: string; path: string[]; client: string; value: object }
  /** A value at `path` of a JSON(C) file (the first of `file` that exists, else the first); another value that stands there is kept where `keep` says so. */
  | { kind: "value"; file: string | string[]; path: string[]; value: unknown; keep?: boolean }
  /** Tables at the end of a TOML file. `table` is the path of the first one: if it is there already, it must be ours. */
  | { kind: "toml"; file: string; table: string[]; text: string }
  /** A trust entry of Codex for the hook groups in `hooksFile`; its keys hang on the places where they came to stand. */
  | { kind: "codex-trust"; file: string; hooksFile: string; client: string }
  /** A plugin of src/plugins, a file that is wholly ours. */
  | { kind: "plugin"; file: string; name: "opencode" | "hummin" };

/** What a hook's entry says where init registers the renn tools beside it. */
export const withTools = "--tools";

/** `renn hook <client> <word>` as a shell command. */
export function hookCommand(place: SetupPlace, client: string, word: string): string {
  const words = [...Object.entries(place.env).map(([k, v]) => `${k}=${v}`), place.program];
  return `${Object.keys(place.env).length ? "env " : ""}${words.map(shellWord).join(" ")} hook ${client} ${word}`;
}

/** A word as a POSIX shell reads it back. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_\-./=:@%+,]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
