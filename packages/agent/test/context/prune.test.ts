import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "@parley/protocol";
import { prune, toolFilter } from "../../src/context/prune.ts";
import { defaultPruning, viewOf } from "../../src/index.ts";
import { charsOfAll } from "../../src/context/size.ts";
import { answered, conversation, flaws, image, result, said } from "./entries.ts";

const cleared = "[Old tool result content cleared]";
const textOf = (entry: Entry | undefined): string =>
  entry?.type === "toolResult"
    ? entry.content.map((part) => (part.type === "text" ? part.text : "<image>")).join("")
    : "";

/** Turns with one result of `chars` each. */
function turns(count: number, chars: number, name?: string): Entry[] {
  return Array.from({ length: count }, (_, n) => [
    said(`ask ${n}`),
    answered("", [`c${n}`]),
    result(`c${n}`, `${n}`.padEnd(chars, "x"), name),
    answered(`done ${n}`),
  ]).flat();
}
const results = (entries: readonly Entry[]): readonly string[] =>
  entries.filter((entry) => entry.type === "toolResult").map(textOf);
/** A window in which the entries take this share. */
const windowFor = (entries: readonly Entry[], share: number): number => charsOfAll(entries) / share / 4;

describe("soft trimming", () => {
  const entries = turns(10, 5_000);

  it("and clearing begin at their very ratio", () => {
    // Halves and quarters are exact, so that the share is the ratio to the last bit.
    const at = { ...defaultPruning, softTrimRatio: 0.25, hardClearRatio: 0.5, minPrunableToolChars: 1_000 };
    const noTrim = { ...at, softTrim: { maxChars: 9_000, headChars: 10, tailChars: 10 } };
    const even = turns(12, 5_000);
    expect(prune(even, windowFor(even, 0.25), at)).not.toBe(even);
    expect(prune(even, windowFor(even, 0.25) * 1.01, at)).toBe(even);
    expect(results(prune(even, windowFor(even, 0.5), noTrim))).toContain(cleared);
    expect(results(prune(even, windowFor(even, 0.5) * 1.01, noTrim))).not.toContain(cleared);
  });

  it("and clearing have the defaults of the reference", () => {
    expect(defaultPruning).toMatchObject({
      mode: "cache-ttl",
      ttlMs: 300_000,
      keepLastAssistants: 3,
      softTrimRatio: 0.3,
      hardClearRatio: 0.5,
      minPrunableToolChars: 50_000,
    });
  });

  it("begins at 30 % of the window", () => {
    expect(prune(entries, windowFor(entries, 0.29), defaultPruning)).toBe(entries);
    expect(prune(entries, windowFor(entries, 0.31), defaultPruning)).not.toBe(entries);
  });

  it("keeps 1,500 characters of either end and says what it did", () => {
    const long = "A".repeat(2_000) + "B".repeat(46_000) + "C".repeat(2_000);
    const view = prune(
      [said("go"), answered("", ["c"]), result("c", long), ...turns(3, 10)],
      30_000,
      defaultPruning,
    );
    expect(textOf(view[2])).toBe(
      `${"A".repeat(1_500)}\n...\n${"C".repeat(1_500)}\n\n[Tool result trimmed: kept first 1500 chars and last 1500 chars of 50000 chars.]`,
    );
  });

  it("leaves results of 4,000 characters and those of the last three answers whole", () => {
    const short = turns(10, 4_000);
    expect(prune(short, windowFor(short, 0.4), defaultPruning)).toEqual(short);
    const view = prune(entries, windowFor(entries, 0.4), defaultPruning);
    // The last three answers: done 8, the call of 9, done 9. So the result of 9 stands after the third from
    // the end.
    expect(results(view).map((text) => text.length === 5_000)).toEqual([
      ...Array.from({ length: 9 }, () => false),
      true,
    ]);
  });

  it("touches nothing before the first message, no images, and no tool that is not prunable", () => {
    const before: Entry[] = [answered("", ["b"]), result("b", "y".repeat(9_000))];
    const pictured: Entry = {
      type: "toolResult",
      callId: "p",
      name: "read",
      content: [{ type: "text", text: "z".repeat(9_000) }, image()],
      isError: false,
      atMs: 0,
    };
    const all = [
      ...before,
      said("go"),
      answered("", ["p"]),
      pictured,
      ...turns(2, 9_000, "exec"),
      ...turns(2, 9_000, "Read"),
      ...turns(2, 10),
    ];
    const view = prune(all, windowFor(all, 0.45), { ...defaultPruning, tools: { allow: ["re*"], deny: [] } });
    expect(results(view).map((text) => text.length > 4_000)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(toolFilter({ allow: [], deny: ["EX*"] })("exec")).toBe(false);
    expect(toolFilter({ allow: ["exec"], deny: ["exec"] })("exec")).toBe(false);
    expect(toolFilter({ allow: ["a.c"], deny: [] })("abc")).toBe(false);
  });

  it("never cuts a character in two", () => {
    const view = prune(
      [said("go"), answered("", ["c"]), result("c", `x${"😀".repeat(30_000)}`), ...turns(3, 10)],
      20_000,
      defaultPruning,
    );
    expect(textOf(view[2]).isWellFormed()).toBe(true);
  });
});

describe("hard clearing", () => {
  const entries = turns(60, 3_900);

  it("begins at 50 % and clears the oldest until the view is below it", () => {
    const window = windowFor(entries, 0.6);
    const view = prune(entries, window, defaultPruning);
    const texts = results(view);
    const gone = texts.filter((text) => text === cleared).length;
    expect(texts.slice(0, gone).every((text) => text === cleared)).toBe(true);
    expect(gone).toBeGreaterThan(5);
    expect(gone).toBeLessThan(20);
    expect(charsOfAll(view) / window / 4).toBeLessThan(0.5);
    expect(prune(entries, windowFor(entries, 0.49), defaultPruning)).toEqual(entries);
  });

  it("needs 50,000 characters that can be cleared, or a quarter of a small window, and can be switched off", () => {
    const few = [said("w".repeat(100_000)), ...turns(12, 3_900)];
    expect(results(prune(few, windowFor(few, 0.6), defaultPruning))).not.toContain(cleared);
    const small = turns(12, 3_900);
    expect(results(prune(small, windowFor(small, 0.6), defaultPruning))).toContain(cleared);
    expect(
      results(
        prune(entries, windowFor(entries, 0.9), {
          ...defaultPruning,
          hardClear: { enabled: false, placeholder: cleared },
        }),
      ),
    ).not.toContain(cleared);
  });

  it("takes images out of old messages only, and only when the window fills", () => {
    const shown: Entry = {
      type: "user",
      content: [{ type: "text", text: "look" }, image()],
      rows: [],
      atMs: 0,
    };
    const all = [shown, answered("I see"), ...turns(3, 10), shown, answered("again")];
    expect(prune(all, 1_000_000, defaultPruning)).toBe(all);
    const view = prune(all, 10_000, defaultPruning);
    expect(JSON.stringify(view[0])).toContain("[image data removed - already processed by model]");
    expect(view.at(-2)).toEqual(shown);
  });
});

it("the last three messages of people keep their pictures, and what came between them; all before goes", () => {
  const shown = (nth: number): Entry => ({
    type: "user",
    content: [{ type: "text", text: `look ${nth}` }, image()],
    rows: [],
    atMs: 0,
  });
  const read = (nth: number): Entry[] => [
    answered("", [`c${nth}`]),
    { ...(result(`c${nth}`, "a page") as Extract<Entry, { type: "toolResult" }>), content: [image()] },
  ];
  const all = [1, 2, 3, 4].flatMap((nth) => [shown(nth), ...read(nth)]);
  const has = prune(all, 10_000, defaultPruning).map((entry) =>
    entry.type === "assistant" ? "-" : JSON.stringify(entry).includes('"image"'),
  );
  expect(has).toEqual([false, "-", false, ...Array(3).fill([true, "-", true]).flat()]);
  // With three messages or fewer nothing is old.
  const few = all.slice(3);
  expect(prune(few, 10_000, defaultPruning)).toEqual(few);
});

it("a pruned view is valid, no longer than before, the same when pruned again, and changes nothing (I11)", () => {
  fc.assert(
    fc.property(conversation, fc.integer({ min: 500, max: 60_000 }), fc.nat(5), (entries, window, keep) => {
      const settings = { ...defaultPruning, keepLastAssistants: keep };
      const before = JSON.stringify(entries);
      const view = prune(entries, window, settings);
      expect(JSON.stringify(entries)).toBe(before);
      expect(flaws(viewOf(view))).toEqual([]);
      expect(view).toHaveLength(entries.length);
      expect(charsOfAll(view)).toBeLessThanOrEqual(charsOfAll(entries));
      expect(prune(view, window, settings)).toEqual(view);
    }),
  );
});
