// Asks the gateway once for what must be done once: when the line breaks after a request left and before its
// answer came, one with an idempotency key is repeated under it over the next line, and the gateway answers
// what it did. One without a key is never repeated by itself.
import type { Clock, MethodName, MethodParams, MethodResult } from "@parley/protocol";
import type { Connection } from "./connection.ts";
import { RequestFailure } from "./link.ts";

/** Between attempts while the line says that it stands and yet takes nothing, as a closing socket does. */
const pauseMs = 250;
/** Longer than a restart takes; whoever waits is told then that nobody knows. */
const waitsMs = 120_000;

export interface KeyedOptions {
  readonly line: Pick<Connection, "request" | "state">;
  readonly clock: Pick<Clock, "after">;
  /** Listens to every change of the connection; the answer ends it. */
  readonly onChange: (hear: () => void) => () => void;
}

/** Rejects with a RequestFailure whose `wasSent` says whether it may be done all the same. */
export async function askOnce<M extends MethodName>(
  options: KeyedOptions,
  method: M,
  params: MethodParams<M>,
): Promise<MethodResult<M>> {
  const isKeyed = "idempotencyKey" in params && params.idempotencyKey !== undefined;
  let lost: RequestFailure | null = null;
  for (;;) {
    try {
      return await options.line.request(method, params);
    } catch (error) {
      if (!isKeyed || !(error instanceof RequestFailure) || error.code !== "closed") throw error;
      if (error.wasSent) lost = error;
      // What never left was not done.
      if (lost === null) throw error;
      if (!error.wasSent) await new Promise<void>((resolve) => options.clock.after(pauseMs, resolve));
      if (!(await isBack(options))) throw lost;
    }
  }
}

function isBack({ line, clock, onChange }: KeyedOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (back: boolean): void => {
      quit();
      timer.cancel();
      resolve(back);
    };
    const look = (): void => {
      if (line.state.kind === "online") end(true);
      else if (line.state.kind === "logged-out") end(false);
    };
    const timer = clock.after(waitsMs, () => end(false));
    const quit = onChange(look);
    look();
  });
}
