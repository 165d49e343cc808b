// Detects a picture's type by its first bytes. It ignores the declared type, which people and servers get
// wrong.

interface Kind {
  readonly mediaType: string;
  readonly extension: string;
}

const signatures: readonly (Kind & { readonly is: (bytes: Buffer) => boolean })[] = [
  { mediaType: "image/jpeg", extension: "jpg", is: (bytes) => startsWith(bytes, "ffd8ff") },
  { mediaType: "image/png", extension: "png", is: (bytes) => startsWith(bytes, "89504e470d0a1a0a") },
  {
    mediaType: "image/gif",
    extension: "gif",
    is: (bytes) => /^GIF8[79]a/.test(bytes.toString("latin1", 0, 6)),
  },
  {
    mediaType: "image/webp",
    extension: "webp",
    is: (bytes) => /^RIFF.{4}WEBP/s.test(bytes.toString("latin1", 0, 12)),
  },
];

/** Detects the four types that vision models take; null for anything else. */
export function pictureKind(bytes: Uint8Array): Kind | null {
  const head = Buffer.from(bytes.subarray(0, 16));
  return signatures.find(({ is }) => is(head)) ?? null;
}

/** Also types that models do not take but that can be turned into one: AVIF, HEIC and TIFF. */
export function looksLikePicture(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  return pictureKind(bytes) !== null || /^(?:.{4}ftyp(?:avi[fs]|hei[cx]|mif1)|II\*\0|MM\0\*)/s.test(head);
}

function startsWith(bytes: Buffer, hex: string): boolean {
  return bytes.subarray(0, hex.length / 2).toString("hex") === hex;
}
