// Where a growing answer may be cut into messages: between whole blocks, never where the rest would read
// differently.
import { expect, test } from "vitest";
import { paragraphsEnd } from "../src/streaming/block-stream.ts";

const words = (count: number): string => "word ".repeat(count).trim();
const first = words(50);

test("nothing is cut before there is some length, a blank line and the beginning of the next block", () => {
  expect(paragraphsEnd(`${words(5)}\n\nnext`, 0)).toBeNull();
  expect(paragraphsEnd(first, 0)).toBeNull();
  expect(paragraphsEnd(`${first}\n\n`, 0)).toBeNull();
  expect(paragraphsEnd(`${first}\n\nn`, 0)).toBe(first.length + 2);
});

test("short paragraphs go together, and the count begins anew behind a cut", () => {
  const short = `${words(5)}\n\n`.repeat(10);
  const end = paragraphsEnd(short, 0) ?? 0;
  expect(end).toBeGreaterThanOrEqual(200);
  expect(short.slice(0, end).endsWith("\n\n")).toBe(true);
  expect(paragraphsEnd(short.slice(0, end + 20), end)).toBeNull();
});

test("code is never cut, whatever stands in it", () => {
  expect(paragraphsEnd(`\`\`\`\`ts\n${first}\n\n\`\`\`\n\nlet x;\n\nmore`, 0)).toBeNull();
  const whole = `\`\`\`ts\n${first}\n\nlet x;\n\`\`\`\n\n`;
  expect(paragraphsEnd(`${whole}more`, 0)).toBe(whole.length);
});

test("an indented line belongs to what stands before it", () => {
  expect(paragraphsEnd(`- ${first}\n\n  and this belongs to the item`, 0)).toBeNull();
});
