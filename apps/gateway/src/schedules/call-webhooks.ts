// Calls the webhooks of jobs: the answer of each run by POST, with the slot's id as its key, so that the
// receiver can tell a repeat. The call is a cell until it was answered: a process that dies makes it again. A
// receiver that is away is called again for a day, unless the job says bestEffort; one that refuses is not.
import type { Dialler } from "@parley/egress";
import { deadline, isFault, type Clock, type Log } from "@parley/protocol";
import { readCall, webhookPrefix, writtenCall, type WebhookCall } from "@parley/runner";
import type { Cells } from "@parley/store";

export type Dial = Dialler["dial"];

export interface CallWebhooks {
  /** A run ended, so there may be calls. */
  look(): void;
  stop(): Promise<void>;
}

export interface CallWebhooksOptions {
  readonly cells: Pick<Cells, "list" | "put" | "remove">;
  readonly dial: Dial;
  readonly clock: Clock;
  readonly log: Log;
}

const callMs = 10_000;
const answerBytes = 65_536;
const atOnce = 8;
const listed = 200;
const againMs = [30_000, 60_000, 300_000, 900_000, 3_600_000];

export function callWebhooks({ cells, dial, clock, log }: CallWebhooksOptions): CallWebhooks {
  let looking: Promise<void> | null = null;
  let isWanted = false;
  let timer: { cancel(): void } | null = null;
  const ending = new AbortController();

  function look(): void {
    isWanted = true;
    looking ??= lookNow()
      .catch((error: unknown) => {
        log.warn({ error }, "webhooks of jobs could not be looked at, trying again");
        wait(clock.now() + (againMs[0] ?? 0));
      })
      .finally(() => {
        looking = null;
      });
  }

  function wait(untilMs: number): void {
    timer?.cancel();
    timer = ending.signal.aborted ? null : clock.after(Math.max(0, untilMs - clock.now()), look);
  }

  async function lookNow(): Promise<void> {
    while (isWanted && !ending.signal.aborted) {
      isWanted = false;
      const found = await cells.list(webhookPrefix, listed);
      const calls = found.flatMap(({ value }) => readCall(value) ?? []);
      const due = calls.filter(({ afterMs }) => afterMs <= clock.now());
      for (let at = 0; at < due.length; at += atOnce) {
        await Promise.all(due.slice(at, at + atOnce).map(settle));
        if (ending.signal.aborted) return;
      }
      if (due.length > 0) isWanted = true;
      const later = calls.filter((call) => !due.includes(call)).map(({ afterMs }) => afterMs);
      if (later.length > 0) wait(Math.min(...later));
    }
  }

  async function settle(call: WebhookCall): Promise<void> {
    const { key } = writtenCall(call);
    const trouble = await made(call);
    const pauseMs = againMs[Math.min(call.tries, againMs.length - 1)] ?? 0;
    const afterMs = clock.now() + pauseMs;
    const isLast = call.once === true || afterMs > (call.untilMs ?? Infinity);
    if (trouble === null || trouble.isFinal || isLast) {
      await cells.remove(key);
      if (trouble === null) log.info({ job: call.job, slot: call.id }, "the webhook of a job was called");
      else log.warn({ job: call.job, slot: call.id, why: trouble.why }, "the webhook of a job failed");
      return;
    }
    const again = writtenCall({ ...call, tries: call.tries + 1, afterMs });
    await cells.put(key, again.value ?? "", again.ttlMs === undefined ? {} : { ttlMs: again.ttlMs });
    log.info(
      { job: call.job, slot: call.id, why: trouble.why, pauseMs },
      "the webhook of a job is called again",
    );
  }

  /** Null when it was taken. */
  async function made({
    url,
    id,
    job,
    body,
  }: WebhookCall): Promise<{ readonly why: string; readonly isFinal: boolean } | null> {
    const limit = deadline(clock, callMs, "the webhook");
    try {
      const answer = await dial(
        {
          url,
          method: "POST",
          body,
          headers: { "content-type": "application/json", "idempotency-key": id, "x-parley-job": job },
          limits: { totalMs: callMs, bodyBytes: answerBytes, redirects: 0 },
        },
        AbortSignal.any([limit.signal, ending.signal]),
      );
      answer.discard();
      const { status } = answer;
      if (status >= 200 && status < 300) return null;
      const isAway = status >= 500 || status === 408 || status === 429;
      return { why: `it answered ${status}`, isFinal: !isAway };
    } catch (error) {
      if (!isFault(error)) throw error;
      return { why: error.message, isFinal: error.code === "denied" || error.code === "invalid" };
    } finally {
      limit.cancel();
    }
  }

  look();
  return {
    look,
    async stop() {
      ending.abort();
      timer?.cancel();
      await looking;
    },
  };
}
