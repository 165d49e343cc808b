// Which passages words find, and in which order: rare words decide, frequent ones tip the scales, and what
// stands everywhere tells nothing.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { keywordRows } from "../src/search/keywords.ts";
import { indexed, type Indexed } from "./indexed.ts";

let index: Indexed;
/** With words that no passage has a question is long, and a word is frequent from 187 passages on. */
const absent = (words: number): readonly string[] => Array.from({ length: words }, (_, at) => `absent${at}`);
const ask = (words: readonly string[], most = 5, scopes: readonly string[] | "all" = ["daily"]) =>
  keywordRows(index.db, [...words, ...absent(32 - words.length)], scopes, most).map(({ id, score }) => ({
    text: index.textOf(id),
    score,
  }));
const texts = (...asked: Parameters<typeof ask>): readonly string[] => ask(...asked).map(({ text }) => text);

describe("in a small memory", () => {
  beforeEach(() => {
    index = indexed();
  });
  afterEach(() => index.close());

  test("only the scopes that are asked are searched; all are where that is said", () => {
    index.put("one", "daily", ["tea here"]);
    index.put("two", "shared", ["tea there"]);
    index.put("three", "curated", ["coffee"]);
    expect(texts(["tea"])).toEqual(["tea here"]);
    expect(texts(["tea"], 5, ["daily", "shared"]).toSorted()).toEqual(["tea here", "tea there"]);
    expect(texts(["tea"], 5, "all").toSorted()).toEqual(["tea here", "tea there"]);
    expect(texts(["tea"], 5, ["person:none"])).toEqual([]);
    expect(texts(["tea"], 5, ["person:none", "shared"])).toEqual(["tea there"]);
    expect(texts(["tea"], 5, [])).toEqual([]);
    expect(keywordRows(index.db, [], ["daily"], 5)).toEqual([]);
    index.remove("one");
    expect(texts(["tea"])).toEqual([]);
  });

  test("a word in the heading counts more, and of equals the newer comes first", () => {
    index.put("one", "daily", ["boat of ours"], "tea");
    index.put("two", "daily", ["tea of ours"], "boat");
    index.put("three", "daily", ["sea of ours", "sea of ours", "sea of ours"], "none");
    expect(texts(["tea"])).toEqual(["boat of ours", "tea of ours"]);
    const rows = keywordRows(index.db, ["ours"], ["daily"], 9).map(({ id }) => id);
    expect(rows).toHaveLength(5);
    const equal = keywordRows(index.db, ["sea"], ["daily"], 2).map(({ id }) => id);
    const newest = index.db.prepare("SELECT id FROM chunks ORDER BY id DESC LIMIT 2").all() as {
      id: number;
    }[];
    expect(equal).toEqual(newest.map(({ id }) => id));
  });
});

