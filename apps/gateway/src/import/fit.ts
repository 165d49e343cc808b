// Fits a translated config into the config that is there: what a person wrote stays, what is missing is
// added, and what Parley would refuse is left out and told with the reason. The result is always a config
// with which a gateway starts.
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import {
  ConfigFault,
  editConfig,
  fixOfKnownAgentKey,
  fixOfKnownElsewhere,
  formatPath,
  loadConfig,
  parseConfigPath,
  parseDocument,
  type Config,
  type ConfigChange,
  type ConfigProblem,
  type Env,
} from "@parley/config";
import type { Json, JsonObject } from "@parley/protocol";
import type { Met } from "./report.ts";
import type { Translated } from "./translate.ts";
import { at, isBlock, leaves, without, type Path } from "./tree.ts";

export interface Fitted {
  /** The config file's new text; null when nothing is missing in it. */
  readonly text: string | null;
  /** As a gateway would have it. */
  readonly config: Config;
  readonly met: readonly Met[];
  /** Variables that the config names and nobody has set. */
  readonly unset: readonly string[];
}

export interface FitOptions {
  readonly translated: Translated;
  readonly env: Env;
  readonly home: string;
  readonly configPath: string;
  /** Of the config file; empty where there is none. */
  readonly before: string;
  /** Draws what stands for a variable that is not set while the rest is judged. */
  readonly placeholder: () => string;
}

/** Each round leaves out what it found wrong, so a config has fewer rounds than keys. */
const mostRounds = 500;

/** Throws ConfigFault when the config that is there is wrong by itself. */
export async function fitted({
  translated,
  env,
  home,
  configPath,
  before,
  placeholder,
}: FitOptions): Promise<Fitted> {
  const { value, problems } = parseDocument(before);
  if (problems.length > 0) throw new ConfigFault(configPath, problems);
  const present = value as JsonObject;
  const refused: Met[] = [];
  const known: { [name: string]: string | undefined } = {
    ...Object.fromEntries(translated.variables),
    ...env,
  };
  const unset = new Set<string>();
  const secretFile = async (path: string): Promise<string | null> => {
    const name = path.startsWith(`${home}/`) ? path.slice(home.length + 1) : path;
    return translated.secrets.get(name) ?? readFile(path, "utf8").catch(() => null);
  };
  let file: Json = translated.file;
  for (let round = 0; round < mostRounds; round += 1) {
    const changes = missingIn(present, file as JsonObject, []);
    const text = changes.length === 0 ? before : editConfig(before, changes, configPath);
    try {
      const { config } = await loadConfig({
        env: { ...known, PARLEY_CONFIG: configPath },
        home,
        readFile: async (path) => (path === configPath ? text : secretFile(path)),
      });
      return {
        text: text === before ? null : text,
        config,
        met: [...fates(present, file as JsonObject, translated), ...refused],
        unset: [...unset],
      };
    } catch (error) {
      if (!(error instanceof ConfigFault)) throw error;
      const next = withoutWrong(file, error.problems, (name) => {
        unset.add(name);
        known[name] = placeholder();
      });
      if (next.refused.length === 0 && !next.isHelped) throw error;
      for (const met of next.refused) refused.push(met);
      file = next.file;
    }
  }
  throw new Error("a config had more mistakes than rounds");
}

/** What the present file lacks. Lists are one thing: a person's own is never mixed with another. */
function missingIn(present: JsonObject, wanted: JsonObject, path: Path): ConfigChange[] {
  return Object.entries(wanted).flatMap(([key, value]): ConfigChange[] => {
    const here = [...path, key];
    const own = Object.hasOwn(present, key) ? present[key] : undefined;
    if (own === undefined) return [{ set: here, to: value }];
    return isBlock(own) && isBlock(value) && !isReference(own) ? missingIn(own, value, here) : [];
  });
}

function isReference(value: JsonObject): boolean {
  const [key, ...more] = Object.keys(value);
  return more.length === 0 && (key === "env" || key === "file");
}

