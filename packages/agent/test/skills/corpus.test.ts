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

  test("says all that was wrong with it and nothing else, in the order of the file", () => {
    const notesOf = (front: string): readonly string[] | string => {
      const reading = read(`---\n${front}\n---\nBody.\n`);
      return reading.ok ? reading.notes : reading.reason;
    };
    const plain = "name: a\ndescription: b";
    expect(notesOf(plain)).toEqual([]);
    expect(notesOf(`name: a\ndescription: ${"d".repeat(1_024)}`)).toEqual([]);
    expect(notesOf(`name: a\ndescription: ${"d".repeat(1_025)}`)).toEqual([
      "its description is cut at 1024 characters",
    ]);
    const byKey = notesOf(`${plain}\nx: 1: 2\nversion: 1\ny: %s\nversion: 2\nx: %s\nz: 3\n# said`);
    expect(byKey.slice(-4)).toEqual([
      "x is left out: it is no YAML",
      "y is left out: it is no YAML",
      "version stands twice: the last one counts",
      "x is left out: it is no YAML",
    ]);
    // Which of two descriptions it would be chosen by is not guessed.
    expect(notesOf(`${plain}\nx: %s\ndescription: c`)).toMatch(/cannot be read/);
    expect(notesOf(`${plain}\nx: %s\nname: c`)).toMatch(/cannot be read/);
  });

  test("has its fields by whatever name people give them, and none that could do harm", () => {
    const given = (front: string): unknown => {
      const reading = read(`---\nname: a\ndescription: b\n${front}\n---\n`);
      return reading.ok ? reading.manifest : reading.reason;
    };
    expect(given("metadata: {parley: {os: [macOS, Mac, osx, Windows, win, Linux, freebsd]}}")).toMatchObject({
      gates: { os: ["darwin", "darwin", "darwin", "win32", "win32", "linux", "freebsd"] },
    });
    for (const key of ["parley", "openclaw", "clawdbot"]) {
      expect(given(`metadata: {${key}: {skillKey: k}}`)).toMatchObject({ key: "k" });
      expect(given(`${key}: {skillKey: k}`)).toMatchObject({ key: "k" });
    }
    expect(given("metadata: {clawdbot: {skillKey: c}, openclaw: {skillKey: o}}")).toMatchObject({ key: "o" });
    expect(given("openclaw: {skillKey: o}\nmetadata: {clawdbot: {skillKey: c}}")).toMatchObject({ key: "c" });
    expect(given("metadata: {parley: {bins: [x, y], requires: {bins: [y, z]}}}")).toMatchObject({
      gates: { bins: ["y", "z", "x"] },
    });
    const longest = `K${"X".repeat(127)}`;
    expect(given(`metadata: {parley: {primaryEnv: ${longest}}}`)).toMatchObject({ primaryEnv: longest });
    expect(given(`metadata: {parley: {primaryEnv: ${longest}X}}`)).not.toHaveProperty("primaryEnv");
    for (const url of ["http://x.example/", "https://x.example/"])
      expect(given(`homepage: ${url}`)).toMatchObject({ homepage: url });
    expect(given("homepage: ftp://x.example/")).not.toHaveProperty("homepage");
    const dispatch = (tool: string, more = ""): unknown =>
      given(`command-dispatch: Tool\ncommand-tool: ${tool}${more}`);
    expect(dispatch(`t${"x".repeat(63)}`)).toMatchObject({ dispatch: { tool: `t${"x".repeat(63)}` } });
    expect(dispatch(`t${"x".repeat(64)}`)).not.toHaveProperty("dispatch");
    expect(dispatch("look", "\ncommand-arg-mode: RAW")).toMatchObject({ dispatch: { tool: "look" } });
    expect(dispatch("look", "\ncommand-arg-mode: json")).not.toHaveProperty("dispatch");
    expect(given("")).toMatchObject({ userInvocable: true, modelInvocable: true, gates: { always: false } });
  });

  test("of the most lines, characters, levels and values is read, and of one more refused with the number", () => {
    const verdict = (block: string): string => {
      const read = frontMatter(`---\n${block}\n---\nbody`);
      return read.ok ? read.body : read.reason;
    };
    const lines = (most: number): string => `a: 1${"\n#".repeat(most - 1)}`;
    const chars = (most: number): string => "a: 1\n#".padEnd(most, "x");
    const brackets = (most: number): string => `a: ${"[".repeat(most)}${"]".repeat(most)}`;
    const levels = (most: number): string =>
      Array.from({ length: most }, (_, at) => `${"  ".repeat(at)}a:`).join("\n") + " 1";
    const values = (most: number): string =>
      `a: [${Array(most - 2)
        .fill(1)
        .join(", ")}]`;
    for (const [block, most, words] of [
      [lines, 1_000, "more than 1000 lines"],
      [chars, 65_536, "65537 characters, more than 65536"],
      [brackets, 24, "nested more than 24 levels deep"],
      [levels, 24, "nested more than 24 levels deep"],
      [values, 5_000, "more than 5000 values"],
    ] as const) {
      expect([words, verdict(block(most))]).toEqual([words, "body"]);
      expect(verdict(block(most + 1))).toContain(words);
    }
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
