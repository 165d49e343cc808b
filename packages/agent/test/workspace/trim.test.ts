// Caps and cuts.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type BootstrapName,
  type BootstrapSnapshot,
  defaultCaps,
  truncationWarning,
  warnOnce,
} from "../../src/index.ts";
import { trimText, trimToCaps } from "../../src/workspace/trim.ts";

const snapshot = (...sizes: readonly number[]): BootstrapSnapshot => ({
  files: sizes.map((size, at) => ({
    name: (["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md"] as const)[at] as BootstrapName,
    path: `/w/${at}`,
    state: "present",
    text: "x".repeat(size),
    rawChars: size,
    truncated: false,
  })),
});

test("a file over its cap keeps 70 % from the head and 20 % from the tail around the marker", () => {
  const text = "h".repeat(50_000) + "t".repeat(50_000);
  const cut = trimText("SOUL.md", text, 20_000);
  const [head, tail] = cut.split("\n\n[...truncated, read SOUL.md for full content...]\n\n");
  expect(head).toBe("h".repeat(14_000));
  expect(tail).toBe("t".repeat(4_000));
});

test("the defaults are 20,000 per file and 60,000 in total, served in order", () => {
  const { files } = trimToCaps(snapshot(30_000, 30_000, 30_000, 30_000), defaultCaps);
  expect(files.map((file) => file.text.length <= 20_000)).toEqual([true, true, true, true]);
  expect(files.reduce((sum, file) => sum + file.text.length, 0)).toBeLessThanOrEqual(60_000);
  expect(files.every((file) => file.truncated)).toBe(true);
  // What a cut leaves counts, not what the file had: the last file has what three cuts left.
  const lengths = (...sizes: readonly number[]): readonly number[] =>
    trimToCaps(snapshot(...sizes), { fileChars: 20_000, totalChars: 45_000 }).files.map(
      ({ text }) => text.length,
    );
  expect(lengths(90_000, 90_000, 300, 90_000)).toEqual([18_054, 18_052, 300, 7_786]);
});

test("a cut never exceeds its cap, keeps both ends and cuts no surrogate pair", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), fc.nat(400), (text, maxChars) => {
      const cut = trimText("A.md", text, maxChars);
      expect(cut.length).toBeLessThanOrEqual(maxChars);
      if (text.length <= maxChars) expect(cut).toBe(text);
      expect(cut.isWellFormed()).toBe(true);
    }),
  );
});

test("an emoji at the cut is left out whole", () => {
  for (let maxChars = 60; maxChars < 120; maxChars += 1)
    expect(trimText("A.md", "😀".repeat(200), maxChars).isWellFormed()).toBe(true);
});

test("a warning names what was cut, and once means once per truncation", () => {
  const cut = trimToCaps(snapshot(30_000), defaultCaps);
  expect(truncationWarning(snapshot(10), true)).toBeNull();
  expect(truncationWarning(cut, true)).toContain("Read the files for full content.");
  expect(truncationWarning(cut, true)).toContain("AGENTS.md");
  expect(truncationWarning(cut, false)).not.toContain("Read the files");
  const first = warnOnce(cut, "once", undefined, true);
  expect(first.note).toContain("of 30000 characters");
  expect(warnOnce(cut, "once", first.told, true).note).toBeNull();
  expect(warnOnce(trimToCaps(snapshot(40_000), defaultCaps), "once", first.told, true).note).toContain(
    "of 40000 characters",
  );
  expect(warnOnce(cut, "off", undefined, true).note).toBeNull();
  expect(warnOnce(cut, "always", undefined, true).note).toBeNull();
});

test("each file gets what is left of the total, and one that finds no room for the mark is left out whole", () => {
  const cutOf = (caps: { fileChars: number; totalChars: number }, ...sizes: number[]): (number | string)[] =>
    trimToCaps(snapshot(...sizes), caps).files.map(({ text, truncated }) =>
      truncated ? `${text.length} cut` : text.length,
    );
  // The mark of SOUL.md has 52 characters; head and tail together have less than nine tenths of the cap.
  expect(cutOf({ fileChars: 1_000, totalChars: 9_000 }, 1_000, 1_001)).toEqual([1_000, "951 cut"]);
  expect(cutOf({ fileChars: 1_000, totalChars: 2_000 }, 900, 700, 401, 5)).toEqual([
    900,
    700,
    "400 cut",
    "0 cut",
  ]);
});

test("a mark that just fits stands alone, and one that does not leaves nothing", () => {
  const mark = "\n\n[...truncated, read AGENTS.md for full content...]\n\n";
  const text = "x".repeat(500);
  expect(trimText("AGENTS.md", text, mark.length - 1)).toBe("");
  expect(trimText("AGENTS.md", text, mark.length)).toBe(mark);
  expect(trimText("AGENTS.md", text, mark.length + 9)).toBe(`${"x".repeat(7)}${mark}xx`);
  expect(trimText("AGENTS.md", text, 0)).toBe("");
  expect(trimText("AGENTS.md", text, 500)).toBe(text);
});

test("what is missing or refused takes nothing of the total, and is not cut", () => {
  const [one, two] = snapshot(10, 10).files;
  if (one === undefined || two === undefined) throw new Error("there are two");
  const refused = { ...one, state: "refused", text: "y".repeat(90) } as const;
  const missing = { ...one, state: "missing", text: "" } as const;
  const files = [refused, missing, two];
  expect(trimToCaps({ files }, { fileChars: 10, totalChars: 10 }).files).toEqual(files);
});

test("the warning tells of each file that was cut how much is there; what was told is kept while nothing new is", () => {
  const cut = trimToCaps(snapshot(30_000, 10, 25_000), defaultCaps);
  const warning =
    "[Bootstrap truncation warning: AGENTS.md (18054 of 30000 characters), TOOLS.md (18053 of 25000 characters). Read the files for full content.]";
  expect(truncationWarning(cut, true)).toBe(warning);
  expect(warnOnce(cut, "once", undefined, true)).toEqual({ note: warning, told: warning });
  expect(warnOnce(cut, "once", warning, true)).toEqual({ note: null, told: warning });
  expect(warnOnce(cut, "once", "another", true)).toEqual({ note: warning, told: warning });
  for (const policy of ["off", "always"] as const)
    expect(warnOnce(cut, policy, "another", true)).toEqual({ note: null, told: "another" });
  expect(warnOnce(snapshot(10), "once", warning, true)).toEqual({ note: null, told: warning });
});
