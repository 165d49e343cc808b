// Remembers which models fail at the moment. One process shares it over all turns, so an outage is learnt
// once and not once per turn. It never forbids a call: when every model cools down, the one that is due first
// is tried, so that recovery needs no restart (I10).
import type { Clock } from "@parley/protocol";
import type { ModelErrorKind } from "./model.ts";

export interface Cooldowns {
  /** Milliseconds until the model may be preferred again; 0 when it works. */
  leftMs(model: string): number;
  /** Records a failure. A kind that waiting cannot heal soon cools down longer. */
  failed(model: string, kind: ModelErrorKind, retryAfterMs?: number): void;
  succeeded(model: string): void;
  /** Models whose last failure only a person can fix. */
  troubles(): readonly { readonly model: string; readonly kind: ModelErrorKind }[];
  /** Called after a config change: models that needed a person are asked again at once. */
  mended(): void;
}

/**
 * Waits after the first, second and every further failure in a row, as in the reference product, so that
 * operators find what they know.
 */
const ladderMs = [30_000, 60_000, 300_000] as const;
/** A wrong key, an empty account and an unknown model need a person, so asking every minute is useless. */
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
