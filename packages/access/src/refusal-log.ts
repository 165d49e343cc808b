// What was refused, and whom: one line with a reason for the first refusal of a source, a count of what followed within the minute, so that a
// flood cannot fill the disk, and a number by reason for the metrics. Bounded whoever comes and however many they are (I9).
import type { Clock, LogFields, Timer } from "@parley/protocol";

/** Closed, so that they can be counted and looked for. */
const refusalReasons = [
  // Of the control plane.
  "host",
  "origin",
  "path",
  "too_many_connections",
  "no_handshake",
  "bad_frame",
  "no_credential",
  "wrong_token",
  "wrong_code",
  "wrong_signature",
  "too_many_wrong",
  "other_peer",
  "revoked",
  "scope",
  "other_session",
  "body_too_large",
  // Of admission.
  "no_policy",
  "no_sender_id",
  "sender_is_bot",
  "bot_loop",
  "dm_disabled",
  "not_in_allow_from",
  "pairing_asked",
  "pairing_pending",
  "too_many_pairings",
  "group_disabled",
  "group_not_listed",
  "place_off",
  "sender_not_in_group",
  "no_agent",
  "for_owners",
  // Of approvals.
  "too_many_approvals",
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export interface Refusals {
  /** `source`: an address, or an account with a sender's id. `fields`: what else the line says. */
  note(reason: RefusalReason, source: string, fields?: LogFields): void;
}

export interface RefusalsOptions {
  readonly say: (fields: LogFields, message: string) => void;
  readonly count: (reason: RefusalReason) => void;
  readonly clock: Clock;
}

/** Refusals of one reason and source within this time are one line, and one more with their number. */
const windowMs = 60_000;
/** Sources that have a line of their own within that time, of each reason; of what is beyond only the number is told. */
const mostSources = 20;

export const noRefusals: Refusals = { note() {} };

export interface RefusalLog extends Refusals {
  /** Tells what was not told yet. */
  end(): void;
}

export function refusalLog({ say, count, clock }: RefusalsOptions): RefusalLog {
  /** What was not told yet, by reason: of each source that has had its line, and of all others together. */
  let minute = new Map<RefusalReason, { readonly sources: Map<string, number>; others: number }>();
  let timer: Timer | null = null;

  function endMinute(): void {
    timer?.cancel();
    timer = null;
    for (const [reason, { sources, others }] of minute) {
      for (const [source, more] of sources) if (more > 0) say({ reason, source, more }, "refused again");
      if (others > 0) say({ reason, more: others }, "refused, from many more sources");
    }
    minute = new Map();
  }

  return {
    note(reason, source, fields = {}) {
      count(reason);
      timer ??= clock.after(windowMs, endMinute);
      const of = minute.get(reason) ?? { sources: new Map<string, number>(), others: 0 };
      minute.set(reason, of);
      const more = of.sources.get(source);
      if (more !== undefined) of.sources.set(source, more + 1);
      else if (of.sources.size >= mostSources) of.others += 1;
      else {
        of.sources.set(source, 0);
        say({ reason, source, ...fields }, "refused");
      }
    },
    end: endMinute,
  };
}
