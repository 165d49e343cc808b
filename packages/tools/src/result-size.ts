// Limits how much text a tool returns at once. The loop cuts longer text in the middle, so a tool that can
// page or name a file stays below.

const defaultBytes = 8_192;
/** For what a tool says beside the text: how to go on, how it ended. */
const asideBytes = 300;

/** For the text itself, in UTF-8 bytes. */
export function resultRoom({
  resultBytes = defaultBytes,
}: {
  readonly resultBytes?: number | undefined;
}): number {
  return Math.max(100, resultBytes - asideBytes);
}

/** However much a result may have: 80 KB of one session's history is what OpenClaw shows at once. */
const mostPageBytes = 80_000;

/** For one page of sessions or of their words. */
export function pageBytes(resultBytes: number | undefined): number {
  return Math.min(mostPageBytes, resultRoom({ resultBytes }));
}

/** The longest beginning of whole characters in `bytes` bytes of UTF-8. */
export function firstBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, bytes)));
  return text.slice(0, read);
}
