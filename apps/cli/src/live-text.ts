// Text that grows on a terminal and may be rewritten until it is final. What no longer fits the screen cannot
// be taken back; then the text is left as it was shown.
import { stripVTControlCharacters } from "node:util";
import { harmless, type Terminal } from "./console.ts";

export interface LiveText {
  /** The whole text so far. */
  show(text: string): void;
  /** The final text; the next begins on a new line. */
  settle(text: string): void;
}

export function liveText(out: Terminal): LiveText {
  let shown = "";

  function show(raw: string): void {
    const text = harmless(raw);
    if (text.startsWith(shown)) out.write(text.slice(shown.length));
    else if (out.isTTY !== true || !erase()) return;
    else out.write(text);
    shown = text;
  }

  function erase(): boolean {
    const columns = out.columns ?? 80;
    const rows = shown
      .split("\n")
      .reduce(
        (sum, each) => sum + Math.max(1, Math.ceil(stripVTControlCharacters(each).length / columns)),
        0,
      );
    if (rows >= (out.rows ?? 24)) return false;
    out.write(`\r${rows > 1 ? `\u001B[${rows - 1}A` : ""}\u001B[J`);
    return true;
  }

  return {
    show,
    settle(text) {
      show(text);
      out.write("\n");
      shown = "";
    },
  };
}
