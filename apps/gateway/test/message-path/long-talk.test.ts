import { expect, test } from "vitest";
import { longTalk } from "./long-talk.ts";

test("forty turns with large tool results through a small window: nobody hears of it, every request is valid, nothing is lost", async () => {
  const { complaints, flaws, transcript, flushes, tokens } = await longTalk(40);
  expect(complaints).toEqual([]);
  expect(flaws).toEqual([]);
  const compactions = transcript.filter((entry) => entry.type === "summary").length;
  expect(compactions).toBeGreaterThan(0);
  // The last one may be flushed and not compacted yet.
  expect([compactions, compactions + 1]).toContain(flushes);
  expect(tokens.shown).toBeLessThan(tokens.whole / 2);
  expect(transcript.filter((entry) => entry.type === "user")).toHaveLength(40);
});
