// Reads how long a server asks us to wait, in the forms that providers use. Undefined when it does not say.

type Headers = { readonly [name: string]: string | undefined };

/** Longer requests are not believed. */
const longestMs = 7 * 86_400_000;

/**
 * Milliseconds, never negative: from `retry-after-ms` in milliseconds, `retry-after` in seconds or as an HTTP
 * date, or Google's RetryInfo in the body.
 */
export function retryAfterMs(headers: Headers, body: string, nowMs: number): number | undefined {
  const waitMs = googleDay.test(body) ? untilGoogleDayMs(nowMs) : toldMs(headers, body, nowMs);
  return waitMs === undefined ? undefined : Math.min(waitMs, longestMs);
}

function toldMs(headers: Headers, body: string, nowMs: number): number | undefined {
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

/** A daily quota was exceeded; the RetryInfo beside it nevertheless names seconds. */
const googleDay = /"quotaId":\s*"[^"]*PerDay/;

/** Google's daily quotas begin anew at midnight in California. */
function untilGoogleDayMs(nowMs: number): number {
  const shown = new Intl.DateTimeFormat("en-GB", {
    timeZone: "America/Los_Angeles",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
  const [hours = 0, minutes = 0, seconds = 0] = shown.format(nowMs).split(":").map(Number);
  return (86_400 - hours * 3600 - minutes * 60 - seconds) * 1000;
}
