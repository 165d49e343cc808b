// Reads the files that a person adds to a message, in the form in which a frame carries them.
import type { UnsentFile } from "../../session/outbox.ts";

/** A frame holds 2 MB, and base64 makes four of three. */
export const mostFileBytes = 1_400_000;
const pieceBytes = 32_768;

export function readFiles(
  files: readonly File[],
  marks: Pick<UnsentFile, "voice"> = {},
): Promise<readonly UnsentFile[]> {
  return Promise.all(
    files.map(async (file) => ({
      ...marks,
      name: file.name === "" ? "file" : file.name.slice(-255),
      mediaType: file.type,
      // What is far too large is not read whole.
      data: base64(new Uint8Array(await file.slice(0, mostFileBytes + 1).arrayBuffer())),
    })),
  );
}

export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += String.fromCodePoint(...bytes.subarray(at, at + pieceBytes));
  return btoa(text);
}
