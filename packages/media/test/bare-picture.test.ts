// Which files are shown as they came: pictures that are nothing else, whole to their last byte. One part that
// readers skip, or one byte behind the end, and the picture is drawn anew.
import { expect, test } from "vitest";
import { isBarePicture } from "../src/bare-picture.ts";

const bytes = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  );

function part(name: string, length = 3, said = length): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(said);
  return Buffer.concat([size, Buffer.from(name), Buffer.alloc(length), Buffer.alloc(4)]);
}
const png = (...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), ...parts]);
const [head, data, over] = [part("IHDR", 13), part("IDAT"), part("IEND", 0)];

test("a PNG has its known parts alone and ends with its end", () => {
  const known = "PLTE tRNS gAMA cHRM sRGB sBIT bKGD pHYs".split(" ").map((name) => part(name));
  const skipped = "tEXt iTXt zTXt eXIf iCCP tIME acTL idat".split(" ");
  expect(isBarePicture(png(head, ...known, data, data, over))).toBe(true);
  for (const name of skipped)
    expect([name, isBarePicture(png(head, part(name), data, over))]).toEqual([name, false]);
  expect([
    isBarePicture(png(head, data)),
    isBarePicture(png(head, data, over, Buffer.from([0]))),
    isBarePicture(png(head, data, over.subarray(0, -1))),
    isBarePicture(png(head, part("IDAT", 3, 4), over)),
    isBarePicture(png(head, part("IDAT", 3, 0xffff_ffff), over)),
    isBarePicture(png()),
    isBarePicture(Buffer.alloc(0)),
  ]).toEqual(Array(7).fill(false));
  // The walk begins where the bytes do, also within another buffer.
  const within = Buffer.concat([Buffer.from("xyz"), png(head, data, over)]);
  expect(isBarePicture(new Uint8Array(within.buffer, within.byteOffset + 3, within.length - 3))).toBe(true);
});

const mark = (marker: number, length = 4): readonly number[] => [
  0xff,
  marker,
  0,
  length,
  ...Array<number>(length - 2).fill(1),
];
const [begin, end] = [
  [0xff, 0xd8],
  [0xff, 0xd9],
];
const scan = [...mark(0xda), 1, 2, 0xff, 0, 3, 0xff, 0xd0, 4, 0xff, 0xd7, 0xff, 0xff];

test("a JPEG has its tables and scans, a JFIF mark without a small picture, and nothing behind its end", () => {
  const of = (...parts: readonly (readonly number[])[]): boolean => isBarePicture(bytes(begin, ...parts));
  const tables = [0xc0, 0xc2, 0xc4, 0xcf, 0xdb, 0xdd, 0xee].map((marker) => mark(marker));
  expect([
    of(...tables, scan, end),
    of(mark(0xe0, 16), scan, end),
    of(scan, mark(0xc4), scan, end),
    of(mark(0xdb), end),
  ]).toEqual([true, true, true, true]);
  // Of what readers skip: notes, places, profiles, other small pictures.
  for (const marker of [0xe1, 0xe2, 0xed, 0xef, 0xfe, 0xdc, 0xbf])
    expect([marker, of(mark(marker), scan, end)]).toEqual([marker, false]);
  expect([
    of(mark(0xe0, 15), scan, end),
    of(mark(0xe0, 17), scan, end),
    of(scan, end, [0]),
    of(scan),
    of(scan, [0xff]),
    of([0, ...mark(0xdb)], end),
    of(mark(0xdb).slice(0, 3)),
    of(scan, mark(0xe1), scan, end),
  ]).toEqual(Array(8).fill(false));
});

function chunk(name: string, length: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(length);
  return Buffer.concat([Buffer.from(name), size, Buffer.alloc(length + (length % 2))]);
}
function webp(parts: readonly Buffer[], more = 0): Buffer {
  const body = Buffer.concat([Buffer.from("WEBP"), ...parts]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(body.length + more);
  return Buffer.concat([Buffer.from("RIFF"), size, body]);
}

test("a WebP has the parts of a still picture, as long as it says", () => {
  for (const name of ["VP8 ", "VP8L", "VP8X", "ALPH"])
    for (const length of [4, 5])
      expect([name, length, isBarePicture(webp([chunk(name, length)]))]).toEqual([name, length, true]);
  for (const name of ["EXIF", "XMP ", "ICCP", "ANIM", "ANMF"])
    expect([name, isBarePicture(webp([chunk("VP8X", 10), chunk(name, 4)]))]).toEqual([name, false]);
  const whole = webp([chunk("VP8 ", 5)]);
  expect([
    isBarePicture(Buffer.concat([whole, Buffer.from([0])])),
    isBarePicture(whole.subarray(0, -1)),
    isBarePicture(webp([chunk("VP8 ", 4)], 2)),
    isBarePicture(webp([chunk("VP8 ", 4)], -2)),
    isBarePicture(webp([chunk("VP8 ", 4), Buffer.alloc(3)])),
  ]).toEqual([false, false, false, false, false]);
});

test("a GIF, and what is no picture, is never shown as it came", () => {
  expect([isBarePicture(Buffer.from("GIF89a;")), isBarePicture(Buffer.from("words"))]).toEqual([
    false,
    false,
  ]);
});
