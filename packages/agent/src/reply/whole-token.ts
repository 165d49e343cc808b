// Decides whether a whole message says nothing but a token: bare, in emphasis, quotes or a fence, in HTML, in
// JSON, after a label, drawn in other letters or with invisible characters in between. It looks at the text
// as it reads.
import { heartbeatToken, silentToken } from "../prompt/control-tokens.ts";
import { folded } from "./look-alikes.ts";
import { letters, pattern } from "./pattern.ts";

/** Longer text is never a whole-message token, however it is decorated. */
export const wholeChars = 400;

// Quotes, emphasis, fences, punctuation, emoji, spaces: nothing that says anything.
const dress = String.raw`[\s\p{P}\p{S}\p{Cf}\p{M}]*`;
const word = (token: string): string =>
  token
    .replaceAll("_", String.raw`\\?_`)
    .replaceAll("O", "[O0]")
    .replaceAll("L", "[LI1|]");
const anyToken = `(?:${word(silentToken)}|${word(heartbeatToken)})`;
const soFar = pattern(
  [silentToken, heartbeatToken].map((token) =>
    letters(token).flatMap((letter) => (letter === "_" ? [String.raw`\\?`, "_"] : [oneOf(letter)])),
  ),
  "i",
);
const tokensFirst = new RegExp(`^(?:${dress}${anyToken})*${dress}`, "iu");
const silentWhole = new RegExp(`^(?:${dress}${word(silentToken)})+${dress}$`, "iu");
const tokenWhole = new RegExp(`^(?:${dress}${anyToken})+${dress}$`, "iu");
const heartbeatEdge = new RegExp(
  String.raw`^${dress}HEARTBEAT\\?_OK(?![A-Za-z0-9])|(?<![A-Za-z0-9])HEARTBEAT\\?_OK${dress}$`,
  "u",
);

const fenceInfo = /^([\s\p{P}\p{S}\p{Cf}]*?[`~]{3})[a-z0-9]+(?=\s|$)/iu;
const element = /<\/?[a-z][\w-]{0,12}(?:\s[^<>]{0,60})?\/?>/giu;
const elementBegun = /<\/?(?:[a-z][\w-]{0,12}(?:\s[^<>]{0,60})?\/?)?$/iu;
const key = /["']?[\w-]{1,24}["']?\s*:(?=\s*["'[{])/giu;
const keyBegun = /["']?[\w-]{0,24}["']?\s*(?::\s*)?$/iu;
const jsonHead = /^[\s`]*(?:json)?\s*[{[]/iu;
const labels = ["reply", "answer", "response", "output", "message", "assistant"];
const label = new RegExp(String.raw`^\s*[*_]*(?:final[ _])?(?:${labels.join("|")})\s*[:=]`, "iu");
/** What may stand before a token or before JSON. */
const heads = [...labels, ...labels.map((each) => `final_${each}`), "json"];

function oneOf(letter: string): string {
  return letter === "O" ? "[O0]" : letter === "L" ? "[LI1|]" : letter;
}

/**
 * The text without what only wraps it. `open`: more may come, so what could become a wrapping counts as one.
 */
function unwrapped(text: string, open: boolean): string {
  const plain = folded(text).replace(element, "");
  const bare = (open ? plain.replace(elementBegun, "") : plain).replace(label, "");
  if (!jsonHead.test(bare)) return bare;
  const keyless = bare.replace(/^[\s`]*json/iu, "").replace(key, "");
  return open ? keyless.replace(keyBegun, "") : keyless;
}

/** True when this may become a label or the word before JSON, which say nothing. */
function beginsHead(bare: string): boolean {
  const start = bare
    .trim()
    .replace(/^[*_`\s]+/u, "")
    .toLowerCase()
    .replaceAll(" ", "_");
  return start !== "" && heads.some((each) => each.startsWith(start));
}

/** True while everything so far is a beginning of a whole-message token. */
export function couldBeToken(text: string): boolean {
  if (text.length > wholeChars) return false;
  const bare = unwrapped(text.replace(fenceInfo, "$1"), true);
  if (beginsHead(bare)) return true;
  const done = tokensFirst.exec(bare)?.[0].length ?? 0;
  return done === bare.length || soFar.begins(bare, done);
}

/** What the whole message says when it says nothing but tokens. */
export function readWhole(text: string): "silent" | "token" | null {
  if (text.length > wholeChars) return null;
  const bare = unwrapped(text.replace(fenceInfo, "$1"), false);
  return silentWhole.test(bare) ? "silent" : tokenWhole.test(bare) ? "token" : null;
}

/** True when a heartbeat's answer begins or ends with its token. */
export function acknowledges(text: string): boolean {
  return heartbeatEdge.test(folded(text));
}

/** True when nothing is left that could be read: only what a token was wrapped in. */
export function saysNothingBeside(text: string): boolean {
  return text.length <= wholeChars && !/[\p{L}\p{N}]/u.test(unwrapped(text, false));
}

/** True while nothing is there that could be read, should a token be taken out of what follows. */
export function mayStillSayNothing(text: string): boolean {
  // Looked at with every piece that comes, so only a bounded beginning is.
  if (text.length > 4 * wholeChars) return false;
  const shown = text.trimEnd();
  if (shown.length > wholeChars) return false;
  const bare = unwrapped(shown, true);
  return beginsHead(bare) || !/[\p{L}\p{N}]/u.test(bare);
}
