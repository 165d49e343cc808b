// Cuts a page's accessibility tree to what a result has room for: as deep as fits, so that the refs of what
// is left out lead on to it.

/** Two blanks a level, as Playwright writes it. */
const levelChars = 2;
/** Shallower, a page says nothing: it is cut at its end instead. */
const leastLevels = 3;

export function shownTree(tree: string, textChars: number): string {
  // It says nothing that a role does not.
  const whole = tree.replaceAll(" [cursor=pointer]", "");
  if (whole.length <= textChars) return whole || "(The page is empty.)";
  const lines = whole.split("\n").map((text) => ({ text, level: levelOf(text) }));
  const charsAt: number[] = [];
  for (const { text, level } of lines) charsAt[level] = (charsAt[level] ?? 0) + text.length + 1;
  let levels = 0;
  for (let chars = 0; levels < charsAt.length; levels += 1) {
    chars += charsAt[levels] ?? 0;
    if (chars > textChars) break;
  }
  const shown = lines.filter(({ level }) => level < Math.max(levels, leastLevels));
  if (levels >= leastLevels)
    return `${join(shown)}\n[only ${levels} levels deep; take a snapshot with a ref to see below it]`;
  const cut = join(shown).slice(0, textChars);
  return `${cut.slice(0, Math.max(cut.lastIndexOf("\n"), 1))}\n[cut; take a snapshot with a ref to see more of it]`;
}

const join = (lines: readonly { readonly text: string }[]): string =>
  lines.map(({ text }) => text).join("\n");

function levelOf(line: string): number {
  return Math.floor((line.length - line.trimStart().length) / levelChars);
}
