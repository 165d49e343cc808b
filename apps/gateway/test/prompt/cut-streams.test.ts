// The long tier cuts at every byte (cut-streams.long.test.ts); here the ends of lines, their neighbours, and
// samples between.
import { describe, expect, test } from "vitest";
import { cutThroughLoop, recordings } from "./cut-streams.ts";

describe.each(recordings)("a stream of $api, cut", (recording) => {
  test("starts no tool and stands for no answer", async () => {
    const torn = await cutThroughLoop(recording, (bytes) => {
      const ends = [...bytes.toString("latin1").matchAll(/\n/g)].flatMap(({ index }) => [
        index - 1,
        index,
        index + 1,
      ]);
      const between = Array.from({ length: 12 }, (_, nth) => Math.floor((nth * bytes.length) / 12));
      return [...new Set([...ends, ...between])].filter((at) => at <= bytes.length);
    });
    expect(torn).toBeGreaterThan(10);
  });
});
