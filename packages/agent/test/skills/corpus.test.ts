import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frontMatter } from "../../src/skills/front-matter.ts";
import { readingOf, textOf } from "../../src/skills/skill-file.ts";
import { samples, type Sample } from "./corpus.ts";

const read = (text: Sample["text"]) =>
  readingOf(textOf(typeof text === "string" ? Buffer.from(text) : text), "folder");

describe("a SKILL.md from anywhere", () => {
  test.each(samples.map((sample) => [sample.title, sample] as const))("%s", (_title, sample) => {
    const reading = read(sample.text);
    if (sample.refused !== undefined) {
      expect(reading).toMatchObject({ ok: false, reason: expect.stringMatching(sample.refused) });
      return;
    }
    expect(reading).toMatchObject({ ok: true });
    if (!reading.ok) return;
    for (const [field, value] of Object.entries(sample.gives ?? {})) {
      const found = field
        .split(".")
        .reduce<unknown>((at, step) => (at as { [key: string]: unknown })[step], reading.manifest);
      expect([field, found]).toEqual([field, value]);
    }
    if (sample.note !== undefined) expect(reading.notes.join("\n")).toMatch(sample.note);
  });

  test("runs nothing and leaves no trace in any prototype", () => {
    for (const { text } of samples) read(text);
    expect(globalThis).not.toHaveProperty("skillCodeRan");
    expect({}).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("always");
  });

  test("gets the same verdict every time it is read", () => {
    for (const { text } of samples) expect(read(text)).toEqual(read(text));
  });

  test("never shares an object between two readings", () => {
    const text = "---\nname: a\ndescription: b\n---\n";
    const [first, second] = [frontMatter(text), frontMatter(text)];
    if (first.ok && second.ok) (first.data as { name: string }).name = "changed";
    expect(second).toMatchObject({ ok: true, data: { name: "a" } });
  });

  test("whatever its bytes are: a verdict with its reason, in bounded time", () => {
    const front = fc.array(
      fc.oneof(
        fc.constantFrom(
          "---",
          "name: ",
          "description: ",
          "metadata: ",
          "\n",
          "  ",
          "\t",
          "{",
          "}",
          "[",
          "]",
          "&a ",
          "*a",
          "!!js/x ",
          "'",
          '"',
          ": ",
          "- ",
          "|",
          ">",
          "#",
          "__proto__: ",
          "...",
          "? ",
          "%",
          "\r",
          "\0",
          "\uFEFF",
        ),
        fc.string({ maxLength: 6, unit: "binary" }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(front, fc.boolean(), (pieces, fenced) => {
        const text = fenced ? `---\n${pieces.join("")}\n---\nbody` : pieces.join("");
        const reading = read(text);
        expect(reading.ok ? reading.manifest.name : reading.reason).not.toBe("");
      }),
      { numRuns: 400 },
    );
  });

  test("that is changed in any one place is read or refused, and never crashes", () => {
    const seeds = samples.flatMap(({ text }) =>
      typeof text === "string" && text.length < 600 ? [text] : [],
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...seeds),
        fc.nat(600),
        fc.string({ maxLength: 3, unit: "binary" }),
        (text, at, put) => {
          const place = at % (text.length + 1);
          const reading = read(`${text.slice(0, place)}${put}${text.slice(place + 1)}`);
          expect(reading.ok ? reading.manifest.description : reading.reason).not.toBe("");
        },
      ),
      { numRuns: 400 },
    );
    expect(globalThis).not.toHaveProperty("skillCodeRan");
  });
});
