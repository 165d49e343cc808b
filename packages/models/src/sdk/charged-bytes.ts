// Measures a request's body for the estimate of its tokens. Pictures are charged by their pixels and not by
// the bytes of their encoding, so long runs of base64 do not count. A long run has a character at a multiple
// of its least length, so only those places are looked at.

/** No word, path or key is as long. */
const leastRun = 2_000;

/** Bytes of the body without its runs of base64. */
export function chargedBytes(body: string): number {
  let bytes = Buffer.byteLength(body);
  for (let at = leastRun - 1; at < body.length; at += leastRun) {
    if (!isBase64(body.charCodeAt(at))) continue;
    let from = at;
    while (from > 0 && isBase64(body.charCodeAt(from - 1))) from -= 1;
    let to = at + 1;
    while (to < body.length && isBase64(body.charCodeAt(to))) to += 1;
    if (to - from < leastRun) continue;
    const padding = body.startsWith("==", to) ? 2 : body.startsWith("=", to) ? 1 : 0;
    bytes -= to - from + padding;
    // The next place behind this run.
    at = Math.floor(to / leastRun) * leastRun - 1;
  }
  return bytes;
}

function isBase64(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 47 && code <= 57) || code === 43
  );
}
