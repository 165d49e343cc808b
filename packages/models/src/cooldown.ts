// Which models are out of order for a while. Kept per process and shared by all turns: an outage is learnt once, not once per turn.
// It never forbids a call: when every model cools, the one that is due first is tried, so that recovery needs no restart (I10).
import type { Clock } from "@parley/protocol";
import type { ModelErrorKind } from "./model.ts";

export interface Cooldowns {
  /** Milliseconds until the model may be preferred again; 0 when it is in order. */
  leftMs(model: string): number;
  /** Records a failure; a class that waiting cannot heal soon cools longer. */
  failed(model: string, kind: ModelErrorKind, retryAfterMs?: number): void;
  succeeded(model: string): void;
  /** Models that failed last for a reason that only a person can mend. */
  troubles(): readonly { readonly model: string; readonly kind: ModelErrorKind }[];
  /** Somebody changed the config: such models are asked again at once. */
  mended(): void;
}

/** The first, second and every further failure in a row: what the reference product does, so that operators find what they know. */
const ladderMs = [30_000, 60_000, 300_000] as const;
/** A wrong key, an empty account, an unknown model: a person must act, so there is no use in asking every minute. */
const needsPersonMs = 600_000;
const needsPerson: readonly ModelErrorKind[] = ["auth", "billing", "not_found"];

export function cooldowns(clock: Pick<Clock, "mono">): Cooldowns {
  const states = new Map<
    string,
    { readonly failures: number; readonly untilMs: number; readonly kind: ModelErrorKind }
  >();
  const troubles = (): readonly { readonly model: string; readonly kind: ModelErrorKind }[] =>
    [...states].flatMap(([model, { kind }]) => (needsPerson.includes(kind) ? [{ model, kind }] : []));
  return {
    leftMs: (model) => Math.max(0, (states.get(model)?.untilMs ?? 0) - clock.mono()),
    failed(model, kind, retryAfterMs = 0) {
      const failures = (states.get(model)?.failures ?? 0) + 1;
      const restMs = needsPerson.includes(kind)
        ? needsPersonMs
        : (ladderMs[Math.min(failures, ladderMs.length) - 1] ?? 0);
      states.set(model, { failures, untilMs: clock.mono() + Math.max(restMs, retryAfterMs), kind });
    },
    succeeded: (model) => void states.delete(model),
    troubles,
    mended: () => troubles().forEach(({ model }) => states.delete(model)),
  };
}
