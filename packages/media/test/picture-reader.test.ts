// What a model is shown of pictures that people and strangers send: scaled and bare, or refused in words.
import { crc32, deflateSync } from "node:zlib";
import { systemClock } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import sharp from "sharp";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { pictureReader, type FitPicture } from "../src/index.ts";

const reader = pictureReader({ clock: systemClock() });
const { signal } = new AbortController();
afterAll(() => reader.close());

const blank = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: "#a040f0" } });

async function fit(bytes: Uint8Array): Promise<FitPicture> {
  const fitted = await reader.fit(bytes, signal);
  if ("refused" in fitted) throw new Error(fitted.refused);
  return fitted.picture;
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(data.length, 0);
  numbers.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([numbers.subarray(0, 4), named, numbers.subarray(4)]);
}

/** A PNG of any size that costs its sender some bytes. */
function bomb(side: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head[8] = 1;
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.alloc(1_000))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

describe("a picture that is shown", () => {
  test("is scaled, upright, and says nothing of its place, its camera or its author", async () => {
    const photo = await blank(4_000, 3_000)
      .withExif({ IFD0: { Copyright: "of-somebody" }, IFD3: { GPSLatitude: "52/1 31/1 0/1" } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect(photo.includes("of-somebody")).toBe(true);
    const picture = await fit(photo);
    expect(picture).toMatchObject({ mediaType: "image/jpeg", width: 1_500, height: 2_000 });
    expect(Buffer.from(picture.bytes).includes("Exif")).toBe(false);
    expect((await sharp(picture.bytes).metadata()).exif).toBeUndefined();
  });

  test.each([
    ["that needs nothing is left as it is", 900, "jpeg", true],
    ["that needs nothing is left as it is", 900, "webp", true],
    ["that is made smaller is the same bytes each time", 2_100, "png", false],
  ] as const)("%s", async (_what, width, format, same) => {
    const sent = await blank(width, 300).toFormat(format).toBuffer();
    const [one, other] = [await fit(sent), await fit(sent)];
    expect(Buffer.from(one.bytes).equals(other.bytes)).toBe(true);
    expect(Buffer.from(one.bytes).equals(sent)).toBe(same);
  });

  test("of 2,000 pixels a side is left as it is, of one more it is made smaller", async () => {
    const sizes = await Promise.all(
      ([2_000, 2_001] as const).map(async (side) => {
        const { width, height, original } = await fit(await blank(20, side).png().toBuffer());
        return [width, height, original];
      }),
    );
    expect(sizes).toEqual([
      [20, 2_000, { width: 20, height: 2_000, frames: 1 }],
      [20, 2_000, { width: 20, height: 2_001, frames: 1 }],
    ]);
  });

  test("that is too heavy as a drawing becomes a photo, on white where nothing was", async () => {
    // Noise that no PNG makes smaller, above a strip of nothing.
    const [width, height] = [1_300, 1_000];
    const noise = Buffer.alloc(width * height * 4);
    let seed = 1;
    for (let at = 0; at < noise.length - width * 4 * 40; at += 1) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      noise[at] = at % 4 === 3 ? 255 : seed >>> 24;
    }
    const sent = await sharp(noise, { raw: { width, height, channels: 4 } })
      .png({ compressionLevel: 1 })
      .toBuffer();
    expect(sent.length).toBeGreaterThan(3_750_000);
    const picture = await fit(sent);
    expect(picture).toMatchObject({ mediaType: "image/jpeg", extension: "jpg", width, height });
    const last = await sharp(picture.bytes)
      .extract({ left: 0, top: height - 1, width: 1, height: 1 })
      .raw()
      .toBuffer();
    expect([...last].every((each) => each > 240)).toBe(true);
  });

  test("keeps nothing that was hung onto it", async () => {
    const hung = Buffer.from("<script>alert(1)</script>PK\u0003\u0004");
    const [png, jpeg, webp] = [
      await blank(20, 10, 4).png().toBuffer(),
      await blank(20, 10).jpeg().toBuffer(),
      await blank(20, 10).webp().toBuffer(),
    ];
    const gif = await blank(20, 10).gif().toBuffer();
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, hung.length + 2]), hung]);
    const own = chunk("teXt", hung);
    const extra = Buffer.concat([
      Buffer.from("PRIV"),
      Buffer.from([hung.length + 1, 0, 0, 0]),
      hung,
      Buffer.alloc(1),
    ]);
    const longer = Buffer.concat([webp, extra]);
    longer.writeUInt32LE(longer.length - 8, 4);
    for (const polyglot of [
      Buffer.concat([png, hung]),
      Buffer.concat([png.subarray(0, 33), own, png.subarray(33)]),
      // It ends like one picture, and is two.
      Buffer.concat([jpeg, hung, jpeg]),
      Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]),
      longer,
      Buffer.concat([
        gif.subarray(0, -1),
        Buffer.from([0x21, 0xfe, hung.length]),
        hung,
        Buffer.from([0, 0x3b]),
      ]),
    ]) {
      const picture = await fit(polyglot);
      expect(picture).toMatchObject({ width: 20, height: 10 });
      expect(Buffer.from(picture.bytes).includes("script")).toBe(false);
    }
  });

  test("says no other size than it has", async () => {
    const gif = await blank(20, 10).gif().toBuffer();
    gif.writeUInt16LE(40_000, 6);
    gif.writeUInt16LE(40_000, 8);
    const fitted = await reader.fit(gif, signal);
    expect("refused" in fitted || fitted.picture.mediaType === "image/png").toBe(true);
  });

  test.each(["webp", "gif", "avif", "tiff"] as const)("may come as %s", async (format) => {
    const picture = await fit(await blank(30, 20).toFormat(format).toBuffer());
    expect(picture.original).toEqual({ width: 30, height: 20, frames: 1 });
  });

  test("is the first of an animation, which is said", async () => {
    const frames = await Promise.all(
      ["#f00", "#0f0"].map((background) =>
        sharp({ create: { width: 8, height: 8, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const moving = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer();
    expect((await fit(moving)).original.frames).toBe(2);
  });
});

test("each kind becomes what keeps it sharp or small: drawings a PNG, photos a JPEG, what is bare stays as it is", async () => {
  const made = async (
    format: "png" | "jpeg" | "webp" | "gif" | "avif" | "tiff",
    side: number,
    channels: 3 | 4,
  ) => {
    const background = channels === 4 ? "#a040f080" : "#a040f0";
    const sent = await sharp({ create: { width: side, height: 10, channels, background } })
      .toFormat(format)
      .toBuffer();
    const { mediaType, extension, width, height, bytes } = await fit(sent);
    return [mediaType, extension, width, height, Buffer.from(bytes).equals(sent)];
  };
  const [png, jpg, webp] = [
    ["image/png", "png"],
    ["image/jpeg", "jpg"],
    ["image/webp", "webp"],
  ] as const;
  expect({
    png: await made("png", 30, 3),
    "large png": await made("png", 2_010, 3),
    jpeg: await made("jpeg", 30, 3),
    "large jpeg": await made("jpeg", 2_010, 3),
    webp: await made("webp", 30, 3),
    "large webp": await made("webp", 2_010, 3),
    "large webp with alpha": await made("webp", 2_010, 4),
    gif: await made("gif", 30, 3),
    avif: await made("avif", 30, 3),
    "avif with alpha": await made("avif", 30, 4),
    tiff: await made("tiff", 30, 3),
  }).toEqual({
    png: [...png, 30, 10, true],
    "large png": [...png, 2_000, 10, false],
    jpeg: [...jpg, 30, 10, true],
    "large jpeg": [...jpg, 2_000, 10, false],
    webp: [...webp, 30, 10, true],
    "large webp": [...jpg, 2_000, 10, false],
    "large webp with alpha": [...png, 2_000, 10, false],
    gif: [...png, 30, 10, false],
    avif: [...jpg, 30, 10, false],
    "avif with alpha": [...png, 30, 10, false],
    tiff: [...jpg, 30, 10, false],
  });
});

test("pixels are counted by what the head says: 64 million are read, and not one row more", async () => {
  expect([await reader.fit(bomb(8_000), signal), await reader.fit(bomb(8_001), signal)]).toEqual([
    { refused: "it is broken: its bytes cannot be decoded" },
    { refused: "it has 8001 x 8001 pixels, and at most 64 million are read" },
  ]);
});

describe("bombs and lies are told in words", () => {
  test.each([
    ["nothing at all", Buffer.alloc(0), "it is empty"],
    ["words", Buffer.from("hello"), "it is no picture"],
    ["an SVG with a script", Buffer.from("<?xml version='1.0'?><svg onload='x()'/>"), "it is an SVG"],
    ["a signature and no more", Buffer.from("89504e470d0a1a0a010203", "hex"), "it is broken"],
    ["a HEIC", Buffer.from("\0\0\0\u0018ftypheic\0\0\0\0"), "HEIC"],
    ["1,600 million pixels", bomb(40_000), "it has 40000 x 40000 pixels"],
    ["fewer pixels than it says", bomb(7_000), "it is broken"],
  ])("%s", async (_what, bytes, reason) => {
    expect(await reader.fit(bytes, signal)).toEqual({ refused: expect.stringContaining(reason) });
  });

  test("its size is judged before its pixels: 50 million bytes are read, and not one more", async () => {
    const head = Buffer.from("89504e470d0a1a0a", "hex");
    const file = (bytes: number) => Buffer.concat([head, Buffer.alloc(bytes - head.length)]);
    expect(await reader.fit(file(50_000_001), signal)).toEqual({
      refused: "it has 50000001 bytes, and at most 50000000 are read",
    });
    expect(await reader.fit(file(50_000_000), signal)).toEqual({
      refused: "it is broken: its bytes cannot be decoded",
    });
  });

  test("an idle process ends after half a minute, a busy reader refuses more, and a closed one has none", async () => {
    const clock = virtualClock();
    const own = pictureReader({ clock });
    onTestFinished(() => own.close());
    const tiny = await blank(4, 4).png().toBuffer();
    expect(await own.fit(tiny, signal)).toMatchObject({ picture: { width: 4 } });
    await clock.advance(29_999);
    expect(own.processes()).toBe(1);
    // Work begins the time of rest anew.
    expect(await own.fit(tiny, signal)).toMatchObject({ picture: { width: 4 } });
    await clock.advance(29_999);
    expect(own.processes()).toBe(1);
    await clock.advance(1);
    await expect.poll(() => own.processes()).toBe(0);
    const stop = new AbortController();
    const waiting = Array.from({ length: 64 }, () => own.fit(tiny, stop.signal));
    await expect(own.fit(tiny, signal)).rejects.toMatchObject({
      code: "rate_limited",
      message: "too much of pictures waits to be read",
    });
    stop.abort();
    for (const each of await Promise.allSettled(waiting))
      expect(each).toMatchObject({
        status: "rejected",
        reason: { code: "aborted", message: "reading pictures was stopped" },
      });
    // The places of those who went are free again.
    expect(await own.fit(tiny, signal)).toMatchObject({ picture: { width: 4 } });
    await own.close();
    expect(own.processes()).toBe(0);
  });

  test("whoever does not wait ends the process, and the next picture gets another", async () => {
    const stop = new AbortController();
    const waiting = reader.fit(await blank(3_000, 3_000).png().toBuffer(), stop.signal);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
    expect(await fit(await blank(4, 4).png().toBuffer())).toMatchObject({ width: 4 });
    expect(reader.processes()).toBe(1);
  });
});
