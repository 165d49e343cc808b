// Carries out a call once, whoever hears of it: two pages, the service worker, a gateway that asks again. A
// lock holds the others off, and the shelf remembers what was begun.
import type { DeviceResult } from "@parley/protocol";
import type { Shelf } from "./shelf.ts";

const interrupted: DeviceResult = {
  ok: false,
  text: "The page was closed after it had begun this, so what came of it is unknown. It does not do it again.",
};

const refused: DeviceResult = { ok: false, text: "Its person refused." };

/** `over`: nobody came, and nothing is said. */
export type Ready = "go" | "refused" | "over";

interface Taking {
  readonly shelf: Shelf;
  readonly now: () => number;
  /** Before it begins: waits for its person. */
  readonly ready?: () => Promise<Ready>;
  readonly run: () => Promise<DeviceResult>;
  /** Throws when the gateway cannot be told now. */
  readonly deliver: (result: DeviceResult) => Promise<unknown>;
}

export async function takeCall(
  id: string,
  { shelf, now, ready = () => Promise.resolve("go"), run, deliver }: Taking,
): Promise<void> {
  await navigator.locks.request(`parley-call-${id}`, { ifAvailable: true }, async (lock) => {
    if (lock === null) return;
    const known = await shelf.call(id);
    if (known?.state === "over") return;
    let result = known?.state === "done" ? known.result : known === null ? null : interrupted;
    if (result === null) {
      const word = await ready();
      if (word === "over") return;
      await shelf.keepCall(id, { state: "began", atMs: now() });
      result = word === "refused" ? refused : await run();
      await shelf.keepCall(id, { state: "done", atMs: now(), result });
    }
    await deliver(result);
    await shelf.keepCall(id, { state: "over", atMs: now() });
  });
}
