// The corpus of inner text, in every chunking: nothing inner is shown, in a preview or at the end, and
// nothing said is missing (I8).
import type { Outcome } from "@parley/protocol";
import { answersWithTokens, innerMark, innerTags, proseWithTags, silences, wrappings } from "@parley/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replyParser } from "../../src/index.ts";

interface Heard {
  readonly previews: readonly string[];
  readonly outcome: Outcome;
}

function hear(pieces: readonly string[]): Heard {
  const parser = replyParser();
  const previews = pieces.map((piece) => parser.push(piece).visible);
  return { previews, outcome: parser.end() };
}

/** Whole, character by character, in threes, and cut in two at every place. */
function chunkings(text: string): string[][] {
  const inTwo = Array.from({ length: text.length + 1 }, (_, at) => [text.slice(0, at), text.slice(at)]);
  const inThrees = Array.from({ length: Math.ceil(text.length / 3) }, (_, at) =>
    text.slice(3 * at, 3 * at + 3),
  );
  return [[text], text.split(""), inThrees, ...inTwo];
}

/** Spaces and line breaks where something was taken out are nobody's loss. */
function expectSaid(text: string, said: string): void {
  const bare = (shown: string): string => shown.replaceAll(/\s/gu, "");
  for (const pieces of chunkings(text)) {
    const { previews, outcome } = hear(pieces);
    const [part] = outcome.kind === "reply" ? outcome.parts : [];
    expect(bare(part?.kind === "text" ? part.markdown : ""), JSON.stringify(pieces)).toBe(bare(said));
    for (const preview of previews)
      expect(bare(said).startsWith(bare(preview)), JSON.stringify([pieces, preview])).toBe(true);
  }
}

function expectShown(text: string, shown: string): void {
  for (const pieces of chunkings(text)) {
    const { previews, outcome } = hear(pieces);
    expect(outcome, JSON.stringify(pieces)).toEqual({
      kind: "reply",
      parts: [{ kind: "text", markdown: shown }],
    });
    for (const preview of previews)
      expect(`${shown} `.startsWith(preview.trimEnd()), JSON.stringify([pieces, preview])).toBe(true);
  }
}

describe("a thought or a call", () => {
  test.each(innerTags)("%j … %j is not shown before an answer", (opens, closes) => {
    expectSaid(`${opens}${innerMark}${closes}Here it is.`, "Here it is.");
  });

  test.each(innerTags)("%j … %j is not shown on a line of its own", (opens, closes) => {
    expectSaid(`Let me see.\n${opens}${innerMark}${closes}Here it is.`, "Let me see.\nHere it is.");
  });

  test.each(innerTags.filter(([opens]) => /^<[a-z_]+>$/.test(opens)))(
    "**%s** … **%s** in bold is not shown",
    (opens, closes) => {
      expectSaid(
        `Let me see.\n**${opens}**\n${innerMark}\n**${closes}**\nHere it is.`,
        "Let me see.\n****\nHere it is.",
      );
      expectSaid(`Let me see.\n**${opens}**\n${innerMark}, and more of it`, "Let me see.\n**");
      expectSaid(`Let me see. **${opens}** ${innerMark}, and more of it`, "Let me see. **");
      expectSaid(`**${opens}** ${innerMark}, and more of it`, "**");
    },
  );

  test.each(innerTags.filter(([opens]) => !opens.startsWith("[think")))(
    "%j that never closes is not shown",
    (opens) => {
      expectShown(`Let me see.\n${opens}${innerMark}, and more of it`, "Let me see.");
      for (const pieces of chunkings(`${opens}${innerMark}`)) {
        const { previews, outcome } = hear(pieces);
        expect([previews.join(""), outcome], JSON.stringify(pieces)).toEqual([
          "",
          { kind: "silent", reason: "empty" },
        ]);
      }
    },
  );

  test.each(innerTags.filter(([, closes]) => !closes.includes("channel")))(
    "%j … %j is not shown after a sentence",
    (opens, closes) => {
      expectSaid(`Let me see.${opens}${innerMark}${closes}Here it is.`, "Let me see.Here it is.");
    },
  );
});

// Prose, thoughts and calls in any order: whatever stands beside them, no thought is shown and no word is
// missing.
test("a mix of prose and inner blocks shows all of the one and none of the other", () => {
  const prose = fc.constantFrom(...proseWithTags.filter((text) => !text.includes("```")));
  const block = fc
    .constantFrom(...innerTags)
    .map(([opens, closes]) => ({ block: `${opens}${innerMark}${closes}` }));
  const piece = fc.oneof(
    prose.map((text) => ({ text: `${text}\n\n` })),
    block,
  );
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 9 }),
      (mix, step) => {
        const text = mix.map((each) => ("text" in each ? each.text : each.block)).join("");
        const said = mix.map((each) => ("text" in each ? each.text : "")).join("");
        const pieces = Array.from({ length: Math.ceil(text.length / step) }, (_, at) =>
          text.slice(step * at, step * (at + 1)),
        );
        const { previews, outcome } = hear(pieces);
        const [part] = outcome.kind === "reply" ? outcome.parts : [];
        const shown = part?.kind === "text" ? part.markdown : "";
        expect([...previews, shown].some((each) => each.includes(innerMark))).toBe(false);
        expect(shown.replaceAll(/\s/gu, "")).toBe(said.replaceAll(/\s/gu, ""));
      },
    ),
    { numRuns: 1_000 },
  );
});

test.each(wrappings)("%j is taken off", (wrapping) => {
  expectShown(wrapping.replace("$", "Here it is."), "Here it is.");
});

test.each(proseWithTags)("%j is shown as it stands", (prose) => {
  expectShown(prose, prose);
  expectShown(`Well.\n\n${prose}\n\nThat is all.`, `Well.\n\n${prose}\n\nThat is all.`);
});

test.each(silences)("%j is silence, and no preview shows it", (text) => {
  for (const pieces of chunkings(text)) {
    const { previews, outcome } = hear(pieces);
    expect([previews.join(""), outcome], JSON.stringify(pieces)).toEqual([
      "",
      { kind: "silent", reason: "token" },
    ]);
  }
});

test.each(answersWithTokens)("%j is shown as %j", (text, shown) => {
  expectShown(text, shown);
});
