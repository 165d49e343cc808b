// Decides which secrets and variables an import writes: only what the config will name and what lacks here;
// a file or a variable that is there keeps what it says.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { parseDocument } from "@parley/config";
import type { Json } from "@parley/protocol";
import type { Fitted } from "./fit.ts";
import type { Translated } from "./translate.ts";
import { leaves } from "./tree.ts";

interface Secrets {
  readonly fresh: ReadonlyMap<string, string>;
  /** Files that say something else, which stays. */
  readonly other: readonly string[];
}

/** Only those that the config will name. */
export function secretsToWrite(
  { text }: Fitted,
  before: string,
  { secrets }: Translated,
  home: string,
): Secrets {
  const { value } = parseDocument(text ?? before);
  const named = new Set(
    leaves(value as Json).flatMap((leaf) => (leaf.path.at(-1) === "file" ? [leaf.value] : [])),
  );
  const wanted = [...secrets].filter(([name]) => named.has(name));
  const missing = wanted.filter(([name]) => !existsSync(join(home, name)));
  const other = wanted.filter(
    ([name, secret]) =>
      existsSync(join(home, name)) && readFileSync(join(home, name), "utf8").trim() !== secret.trim(),
  );
  return { fresh: new Map(missing), other: other.map(([name]) => name) };
}

/** The new text of `env`; null when it lacks nothing. What stands in it stays. */
export function variablesToWrite(home: string, { variables }: Translated): string | null {
  const path = join(home, "env");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const present = parseEnv(text);
  const missing = [...variables].filter(([name]) => !Object.hasOwn(present, name));
  if (missing.length === 0) return null;
  const lines = missing.map(([name, value]) => `${name}=${quoted(value)}\n`);
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${lines.join("")}`;
}

function quoted(value: string): string {
  if (/^[\w.:/+@=-]*$/.test(value)) return value;
  const quote = ["'", '"', "`"].find((each) => !value.includes(each)) ?? "'";
  return `${quote}${value}${quote}`;
}
