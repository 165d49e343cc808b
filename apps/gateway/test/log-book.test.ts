import { expect, test } from "vitest";
import { recentLog } from "../src/log/recent-log.ts";

test("the newest lines are kept, in order, however many there were", () => {
  const book = recentLog();
  for (let nth = 1; nth <= 5_000; nth += 1) book.add(`${JSON.stringify({ nth })}\n`);
  expect(book.last(3)).toEqual(['{"nth":4998}', '{"nth":4999}', '{"nth":5000}']);
  expect(book.last(9_999)).toHaveLength(1_000);
  expect(book.last(0)).toEqual([]);
});

test("long lines are shortened and stay objects; what is kept never grows past a mebibyte", () => {
  const book = recentLog();
  book.add(JSON.stringify({ text: "x".repeat(100_000) }));
  const long = `{"text":"${"x".repeat(16_384 - 11)}"}`;
  expect(JSON.parse(book.last(1)[0] ?? "")).toEqual({
    msg: "a line too long to show",
    beginning: `{"text":"${"x".repeat(1_000 - 9)}`,
  });
  book.add(`${long}\n`);
  expect(book.last(1)).toEqual([long]);
  book.add(` ${long}`);
  expect(JSON.parse(book.last(1)[0] ?? "")).toMatchObject({ msg: "a line too long to show" });
  for (let nth = 0; nth < 2_000; nth += 1) book.add(JSON.stringify({ nth, text: "x".repeat(10_000) }));
  const chars = book.last(1_000).reduce((sum, line) => sum + line.length, 0);
  expect(chars).toBeGreaterThan(1_000_000);
  expect(chars).toBeLessThanOrEqual(1_048_576);
  const kept = book.last(1_000).map((line) => (JSON.parse(line) as { readonly nth: number }).nth);
  expect(kept).toEqual(kept.map((_, index) => 2_000 - kept.length + index));
  // A mebibyte and no more, to the character.
  const full = recentLog();
  for (let nth = 0; nth < 64; nth += 1) full.add(long);
  expect(full.last(100)).toHaveLength(64);
  full.add("{}");
  expect(full.last(100)).toHaveLength(64);
});

test("who follows hears every line until he stops", () => {
  const book = recentLog();
  const heard: string[] = [];
  const stop = book.follow((line) => heard.push(line));
  book.add("{}\n");
  stop();
  book.add("{}");
  expect(heard).toEqual(["{}"]);
});
