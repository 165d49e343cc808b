import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { liveText } from "../src/live-text.ts";

/** What a person sees in the end: a terminal that knows newline, return, cursor up and erase below. */
function screen(columns: number, rows: number) {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
  const seen = (): string => {
    const lines: string[] = [""];
    let [row, column] = [0, 0];
    const text = String(out.read() ?? "");
    for (const [token] of text.matchAll(/\u001B\[(\d*)([AJ])|\r|\n|[\s\S]/g)) {
      if (token === "\n") [row, column] = [row + 1, 0];
      else if (token === "\r") column = 0;
      else if (token.endsWith("A") && token.startsWith("\u001B")) row -= Number(token.slice(2, -1));
      else if (token === "\u001B[J") lines.splice(row, lines.length, (lines[row] ?? "").slice(0, column));
      else {
        if (column === columns) [row, column] = [row + 1, 0];
        lines[row] = (lines[row] ?? "").slice(0, column) + token;
        column += 1;
      }
      lines[row] ??= "";
    }
    return lines.join("\n");
  };
  return { out, seen };
}

test("text that only grows is written once", () => {
  const { out } = screen(80, 24);
  const live = liveText(out);
  for (const text of ["a", "ab", "abc"]) live.show(text);
  live.settle("abc");
  expect(String(out.read())).toBe("abc\n");
});

test("text that is rewritten replaces what was shown, over several and wrapped lines", () => {
  const { out, seen } = screen(10, 24);
  const live = liveText(out);
  live.show("**bold** and a long line\nsecond");
  live.settle("bold and a long line\nsecond");
  live.settle("next");
  expect(seen()).toBe("bold and a\n long line\nsecond\nnext\n");
});

test("text that left the screen is not repeated", () => {
  const { out, seen } = screen(80, 3);
  const live = liveText(out);
  live.show("1\n2\n3\n4*");
  live.settle("1\n2\n3\n4");
  expect(seen()).toBe("1\n2\n3\n4*\n");
});

test("control sequences of the agent do not reach the terminal", () => {
  const { out } = screen(80, 24);
  liveText(out).settle("a\u001B[2Jb");
  expect(String(out.read())).toBe("a\\u{1b}[2Jb\n");
});

test("where no terminal is nothing is rewritten", () => {
  const out = new PassThrough();
  const live = liveText(out);
  live.show("**bold");
  live.show("bold, and more");
  live.settle("**bold at last");
  expect(String(out.read())).toBe("**bold at last\n");
});

test.each([
  ["*2345\n67890", 3, "12345\n67890\n"],
  ["*2345\n67890", 2, "*2345\n67890\n"],
  ["*234567890", 3, "12345\n67890\n"],
  ["*2345678901", 3, "*2345\n67890\n1\n"],
  ["*2345678901", 4, "12345\n67890\n1\n"],
  ["*\n\n3", 4, "1\n\n3\n"],
  ["*\n\n3", 3, "*\n\n3\n"],
])("%j, on a screen of five columns and %d rows, ends as %j", (text, rows, shown) => {
  const { out, seen } = screen(5, rows);
  const live = liveText(out);
  live.show(text);
  live.settle(text.replace("*", "1"));
  expect(seen()).toBe(shown);
});
