// The plugins that init writes, as texts in the binary. Each is one file: the connection to the bus, then what one program needs.
import humminText from "../plugins/hummin.js" with { type: "text" };
import linkText from "../plugins/link.js" with { type: "text" };
import opencodeText from "../plugins/opencode.js" with { type: "text" };
import { version } from "../version.ts";

const texts = { opencode: opencodeText, hummin: humminText };

/** The plugin for a program, with the home (empty where it is the default one) and the binary that it starts the broker with. */
export function pluginText(name: "opencode" | "hummin", home: string, program: string): string {
  const link = linkText.replace(/^export /gm, "");
  const own = texts[name].replace(/^import .* from "\.\/link\.js";\n/m, "");
  const values: Readonly<Record<string, string>> = { "%RENN_HOME%": home, "%RENN_PROGRAM%": program, "%RENN_VERSION%": version };
  return `${link}\n${own}`.replace(/"(%RENN_[A-Z]+%)"/g, (_, key: string) => JSON.stringify(values[key]));
}
