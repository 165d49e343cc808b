// Reads a file's bytes as text with its byte order mark and line ending, as a picture, or as something else.
// Edits keep both marks.

export type Newline = "\n" | "\r\n";

export interface TextFile {
  /** As stored, without the byte order mark. */
  readonly text: string;
  readonly bom: boolean;
  /** The ending of most of its lines; "\n" where there is none. */
  readonly newline: Newline;
}

const bom = "\ufeff";

/** Null when the bytes are not UTF-8 or contain a NUL: rewriting those as text would spoil them. */
export function decodeText(bytes: Uint8Array): TextFile | null {
  if (bytes.includes(0)) return null;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null; // The decoder says "not UTF-8" only by throwing.
  }
  const marked = text.startsWith(bom);
  return { text: marked ? text.slice(1) : text, bom: marked, newline: newlineOf(text) };
}

export function encodeText(text: string, marked: boolean): Buffer {
  return Buffer.from(marked ? bom + text : text);
}

function newlineOf(text: string): Newline {
  const crlf = text.split("\r\n").length - 1;
  const lf = text.split("\n").length - 1 - crlf;
  return crlf > lf ? "\r\n" : "\n";
}

/** Formats that models take (Anthropic and OpenAI list these four), by their first bytes. */
const pictures: readonly (readonly [
  mediaType: string,
  extension: string,
  test: (bytes: Buffer) => boolean,
])[] = [
  ["image/png", "png", (bytes) => bytes.subarray(0, 8).equals(Buffer.from("89504e470d0a1a0a", "hex"))],
  ["image/jpeg", "jpg", (bytes) => bytes.subarray(0, 3).equals(Buffer.from("ffd8ff", "hex"))],
  ["image/gif", "gif", (bytes) => /^GIF8[79]a/.test(bytes.toString("latin1", 0, 6))],
  [
    "image/webp",
    "webp",
    (bytes) => bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP",
  ],
];

export function pictureType(head: Buffer): { readonly mediaType: string; readonly extension: string } | null {
  const found = pictures.find(([, , test]) => test(head));
  return found === undefined ? null : { mediaType: found[0], extension: found[1] };
}

/** As git and grep decide it: a NUL among the first 8,000 bytes. */
export const headBytes = 8_000;
export function looksBinary(head: Uint8Array): boolean {
  return head.subarray(0, headBytes).includes(0);
}
