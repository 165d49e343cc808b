import { describe, expect, test } from "vitest";
import { cutThroughLoop, recordings } from "./cut-streams.ts";

describe.each(recordings)("a stream of $api, cut at every byte", (recording) => {
  test("starts no tool and stands for no answer", { timeout: 300_000 }, async () => {
    expect(
      await cutThroughLoop(recording, (bytes) => Array.from({ length: bytes.length + 1 }, (_, at) => at)),
    ).toBeGreaterThan(100);
  });
});
