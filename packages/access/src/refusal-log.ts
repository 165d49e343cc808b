// Logs refusals without letting a flood fill the disk: one line with a reason for a source's first refusal,
// then one with the count of the minute. It also counts refusals by reason for the metrics. Bounded however
// many sources come (I9).
import type { Clock, LogFields, Timer } from "@parley/protocol";

/** A closed list, so that reasons can be counted and searched for. */
const refusalReasons = [
  // Refused by the control plane.
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
  // Refused by admission.
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
  "person_limit",
  "place_limit",
  // Refused by approvals.
  "too_many_approvals",
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export interface Refusals {
  /** `source`: an address, or an account with a sender's id. `fields`: further fields of the log line. */
  note(reason: RefusalReason, source: string, fields?: LogFields): void;
}

export interface RefusalsOptions {
  readonly say: (fields: LogFields, message: string) => void;
  readonly count: (reason: RefusalReason) => void;
  readonly clock: Clock;
}

/** Refusals with one reason and source within this time make one line, and a second one with their number. */
const windowMs = 60_000;
/** Most sources per reason that get their own line within that time; beyond it only the number is logged. */
const mostSources = 20;

export const noRefusals: Refusals = { note() {} };

export interface RefusalLog extends Refusals {
  /** Logs the counts that are still open. */
  end(): void;
}

export function refusalLog({ say, count, clock }: RefusalsOptions): RefusalLog {
  /** Open counts by reason: each source that had its line, and all others together. */
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
