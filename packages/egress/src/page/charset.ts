// Text is decoded by the byte order mark, else by the header, else by what the page says of itself, else as
// UTF-8: the order of the HTML standard.

import { TextDecoder } from "node:util";

export function decodedText(bytes: Uint8Array, contentType: string): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1];
  return decoder(bomOf(bytes) ?? named ?? declaredIn(bytes) ?? "utf-8").decode(bytes);
}

const bomOf = ([a, b, c]: Uint8Array): string | null =>
  a === 0xef && b === 0xbb && c === 0xbf
    ? "utf-8"
    : a === 0xfe && b === 0xff
      ? "utf-16be"
      : a === 0xff && b === 0xfe
        ? "utf-16le"
        : null;

/** The standard looks at the first 1,024 bytes; XML says it in its first line. */
function declaredIn(bytes: Uint8Array): string | null {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1_024));
  const found =
    /<meta[^>]+charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1] ??
    /^<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)/i.exec(head)?.[1] ??
    null;
  // Read by a meta element, it cannot be UTF-16.
  return found !== null && /^utf-16/i.test(found) ? "utf-8" : found;
}

function decoder(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    // A label that nobody knows says nothing.
    return new TextDecoder();
  }
}
