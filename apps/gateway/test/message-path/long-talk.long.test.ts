// The whole length, with the figures of docs/performance.md.
import { expect, test } from "vitest";
import { longTalk } from "./long-talk.ts";

test("three hundred turns with large tool results through a small window", { timeout: 900_000 }, async () => {
  const { complaints, flaws, transcript, tokens, ...counts } = await longTalk(300);
  const entries = Object.groupBy(transcript, (entry) => entry.type);
  console.log(
    JSON.stringify(
      {
        ...counts,
        ...tokens,
        entries: transcript.length,
        results: entries.toolResult?.length,
        compactions: entries.summary?.length,
      },
      null,
      2,
    ),
  );
  expect(complaints).toEqual([]);
  expect(flaws).toEqual([]);
  expect(entries.user).toHaveLength(300);
  expect(tokens.shown + tokens.spent).toBeLessThan(tokens.whole / 10);
});
