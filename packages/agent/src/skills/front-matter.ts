// The front matter of a SKILL.md, from a file that anybody may have written: split at exact fences, parsed as
// YAML and as nothing else. gray-matter evaluates `---js` fences, shares cached objects and takes a file that
// failed once for an empty one; so no language but YAML gets here, every other engine is replaced by a
// refusal, and options are always given, which is what keeps its cache out.
import matter from "gray-matter";
import { parseDocument } from "yaml";
import { mended } from "./mend-yaml.ts";
import { salvaged } from "./salvage.ts";

/** 64 KiB: real front matter has a few hundred bytes. */
const mostChars = 65_536;
const mostLines = 1_000;
const deepest = 24;
const mostNodes = 5_000;
const mostAliases = 100;

export type FrontMatter =
  | {
      readonly ok: true;
      readonly data: { readonly [key: string]: unknown };
      readonly body: string;
      /** What was wrong and could be read all the same. */
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly reason: string };

/** Never throws. */
export function frontMatter(text: string): FrontMatter {
  const split = splitFences(text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n"));
  if (!split.ok) return split;
  const { block, body } = split;
  if (block.length > mostChars)
    return refused(`its front matter has ${block.length} characters, more than ${mostChars}`);
  if (block.split("\n").length > mostLines)
    return refused(`its front matter has more than ${mostLines} lines`);
  if (bracketDepth(block) > deepest)
    return refused(`its front matter is nested more than ${deepest} levels deep`);
  const plain = parsed(block);
  if (plain.ok) return { ...plain, body, notes: [] };
  const attempt = mended(block);
  const second = attempt === null ? null : parsed(attempt.block);
  if (second?.ok === true) return { ...second, body, notes: attempt?.notes ?? [] };
  // A file that breaks a bound or asks for code is no honest mistake.
  if (plain.broken !== true) return plain;
  const hostile: Parsed[] = [];
  const third = salvaged(attempt?.block ?? block, (entry) => {
    const read = parsed(entry, "salvage");
    if (!read.ok && read.broken !== true) hostile.push(read);
    return read.ok ? read.data : null;
  });
  const [first] = hostile;
  if (first?.ok === false) return first;
  if (third === null) return plain;
  return {
    ok: true,
    data: third.data,
    body,
    notes: [...(attempt?.notes ?? []), `${plain.reason}; it is read key by key`, ...third.notes],
  };
}

function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

type Split =
  | { readonly ok: true; readonly block: string; readonly body: string }
  | { readonly ok: false; readonly reason: string };

function splitFences(text: string): Split {
  const lines = text.split("\n");
  const open = lines.findIndex((line) => line.trim() !== "");
  const first = lines[open]?.trimEnd() ?? "";
  if (first !== "---") {
    const language = /^---[ \t]*([A-Za-z][\w-]{0,19})/.exec(first)?.[1];
    if (language !== undefined)
      return refused(
        `its front matter is in "${language}", and only YAML is read: the first line must be "---"`,
      );
    return refused('it has no front matter: the first line must be "---"');
  }
  const length = lines
    .slice(open + 1)
    .findIndex((line) => line.startsWith("---") || line.trimEnd() === "...");
  if (length === -1) return refused('its front matter is not closed by a line "---"');
  const close = open + 1 + length;
  if (!/^(?:---|\.\.\.)\s*$/.test(lines[close] ?? ""))
    return refused('its front matter is not closed by a line that is exactly "---"');
  return {
    ok: true,
    block: lines.slice(open + 1, close).join("\n"),
    body: lines.slice(close + 1).join("\n"),
  };
}

type Parsed =
  | { readonly ok: true; readonly data: { readonly [key: string]: unknown } }
  /** `broken`: it is no YAML, which is all that is wrong with it. */
  | { readonly ok: false; readonly reason: string; readonly broken?: boolean };

class NoYaml extends Error {}

/** `salvage`: of a key that stands twice the last one counts. */
function parsed(block: string, how: "strict" | "salvage" = "strict"): Parsed {
  const yaml = { parse: (text: string) => readYaml(text, how === "strict") };
  try {
    const { data } = matter(`---\n${block}\n---\n`, {
      language: "yaml",
      eval: false,
      excerpt: false,
      engines: { ...engines, yaml },
    });
    return plainData(data);
  } catch (error) {
    return {
      ...refused(`its front matter cannot be read: ${firstLine(error)}`),
      broken: error instanceof NoYaml,
    };
  }
}

const noEngine = {
  parse(): never {
    throw new Error("only YAML is read");
  },
};

const engines = {
  yml: noEngine,
  json: noEngine,
  js: noEngine,
  javascript: noEngine,
  coffee: noEngine,
  coffeescript: noEngine,
  cson: noEngine,
  toml: noEngine,
};

/** YAML 1.2's core schema: no dates, no sexagesimals, and no tag makes anything but a string. */
function readYaml(block: string, uniqueKeys: boolean): object {
  const document = parseDocument(block, {
    version: "1.2",
    schema: "core",
    merge: true,
    uniqueKeys,
    resolveKnownTags: false,
    stringKeys: true,
    prettyErrors: false,
    logLevel: "silent",
  });
  const [error] = document.errors;
  // The block begins on the file's second line.
  if (error !== undefined)
    throw new NoYaml(
      `${error.message.replace(/\s+/g, " ")} (line ${block.slice(0, error.pos[0]).split("\n").length + 1})`,
    );
  const tag = /(?:^|[\s[{,:-])!!?(?:js|python|ruby)[/:!]\S*/.exec(block)?.[0];
  if (tag !== undefined) throw new Error(`the tag "${tag.trim()}" asks for code`);
  // What aliases blow up, or make hold itself, ends at the bounds of the copy.
  const value: unknown = document.toJS({ maxAliasCount: mostAliases });
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw new Error("it is not a list of keys and values");
  return value;
}

/** A copy that holds plain data only, bounded, without keys that mean something to JavaScript. */
function plainData(data: unknown): Parsed {
  let nodes = 0;
  const copy = (value: unknown, depth: number): unknown => {
    nodes += 1;
    if (nodes > mostNodes) throw new Error(`it has more than ${mostNodes} values`);
    if (depth > deepest) throw new Error(`it is nested more than ${deepest} levels deep`);
    if (Array.isArray(value)) return value.map((each) => copy(each, depth + 1));
    if (typeof value === "object" && value !== null) {
      const entries = Object.entries(value).map(([key, each]) => {
        if (poisoned.has(key)) throw new Error(`the key "${key}" is not allowed`);
        return [key, copy(each, depth + 1)] as const;
      });
      return Object.fromEntries(entries);
    }
    return value;
  };
  return { ok: true, data: copy(data, 0) as { [key: string]: unknown } };
}

const poisoned = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Of opening brackets that were not closed yet, at most; counted without looking at quotes, so it can only be
 * too high.
 */
function bracketDepth(block: string): number {
  let depth = 0;
  let most = 0;
  for (const char of block) {
    if (char === "[" || char === "{") most = Math.max(most, (depth += 1));
    else if ((char === "]" || char === "}") && depth > 0) depth -= 1;
  }
  return most;
}

/** JSON in YAML: what `metadata` holds where its author wrote it as text. Null for anything but an object. */
export function objectFromText(text: string): { readonly [key: string]: unknown } | null {
  if (text.length > mostChars || bracketDepth(text) > deepest || !/^\s*\{/.test(text)) return null;
  const read = parsed(`text:\n${text.replaceAll(/^/gm, " ")}`);
  const value = read.ok ? read.data["text"] : null;
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { [key: string]: unknown })
    : null;
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0]?.slice(0, 300) ?? "";
}
