// Runs the daemon's periodic work: checking that the store takes writes, and deleting what is past its
// retention (I9). Nothing waits for either; a failure is tried again. Each function starts one kind of work
// and returns a function that stops it; daemon.ts calls both.
import type { Clock, Log } from "@parley/protocol";
import type { Store } from "@parley/store";
import { retention, type RetentionPorts } from "../maintenance/retention.ts";
import type { GatewayState } from "../gateway-state.ts";

const sweepEveryMs = 60_000;
/** A starting daemon has more urgent work. */
const firstKeepMs = 120_000;
const keepEveryMs = 3_600_000;
const sweepRows = 500;
/** Pause between two slices while there is more to delete. */
const nextSliceMs = 100;
/** The check is a write, and an idle disk may sleep in between. */
const lookEveryMs = 10_000;

/**
 * Keeps the answer to "is the daemon ready" fresh without a store access per question, and logs when the
 * store takes no writes any more, or takes them again: what waits for that says nothing by itself.
 */
export function checkStoreRegularly(state: Pick<GatewayState, "look">, clock: Clock, log: Log): () => void {
  let stopped = false;
  let told: string | null = null;
  const look = (): void => {
    void state.look().then((trouble) => {
      if (trouble !== null && trouble !== told)
        log.error({ reason: trouble }, "the store takes no writes: nothing is acknowledged until it does");
      else if (trouble === null && told !== null) log.info({}, "the store takes writes again");
      told = trouble;
      if (!stopped) timer = clock.after(lookEveryMs, look);
    });
  };
  let timer = clock.after(0, look);
  return () => {
    stopped = true;
    timer.cancel();
  };
}

/** Deletes in small slices, so that no turn waits for it. */
export function sweepRegularly(store: Pick<Store, "sweep">, clock: Clock, log: Log): () => void {
  let stopped = false;
  let timer = clock.after(sweepEveryMs, sweep);
  function sweep(): void {
    store.sweep(sweepRows).then(
      (more) => {
        if (!stopped) timer = clock.after(more ? nextSliceMs : sweepEveryMs, sweep);
      },
      (error: unknown) => {
        log.warn({ error }, "retention failed, trying again later");
        if (!stopped) timer = clock.after(sweepEveryMs, sweep);
      },
    );
  }
  return () => {
    stopped = true;
    timer.cancel();
  };
}

/** Removes what is past its time or over its size by `retention` of the config. */
export function applyRetentionRegularly({
  configNow,
  log,
  ...ports
}: Omit<RetentionPorts, "config"> & {
  readonly configNow: () => RetentionPorts["config"];
  readonly log: Log;
}): () => void {
  let stopped = false;
  const look = (): void => {
    const config = configNow();
    const isSet = Object.values(config.retention).some(({ days }) => days !== undefined);
    const kept = retention({ config, ...ports });
    (isSet ? kept.run(true) : kept.runUsual())
      .then(
        (rules) => {
          for (const { name, count, unit } of rules)
            if (count !== null && count > 0)
              log.info({ what: name, count, unit }, "what was past its time went");
        },
        (error: unknown) => log.warn({ error }, "retention failed, trying again later"),
      )
      .finally(() => {
        if (!stopped) timer = ports.clock.after(keepEveryMs, look);
      });
  };
  let timer = ports.clock.after(firstKeepMs, look);
  return () => {
    stopped = true;
    timer.cancel();
  };
}
