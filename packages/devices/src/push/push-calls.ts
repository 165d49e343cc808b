// Wakes a device whose page is closed: a push for each call that waits for it, sent until the service took it
// or the call is over. The call's own row is what lasts; a push that is lost or doubled changes nothing.
import {
  Fault,
  pushSubscription,
  type Clock,
  type DeviceRequest,
  type Ids,
  type Log,
  type PushSubscription,
} from "@parley/protocol";
import type { Cells } from "@parley/store";
import { openPrefix, pushCell } from "../call.ts";
import type { DeviceCalls } from "../device-calls.ts";
import { newPushKeys, pushBytes, pushRequest, type PushKeys, type PushRequest } from "./push-message.ts";

export interface PushCallsOptions {
  readonly cells: Pick<Cells, "get" | "put" | "remove" | "list">;
  readonly calls: Pick<DeviceCalls, "open">;
  /** The guarded way out: the address came from a browser. Throws Fault. */
  readonly send: (
    request: PushRequest,
    signal: AbortSignal,
  ) => Promise<{ readonly status: number; readonly retryAfterMs?: number | undefined }>;
  readonly isConnected: (device: string) => boolean;
  /** An https address of this gateway, for the push services. */
  readonly contact: () => string | undefined;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "code">;
  readonly log: Log;
}

export interface PushCalls {
  /** A call was made; its device may be away. */
  made(device: string, id: string): void;
  /** Sends for the calls that the last process left. */
  begin(): void;
  /** The public key for which browsers subscribe. */
  key(): Promise<string>;
  /** Null: no pushes any more. */
  subscribe(device: string, subscription: PushSubscription | null): Promise<void>;
  stop(): Promise<void>;
  /** Of this process: sent, gone, refused, given up. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A page that is open takes its call within this time. */
const graceMs = 3_000;
const againMs = [2_000, 10_000, 60_000, 300_000];
const longestPauseMs = 3_600_000;
const listed = 1_000;
const keysCell = "device-push-keys";
/** No phone shows more. */
const shownChars = 800;

/** What the browser shows of a message; of other calls only what is asked. */
function told(id: string, { command, title, text }: DeviceRequest): string {
  if (command !== "notify") return JSON.stringify({ v: 1, id, command });
  for (let most = shownChars; ; most = Math.floor(most / 2)) {
    const cut = (words: string | undefined): string | undefined => words?.slice(0, most).toWellFormed();
    const written = JSON.stringify({ v: 1, id, command, title: cut(title), text: cut(text) });
    if (most === 0 || Buffer.byteLength(written) <= pushBytes) return written;
  }
}

export function pushCalls(options: PushCallsOptions): PushCalls {
  const { cells, calls, clock, ids, log } = options;
  const counts = new Map<string, number>();
  const count = (result: string): void => void counts.set(result, (counts.get(result) ?? 0) + 1);
  const ending = new AbortController();
  const atWork = new Map<string, Promise<void>>();

  async function keys(): Promise<PushKeys> {
    const stored = await cells.get(keysCell);
    if (stored !== null) return JSON.parse(stored.value) as PushKeys;
    await cells.put(keysCell, JSON.stringify(newPushKeys()), { expect: 0 });
    const now = await cells.get(keysCell);
    if (now === null) throw new Fault("unavailable", "the keys for pushes could not be stored; try again");
    return JSON.parse(now.value) as PushKeys;
  }

  async function subscriptionOf(device: string): Promise<PushSubscription | null> {
    const cell = await cells.get(pushCell(device));
    return cell === null ? null : (pushSubscription.safeParse(JSON.parse(cell.value)).data ?? null);
  }

  const pause = (ms: number): Promise<void> =>
    new Promise((go) => {
      const timer = clock.after(ms, end);
      const { signal } = ending;
      signal.addEventListener("abort", end, { once: true });
      function end(): void {
        timer.cancel();
        signal.removeEventListener("abort", end);
        go();
      }
      if (signal.aborted) end();
    });

  async function wake(device: string, id: string): Promise<void> {
    if ((await subscriptionOf(device)) === null) return;
    if (options.isConnected(device)) await pause(graceMs);
    for (let tries = 0; !ending.signal.aborted; tries += 1) {
      const [subscription, call] = await Promise.all([subscriptionOf(device), calls.open(device, id)]);
      if (subscription === null || call === null) return;
      const contact = options.contact();
      const request = pushRequest(
        subscription,
        {
          text: told(id, call.request),
          ttlSeconds: call.forMs / 1_000,
          topic: id,
          ...(contact === undefined ? {} : { contact }),
        },
        await keys(),
        { nowMs: clock.now(), ids },
      );
      const answer = await sent(request);
      if (answer === "sent") return;
      if (answer === "gone") {
        // Another tab may have subscribed anew meanwhile.
        const now = await cells.get(pushCell(device));
        if (now !== null && now.value === JSON.stringify(subscription))
          await cells.remove(pushCell(device), now.version);
        return;
      }
      if (answer === "refused") return;
      const ownMs = againMs[Math.min(tries, againMs.length - 1)] ?? 0;
      await pause(Math.min(Math.max(ownMs, answer.afterMs), longestPauseMs));
    }
  }

  async function sent(
    request: PushRequest,
  ): Promise<"sent" | "gone" | "refused" | { readonly afterMs: number }> {
    const { host } = new URL(request.url);
    try {
      const { status, retryAfterMs = 0 } = await options.send(request, ending.signal);
      if (status >= 200 && status < 300) {
        count("sent");
        return "sent";
      }
      if (status === 404 || status === 410) {
        count("gone");
        log.info({ host }, "a browser takes no pushes any more");
        return "gone";
      }
      if (status !== 429 && status < 500) {
        count("refused");
        log.warn({ host, status }, "a push was refused");
        return "refused";
      }
      return { afterMs: retryAfterMs };
    } catch (error) {
      if (!(error instanceof Fault) || error.code === "denied" || error.code === "invalid") {
        count("refused");
        log.warn({ host, error }, "a push was not sent");
        return "refused";
      }
      return { afterMs: 0 };
    }
  }

  function made(device: string, id: string): void {
    if (ending.signal.aborted || atWork.has(id)) return;
    const work = wake(device, id)
      // A store that is away says so to others; the call itself waits on.
      .catch((error: unknown) => log.warn({ device, error }, "a device could not be woken"))
      .finally(() => atWork.delete(id));
    atWork.set(id, work);
  }

  return {
    counts,
    made,
    begin() {
      cells
        .list(openPrefix, listed)
        .then((open) => {
          for (const { key } of open) {
            const at = key.lastIndexOf(":");
            made(key.slice(openPrefix.length, at), key.slice(at + 1));
          }
        })
        .catch((error: unknown) => log.warn({ error }, "waiting calls of devices could not be read"));
    },
    key: async () => (await keys()).public,
    async subscribe(device, subscription) {
      if (subscription === null) await cells.remove(pushCell(device));
      else await cells.put(pushCell(device), JSON.stringify(subscription), {});
    },
    async stop() {
      ending.abort();
      await Promise.allSettled(atWork.values());
    },
  };
}
