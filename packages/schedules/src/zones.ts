// Reads local time in an IANA zone, by the zone data of the Node that runs: offsets, and the instants of a
// local time. A local time has no instant when the clocks skip it and two when they repeat it; nothing here
// guesses which one a person meant.

/** The fields of a local time as one number: milliseconds since 1970 as if the zone were UTC. */
export type LocalMs = number;

const formats = new Map<string, Intl.DateTimeFormat>();
/** There are about 600 names; a config and its jobs use a few. */
const mostFormats = 100;
const dayMs = 86_400_000;

/** The zone's name as the zone data writes it; null when it is no IANA zone. Bare offsets are none. */
export function zoneNamed(text: string): string | null {
  if (/^[+-]?\d/.test(text)) return null;
  try {
    const known = new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
    // The zone data also resolves links (Asia/Kolkata, Asia/Calcutta): then the person's name stays.
    return known.toLowerCase() === text.toLowerCase() ? known : text;
  } catch {
    // Intl has no other way to say that it does not know a zone.
    return null;
  }
}

function localAt(atMs: number, zone: string): LocalMs {
  const parts = formatFor(zone).formatToParts(atMs);
  const field = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value);
  const whole = Date.UTC(
    field("year"),
    field("month") - 1,
    field("day"),
    field("hour"),
    field("minute"),
    field("second"),
  );
  return whole + (((atMs % 1_000) + 1_000) % 1_000);
}

/** The instants that read `local` on the zone's clocks, earliest first: none, one or two. */
export function instantsOf(local: LocalMs, zone: string): readonly number[] {
  // No zone has moved its clocks twice within two days.
  const offsets = [local - dayMs, local + dayMs].map((near) => localAt(near, zone) - near);
  const candidates = [...new Set(offsets)].map((offset) => local - offset);
  return candidates.filter((at) => localAt(at, zone) === local).toSorted((a, b) => a - b);
}

/** The first instant whose local time is `local` or later. */
export function firstInstantFrom(local: LocalMs, zone: string): number {
  const [exact] = instantsOf(local, zone);
  if (exact !== undefined) return exact;
  let before = local - 2 * dayMs;
  let from = local + 2 * dayMs;
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2);
    if (localAt(middle, zone) < local) before = middle;
    else from = middle;
  }
  return from;
}

/** For example `2026-11-23 09:00`, with seconds only where there are any. */
export function localText(atMs: number, zone: string): string {
  const text = new Date(localAt(atMs, zone)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, text.slice(17, 19) === "00" ? 16 : 19)}`;
}

function formatFor(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    if (formats.size >= mostFormats) formats.clear();
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}