function fates(present: JsonObject, file: JsonObject, { changed }: Translated): Met[] {
  return leaves(file)
    .filter(({ path }) => path.length > 0)
    .map(({ path }): Met => {
      const name = formatPath(path);
      const how = changed.get(name) ?? changed.get(formatPath(path.slice(0, -1)));
      const listAt = path.findIndex((step) => typeof step === "number");
      const whole = listAt < 0 ? path : path.slice(0, listAt);
      const own = ownAt(present, whole);
      const from = how?.from ?? name;
      const to = from === name ? {} : { to: name };
      if (own !== null) {
        const isSame = isDeepStrictEqual(at(present, own), at(file, own));
        const why = isSame ? "it is there already" : "the config says something else, which stays";
        return { what: "key", name: from, fate: isSame ? "there" : "refused", why, ...to };
      }
      return how === undefined
        ? { what: "key", name, fate: "carried" }
        : { what: "key", name: from, fate: "changed", why: how.why, ...to };
    });
}

/** Where on the way to this place the config says something of its own, into which nothing is mixed. */
function ownAt(present: JsonObject, place: Path): Path | null {
  const end = place.findIndex((_, index) => {
    const own = at(present, place.slice(0, index + 1));
    return own !== undefined && (index === place.length - 1 || !isBlock(own) || isReference(own));
  });
  return end < 0 ? null : place.slice(0, end + 1);
}

/** Keys that said who may do what: without them more may be allowed than before. */
const guards =
  /(?:^|[.[])(?:tools|toolsBySender|deny|allow|allowFrom|groupAllowFrom|users|roles|sandbox|approvals|exec|requireMention|groupPolicy|dmPolicy)\b/;

function withoutWrong(
  file: Json,
  problems: readonly ConfigProblem[],
  lend: (variable: string) => void,
): { readonly file: Json; readonly refused: readonly Met[]; readonly isHelped: boolean } {
  let isHelped = false;
  const wrong = new Map<string, { path: Path; why: string; isUnknown: boolean }>();
  for (const { path: written, message, fix } of problems) {
    const variable = /^the environment variable (\w+) is /.exec(message)?.[1];
    if (variable !== undefined) {
      lend(variable);
      isHelped = true;
      continue;
    }
    if (written === "") continue;
    let path: Path = parseConfigPath(written);
    const isUnknownKey = message.startsWith("unknown key ");
    const known = fixOfKnownElsewhere(path) ?? fixOfKnownAgentKey(path);
    // What is missing in a block makes the block useless.
    while (path.length > 0 && at(file, path) === undefined) path = path.slice(0, -1);
    if (path.length === 0) continue;
    const isUnknown = isUnknownKey && known === null;
    const what = isUnknown
      ? "Parley has no such key"
      : isUnknownKey
        ? known
        : `${message}. ${fix ?? ""}`.trim();
    const guard = guards.test(written) ? " It may have said who may do what: look at it by hand" : "";
    wrong.set(formatPath(path), { path, why: `${(what ?? message).replace(/\.$/, "")}.${guard}`, isUnknown });
  }
  // From the end, so that the places of a list stay true while others go.
  const inOrder = [...wrong.values()].toSorted((a, b) => compare(b.path, a.path));
  const met = inOrder.map(({ path, why, isUnknown }): Met => ({
    what: "key",
    name: formatPath(path),
    fate: isUnknown ? "unknown" : "refused",
    why,
  }));
  return {
    file: inOrder.reduce<Json>((now, { path }) => without(now, path), file),
    refused: met.toReversed(),
    isHelped,
  };
}

function compare(a: Path, b: Path): number {
  for (let n = 0; n < Math.min(a.length, b.length); n += 1) {
    const [left, right] = [a[n], b[n]];
    if (left === right) continue;
    if (typeof left === "number" && typeof right === "number") return left - right;
    return String(left) < String(right) ? -1 : 1;
  }
  return a.length - b.length;
}
