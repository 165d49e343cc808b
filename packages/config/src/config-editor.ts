// Reads and changes the config file for an operator: it masks secrets, checks a change whole before it
// writes, keeps comments, refuses when the file moved meanwhile, and leaves the last good file beside the new
// one. A file with several mistakes can be mended one by one.
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { Fault, type Json, type JsonObject } from "@parley/protocol";
import { parseDocument } from "./file/document.ts";
import { editConfig, type ConfigChange } from "./file/edit.ts";
import { maskedText, unmaskedText } from "./file/masked-text.ts";
import { placesIn, type Env } from "./home.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";
import { changesTo } from "./file/merge.ts";
import { ConfigFault, formatPath, unreadable, type ConfigPath, type ConfigProblem } from "./problem.ts";
import { redact, redactFile } from "./redact.ts";
import { textFile } from "./file/read-text.ts";
import { replaceFile } from "./file/write.ts";

export interface ConfigEditorOptions {
  readonly env: Env;
  readonly home: string;
  /**
   * Brings the file that was just written into force; gives why it could not be, nothing when it is. Absent:
   * nothing runs that could.
   */
  readonly takeUp?: () => Promise<readonly string[]>;
}

export interface ConfigReading {
  readonly path: string;
  readonly exists: boolean;
  /** Of the file's text; the empty text where there is no file. */
  readonly hash: string;
  /** What the file says, secrets masked; null when it is not JSON5. */
  readonly file: Json;
  /** With all defaults, secrets masked; null while there are problems. */
  readonly config: Json;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

export interface ConfigVerdict {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

export interface ConfigWritten {
  readonly path: string;
  readonly hash: string;
  /** Places that differ now; empty when the file said so already and was left alone. */
  readonly changed: readonly string[];
  /** The file as it was, when it was good. */
  readonly backup: string | null;
  readonly warnings: readonly ConfigProblem[];
  /**
   * Mistakes elsewhere that it still has: nothing of it is in force before they are mended. Empty where all
   * is well.
   */
  readonly problems: readonly ConfigProblem[];
}

interface ConfigText {
  /** With its comments, and with secrets masked; null when it is not JSON5. */
  readonly text: string | null;
  /** Of the file. */
  readonly hash: string;
  /** What the text says; null when it is not JSON5. */
  readonly file: Json;
}

export interface ConfigEditor {
  read(): Promise<ConfigReading>;
  /**
   * The file's own text, or a draft of it as it comes back, with `config` in place of what it says; comments
   * of what stays are kept. Nothing is written.
   */
  text(draft: { readonly text?: string; readonly config?: JsonObject }): Promise<ConfigText>;
  /** Without writing; what is masked stands for what the file has there. */
  validate(text: string): Promise<ConfigVerdict & { readonly changed: readonly string[] }>;
  /** Places one by one; in a file with mistakes also where others stay, when at least one is gone. */
  change(changes: readonly ConfigChange[], baseHash?: string): Promise<ConfigWritten>;
  /** A merge patch. */
  patch(patch: JsonObject, baseHash: string, replacePaths?: readonly string[]): Promise<ConfigWritten>;
  /**
   * The whole: a value, which keeps the comments of what stays, or a text, which brings its own. Masked
   * secrets stay what they were.
   */
  apply(whole: JsonObject | string, baseHash: string): Promise<ConfigWritten>;
}

/**
 * Every change throws ConfigFault when the result is wrong, Fault("conflict") when the file is not the one of
 * `baseHash`, and Fault("invalid") when it could not be taken up; then the file is what it was.
 */
export function configEditor({ env, home, takeUp = async () => [] }: ConfigEditorOptions): ConfigEditor {
  const path = placesIn(env, home).configPath;
  let last: Promise<unknown> = Promise.resolve();

  async function textNow(): Promise<string | null> {
    try {
      return await textFile(path);
    } catch (cause) {
      throw unreadable(path, cause);
    }
  }

  function load(text: string | null): Promise<LoadedConfig> {
    const read = async (file: string): Promise<string | null> => (file === path ? text : textFile(file));
    return loadConfig({ env, home, readFile: read, wouldStart: "change" });
  }

  /** One after the other: two changes at once must not lose one of them. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work, work);
    last = mine.catch(() => {});
    return mine;
  }

  function write(
    baseHash: string | undefined,
    make: (text: string) => string,
    byPlaces = false,
  ): Promise<ConfigWritten> {
    return inTurn(async () => {
      const before = await textNow();
      const text = before ?? "";
      if (baseHash !== undefined && baseHash !== hashOf(text)) throw moved(path);
      const next = make(text);
      const changed = differing(parseDocument(text).value, parseDocument(next).value, []);
      if (next === text)
        return { path, hash: hashOf(text), changed, backup: null, warnings: [], problems: [] };
      const found = await verdictOf(load(before));
      const fresh = load(next);
      const { problems, warnings } = await verdictOf(fresh);
      // Throws them.
      if (problems.length > 0 && !(byPlaces && mends(found.problems, problems, changed))) await fresh;
      const backup = before !== null && found.problems.length === 0 ? `${path}.bak` : null;
      if (backup !== null) await replaceFile(backup, text, { isPrivate: true });
      // An editor may have saved since.
      if ((await textNow()) !== before) throw moved(path);
      await replaceFile(path, next);
      if (problems.length === 0) await bringIntoForce(before, next);
      else await takeUp();
      return { path, hash: hashOf(next), changed, backup, warnings, problems };
    });
  }

  /** What is not in force must not wait in the file for the next start. */
  async function bringIntoForce(before: string | null, next: string): Promise<void> {
    let why: readonly string[] = [];
    try {
      why = await takeUp();
      if (why.length === 0) return;
    } catch (error) {
      await putBack(before, next);
      throw error;
    }
    await putBack(before, next);
    await takeUp();
    throw new Fault(
      "invalid",
      `the change is not in the file, because it cannot be brought into force: ${why.join("; ")}`,
    );
  }

  async function putBack(before: string | null, next: string): Promise<void> {
    // What somebody saved meanwhile is theirs.
    if ((await textNow()) !== next) return;
    if (before === null) await rm(path, { force: true });
    else await replaceFile(path, before);
  }

  return {
    async read() {
      let text: string | null;
      try {
        text = await textNow();
      } catch (error) {
        if (!(error instanceof ConfigFault)) throw error;
        const nothing = { file: null, config: null, warnings: [] };
        return { path, exists: true, hash: hashOf(""), ...nothing, problems: error.problems };
      }
      const { value, problems: unread } = parseDocument(text ?? "");
      const loading = load(text);
      const { problems, warnings } = await verdictOf(loading);
      return {
        path,
        exists: text !== null,
        hash: hashOf(text ?? ""),
        file: unread.length > 0 ? null : redactFile(value as Json),
        config: problems.length > 0 ? null : redact((await loading).config),
        problems,
        warnings,
      };
    },
    async text({ text, config }) {
      const own = (await textNow()) ?? "";
      const base = text ?? maskedText(own);
      const shown =
        base === null || config === undefined
          ? base
          : editConfig(base, changesTo(parseDocument(base).value, config, { as: "whole" }), path);
      const { value, problems } = parseDocument(shown ?? "");
      return {
        text: shown,
        hash: hashOf(own),
        file: shown === null || problems.length > 0 ? null : (value as Json),
      };
    },
    async validate(text) {
      const now = (await textNow()) ?? "";
      const { value: current } = parseDocument(now);
      let changed: readonly string[] = [];
      const loading = async (): Promise<LoadedConfig> => {
        if (parseDocument(text).problems.length > 0) return load(text);
        const whole = editConfig(unmaskedText(text, now), [], path);
        changed = differing(current, parseDocument(whole).value, []);
        return load(whole);
      };
      return { ...(await verdictOf(loading())), changed };
    },
    change: (changes, baseHash) => write(baseHash, (text) => editConfig(text, changes, path), true),
    patch: (patch, baseHash, replacePaths = []) =>
      write(baseHash, (text) =>
        editConfig(text, changesTo(parseDocument(text).value, patch, { as: "patch", replacePaths }), path),
      ),
    apply: (whole, baseHash) =>
      write(baseHash, (text) => {
        if (typeof whole !== "string")
          return editConfig(text, changesTo(parseDocument(text).value, whole, { as: "whole" }), path);
        return editConfig(unmaskedText(whole, text), [], path);
      }),
  };
}

async function verdictOf(loading: Promise<LoadedConfig>): Promise<ConfigVerdict> {
  try {
    return { problems: [], warnings: (await loading).warnings };
  } catch (error) {
    if (error instanceof ConfigFault) return { problems: error.problems, warnings: [] };
    throw error;
  }
}

/**
 * A mistake is gone, and nothing is wrong at the places that changed that was right before. What one mistake
 * hid may show elsewhere.
 */
function mends(
  before: readonly ConfigProblem[],
  after: readonly ConfigProblem[],
  changed: readonly string[],
): boolean {
  const among = (list: readonly ConfigProblem[]) => (one: ConfigProblem) =>
    list.some(({ path, message }) => path === one.path && message === one.message);
  const touches = (one: ConfigProblem): boolean =>
    changed.some((place) => isWithin(one.path, place) || isWithin(place, one.path));
  return !before.every(among(after)) && after.every((one) => among(before)(one) || !touches(one));
}

/** Paths as they are written: `channels.telegram`, `agents.list[0]`. */
function isWithin(place: string, outer: string): boolean {
  return outer === "" || (place.startsWith(outer) && ["", ".", "["].includes(place.charAt(outer.length)));
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function moved(path: string): Fault {
  return new Fault(
    "conflict",
    `${path} changed since it was read. Read it again (config.get) and repeat the change on top of it`,
  );
}

/** The smallest blocks that differ, by name. */
function differing(before: unknown, after: unknown, path: ConfigPath): string[] {
  if (isBlock(before) && isBlock(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => differing(before[key], after[key], [...path, key]));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [formatPath(path)];
}

function isBlock(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
