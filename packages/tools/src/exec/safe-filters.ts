// Small filters that only read their input and write their output: with these options, and these alone, they open no file and start nothing.
// What is not listed here is not known to be safe.

interface Grammar {
  /** Options without a value, single letters. */
  readonly letters: string;
  /** Options whose value follows, attached or as the next word; the value's form. */
  readonly valued: { readonly [letter: string]: RegExp };
  readonly long: { readonly [name: string]: RegExp | null };
  /** Operands that are text, not files. */
  readonly operands: number;
}

const count = /^[-+]?\d{1,9}[bkKMG]?$/;
const list = /^[\d,-]{1,200}$/;
const text = /^[^\n\0]{0,200}$/;

/** coreutils; the options of its manual pages that name no file. */
const grammars: { readonly [program: string]: Grammar } = {
  cut: {
    letters: "nsz",
    valued: { b: list, c: list, f: list, d: text },
    long: {
      bytes: list,
      characters: list,
      fields: list,
      delimiter: text,
      "output-delimiter": text,
      complement: null,
      "only-delimited": null,
    },
    operands: 0,
  },
  uniq: {
    letters: "cdDiuz",
    valued: { f: count, s: count, w: count },
    long: {
      count: null,
      repeated: null,
      unique: null,
      "ignore-case": null,
      "skip-fields": count,
      "skip-chars": count,
      "check-chars": count,
    },
    operands: 0,
  },
  head: { letters: "qvz", valued: { n: count, c: count }, long: { lines: count, bytes: count }, operands: 0 },
  // Not -f and --follow: they would wait for ever.
  tail: { letters: "qvz", valued: { n: count, c: count }, long: { lines: count, bytes: count }, operands: 0 },
  tr: {
    letters: "cCdst",
    valued: {},
    long: { complement: null, delete: null, "squeeze-repeats": null, "truncate-set1": null },
    operands: 2,
  },
  // Not --files0-from: it opens files.
  wc: { letters: "cmlLw", valued: {}, long: { bytes: null, chars: null, lines: null, words: null, "max-line-length": null }, operands: 0 },
};

const trusted = ["/bin/", "/usr/bin/"];

/** `argv` with its program as an absolute path. */
export function isSafeFilter([program = "", ...args]: readonly string[]): boolean {
  const folder = trusted.find((each) => program.startsWith(each));
  const name = folder === undefined ? "" : program.slice(folder.length);
  const grammar = Object.hasOwn(grammars, name) ? grammars[name] : undefined;
  if (grammar === undefined) return false;
  let operands = 0;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    const long = /^--([a-z0-9-]+)(?:=(.*))?$/s.exec(arg);
    if (long !== null) {
      const [, option = "", value] = long;
      const form = Object.hasOwn(grammar.long, option) ? grammar.long[option] : undefined;
      if (form === undefined || (form === null ? value !== undefined : value === undefined || !form.test(value))) return false;
    } else if (/^-./.test(arg)) {
      const taken = bundle(grammar, arg.slice(1), args[at + 1]);
      if (taken === null) return false;
      at += taken;
    } else if ((operands += 1) > grammar.operands || !text.test(arg)) return false;
  }
  return true;
}

/** How many further words the letters take; null when one of them is not safe. */
function bundle({ letters, valued }: Grammar, given: string, next: string | undefined): 0 | 1 | null {
  for (const [index, letter] of given.split("").entries()) {
    const form = Object.hasOwn(valued, letter) ? valued[letter] : undefined;
    if (form !== undefined) {
      const attached = given.slice(index + 1);
      if (attached !== "") return form.test(attached) ? 0 : null;
      return next !== undefined && form.test(next) ? 1 : null;
    }
    if (!letters.includes(letter)) return null;
  }
  return 0;
}
