// Finds what somebody types in a JSON5 text that need not be whole: the place, whether a key or a value
// belongs there, and the word that was begun. Completion asks it for every key that is pressed.
import type { Path } from "./schema.ts";

export interface TypedPlace {
  /** Of the block or list for a key, of the value for a value. */
  readonly path: Path;
  readonly expects: "key" | "value";
  /** Where the word begins, behind its quote. */
  readonly from: number;
  readonly isQuoted: boolean;
}

interface Frame {
  readonly isList: boolean;
  key: string | null;
  index: number;
  state: "key" | "colon" | "value" | "comma";
}

/** Null inside of a comment, and where neither may stand. */
export function placeAt(text: string, offset: number): TypedPlace | null {
  const stack: Frame[] = [{ isList: false, key: null, index: 0, state: "value" }];
  const top = (): Frame => stack.at(-1) as Frame;
  const pathOf = (frames: readonly Frame[]): Path =>
    frames
      .slice(1)
      .flatMap<string | number>(({ isList, key, index }) => (isList ? [index] : key === null ? [] : [key]));
  const typed = (from: number, isQuoted: boolean): TypedPlace | null => {
    const { state, isList } = top();
    if (state === "key") return { path: pathOf(stack.slice(0, -1)), expects: "key", from, isQuoted };
    if (state === "value" || (isList && state === "comma" && from === offset))
      return state === "value" ? { path: pathOf(stack), expects: "value", from, isQuoted } : null;
    return null;
  };
  const took = (word: string): void => {
    const frame = top();
    if (frame.state === "key") [frame.key, frame.state] = [word, "colon"];
    else frame.state = "comma";
  };
  let at = 0;
  while (at < offset) {
    const sign = text[at] ?? "";
    if (text.startsWith("//", at) || text.startsWith("/*", at)) {
      const isLine = text[at + 1] === "/";
      const end = text.indexOf(isLine ? "\n" : "*/", at + 2);
      if (end < 0 || end + (isLine ? 0 : 1) >= offset) return null;
      at = end + (isLine ? 1 : 2);
    } else if (sign === '"' || sign === "'") {
      let end = at + 1;
      while (end < text.length && text[end] !== sign && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1;
      if (end >= offset) return typed(at + 1, true);
      took(text.slice(at + 1, end));
      at = end + 1;
    } else if (sign === "{" || sign === "[") {
      stack.push({ isList: sign === "[", key: null, index: 0, state: sign === "[" ? "value" : "key" });
      at += 1;
    } else if (sign === "}" || sign === "]") {
      if (stack.length > 1) stack.pop();
      top().state = "comma";
      at += 1;
    } else if (sign === ":") {
      top().state = "value";
      at += 1;
    } else if (sign === ",") {
      const frame = top();
      if (frame.isList) [frame.index, frame.state] = [frame.index + 1, "value"];
      else [frame.key, frame.state] = [null, "key"];
      at += 1;
    } else if (/[\w$.+-]/.test(sign)) {
      let end = at;
      while (end < text.length && /[\w$.+-]/.test(text[end] ?? "")) end += 1;
      if (end >= offset) return typed(at, false);
      took(text.slice(at, end));
      at = end;
    } else at += 1;
  }
  return stack.length === 1 ? null : typed(offset, false);
}
