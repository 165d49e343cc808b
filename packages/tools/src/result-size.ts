// How much text a tool says at once. The loop cuts what is longer in the middle, so a tool that can page or point to a file stays below.

/** In UTF-8 bytes; the loop's own cap is 8,192. */
export const resultBytes = 7_900;

/** The longest beginning of whole characters in `bytes` bytes of UTF-8. */
export function firstBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, bytes)));
  return text.slice(0, read);
}
