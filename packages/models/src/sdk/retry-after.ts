// How long a server asks us to wait, in the spellings that providers use. Undefined when it does not say.

type Headers = { readonly [name: string]: string | undefined };

/** `retry-after-ms` in milliseconds; `retry-after` in seconds or as an HTTP date; Google's RetryInfo in the body. Never negative. */
export function retryAfterMs(headers: Headers, body: string, nowMs: number): number | undefined {
  const exact = Number(headers["retry-after-ms"]?.trim() || Number.NaN);
  if (exact >= 0) return Math.ceil(exact);
  const after = headers["retry-after"]?.trim();
  if (after) {
    const seconds = Number(after);
    if (seconds >= 0) return Math.ceil(seconds * 1000);
    const atMs = Date.parse(after);
    if (!Number.isNaN(atMs)) return Math.max(0, atMs - nowMs);
  }
  const delay = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Math.ceil(Number(delay) * 1000);
}
