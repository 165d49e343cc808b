// Whatever the text, however it streams and whatever happens to edits: in the end the whole text stands in
// the chat exactly once.
import { refusalBody } from "@parley/testkit";
import { plainText } from "@parley/channels";
import fc from "fast-check";
import { rush, type Stream } from "./rush.ts";

interface Case {
  readonly how: "edit" | "block";
  readonly text: string;
  readonly stream: Stream;
}

const words = fc
  .array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 3, maxLength: 60 })
  .map((list) => list.join(" "));
const paragraph = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 2, arbitrary: words.map((text) => `Some **${text}** and [a link](https://example.org/x).`) },
  { weight: 1, arbitrary: words.map((text) => `\`\`\`ts\n${text}\n\n${text}\n\`\`\``) },
  { weight: 1, arbitrary: fc.tuple(words, words).map(([one, two]) => `- ${one}\n- ${two}`) },
  { weight: 1, arbitrary: fc.constantFrom("日本語のテキスト。", "👨‍👩‍👧‍👦 family", "_half *open", "> said once") },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 900 }).map((count) => "long ".repeat(count).trim()) },
);
/** Evenly spread: `fc.double` would mostly give the ends. */
const share = fc.integer({ min: 0, max: 9_999 }).map((number) => number / 10_000);
const cases: fc.Arbitrary<Case> = fc
  .record({
    how: fc.constantFrom("edit" as const, "block" as const),
    // A number of its own in each, so that a paragraph that is missing or doubled shows.
    paragraphs: fc
      .array(paragraph, { minLength: 1, maxLength: 8, size: "max" })
      .map((list) => list.map((text, index) => `P${index}. ${text}`)),
    cuts: fc.array(share, { minLength: 10, maxLength: 25, size: "max" }),
    pausesMs: fc.array(fc.integer({ min: 0, max: 800 }), { minLength: 26, maxLength: 26 }),
  })
  .map(({ how, paragraphs, cuts, pausesMs }) => {
    const text = paragraphs.map((each) => each.replace(/^P(\d+)\. ([`>-])/, "P$1.\n\n$2")).join("\n\n");
    const at = [
      0,
      ...cuts.map((cut) => Math.floor(cut * text.length)).toSorted((a, b) => a - b),
      text.length,
    ];
    const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
    return { how, text, stream: { pieces, pausesMs } };
  });

/**
 * Throws for the first text that does not stand there once; all stream at the same time, through one bot a
 * mode.
 */
export async function everyTextOnce(count: number, seed: number): Promise<void> {
  const stage = await rush();
  try {
    // Edits meet every kind of trouble; sends only what certainly did not happen, as no bot can send twice
    // the same.
    const limited = {
      kind: "answer",
      status: 429,
      body: refusalBody(429, "Too Many Requests", { retry_after: 2 }),
    } as const;
    for (let nth = 0; nth < count; nth += 1) {
      stage.fake.inject({ method: "editMessageText", skip: 8 * nth, trouble: limited });
      stage.fake.inject({
        method: "editMessageText",
        skip: 6 * nth + 1,
        when: nth % 2 === 0 ? "before" : "after",
        trouble: { kind: "reset" },
      });
      stage.fake.inject({ method: "editMessageText", skip: 60 * nth + 40, trouble: { kind: "hang" } });
      stage.fake.inject({ method: "sendMessage", skip: 40 * nth + 30, trouble: limited });
    }
    await Promise.all(
      fc.sample(cases, { numRuns: count, seed }).map(async ({ how, text, stream }, index) => {
        const shown = await stage.answer(1_000 + index, how, stream);
        if (essence(shown.join("")) !== essence(plainText(text))) {
          throw new Error(
            `seed ${seed}, case ${index} (${how}): not once\n${JSON.stringify({ text, pieces: stream.pieces, shown }, null, 1)}`,
          );
        }
      }),
    );
    const edits = stage.fake.calls("editMessageText").length;
    if (edits < count) throw new Error(`only ${edits} edits for ${count} answers: nothing was tried`);
    const violations = stage.fake.violations();
    if (violations.length > 0) throw new Error(violations.join("\n"));
  } finally {
    await stage.close();
  }
}

function essence(text: string): string {
  return text.replace(/\s+/g, "");
}