describe("in a large memory", () => {
  const size = 600;
  beforeAll(() => {
    index = indexed();
    const lines = Array.from(
      { length: size },
      (_, at) =>
        [
          at % 2 === 0 ? "half" : "",
          at < 190 ? "third" : "",
          at >= 410 ? "newer" : "",
          at < 186 ? "below" : "",
          at < 187 ? "bound" : "",
          at < 200 ? "more" : "",
          at < 100 || at > 499 ? "ends" : "",
          at === 551 ? "odd" : "",
          at === 553 ? "odd pad" : "",
          at === 550 ? "odd half" : "",
          at < 224 ? "fifth" : "",
          at === 1 ? "single" : "",
          at === 187 || at === 303 ? "lone" : "",
          at % 3 === 0 ? "filler filler filler" : "",
        ]
          .filter((each) => each !== "")
          .join(" ") + ` n${at}`,
    );
    index.put("log", "daily", lines);
    index.put("other", "shared", [...Array.from({ length: 200 }, () => "elsewhere"), "elsewhere"]);
    index.put("own", "curated", ["elsewhere", "elsewhere and more words than that", "quiet"]);
  });
  afterAll(() => index.close());

  const nOf = (text: string): number => Number(/n(\d+)$/.exec(text)?.[1]);
  const weight = (passages: number, of = size): number => Math.log((of - passages + 0.5) / (passages + 0.5));

  test("a word in fewer passages than the bound is weighed by how much of each it is, at the bound alike in all", () => {
    const scores = (word: string): number => new Set(ask([word], 600).map(({ score }) => score)).size;
    expect(scores("below")).toBeGreaterThan(1);
    expect(scores("bound")).toBe(1);
    expect(ask(["below"], 600)).toHaveLength(186);
    expect(ask(["bound"], 600)).toHaveLength(187);
    expect(ask(["bound"], 20)).toHaveLength(20);
    // Of one word alone the bound is a thousand.
    const alone = keywordRows(index.db, ["bound"], ["daily"], 600).map(({ score }) => score);
    expect(new Set(alone).size).toBeGreaterThan(1);
  });

  test("a frequent word alone finds the newest passages with it, though it stands in half of all", () => {
    expect(texts(["half"], 4).map(nOf)).toEqual([598, 596, 594, 592]);
    expect(texts(["newer"], 2).map(nOf)).toEqual([599, 598]);
    expect(ask(["half"], 1)[0]?.score).toBeCloseTo(1e-6, 9);
  });

  test("a frequent word is counted from its newest passages, and weighs as bm25 would", () => {
    // The newest 187 of 190 begin with the fourth passage: 597 were looked at for them.
    expect(ask(["third"], 1)[0]?.score).toBeCloseTo(weight((187 * size) / 597), 9);
    // These are found within the newest 187, so all passages seem to have it.
    expect(ask(["newer"], 1)[0]?.score).toBeCloseTo(1e-6, 9);
  });

  test("what more than a third has tells nothing beside another word", () => {
    expect(texts(["half", "third"], 600)).toHaveLength(190);
    const odd = ask(["odd", "half"], 600);
    expect(odd.map(({ text }) => nOf(text)).toSorted((a, b) => a - b)).toEqual([550, 551, 553]);
  });

  test("a passage with a rare and a frequent word is before one with the rare word alone", () => {
    const [first, second] = ask(["lone", "third"], 5);
    expect([first, second].map((row) => nOf(row?.text ?? ""))).toEqual([187, 303]);
    const alone = ask(["lone"], 5).find(({ text }) => nOf(text) === 187);
    expect((first?.score ?? 0) - (alone?.score ?? 0)).toBeCloseTo(weight((187 * size) / 597), 9);
    // Those with the frequent word alone come after, the newest first, as far as there is room.
    expect(texts(["lone", "third"], 4).map(nOf)).toEqual([187, 303, 189, 188]);
    expect(texts(["lone", "third"], 2).map(nOf)).toEqual([187, 303]);
  });

  test("of several frequent words the passages with all of them come first", () => {
    const both = texts(["third", "ends"], 300).map(nOf);
    expect(both.slice(0, 3)).toEqual([99, 98, 97]);
    expect(both.slice(0, 100).every((n) => n < 100)).toBe(true);
    expect(both).toHaveLength(290);
    expect(texts(["third", "ends"], 100).map(nOf)).toEqual(Array.from({ length: 100 }, (_, at) => 99 - at));
  });

  test("beside rare words only the four rarest of the frequent ones count", () => {
    const scoreOf = (words: readonly string[]): number =>
      ask(words, 9).find(({ text }) => nOf(text) === 1)?.score ?? 0;
    const four = ["single", "bound", "third", "more", "ends"];
    const all = scoreOf(four);
    expect(scoreOf([...four, "fifth"])).toBeCloseTo(all, 9);
    for (const left of four.slice(1)) expect(scoreOf(four.filter((each) => each !== left))).toBeLessThan(all);
  });

  test("a word that is rare here and frequent elsewhere is weighed alike in all, and as rare as it is here", () => {
    const rows = keywordRows(index.db, ["elsewhere", ...absent(31)], ["curated"], 9);
    expect(rows.map(({ score }) => score)).toEqual([1e-6, 1e-6]);
    expect(keywordRows(index.db, ["quiet", ...absent(31)], ["curated"], 9)).toHaveLength(1);
    // Alone its bound is a thousand, and it is weighed in each passage.
    const alone = keywordRows(index.db, ["elsewhere"], ["curated"], 9).map(({ score }) => score);
    expect(new Set(alone).size).toBe(2);
  });
});

test("rare words are ranked as long as they stand in 1500 passages together", () => {
  index = indexed();
  const named = (from: number, to: number, name: string) => (at: number) =>
    at >= from && at < to ? name : "";
  const words = [named(0, 750, "early"), named(250, 1_000, "late"), named(249, 1_000, "later")];
  index.put(
    "log",
    "daily",
    Array.from({ length: 1_000 }, (_, at) => [...words.map((word) => word(at)), `n${at}`].join(" ")),
  );
  const found = (asked: readonly string[], scopes: readonly string[]): number =>
    keywordRows(index.db, asked, scopes, 5_000).length;
  expect([
    found(["early", "late"], ["daily"]),
    found(["early", "later"], ["daily"]),
    found(["early"], ["daily"]),
  ]).toEqual([1_000, 750, 750]);
  index.close();
});
