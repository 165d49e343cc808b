// The process that decodes pictures. A decoder reads whatever strangers send, so it stands apart: it can be
// killed at any moment, and the memory that a large picture takes ends with it.
import { isBarePicture } from "./bare-picture.ts";
import { readablePicture, whyUnreadable, type PictureKind } from "./picture-kind.ts";

export interface PictureTask {
  readonly bytes: Uint8Array;
  /** The longer side of the result, in pixels. */
  readonly mostSide: number;
  readonly mostBytes: number;
  readonly mostPixels: number;
}

/** A picture as a model may see it: upright, small enough, without what its camera or its maker noted. */
export interface FitPicture extends PictureKind {
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** Of the picture that came in. */
  readonly original: { readonly width: number; readonly height: number; readonly frames: number };
}

/** `refused`: words that go on after the picture's name. */
export type PictureReply = { readonly picture: FitPicture } | { readonly refused: string };

const qualities = [85, 70, 50] as const;
/** The decoders that are let in; libvips has many more, some for whole documents. */
const loaders = "Jpeg Png Nsgif Webp Heif Tiff".split(" ").map((name) => `VipsForeignLoad${name}`);

const missingLibrary =
  "this installation cannot check pictures, because the library sharp is missing for this kind of machine";

async function loadSharp() {
  const { default: sharp } = await import("sharp");
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: [...loaders] });
  sharp.concurrency(1);
  sharp.cache(false);
  return sharp;
}

type Library = Awaited<ReturnType<typeof loadSharp>>;

async function fit(sharp: Library, task: PictureTask): Promise<PictureReply> {
  const { bytes, mostSide, mostBytes, mostPixels } = task;
  const kind = readablePicture(bytes);
  if (kind === null) return { refused: whyUnreadable(bytes) };
  const how = { failOn: "error", sequentialRead: true } as const;
  // The header alone is read here; nothing is decoded.
  const facts = await sharp(bytes, { ...how, limitInputPixels: false }).metadata();
  const { width, height, pages: frames = 1, hasAlpha, format } = facts;
  if (width * height > mostPixels)
    return {
      refused: `it has ${width} x ${height} pixels, and at most ${mostPixels / 1_000_000} million are read`,
    };
  const done = (
    { data, info }: { readonly data: Uint8Array; readonly info: { width: number; height: number } },
    made: PictureKind,
  ): PictureReply => ({
    picture: {
      ...made,
      bytes: data,
      width: info.width,
      height: info.height,
      original: { width, height, frames },
    },
  });
  const isSmall = Math.max(width, height) <= mostSide && bytes.length <= mostBytes;
  if (isSmall && frames === 1 && isBarePicture(bytes)) {
    // Decoded to its end, so that no model is handed what it would refuse.
    await sharp(bytes, { ...how, limitInputPixels: mostPixels }).stats();
    return done({ data: bytes, info: { width, height } }, kind);
  }
  const scaled = sharp(bytes, { ...how, limitInputPixels: mostPixels })
    .autoOrient()
    .resize({ width: mostSide, height: mostSide, fit: "inside", withoutEnlargement: true })
    .toColourspace("srgb");
  // Drawings and screenshots stay sharp as PNG; a photo is many times smaller as JPEG.
  if (hasAlpha || format === "png" || format === "gif") {
    const png = await scaled.clone().png({ compressionLevel: 9 }).toBuffer({ resolveWithObject: true });
    if (png.data.length <= mostBytes) return done(png, { mediaType: "image/png", extension: "png" });
  }
  for (const quality of qualities) {
    const jpeg = await scaled
      .clone()
      .flatten({ background: "#ffffff" })
      .jpeg({ quality })
      .toBuffer({ resolveWithObject: true });
    if (jpeg.data.length <= mostBytes) return done(jpeg, { mediaType: "image/jpeg", extension: "jpg" });
  }
  return { refused: "it stays too large for a model, however it is made smaller" };
}

process.on("disconnect", () => process.exit());
process.on("message", async (task: PictureTask) => {
  const reply = (message: PictureReply | { readonly ready: true }): void => void process.send?.(message);
  // A machine for which the library has no binary fails here; the daemon goes on without pictures.
  const sharp = await loadSharp().catch(() => null);
  if (sharp === null) return reply({ refused: missingLibrary });
  reply({ ready: true });
  try {
    reply(await fit(sharp, task));
  } catch {
    // What the decoder says of broken bytes is of no use to people.
    reply({ refused: "it is broken: its bytes cannot be decoded" });
  }
});
