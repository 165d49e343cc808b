// Decides which commands a device runs for its gateway: those that its own list names, word by word. No shell
// reads them, so no sign in an argument means anything.

/** `git *`: the program git, whatever follows. A star inside a word stands for any part of that word. */
export function isAllowed(argv: readonly string[], patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(argv, pattern.trim().split(/\s+/)));
}

function matches(argv: readonly string[], words: readonly string[]): boolean {
  const [first = ""] = words;
  if (first === "" || argv.length === 0) return false;
  const isOpen = words.length > 1 && words.at(-1) === "*";
  const fixed = isOpen ? words.slice(0, -1) : words;
  if (isOpen ? argv.length < fixed.length : argv.length !== fixed.length) return false;
  return fixed.every((word, at) => wordMatches(argv[at] ?? "", word));
}

function wordMatches(word: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join("[^]*")}$`).test(word);
}
