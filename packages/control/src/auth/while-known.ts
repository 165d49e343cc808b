// Ends an answer over plain HTTP that is under way when its caller's token is revoked or made anew: at once
// where that was done here, and within half a minute where another node did it.
import type { Clock } from "@parley/protocol";
import type { Clients } from "../connected-clients.ts";
import type { Caller } from "./authenticate.ts";
import { Unauthorized } from "./bearer.ts";
import type { Devices } from "./devices.ts";

interface UnderWay {
  /** Aborted when the caller's token does not count any more. */
  readonly signal: AbortSignal;
  /** Call it once the answer is out, or nobody waits for it. */
  leave(): void;
}

/** Throws Unauthorized for a device that was revoked since its token was read. */
export type WhileKnown = (caller: Pick<Caller, "device" | "rotation">) => UnderWay;

export interface WhileKnownOptions {
  readonly clients: Pick<Clients, "join">;
  readonly devices: Pick<Devices, "isKnown">;
  readonly clock: Pick<Clock, "after">;
}

const lookEveryMs = 30_000;

export function whileKnown({ clients, devices, clock }: WhileKnownOptions): WhileKnown {
  return ({ device, rotation = 0 }) => {
    const ended = new AbortController();
    const { signal } = ended;
    if (device === null) return { signal, leave() {} };
    const signOff = clients.join(device, () => ended.abort(), { rotation });
    if (signOff === null) throw new Unauthorized("this device was revoked");
    const look = (): void => {
      ticking = clock.after(lookEveryMs, look);
      devices.isKnown(device, rotation).then(
        (isKnown) => (isKnown ? undefined : ended.abort()),
        // The store is away: it is asked again in half a minute.
        () => undefined,
      );
    };
    let ticking = clock.after(lookEveryMs, look);
    return {
      signal,
      leave() {
        ticking.cancel();
        signOff();
      },
    };
  };
}
