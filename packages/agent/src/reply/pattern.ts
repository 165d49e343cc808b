// Patterns that know their own beginnings. A stream filter asks two things of the same text: is it a whole
// item, and could it still become one? Both expressions are made from the same atoms, so they cannot drift
// apart.

export interface Pattern {
  /** The whole item at `at`, or null. */
  whole(text: string, at: number): string | null;
  /** True when all of `text` from `at` on is a beginning of the item (or the item itself). */
  begins(text: string, at: number): boolean;
}

/**
 * Alternatives, each a list of atoms: regular expression sources of which every one matches a whole step of
 * the item. Quantifiers must be bounded and no atom may match a line break: that bounds how much is ever held
 * back.
 */
export function pattern(alternatives: readonly (readonly string[])[], flags: "" | "i"): Pattern {
  const whole = new RegExp(alternatives.map((atoms) => atoms.join("")).join("|"), `${flags}yu`);
  const steps = (atoms: readonly string[]): string =>
    atoms.reduceRight((rest, atom) => `${atom}(?:$|${rest})`, "(?!)");
  const begins = new RegExp(alternatives.map(steps).join("|"), `${flags}yu`);
  return {
    whole(text, at) {
      whole.lastIndex = at;
      return whole.exec(text)?.[0] ?? null;
    },
    begins(text, at) {
      begins.lastIndex = at;
      return begins.test(text);
    },
  };
}

/** The same for one fixed text of any length. */
export function literal(word: string): Pattern {
  return {
    whole: (text, at) => (text.startsWith(word, at) ? word : null),
    begins: (text, at) => text.length - at <= word.length && word.startsWith(text.slice(at)),
  };
}

/** One atom per character. */
export function letters(word: string): string[] {
  return Array.from(word, (letter) => letter.replace(/[\\^$.*+?()[\]{}|/]/u, String.raw`\$&`));
}

/**
 * Longer than any item that is not a path, and more places where one may begin than any item has within it.
 */
const reachChars = 400;
const reachStarts = 12;

/**
 * True when a beginning of an item touches the end of `text`. `starts` is global and finds where items may
 * begin.
 */
export function endsInBeginning(text: string, patterns: readonly Pattern[], starts: RegExp): boolean {
  const from = Math.max(text.lastIndexOf("\n") + 1, text.length - reachChars);
  // A copy of the expression goes on from where this one stands.
  starts.lastIndex = 0;
  const places = [...text.slice(from).matchAll(starts)].map(({ index }) => from + index).slice(-reachStarts);
  return places.some((at) => patterns.some((each) => each.begins(text, at)));
}
