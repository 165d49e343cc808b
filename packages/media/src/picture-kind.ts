// Tells what a picture is by its first bytes. Names and declared types are ignored: people and servers get
// them wrong, and some lie.

export interface PictureKind {
  readonly mediaType: string;
  readonly extension: string;
}

type Signature = PictureKind & { readonly is: (head: Buffer) => boolean };

const startsWith =
  (hex: string) =>
  (head: Buffer): boolean =>
    head.subarray(0, hex.length / 2).toString("hex") === hex;
const branded = (pattern: RegExp) => (head: Buffer) => pattern.test(head.toString("latin1", 4, 12));

const readable: readonly Signature[] = [
  { mediaType: "image/jpeg", extension: "jpg", is: startsWith("ffd8ff") },
  { mediaType: "image/png", extension: "png", is: startsWith("89504e470d0a1a0a") },
  {
    mediaType: "image/gif",
    extension: "gif",
    is: (head) => /^GIF8[79]a/.test(head.toString("latin1", 0, 6)),
  },
  {
    mediaType: "image/webp",
    extension: "webp",
    is: (head) => /^RIFF.{4}WEBP/s.test(head.toString("latin1", 0, 12)),
  },
  { mediaType: "image/avif", extension: "avif", is: branded(/^ftypavi[fs]$/) },
  {
    mediaType: "image/tiff",
    extension: "tiff",
    is: (head) => /^(?:II\*\0|MM\0\*)/.test(head.toString("latin1", 0, 4)),
  },
];

/** The kinds that can be read and turned into what models take; null for anything else. */
export function readablePicture(bytes: Uint8Array): PictureKind | null {
  const found = readable.find(({ is }) => is(Buffer.from(bytes.subarray(0, 16))));
  return found === undefined ? null : { mediaType: found.mediaType, extension: found.extension };
}

/** Why these bytes, which are no readable picture, are not shown. */
export function whyUnreadable(bytes: Uint8Array): string {
  if (bytes.length === 0) return "it is empty (0 bytes)";
  const head = Buffer.from(bytes.subarray(0, 1_024));
  if (branded(/^ftyp(?:hei[cx]|mif1|msf1|hevc)$/)(head))
    return "it is a HEIC picture, which cannot be read here: send it as JPEG";
  if (/<svg[\s/>]|<!DOCTYPE svg/i.test(head.toString("latin1")))
    return "it is an SVG, a document that may hold scripts: send it as PNG";
  return "it is no picture (PNG, JPEG, WebP, GIF, AVIF or TIFF)";
}
