// Reads an Ogg Opus recording as far as a voice note needs it: its length, and how loud it is over time. The
// sizes of its packets stand for loudness, because Opus spends few bytes on silence and no decoder is needed.
// Source: RFC 3533 (Ogg), RFC 7845 (Ogg Opus).
import { readFile } from "node:fs/promises";

export interface VoiceNote {
  readonly seconds: number;
  /** Loudness from 0 to 255 at equal distances, at most as many points as were asked for. */
  waveform(mostPoints: number, leastMsPerPoint: number): Uint8Array;
}

const samplesPerSecond = 48_000;
const pageHead = 27;
/** OpusHead and OpusTags. */
const headPackets = 2;

/** Null for a file that is no Ogg Opus; rejects when it cannot be read. */
export async function voiceNoteIn(path: string): Promise<VoiceNote | null> {
  return oggOpus(await readFile(path));
}

/** Null for bytes that are no Ogg Opus, or too broken to tell their length. */
export function oggOpus(bytes: Buffer): VoiceNote | null {
  const sizes: number[] = [];
  let packet = 0;
  let granule = 0n;
  let at = 0;
  let preSkip: number | null = null;
  while (at + pageHead <= bytes.length) {
    if (bytes.toString("latin1", at, at + 4) !== "OggS") return null;
    const lacing = bytes.subarray(at + pageHead, at + pageHead + (bytes[at + 26] ?? 0));
    let data = at + pageHead + lacing.length;
    if (preSkip === null) {
      if (bytes.toString("latin1", data, data + 8) !== "OpusHead" || data + 12 > bytes.length) return null;
      preSkip = bytes.readUInt16LE(data + 10);
    }
    // A page on which no packet ends says -1.
    const ends = bytes.readBigInt64LE(at + 6);
    if (ends > granule) granule = ends;
    for (const segment of lacing) {
      packet += segment;
      data += segment;
      if (segment === 255) continue;
      sizes.push(packet);
      packet = 0;
    }
    at = data;
  }
  const samples = Number(granule) - (preSkip ?? 0);
  const spoken = sizes.slice(headPackets);
  if (preSkip === null || samples <= 0 || spoken.length === 0) return null;
  const seconds = samples / samplesPerSecond;
  return {
    seconds,
    waveform(mostPoints, leastMsPerPoint) {
      const fitting = Math.floor((seconds * 1_000) / leastMsPerPoint);
      const points = Math.max(1, Math.min(mostPoints, fitting, spoken.length));
      const means = Array.from({ length: points }, (_, n) => {
        const part = spoken.slice(
          Math.floor((n * spoken.length) / points),
          Math.floor(((n + 1) * spoken.length) / points),
        );
        return part.reduce((sum, size) => sum + size, 0) / part.length;
      });
      const loudest = Math.max(1, ...means);
      return Uint8Array.from(means, (mean) => Math.round((mean / loudest) * 255));
    },
  };
}
