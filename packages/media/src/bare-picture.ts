// Tells whether a file is a picture and nothing else, by walking through it: no notes, no profile, no parts
// that readers skip, nothing behind its end. Only such a file is shown as it came; others are drawn anew.
// Source: PNG (W3C, 5), JPEG (ITU T.81, B.1), WebP (RFC 9649, 2).
import { readablePicture } from "./picture-kind.ts";

/** GIF is never one: its size may be a lie, and its notes are not told apart from its frames by length. */
export function isBarePicture(bytes: Uint8Array): boolean {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (readablePicture(bytes)?.extension) {
    case "png":
      return isBarePng(data);
    case "jpg":
      return isBareJpeg(data);
    case "webp":
      return isBareWebp(data);
    default:
      return false;
  }
}

const pngParts = new Set("IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB sBIT bKGD pHYs".split(" "));

function isBarePng(data: Buffer): boolean {
  for (let at = 8; at + 12 <= data.length;) {
    const name = data.toString("latin1", at + 4, at + 8);
    if (!pngParts.has(name)) return false;
    at += 12 + data.readUInt32BE(at);
    if (name === "IEND") return at === data.length;
  }
  return false;
}

const [startOfScan, end, jfif, adobe] = [0xda, 0xd9, 0xe0, 0xee];
const isTable = (marker: number): boolean =>
  (marker >= 0xc0 && marker <= 0xcf) || marker === 0xdb || marker === 0xdd;
/** JFIF with its small picture of itself has more. */
const jfifBytes = 16;

function isBareJpeg(data: Buffer): boolean {
  for (let at = 2; at + 2 <= data.length;) {
    const marker = data[at + 1] ?? 0;
    if (data[at] !== 0xff) return false;
    if (marker === end) return at + 2 === data.length;
    if (at + 4 > data.length) return false;
    const length = data.readUInt16BE(at + 2);
    const isKnown =
      isTable(marker) ||
      marker === startOfScan ||
      marker === adobe ||
      (marker === jfif && length === jfifBytes);
    if (!isKnown) return false;
    at += 2 + length;
    if (marker === startOfScan) at = behindScan(data, at);
  }
  return false;
}

/** Where the next marker stands: not one that is stuffed, nor one to start again. */
function behindScan(data: Buffer, from: number): number {
  for (let at = data.indexOf(0xff, from); at >= 0; at = data.indexOf(0xff, at + 1)) {
    const next = data[at + 1] ?? 0;
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at;
  }
  return data.length;
}

const webpParts = new Set(["VP8 ", "VP8L", "VP8X", "ALPH"]);

function isBareWebp(data: Buffer): boolean {
  let at = 12;
  while (at + 8 <= data.length) {
    if (!webpParts.has(data.toString("latin1", at, at + 4))) return false;
    const length = data.readUInt32LE(at + 4);
    at += 8 + length + (length % 2);
  }
  return at === data.length && data.readUInt32LE(4) + 8 === data.length;
}
