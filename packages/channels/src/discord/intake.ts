// Queues incoming events in the platform's order and hands them over in batches. Only when a batch is durable
// does it note the batch's sequence as accepted (I1), which is where the next process resumes. Bounded: when
// too much waits, the connection is dropped and resumed later (I9).
import { type ChannelEvent, type Clock, type Ids, isFault, type Log, sleep } from "@parley/protocol";
import type { HealthBoard } from "../health.ts";
import type { Receive } from "../channel.ts";
import { waitAfterMs } from "../persist.ts";
import type { Dispatch } from "./connection.ts";
import type { Read } from "./reader.ts";

export interface Accepted {
  readonly dispatches: readonly Dispatch[];
  readonly reads: readonly Read[];
  readonly events: readonly ChannelEvent[];
  /** Ids of events that nobody will answer. */
  readonly refused: ReadonlySet<string>;
}

export interface IntakeOptions {
  /** Reads one event, and any others that it reveals. */
  readonly read: (dispatch: Dispatch) => Promise<readonly Read[]>;
  readonly receive: Receive;
  /** Called when the batch is durable. Rejections are only logged, because the batch stays accepted. */
  readonly onAccepted: (batch: Accepted) => Promise<void>;
  readonly health: HealthBoard;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Intake {
  /** Returns false when so much waits that nothing more should come before there is `room`. */
  push(dispatch: Dispatch): boolean;
  room(): Promise<void>;
  /** Puts events before everything that waits: those that happened during a gap. */
  unshift(dispatches: readonly Dispatch[]): void;
  /** Hands nothing over until the returned function is called. */
  hold(): () => void;
  /** Resolves when nothing is being handed over. */
  idle(): Promise<void>;
}

const batchEvents = 50;
const mostWaiting = 5_000;
const roomAgain = 500;

export function intake(options: IntakeOptions): Intake {
  const { read, receive, health, clock, ids, log, signal } = options;
  let waiting: Dispatch[] = [];
  let holds = 0;
  let pumping: Promise<void> | null = null;
  /** True while health shows this queue's trouble, which only this queue clears. */
  let inTrouble = false;
  const onRoom: (() => void)[] = [];

  const handOver = async (batch: readonly Dispatch[]): Promise<void> => {
    const reads: Read[] = [];
    for (const dispatch of batch) reads.push(...(await read(dispatch)));
    const events = reads.flatMap(({ event }) => (event === null ? [] : [event]));
    const told = events.length === 0 ? undefined : await receive(events);
    if (events.length > 0) health.inboundCompleted();
    const refused = new Set(typeof told === "object" ? told.refused : []);
    await options.onAccepted({ dispatches: batch, reads, events, refused }).catch((error: unknown) => {
      // Discord repeats unnoted events after a restart; their rows recognise them.
      log.warn({ error }, "what was accepted could not be noted");
    });
  };

  const pump = async (): Promise<void> => {
    for (let failures = 0; waiting.length > 0 && holds === 0 && !signal.aborted;) {
      const batch = waiting.splice(0, batchEvents);
      try {
        await handOver(batch);
        if (waiting.length <= roomAgain) for (const tell of onRoom.splice(0)) tell();
        failures = 0;
        if (inTrouble) health.set("ok");
        inTrouble = false;
      } catch (error) {
        waiting = [...batch, ...waiting];
        failures++;
        inTrouble = true;
        health.set(
          "degraded",
          `events could not be accepted: ${error instanceof Error ? error.message : String(error)}`,
        );
        if (!isFault(error)) log.warn({ error }, "events could not be accepted");
        await sleep(clock, waitAfterMs(error, failures, ids), signal);
      }
    }
  };
  const wake = (): void => {
    if (pumping !== null || waiting.length === 0 || holds > 0 || signal.aborted) return;
    pumping = pump().finally(() => {
      pumping = null;
      wake();
    });
  };

  return {
    push(dispatch) {
      waiting.push(dispatch);
      wake();
      return waiting.length < mostWaiting;
    },
    room: () =>
      new Promise((resolve) => {
        if (waiting.length <= roomAgain || signal.aborted) return resolve();
        onRoom.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      }),
    unshift(dispatches) {
      waiting = [...dispatches, ...waiting];
      wake();
    },
    hold() {
      holds++;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        holds--;
        wake();
      };
    },
    idle: async () => void (await pumping),
  };
}
