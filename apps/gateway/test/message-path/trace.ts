// Writes down everything that a story on the stage did and left: each line of the log, what the model was
// asked, what people were shown, every row that the store keeps. A test compares it with a file, so that what
// no assertion names is looked at too:
// `await expect(await s.trace()).toMatchFileSnapshot("traces/NAME.txt")`. A wanted change is taken up with
// `vitest run ... --update` and read in the diff.
import { DatabaseSync } from "node:sqlite";
import type { Clock, Log, LogFields } from "@parley/protocol";
import type { Platform } from "./platform.ts";
import type { ScriptedModel } from "./scripted-model.ts";

export interface KeptLine {
  /** Milliseconds since the clock began. */
  readonly atMs: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly words: string;
  readonly fields: LogFields;
}

/** `more`: of the part whose log it is. */
export function keptLog(clock: Clock, lines: KeptLine[], more: LogFields = {}): Log {
  const at =
    (level: KeptLine["level"]) =>
    (fields: LogFields, words: string): void =>
      void lines.push({ atMs: clock.mono(), level, words, fields: { ...more, ...fields } });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => keptLog(clock, lines, { ...more, ...fields }),
  };
}

export interface Traced {
  /** Its name in a path differs from run to run. */
  readonly home: string;
  /** Of the database. */
  readonly path: string;
  readonly lines: readonly KeptLine[];
  readonly model: ScriptedModel;
  readonly platforms: readonly Platform[];
  readonly refused: readonly LogFields[];
  /** What subscribers of conversations were shown of turns, before their commits. */
  readonly progress: readonly (readonly unknown[])[];
}

export function traceOf({ home, path, lines, model, platforms, refused, progress }: Traced): string {
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ["log", logOf(lines)],
    ["the model was asked", asked(model)],
    ["progress", progress.map(shown)],
    ["typed", platforms.flatMap((platform) => platform.typed().map((chat) => `${platform.name} ${chat}`))],
    ["shown", platforms.flatMap(({ name, sends }) => sends.map((send) => `${name} ${shown(send)}`))],
    ["refused", refused.map(shown)],
    ...rowsOf(path),
  ];
  const text = sections
    .flatMap(([title, each]) => (each.length === 0 ? [] : [`## ${title}`, ...each, ""]))
    .join("\n");
  return withoutChance(text.replaceAll(home, "HOME"));
}

/**
 * Lanes run side by side: which of two lines of one instant stands first is by chance, so they are sorted.
 */
function logOf(lines: readonly KeptLine[]): readonly string[] {
  const told = lines.map(
    ({ atMs, level, words, fields }) => [atMs, `+${atMs} ${level} ${words} ${shown(fields)}`] as const,
  );
  return told
    .toSorted(([oneMs, one], [otherMs, other]) => oneMs - otherMs || (one < other ? -1 : 1))
    .map(([, line]) => line);
}

/**
 * Of each call what stood in none before, its settings, and whether the two zones of its prompt are those of
 * the first call. Prompts have golden files of their own.
 */
function asked(model: ScriptedModel): readonly string[] {
  const known = new Set<string>();
  const first = model.asked[0]?.request.system;
  return model.asked.map(({ request: { system, messages, tools, ...settings } }) => {
    const fresh = messages.map(shown).filter((message) => !known.has(message));
    for (const message of fresh) known.add(message);
    const prompt = { stable: system.stable === first?.stable, volatile: system.volatile === first?.volatile };
    return [shown({ ...settings, tools: tools.map(({ name }) => name), prompt }), ...fresh].join("\n  ");
  });
}

/** Every table, its rows in their order. */
function rowsOf(path: string): readonly (readonly [string, readonly string[]])[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database
      .prepare("select name from sqlite_master where type = 'table' and name <> 'identity' order by name")
      .all();
    return tables.map(({ name }): readonly [string, readonly string[]] => [
      String(name),
      database
        .prepare(`select * from "${String(name)}"`)
        .all()
        .filter(({ key }) => typeof key !== "string" || !key.startsWith("prompt:"))
        .map(shown),
    ]);
  } finally {
    database.close();
  }
}

/** Characters of a text; the rest is told as their number. */
const longestText = 600;

/** Without fields that say nothing; what is JSON in a column is read, and long texts end early. */
function shown(value: unknown): string {
  return JSON.stringify(value, (key, each: unknown) => {
    if (each instanceof Error) return String(each);
    // Which lease of a lane sends is by chance.
    if (key === "token" || each === null || each === 0 || each === "" || each === false) return undefined;
    if (typeof each !== "string") return each;
    const read = /^[[{]/.test(each) ? parsed(each) : undefined;
    if (read !== undefined) return read;
    return each.length > longestText ? `${each.slice(0, longestText)} (${each.length})` : each;
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const beganMs = Date.parse("2026-01-01T00:00:00Z");

/**
 * Times are told from the clock's beginning. Hashes of prompts tell of the folder's name: each is called by
 * the order in which it comes first. No time has 16 digits.
 */
function withoutChance(text: string): string {
  const names = new Map<string, string>();
  return text
    .replace(/(?<!\d)1[67]\d{11}(?!\d)/g, (ms) => `+${Number(ms) - beganMs}`)
    .replace(/(?<![0-9a-z])[0-9a-f]{16,64}(?![0-9a-z])/g, (hash) => {
      const name = names.get(hash) ?? `hash-${names.size + 1}`;
      names.set(hash, name);
      return name;
    });
}
