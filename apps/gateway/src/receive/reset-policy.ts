// Starts a new conversation by itself: at an hour of the day, after a pause, or whichever comes first. Only
// messages of people count; heartbeats and schedules never come through here. Nothing is deleted: a reset is
// a new epoch.
import type { ResetPolicy, SessionConfig } from "@parley/config";
import type { Clock, Json, SessionKey } from "@parley/protocol";
import type { Inbox, Session, Sessions } from "@parley/store";
import type { Place } from "@parley/access";

/** Session fields: the start of the epoch, and when a person last spoke in it. */
const startedField = "startedAtMs";
const spokenField = "spokenAtMs";

export interface ResetOptions {
  readonly config: Pick<SessionConfig, "reset" | "resetByType" | "resetByChannel">;
  /** IANA name. */
  readonly timeZone: string;
  readonly sessions: Sessions;
  readonly inbox: Pick<Inbox, "find">;
  readonly clock: Pick<Clock, "now">;
  /** Starts a new epoch, for this reason. */
  readonly beginAnew: (key: SessionKey, why: "daily" | "idle") => Promise<{ readonly session: Session }>;
}

/**
 * Call it when somebody speaks in this session: starts a new epoch if the old one is over. Returns the
 * session.
 */
export type SpokenIn = (key: SessionKey, place: Place) => Promise<Session>;

export function spokenIn(options: ResetOptions): SpokenIn {
  const { config, timeZone, sessions, inbox, clock } = options;
  const dayOf = dayIn(timeZone);

  /** Running work ends in the conversation it began in; the next message after it checks again. */
  async function isBusy(lane: SessionKey): Promise<boolean> {
    const [claimed, waiting] = await Promise.all([
      inbox.find({ lane, state: "claimed", limit: 1 }),
      inbox.find({ lane, state: "waiting", limit: 1 }),
    ]);
    return claimed.length + waiting.length > 0;
  }

  return async (key, place) => {
    const policy = policyFor(config, place);
    let session = await sessions.open(key);
    if (policy.mode === "none") return session;
    const now = clock.now();
    const why = whyOver(session, policy, now, dayOf);
    if (why !== null && !(await isBusy(key))) ({ session } = await options.beginAnew(key, why));
    // Written only where the policy needs it: it is one more write per message.
    return policy.idleMinutes === undefined ? session : sessions.patch(key, { [spokenField]: now });
  };
}

/** Starts a new epoch with its own clock; /new does this too. */
export async function beginAnew(sessions: Sessions, key: SessionKey, nowMs: number): Promise<Session> {
  await sessions.reset(key);
  return sessions.patch(key, begunAt(nowMs));
}

/** Session fields of an epoch that begins now. */
export function begunAt(nowMs: number): { readonly [field: string]: Json } {
  return { [startedField]: nowMs, [spokenField]: null };
}

/** The channel's policy wins outright, then the kind's. */
export function policyFor(config: ResetOptions["config"], { address, parent }: Place): ResetPolicy {
  const { channel, kind, thread } = address;
  const type = thread !== undefined || parent !== undefined ? "thread" : kind === "dm" ? "direct" : "group";
  const own = Object.hasOwn(config.resetByChannel, channel) ? config.resetByChannel[channel] : undefined;
  return own ?? config.resetByType[type] ?? config.reset;
}

/** Null while the conversation goes on. */
function whyOver(
  session: Session,
  policy: ResetPolicy,
  nowMs: number,
  dayOf: DayOf,
): "daily" | "idle" | null {
  const startedAtMs = timeOf(session, startedField) ?? session.createdAtMs;
  const spokenAtMs = timeOf(session, spokenField) ?? session.updatedAtMs;
  if (policy.mode === "daily" && dayOf(startedAtMs, policy.atHour) !== dayOf(nowMs, policy.atHour))
    return "daily";
  const isIdle =
    policy.mode !== "none" &&
    policy.idleMinutes !== undefined &&
    nowMs - spokenAtMs >= policy.idleMinutes * 60_000;
  return isIdle ? "idle" : null;
}

function timeOf(session: Session, field: string): number | null {
  const value = session.fields[field];
  return typeof value === "number" ? value : null;
}

/** Returns the day of an instant, where days begin at `atHour`: a number that grows by one a day. */
export type DayOf = (atMs: number, atHour: number) => number;

const dayMs = 86_400_000;

/** Uses the wall clock of the zone, so that days of 23 and 25 hours need no rule. */
export function dayIn(timeZone: string): DayOf {
  const wall = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
  });
  return (atMs, atHour) => {
    const parts = wall.formatToParts(atMs);
    const read = (type: Intl.DateTimeFormatPartTypes): number =>
      Number(parts.find((part) => part.type === type)?.value);
    const day = Date.UTC(read("year"), read("month") - 1, read("day")) / dayMs;
    return read("hour") >= atHour ? day : day - 1;
  };
}
