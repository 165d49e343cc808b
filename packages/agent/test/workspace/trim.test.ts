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
