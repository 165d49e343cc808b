// Last stage: takes the silent and the heartbeat token out of what is shown, however they are drawn and
// whatever wraps them, and keeps the whole text for the decision at the end. While the whole message could
// still turn out to be a token, a preview shows nothing at all (I8).
import { heartbeatToken, silentToken } from "../prompt/control-tokens.ts";
import { drawn, unseenRun } from "./look-alikes.ts";
import { markup } from "./markup.ts";
import { endsInBeginning, letters, pattern } from "./pattern.ts";
import { tagStarts } from "./read-tag.ts";
import { couldBeToken, wholeChars } from "./whole-token.ts";

export interface TokenFilter {
  push(text: string, code: boolean): void;
  end(): void;
  /** True while everything so far is a beginning of a whole-message token. */
  undecided(): boolean;
  /** The message with its tokens. */
  whole(): string;
  /** Whether any was taken out. */
  removed(): boolean;
}

const alike: { readonly [letter: string]: readonly string[] } = { O: ["0"], L: ["1"] };
const anyDrawing = (letter: string): string => drawn(letter, ...(alike[letter] ?? []));
/**
 * Models escape the underscore when they think in Markdown; unseen characters may stand between the letters.
 */
const spelled = (token: string): string[] =>
  letters(token).flatMap((letter, index) => [
    ...(index === 0 ? [] : [unseenRun]),
    ...(letter === "_" ? [String.raw`\\?`] : []),
    anyDrawing(letter),
  ]);
const boundary = String.raw`(?![A-Za-z0-9_])`;
const gap = String.raw`[ \t\r\n]{0,4}`;
const quote = String.raw`["'“”]`;
const wrappings: readonly (readonly [string[], string[]])[] = [
  [
    ["%", "%"],
    ["%", "%"],
  ],
  [[String.raw`\*{1,3}`], [String.raw`\*{1,3}`]],
  [[String.raw`(?<![A-Za-z0-9_])_{1,2}`], ["_{1,2}", boundary]],
  [
    ["<", "[A-Za-z]{1,10}", ">", gap],
    [gap, "<", String.raw`\/`, "[A-Za-z]{1,10}", ">"],
  ],
  [
    [String.raw`\{`, gap, quote, String.raw`[\w-]{1,24}`, quote, gap, ":", gap, quote],
    [quote, gap, String.raw`\}`],
  ],
  [[String.raw`[[({<"'“‘«]{1,2}`], [String.raw`[\])}>"'”’»/]{1,3}`]],
];
const words = [silentToken, heartbeatToken].map(spelled);
const token = pattern(
  [
    ...wrappings.flatMap(([before, after]) => words.map((word) => [...before, ...word, ...after])),
    ...words.map(([first = "", ...others]) => [`(?<![A-Za-z0-9_])${first}`, ...others, boundary]),
  ],
  "",
);
/** A look at the next character spares most of the text the whole expression. */
const first = words.map(([letter = ""]) => letter);
const second = words.map(([, unseen = "", letter = ""]) => `(?=$|${unseen.replace("{0,8}", "")}|${letter})`);
const opener = String.raw`[%*_[({<"'“‘«]`;
const tokenStarts = (): RegExp =>
  new RegExp(
    [
      ...first.map((letter, index) => `${letter}${second[index] ?? ""}`),
      `${opener}(?=$|${opener}|${first.join("|")})`,
      String.raw`\{(?=[ \t\r\n])`,
      "<(?=[A-Za-z])",
    ].join("|"),
    "gu",
  );

export function tokenFilter(sink: (text: string) => void): TokenFilter {
  let whole = "";
  let open = true;
  let removed = false;
  /** A token was the last thing; the full stop that stands after it goes with it. */
  let dropsStop = false;
  let rest = "";
  let at = 0;
  let line = "";
  const starts = tokenStarts();
  const joins = tagStarts();

  const emit = (text: string): void => {
    if (text === "") return;
    const lineBreak = text.lastIndexOf("\n");
    line = (lineBreak === -1 ? line + text : text.slice(lineBreak + 1)).slice(-wholeChars);
    sink(text);
  };

  /** What stands left of a removed token must not join with what follows into a new item. */
  const mend = (): void => {
    removed = true;
    if (endsInBeginning(line, [token], starts) || endsInBeginning(line, markup, joins)) emit("\n");
    dropsStop = /(?:^|[^\p{L}\p{N}])\s*$/u.test(line);
  };

  /** False while the full stop after a token could still belong to a word. */
  const stopDropped = (ended: boolean): boolean => {
    const stop = dropsStop ? (/^[.!]{1,3}/u.exec(rest.slice(at, at + 4))?.[0] ?? "") : "";
    const next = rest.charAt(at + stop.length);
    if (stop !== "" && next === "" && !ended) return false;
    if (stop !== "" && /^\s?$/u.test(next)) at += stop.length;
    dropsStop = false;
    return true;
  };

  const run = (ended: boolean): void => {
    while (at < rest.length) {
      if (!stopDropped(ended)) break;
      starts.lastIndex = at;
      const found = starts.exec(rest);
      emit(rest.slice(at, found?.index));
      at = found?.index ?? rest.length;
      if (found === null) break;
      const item = token.whole(rest, at);
      if (item !== null && (ended || at + item.length < rest.length)) {
        at += item.length;
        mend();
        continue;
      }
      if (!ended && token.begins(rest, at)) break;
      // A torn token at the end of a stream; without its underscore it is a word like any other.
      if (token.begins(rest, at) && /[A-Z]{2}\\?_/u.test(rest.slice(at))) {
        at = rest.length;
        mend();
        break;
      }
      const char = String.fromCodePoint(rest.codePointAt(at) ?? 0);
      emit(char);
      at += char.length;
    }
    // One character stays: a token must not touch a word on its left.
    const keep = Math.max(0, at - 1);
    rest = rest.slice(keep);
    at -= keep;
  };

  return {
    push(text, code) {
      if (text === "") return;
      whole += text;
      open &&= couldBeToken(whole);
      if (code) {
        run(true);
        emit(text);
        rest = text.slice(-1);
        at = rest.length;
        return;
      }
      rest += text;
      run(false);
    },
    end: () => run(true),
    undecided: () => open,
    whole: () => whole,
    removed: () => removed,
  };
}
