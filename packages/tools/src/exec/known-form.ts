// Reads the arguments of programs whose effect Parley vouches for: options by their exact names, operands by
// their position. An option outside the grammar, also a shortened one, makes the whole command unknown.

export interface Grammar {
  /**
   * Single letters as getopt writes them: `n#` takes a number, `t:` a text, `u?` a text that must be
   * attached.
   */
  readonly short?: string;
  /**
   * Names without dashes: `name`, `name=` with a text, `name=#` with a number, `name[=]` with or without a
   * text.
   */
  readonly long?: string;
  /** `-5` is an option. */
  readonly digits?: boolean;
  /** Every word is text, also one that begins with a dash. */
  readonly raw?: boolean;
  /** So many operands are text before the first path; the form that each of them must have. */
  readonly text?: number;
  readonly textForm?: RegExp;
  /** Options that take the place of that text. */
  readonly textBy?: readonly string[];
  /** No more paths than these; absent: none. */
  readonly paths?: number;
  /** Its paths are written, not read. */
  readonly writes?: boolean;
  /** In a folder it would follow links. */
  readonly filesOnly?: boolean;
  /**
   * One of these options must be there for operands to be text, which otherwise would be something to make.
   */
  readonly textOnlyWith?: readonly string[];
}

/** What a command does, as far as its words tell: it starts no other program, and touches these paths. */
export interface KnownForm {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** What it reads are known to be no more than these paths only where they are files. */
  readonly filesOnly?: boolean;
}

type Value = "none" | "text" | "number" | "optional";

const number = /^[-+]?\d{1,9}[bkKMG]?$/;

/** Null when a word is not in the grammar. */
export function readForm(grammar: Grammar, args: readonly string[]): KnownForm | null {
  if (grammar.raw === true) return { reads: [], writes: [] };
  const read = readOptions(grammar, args);
  return read === null ? null : sorted(grammar, read.operands, read.seen);
}

interface Read {
  readonly operands: readonly string[];
  readonly seen: ReadonlySet<string>;
}

function readOptions(grammar: Grammar, args: readonly string[]): Read | null {
  const letters = lettersOf(grammar.short ?? "");
  const names = namesOf(grammar.long ?? "");
  const operands: string[] = [];
  const seen = new Set<string>();
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return { operands: [...operands, ...args.slice(at + 1)], seen };
    if (grammar.digits === true && /^-\d{1,9}$/.test(arg)) continue;
    if (arg.startsWith("--")) {
      const equals = arg.indexOf("=");
      const name = equals === -1 ? arg.slice(2) : arg.slice(2, equals);
      if (!fits(names.get(name), equals === -1 ? undefined : arg.slice(equals + 1))) return null;
      seen.add(name);
    } else if (arg.startsWith("-") && arg !== "-") {
      const taken = readBundle(letters, arg.slice(1), args[at + 1], seen);
      if (taken === null) return null;
      at += taken;
    } else operands.push(arg);
  }
  return { operands, seen };
}

/** Counts the further words that the letters take; null when a letter is unknown. */
function readBundle(
  letters: ReadonlyMap<string, Value>,
  given: string,
  next: string | undefined,
  seen: Set<string>,
): 0 | 1 | null {
  for (const [index, letter] of given.split("").entries()) {
    const value = letters.get(letter);
    const attached = given.slice(index + 1);
    if (value === undefined) return null;
    seen.add(letter);
    if (value === "optional") return 0;
    if (value === "none") continue;
    if (attached !== "") return fits(value, attached) ? 0 : null;
    // A program of another make may not take the next word: then it must not be an option.
    return next !== undefined && (value === "number" || !next.startsWith("-")) && fits(value, next)
      ? 1
      : null;
  }
  return 0;
}

function fits(value: Value | undefined, given: string | undefined): boolean {
  if (value === "none") return given === undefined;
  if (value === "number") return given !== undefined && number.test(given);
  return value === "optional" || (value === "text" && given !== undefined);
}

function sorted(grammar: Grammar, operands: readonly string[], seen: ReadonlySet<string>): KnownForm | null {
  const { textBy = [], textOnlyWith, textForm, paths = 0, writes = false, filesOnly = false } = grammar;
  const text = textBy.some((option) => seen.has(option)) ? 0 : (grammar.text ?? 0);
  const words = operands.slice(0, text);
  if (textOnlyWith !== undefined && words.length > 0 && !textOnlyWith.some((option) => seen.has(option)))
    return null;
  if (textForm !== undefined && !words.every((word) => textForm.test(word))) return null;
  const touched = operands.slice(text);
  if (touched.length > paths) return null;
  return writes
    ? { reads: [], writes: touched }
    : { reads: touched, writes: [], ...(filesOnly ? { filesOnly } : {}) };
}

function lettersOf(short: string): ReadonlyMap<string, Value> {
  const kinds: { readonly [mark: string]: Value } = { ":": "text", "#": "number", "?": "optional" };
  return new Map(
    [...short.matchAll(/([A-Za-z0-9])([:#?]?)/g)].map(([, letter = "", mark = ""]) => [
      letter,
      kinds[mark] ?? "none",
    ]),
  );
}

function namesOf(long: string): ReadonlyMap<string, Value> {
  const kinds: { readonly [mark: string]: Value } = { "=": "text", "=#": "number", "[=]": "optional" };
  const words = long.split(" ").filter((word) => word !== "");
  return new Map(
    words.map((each) => [
      each.replace(/(?:=#?|\[=\])$/, ""),
      kinds[/(?:=#?|\[=\])$/.exec(each)?.[0] ?? ""] ?? "none",
    ]),
  );
}
