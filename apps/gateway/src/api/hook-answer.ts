// Waits for the end of a webhook's turn where the caller asks for that (`waitForCompletion`). A caller that
// waited in vain is told so: the call is durable, and the same key asks again for what became of it.
import { isFault, sleep, type Clock } from "@parley/protocol";
import type { ApiRequests } from "./api-requests.ts";

export interface HookAnswers {
  /** What becomes of the call with this id. `left`: aborted when the caller is gone. */
  of(id: string, left: AbortSignal): Promise<HookAnswer>;
}

type HookAnswer =
  | {
      readonly status: "ok" | "error";
      readonly outcome: string;
      readonly text: string;
      readonly reason: string | null;
    }
  | { readonly status: "pending"; readonly reason: string };

/** As long as a turn takes by default; proxies give up earlier. */
const longestMs = 600_000;
/** Each looks at the store four times a second. */
const mostWaiting = 32;

export function hookAnswers({
  requests,
  closing,
  clock,
}: {
  readonly requests: Pick<ApiRequests, "answer">;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  readonly clock: Clock;
}): HookAnswers {
  let waiting = 0;
  return {
    async of(id, left) {
      if (waiting >= mostWaiting) return pending(`${waiting} callers wait already`);
      waiting += 1;
      const done = new AbortController();
      const late = new AbortController();
      void sleep(clock, longestMs, done.signal).then(() => late.abort());
      try {
        const signal = AbortSignal.any([left, closing, late.signal]);
        const { outcome, text, reason } = await requests.answer(id, signal);
        const isDone = outcome === "answered" || outcome === "silent";
        return { status: isDone ? "ok" : "error", outcome, text, reason };
      } catch (error) {
        // It waits for an approval, or longer than anybody waits here: it goes on by itself.
        if (isFault(error, "conflict")) return pending("the agent waits for somebody's approval");
        if (isFault(error, "aborted")) return pending("it is not done yet");
        throw error;
      } finally {
        waiting -= 1;
        done.abort();
      }
    },
  };
}

function pending(why: string): HookAnswer {
  return { status: "pending", reason: `${why}; call again under the same Idempotency-Key to wait on` };
}
