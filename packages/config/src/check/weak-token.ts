// Recognizes tokens that somebody would guess: short ones, words that stand in examples, rows of keys, one
// character repeated. What is left of a token without such words must be long and varied enough to be random.

const leastChars = 16;
/** Sixteen random characters have fewer different ones about once in ten thousand, even in hex. */
const leastDifferent = 6;
const leastBits = 60;

const guessed =
  /change[\s_-]*(?:me|this|it)|undefined|null|none|nan|true|false|object|placeholder|example|sample|dummy|default|replace|insert|paste|todo|fixme|secret|token|pass(?:word|wd|phrase)?|credential|api[\s_-]*key|private[\s_-]*key|your|with|here|random|string|characters?|please|before|super|long|strong|secure|safe|parley|gateway|openclaw|server|local(?:host)?|admin(?:istrator)?|root|user|owner|guest|test(?:ing)?|demo|prod(?:uction)?|dev(?:elopment)?|staging|letmein|welcome|hello|world|iloveyou|monkey|dragon|master|hunter2|correct[\s_-]*horse[\s_-]*battery[\s_-]*staple|qwert[yz](?:uiop)?|asdf(?:ghjkl)?|[zy]xcv(?:bnm)?|lorem|ipsum|foobar|foo|bar|baz|deadbeef|cafebabe/gi;

/** Why, in words that do not show it; null for a token that may be random. */
export function tokenWeakness(token: string): string | null {
  if (token.length < leastChars) return `it has ${token.length} characters, fewer than ${leastChars}`;
  const rest = token.replaceAll(guessed, "");
  if (rest.length < leastChars) return "it is made of words that everybody tries";
  if (new Set(rest).size < leastDifferent || isRow(rest) || isRepeated(rest)) return "it repeats itself";
  return rest.length * bitsOfOne(rest) < leastBits
    ? "it has too few different characters for its length"
    : null;
}

/** More than half of its characters follow the one before: 0123, aaaa, zyxw. */
function isRow(text: string): boolean {
  const codes = Array.from(text, (char) => char.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, at) => Math.abs(code - (codes[at] ?? 0)) <= 1).length;
  return steps * 2 > codes.length;
}

/** The same again and again, the last time perhaps cut short. */
function isRepeated(text: string): boolean {
  return Array.from({ length: Math.floor(text.length / 2) }, (_, at) => at + 1).some(
    (unit) => text.startsWith(text.slice(0, -unit), unit) && unit < leastChars,
  );
}

function bitsOfOne(text: string): number {
  const classes: readonly (readonly [RegExp, number])[] = [
    [/\d/, 10],
    [/[a-z]/, 26],
    [/[A-Z]/, 26],
    [/[^\dA-Za-z]/, 8],
  ];
  return Math.log2(classes.reduce((sum, [pattern, count]) => (pattern.test(text) ? sum + count : sum), 0));
}
