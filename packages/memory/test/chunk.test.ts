// How notes are cut into passages.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chunksOf, tokensOf } from "../src/chunk.ts";

const usual = { tokens: 400, overlap: 80 };
const bullets = (count: number): string =>
  Array.from({ length: count }, (_, n) => `- note ${n} about something that happened on that day`).join("\n");

describe("chunks", () => {
  test("of a short file are one, with its lines and its heading", () => {
    expect(chunksOf("# People\n\n- Ann drinks tea.\n", usual)).toEqual([
      { startLine: 1, endLine: 3, heading: "People", text: "# People\n\n- Ann drinks tea." },
    ]);
  });

  test("have about 400 tokens, and repeat about 80 of the one before", () => {
    const chunks = chunksOf(bullets(200), usual);
    expect(chunks.length).toBeGreaterThan(4);
    for (const { text } of chunks) expect(tokensOf(text)).toBeLessThanOrEqual(400);
    for (const [at, chunk] of chunks.slice(1).entries()) {
      const before = chunks[at];
      const repeated = (before?.endLine ?? 0) - chunk.startLine + 1;
      expect(repeated).toBeGreaterThan(2);
      expect(tokensOf(chunk.text.split("\n").slice(0, repeated).join("\n"))).toBeLessThanOrEqual(80);
    }
  });

  test("carry the headings that they stand under, and none of a code block", () => {
    const text = `# Work\n## Parley\n\`\`\`\n# no heading\n\`\`\`\n${bullets(40)}\n## Garden\n${bullets(40)}`;
    const headings = chunksOf(text, usual).map(({ heading }) => heading);
    expect(new Set(headings)).toEqual(new Set(["Work", "Work > Parley", "Work > Garden"]));
  });

  test("of one endless line are many, all of that line", () => {
    const chunks = chunksOf("word ".repeat(5_000), usual);
    expect(chunks.length).toBeGreaterThan(10);
    expect(chunks.every(({ startLine, endLine }) => startLine === 1 && endLine === 1)).toBe(true);
  });

  test("leave no line out, whatever the text, and are the same each time", () => {
    const line = fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.constantFrom("# A", "## B", "```", "", "\t", "你好世界"),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 120 }), fc.integer({ min: 50, max: 200 }), (lines, tokens) => {
        const text = lines.map((each) => each.replaceAll(/[\r\n]/g, " ")).join("\n");
        const chunks = chunksOf(text, { tokens, overlap: 20 });
        const covered = new Set(
          chunks.flatMap(({ startLine, endLine }) =>
            Array.from({ length: endLine - startLine + 1 }, (_, at) => startLine + at),
          ),
        );
        for (const [at, each] of text.split("\n").entries())
          if (each.trim() !== "") expect(covered).toContain(at + 1);
        expect(chunksOf(text, { tokens, overlap: 20 })).toEqual(chunks);
      }),
    );
  });
});
