// Parses a command that was written as one string: plain words, or something only a shell can read. Plain
// words run without a shell. In a shell's string it finds the parts between && || ; | where that is certain,
// so that each can be checked and shown.

export type CommandLine =
  /** Certain: no shell would read it otherwise. */
  | { readonly kind: "words"; readonly argv: readonly string[] }
  /**
   * `parts`: the commands in it; null where expansions, blocks or open quotes make them uncertain. `writes`:
   * where their output is sent.
   */
  | {
      readonly kind: "shell";
      readonly parts: readonly (readonly string[])[] | null;
      readonly writes: readonly string[];
    };

/**
 * Unquoted, these have a meaning to a shell; `=` in a first word, `~` and `#` at a word's start, `!` and `{`
 * are taken as such anywhere.
 */
const special = /[`$\\&|;<>()*?[\]{}!~#\n\r]/;
const operator = /^(?:&&|\|\||;|\|)/;
/** Output to a plain name, or to where the other output goes. */
const redirection = /^[12]?>(?:>?[ \t]*([\w./-]+)|&[12])(?=[ \t;|]|&&|$)/;
/** Words that begin a shell's own constructs, or commands that only exist inside one. */
const shellWords = new Set(
  "if then else elif fi for while until do done case esac select function in time coproc eval exec source . alias builtin command set trap".split(
    " ",
  ),
);

export function readCommandLine(text: string): CommandLine {
  const parts: string[][] = [];
  let words: string[] = [];
  let word: string | null = null;
  let at = 0;
  const endWord = (): void => {
    if (word !== null) words.push(word);
    word = null;
  };
  const writes: string[] = [];
  let redirected = false;
  const uncertain: CommandLine = { kind: "shell", parts: null, writes: [] };

  while (at < text.length) {
    const char = text.charAt(at);
    // A number belongs to it only as a word of its own.
    const sent = word === null || char === ">" ? redirection.exec(text.slice(at)) : null;
    if (sent !== null) {
      endWord();
      redirected = true;
      if (sent[1] !== undefined) writes.push(sent[1]);
      at += sent[0].length;
    } else if (char === "'" || char === '"') {
      const end = text.indexOf(char, at + 1);
      const quoted = text.slice(at + 1, end);
      // Inside double quotes a shell still expands; a "!" there is history to an interactive one.
      if (end === -1 || (char === '"' && /[`$\\!]/.test(quoted)) || quoted.includes("\0")) return uncertain;
      word = (word ?? "") + quoted;
      at = end + 1;
    } else if (char === " " || char === "\t") {
      endWord();
      at += 1;
    } else if (operator.test(text.slice(at, at + 2))) {
      endWord();
      parts.push(words);
      words = [];
      at += operator.exec(text.slice(at, at + 2))?.[0].length ?? 1;
    } else if (special.test(char) || char === "\0") return uncertain;
    else {
      word = (word ?? "") + char;
      at += 1;
    }
  }
  endWord();
  parts.push(words);
  // "a ; " is fine with a shell; "a && " and "| b" are errors that it may report.
  if (parts.some((part) => part.length === 0) || parts.some(isShellish)) return uncertain;
  const [only] = parts;
  return parts.length === 1 && only !== undefined && !redirected
    ? { kind: "words", argv: only }
    : { kind: "shell", parts, writes };
}

function isShellish([first = ""]: readonly string[]): boolean {
  return first === "" || first.includes("=") || shellWords.has(first);
}
