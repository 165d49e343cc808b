// Recordings as voice notes need them: their length and their loudness, of whole, long and broken files.
import { oggOpusFile } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { oggOpus } from "../src/ogg-opus.ts";

const packets = (count: number, bytes: number): number[] => Array.from({ length: count }, () => bytes);

test("its length is that of its sound, whatever its packets weigh", () => {
  expect(oggOpus(oggOpusFile(packets(500, 40)))?.seconds).toBe(10);
  expect(oggOpus(oggOpusFile([...packets(60, 700), ...packets(15, 3)]))?.seconds).toBe(1.5);
});

describe("its waveform", () => {
  test("is high where it is loud and low where it is quiet", () => {
    const note = oggOpus(oggOpusFile([...packets(100, 300), ...packets(100, 30)]));
    const points = [...(note?.waveform(8, 100) ?? [])];
    expect(points).toEqual([255, 255, 255, 255, 26, 26, 26, 26]);
  });

  test("has no more points than asked for, and none nearer than asked for", () => {
    expect(oggOpus(oggOpusFile(packets(5_000, 10)))?.waveform(256, 100)).toHaveLength(256);
    expect(oggOpus(oggOpusFile(packets(50, 10)))?.waveform(256, 100)).toHaveLength(10);
    expect(oggOpus(oggOpusFile(packets(1, 10)))?.waveform(256, 100)).toHaveLength(1);
  });
});

test("what is no Ogg Opus, or too broken to have a length, is none", () => {
  const whole = oggOpusFile(packets(100, 40));
  const vorbis = Buffer.from(whole);
  vorbis.write("\u0001vorbis", 28, "latin1");
  const headsOnly = oggOpusFile([]);
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from("RIFF....WAVEfmt "),
    Buffer.from("OggS"),
    vorbis,
    headsOnly,
  ])
    expect(oggOpus(bytes)).toBeNull();
  for (let cut = 0; cut < whole.length; cut += 7) {
    const note = oggOpus(whole.subarray(0, cut));
    if (note !== null) expect(note.waveform(256, 100).length).toBeGreaterThan(0);
  }
});
