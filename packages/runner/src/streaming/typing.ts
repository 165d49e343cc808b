// Shows a typing indicator while a turn runs. It is best effort, so a failure is logged only for debugging.
import type { Channel } from "@parley/channels";
import type { Address, Clock, Log } from "@parley/protocol";
import type { LeaseHandle } from "@parley/queue";

/** Telegram shows an action for five seconds. */
const everyMs = 4_500;
/** Longer than a platform takes to show it. */
const shownWithinMs = 10_000;
/** A channel that failed twice in a row will fail again. */
const failuresUntilQuiet = 2;

/** Shows nothing once another node may have the turn. Returns the function that stops it. */
export function keepTyping(
  channel: Channel | null,
  to: Address,
  lease: Pick<LeaseHandle, "cover">,
  clock: Clock,
  log: Log,
): () => void {
  const typing = channel?.typing?.bind(channel);
  if (typing === undefined) return () => {};
  let stopped = false;
  let failures = 0;
  let timer = clock.after(0, show);

  function show(): void {
    if (stopped || failures >= failuresUntilQuiet || typing === undefined) return;
    lease
      .cover(shownWithinMs)
      .then(() => typing(to))
      .then(
        () => {
          failures = 0;
        },
        (error: unknown) => {
          failures += 1;
          log.debug({ error }, "could not show typing");
        },
      );
    timer = clock.after(everyMs, show);
  }

  return () => {
    stopped = true;
    timer.cancel();
  };
}
