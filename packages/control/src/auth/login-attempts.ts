// Counts wrong credentials by source and slows sources with many. Right credentials never come here, so the
// mistakes of others lock nobody out. Tokens, codes and webhooks share one counter. Bounded (I9): the source
// that was wrong longest ago is forgotten first, and few answers are delayed at once.
import { Fault, sleep, type Clock } from "@parley/protocol";
import type { RefusalReason, Refusals } from "@parley/access";
import type { Remote } from "./remote-address.ts";

export interface Attempts {
  /**
   * Call it after a wrong credential. Resolves with the Fault to answer: "denied", or, after a delay,
   * "rate_limited" where wrong ones are many.
   */
  wrong(from: Remote, reason: WrongCredential, message: string): Promise<Fault>;
  /** Forgets all sources. Returns how many were slowed. */
  unlock(): number;
}

export type WrongCredential = Extract<RefusalReason, "wrong_token" | "wrong_code" | "wrong_signature">;

const mostWrong = 10;
const windowMs = 60_000;
const slowMs = 300_000;
/** Wrong login codes from anywhere: a person types one, or follows a link. */
const mostWrongCodes = 30;
/** Most addresses, and most origins. */
const mostSources = 5_000;
const delayMs = 1_000;
/** Beyond this, delayed answers are sent at once, because each holds a connection. */
const mostHeld = 32;

export interface AttemptsOptions {
  readonly refusals: Refusals;
  /** Aborted when the gateway stops: no answer is delayed then. */
  readonly closing: AbortSignal;
  readonly clock: Clock;
}

export function wrongAttempts({ refusals, closing, clock }: AttemptsOptions): Attempts {
  const addresses = counter(mostWrong, clock);
  const origins = counter(mostWrong, clock);
  const codes = counter(mostWrongCodes, clock);
  let held = 0;

  return {
    async wrong({ address, origin }, reason, message) {
      const slowedMs = Math.max(
        addresses.add(bucket(address)),
        origin === null ? 0 : origins.add(origin),
        reason === "wrong_code" ? codes.add("") : 0,
      );
      const fields = { address, ...(origin === null ? {} : { origin }) };
      if (slowedMs === 0) {
        refusals.note(reason, address, fields);
        return new Fault("denied", message);
      }
      refusals.note("too_many_wrong", address, { ...fields, wrong: reason });
      if (held < mostHeld) {
        held += 1;
        await sleep(clock, delayMs, closing);
        held -= 1;
      }
      const told = `${message}; too many wrong ones came from here, so wrong ones are answered slowly. A right one works at once`;
      return new Fault("rate_limited", told, { retryAfterMs: Math.ceil(slowedMs) });
    },
    unlock: () => addresses.clear() + origins.clear() + codes.clear(),
  };
}

interface Wrongs {
  atMs: number[];
  slowUntilMs: number;
}

function counter(most: number, clock: Clock) {
  const sources = new Map<string, Wrongs>();
  return {
    /** Counts one more. Returns the delay of the source in milliseconds; 0 for none. */
    add(source: string): number {
      const nowMs = clock.mono();
      const before = sources.get(source) ?? { atMs: [], slowUntilMs: 0 };
      const atMs = [...before.atMs.filter((each) => nowMs - each < windowMs), nowMs].slice(-most - 1);
      const isSlowed = atMs.length > most || before.slowUntilMs > nowMs;
      // Inserts it anew, so that the map stays in order of last use.
      sources.delete(source);
      sources.set(source, { atMs, slowUntilMs: isSlowed ? nowMs + slowMs : 0 });
      if (sources.size > mostSources) sources.delete(sources.keys().next().value ?? "");
      return isSlowed ? slowMs : 0;
    },
    clear(): number {
      const slowed = [...sources.values()].filter(({ slowUntilMs }) => slowUntilMs > clock.mono()).length;
      sources.clear();
      return slowed;
    },
  };
}

/** An IPv6 host owns at least a /64: counting single addresses would give it endless tries. */
function bucket(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = address.includes("::")
    ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right]
    : left;
  return groups.slice(0, 4).join(":");
}
