// The version of this renn: put in by the build, read from package.json when it runs from source.
import { version as packageVersion } from "../package.json" with { type: "json" };

declare const RENN_VERSION: string;

/** What `renn version` prints and what renn tells the broker of itself. */
export const version: string = typeof RENN_VERSION === "string" ? RENN_VERSION : packageVersion;
