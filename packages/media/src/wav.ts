// Reads a WAV recording as one channel of samples at 48 kHz, which is what Opus takes, and writes one.
// Programs write 16 bits at 16 to 48 kHz; some stream it and leave the lengths in the header empty.

export const opusRate = 48_000;

interface Format {
  readonly code: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
}

/** Null for bytes that are no WAV with whole numbers of 8 or 16 bits. */
export function samplesOf(bytes: Uint8Array): Int16Array | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (data.toString("latin1", 0, 4) !== "RIFF" || data.toString("latin1", 8, 12) !== "WAVE") return null;
  let format: Format | null = null;
  for (let at = 12; at + 8 <= data.length;) {
    const name = data.toString("latin1", at, at + 4);
    const length = data.readUInt32LE(at + 4);
    const from = at + 8;
    if (name === "fmt " && from + 16 <= data.length)
      format = {
        code: data.readUInt16LE(from),
        channels: data.readUInt16LE(from + 2),
        rate: data.readUInt32LE(from + 4),
        bits: data.readUInt16LE(from + 14),
      };
    if (name === "data") {
      // A program that writes to a pipe does not know the length when it writes the header.
      const end = length === 0 || from + length > data.length ? data.length : from + length;
      return format === null ? null : resampled(data.subarray(from, end), format);
    }
    at = from + length + (length % 2);
  }
  return null;
}

/** Whole numbers as such, or in the newer header that names the same. */
const wholeNumbers = [1, 0xfffe];

function resampled(data: Buffer, { code, channels, rate, bits }: Format): Int16Array | null {
  const isKnown = wholeNumbers.includes(code) && (bits === 8 || bits === 16);
  if (!isKnown || channels < 1 || channels > 8 || rate < 4_000 || rate > 192_000) return null;
  const frameBytes = (channels * bits) / 8;
  const frames = Math.floor(data.length / frameBytes);
  const sampleAt = (frame: number): number => {
    let sum = 0;
    for (let channel = 0; channel < channels; channel += 1) {
      const at = frame * frameBytes + (channel * bits) / 8;
      sum += bits === 16 ? data.readInt16LE(at) : ((data[at] ?? 128) - 128) * 256;
    }
    return sum / channels;
  };
  const samples = new Int16Array(Math.floor((frames * opusRate) / rate));
  for (let at = 0; at < samples.length; at += 1) {
    const place = (at * rate) / opusRate;
    const frame = Math.floor(place);
    const next = Math.min(frame + 1, frames - 1);
    samples[at] = Math.round(sampleAt(frame) + (sampleAt(next) - sampleAt(frame)) * (place - frame));
  }
  return samples;
}

/** 16 bits, one channel. */
export function wavOf(pcm: Buffer, rate: number): Buffer {
  const head = Buffer.alloc(44);
  head.write("RIFF");
  head.writeUInt32LE(36 + pcm.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(pcm.length, 40);
  return Buffer.concat([head, pcm]);
}
