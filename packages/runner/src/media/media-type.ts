// What a picture is by its first bytes. A platform's or a person's word for it is not enough: a provider refuses the whole request for
// one picture with the wrong type, and then the conversation could not be answered.

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

/** The four kinds that vision models take; null for anything else. */
export function pictureKind(bytes: Uint8Array): Kind | null {
  const head = Buffer.from(bytes.subarray(0, 16));
  return signatures.find(({ is }) => is(head)) ?? null;
}

function startsWith(bytes: Buffer, hex: string): boolean {
  return bytes.subarray(0, hex.length / 2).toString("hex") === hex;
}
