// Last stage: takes the silent and the heartbeat token out of what is shown, and keeps the whole text for the decision at the end.
// While the whole message could still turn out to be a token, a preview shows nothing at all (I8).
import { heartbeatToken, silentToken } from "../prompt/control-tokens.ts";
import { markup, markupStarts } from "./markup.ts";
import { endsInBeginning, letters, pattern } from "./pattern.ts";

export interface TokenFilter {
  push(text: string, code: boolean): void;
  end(): void;
  /** True while everything so far is a beginning of a whole-message token. */
  undecided(): boolean;
  /** The message with its tokens. */
  whole(): string;
}

/** Models escape the underscore when they think in Markdown. */
const spelled = (token: string): string[] => letters(token).flatMap((letter) => (letter === "_" ? [String.raw`\\?`, "_"] : [letter]));
const boundary = String.raw`(?![A-Za-z0-9_])`;
const wrappings: readonly (readonly [string[], string[]])[] = [
  [
    ["%", "%"],
    ["%", "%"],
  ],
  [[String.raw`\*{1,3}`], [String.raw`\*{1,3}`]],
  [[String.raw`(?<![A-Za-z0-9_])_{1,2}`], ["_{1,2}", boundary]],
];
const words = [silentToken, heartbeatToken].map(spelled);
const token = pattern(
  [
    ...wrappings.flatMap(([before, after]) => words.map((word) => [...before, ...word, ...after])),
    ...words.map(([first = "", ...others]) => [`(?<![A-Za-z0-9_])${first}`, ...others, boundary]),
  ],
  "",
);
const tokenStarts = (): RegExp => /[NH%*_]/gu;

/** Longer text is never a whole-message token, however it is decorated. */
const wholeChars = 400;

export function tokenFilter(sink: (text: string) => void): TokenFilter {
  let whole = "";
  let open = true;
  let rest = "";
  let at = 0;
  let line = "";
  const starts = tokenStarts();
  const joins = markupStarts();

  const emit = (text: string): void => {
    if (text === "") return;
    const lineBreak = text.lastIndexOf("\n");
    line = (lineBreak === -1 ? line + text : text.slice(lineBreak + 1)).slice(-wholeChars);
    sink(text);
  };

  /** What stands left of a removed token must not join with what follows into a new item. */
  const mend = (): void => {
    if (endsInBeginning(line, [token], starts) || endsInBeginning(line, markup, joins)) emit("\n");
  };

  const run = (ended: boolean): void => {
    while (at < rest.length) {
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
      if (token.begins(rest, at) && rest.slice(at).includes("_") && /[A-Z]/u.test(rest.slice(at))) {
        at = rest.length;
        mend();
        break;
      }
      emit(rest.charAt(at));
      at += 1;
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
  };
}

// Quotes, emphasis, fences, punctuation, emoji, spaces, invisible marks: nothing that says anything.
const dress = String.raw`[\s\p{P}\p{S}\p{Cf}\p{M}]*`;
const anyToken = String.raw`(?:NO\\?_REPLY|HEARTBEAT\\?_OK)`;
const fenceInfo = /^([\s\p{P}\p{S}\p{Cf}]*?[`~]{3})[a-z0-9]+(?=\s|$)/iu;
const soFar = pattern(words, "i");
const tokensFirst = new RegExp(`^(?:${dress}${anyToken})*${dress}`, "iu");
const silentWhole = new RegExp(String.raw`^(?:${dress}NO\\?_REPLY)+${dress}$`, "iu");
const tokenWhole = new RegExp(`^(?:${dress}${anyToken})+${dress}$`, "iu");
const heartbeatEdge = new RegExp(String.raw`^${dress}HEARTBEAT\\?_OK(?![A-Za-z0-9])|(?<![A-Za-z0-9])HEARTBEAT\\?_OK${dress}$`, "u");

function couldBeToken(text: string): boolean {
  if (text.length > wholeChars) return false;
  const bare = text.replace(fenceInfo, "$1");
  const done = tokensFirst.exec(bare)?.[0].length ?? 0;
  return done === bare.length || soFar.begins(bare, done);
}

/** What the whole message says when it says nothing but tokens. */
export function readWhole(text: string): "silent" | "token" | null {
  if (text.length > wholeChars) return null;
  const bare = text.replace(fenceInfo, "$1");
  return silentWhole.test(bare) ? "silent" : tokenWhole.test(bare) ? "token" : null;
}

/** True when a heartbeat's answer begins or ends with its token. */
export function acknowledges(text: string): boolean {
  return heartbeatEdge.test(text);
}
