// Second stage: hides known secrets and paths of the state directory, in code as well. A beginning of either
// is held back, so that no cut of the stream shows half a secret (I8).
import { posix } from "node:path";
import { letters, type Pattern, pattern } from "./pattern.ts";
import { spellingsOf, standsIn, type Spelling } from "./secret-spellings.ts";

export interface Redaction {
  /**
   * Values that must never be seen, however they are spelled; shorter than 6 characters are ignored, they
   * would hide plain words. Another list where one was learnt meanwhile.
   */
  readonly secrets: readonly string[];
  /** Every spelling of the state directory, such as the absolute path and `~/.parley`. */
  readonly stateDirs: readonly string[];
  /** Every spelling of the agent's workspace, which may lie inside. */
  readonly workspaces: readonly string[];
}

export const noRedaction: Redaction = { secrets: [], stateDirs: [], workspaces: [] };

export interface RedactStage {
  push(text: string): string;
  end(): string;
}

const pathChars = 4_096;
const secretShown = "[secret]";
const pathShown = "[path]";

/**
 * Whole text in, whole text out: no path is hidden. The list must be the same one each time: what is made of
 * it is kept.
 */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  let redaction = withoutPaths.get(secrets);
  if (redaction === undefined) withoutPaths.set(secrets, (redaction = { ...noRedaction, secrets }));
  if (!standsIn(text, compiledOf(redaction).spellings)) return text;
  const stage = redactStage(redaction);
  return stage.push(text) + stage.end();
}

const withoutPaths = new WeakMap<readonly string[], Redaction>();

interface Compiled {
  readonly secrets: readonly string[];
  readonly spellings: readonly Spelling[];
  /** By their first character, each list the longest first. */
  readonly words: ReadonlyMap<string, readonly Spelling[]>;
  readonly dirs: readonly string[];
  readonly paths: readonly Pattern[];
  readonly starts: RegExp | null;
}

/** A turn reads its answer several times over, and the expressions cost more than the reading. */
const compiled = new WeakMap<Redaction, Compiled>();

function compiledOf(redaction: Redaction): Compiled {
  const known = compiled.get(redaction);
  const { secrets } = redaction;
  if (known?.secrets === secrets) return known;
  const spellings = spellingsOf(secrets);
  const words = Map.groupBy(spellings, ({ text }) => text.charAt(0));
  const dirs = redaction.stateDirs.map((dir) => dir.replace(/\/+$/u, ""));
  const starts = startsOf([...words.keys(), ...redaction.stateDirs]);
  const made: Compiled = { secrets, spellings, words, dirs, paths: dirs.map(pathUnder), starts };
  compiled.set(redaction, made);
  return made;
}

/** Both methods return what may be shown now. */
export function redactStage(redaction: Redaction): RedactStage {
  const { workspaces } = redaction;
  const { words, dirs, paths, starts } = compiledOf(redaction);
  let rest = "";

  const cleared = (ended: boolean): string => {
    if (starts === null) {
      const all = rest;
      rest = "";
      return all;
    }
    let out = "";
    let at = 0;
    while (at < rest.length) {
      starts.lastIndex = at;
      const found = starts.exec(rest);
      out += rest.slice(at, found?.index);
      at = found?.index ?? rest.length;
      if (found === null) break;
      const here = words.get(rest.charAt(at)) ?? [];
      const path = paths.map((each) => each.whole(rest, at)).find((match) => match !== null);
      const touchesEnd = path !== undefined && path !== null && at + path.length === rest.length;
      const growing =
        touchesEnd ||
        [...here, ...paths].some((each) => each.whole(rest, at) === null && each.begins(rest, at));
      if (growing && !ended) break;
      const word = here.map((each) => each.whole(rest, at)).find((match) => match !== null);
      if (word !== undefined && word !== null) {
        out += secretShown;
        at += word.length;
      } else if (path !== undefined && path !== null) {
        // Of a path that may be seen only the directory is settled here: what follows could hold a secret.
        const dir = dirs.find((each) => path.startsWith(each)) ?? path;
        out += inside(path, workspaces) ? dir : pathShown;
        at += inside(path, workspaces) ? dir.length : path.length;
      } else {
        out += rest.charAt(at);
        at += 1;
      }
    }
    rest = rest.slice(at);
    return out;
  };

  return {
    push(text) {
      rest += text;
      return cleared(false);
    },
    end: () => cleared(true),
  };
}

function pathUnder(dir: string): Pattern {
  return pattern(
    [[...letters(dir), String.raw`(?![\w-])`, String.raw`(?:\/[^\s"'${"`"}<>()[\]{}|*,;]{0,${pathChars}})?`]],
    "",
  );
}

function startsOf(texts: readonly string[]): RegExp | null {
  const first = [...new Set(texts.map((text) => text.charAt(0)))].filter((char) => char !== "");
  if (first.length === 0) return null;
  return new RegExp(`[${first.map((char) => char.replace(/[\\\]^[-]/u, String.raw`\$&`)).join("")}]`, "g");
}

function inside(path: string, workspaces: readonly string[]): boolean {
  const real = posix.normalize(path);
  return workspaces.some((workspace) => real === workspace || real.startsWith(`${workspace}/`));
}
