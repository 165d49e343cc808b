// Makes this browser a device of a gateway: pairs it, keeps it connected, takes the calls that wait for it
// and lets its person switch, share and leave. A gateway that does not know it any more ends it here, too.
import { sleep, type Clock, type DeviceGrant, type Ids, type MethodResult } from "@parley/protocol";
import { openLink, RequestFailure, type Link } from "../session/link.ts";
import { carriedOut, commandsOf, lacks, pageGrants, worksUnseen } from "./abilities.ts";
import type { PairedAs, Shelf } from "./shelf.ts";
import { takeCall, type Ready } from "./take-call.ts";

export type WaitingCall = MethodResult<"device.calls">["calls"][number];

export interface DeviceState {
  readonly paired: PairedAs | null;
  readonly isOnline: boolean;
  readonly isRevoked: boolean;
  /** Null: pushes come. Else why not. */
  readonly noPush: string | null;
}

export interface DeviceLineOptions {
  readonly base: string;
  readonly shelf: Shelf;
  readonly worker: Promise<ServiceWorkerRegistration | null>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly onChange: (state: DeviceState) => void;
  /** Waits for its person. */
  readonly ready: (call: WaitingCall, untilMs: number) => Promise<Ready>;
  readonly onDone: (call: WaitingCall, isOk: boolean) => void;
  readonly onShared: (why: string | null) => void;
}

export interface DeviceLine {
  start(): void;
  /** Throws RequestFailure for a code that is wrong, used or old. */
  pair(code: string, grants: readonly DeviceGrant[]): Promise<void>;
  setGrants(grants: readonly DeviceGrant[]): Promise<void>;
  leave(): Promise<void>;
  /** Looks for calls and for what was shared, or connects now. */
  look(): void;
  /** Has pushes sent here, or finds out why not. */
  subscribe(): Promise<void>;
}

const lookEveryMs = 20_000;
const firstPauseMs = 500;
const longestPauseMs = 10_000;
const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const tokenLength = 43;
const pairingName = "parley.pairing";

export function deviceLine(options: DeviceLineOptions): DeviceLine {
  const { base, shelf, clock, ids } = options;
  let state: DeviceState = { paired: null, isOnline: false, isRevoked: false, noPush: null };
  let link: Link | null = null;
  let isRunning = false;
  let wake = new AbortController();
  const atWork = new Set<string>();

  function change(next: Partial<DeviceState>): void {
    state = { ...state, ...next };
    options.onChange(state);
  }

  async function over(isRevoked: boolean): Promise<void> {
    const open = link;
    link = null;
    open?.close();
    await shelf.keepPaired(null);
    const worker = await options.worker;
    const subscription = (await worker?.pushManager?.getSubscription()) ?? null;
    await subscription?.unsubscribe();
    change({ paired: null, isOnline: false, isRevoked });
  }

  async function connect(auth: NonNullable<Parameters<typeof openLink>[0]["hello"]["auth"]>): Promise<Link> {
    const opened = await openLink({
      base,
      hello: { auth, follows: false },
      clock,
      onEvent: ({ event, payload }) => {
        if (event === "device.call") look();
        if (event === "device.rotate") void renew((payload as { readonly code: string }).code);
      },
      onClose() {
        if (link !== opened.link) return;
        link = null;
        change({ isOnline: false });
        wake.abort();
      },
    });
    return opened.link;
  }

  async function asked(on: Link): Promise<void> {
    const { paired } = state;
    if (paired === null) return;
    const granted = pageGrants.filter((grant) => paired.grants.includes(grant) && lacks(grant) === null);
    const about = {
      host: location.host.slice(0, 128),
      platform: `browser, ${navigator.platform}`.slice(0, 64),
      commands: granted.flatMap((grant) => commandsOf[grant]),
    };
    const { name, grants, most, calls } = await on.request("device.calls", { about });
    // The token may have been made anew meanwhile.
    const now = { ...(state.paired ?? paired), name, grants, most };
    change({ paired: now });
    await shelf.keepPaired(now);
    for (const call of calls) begin(call);
  }

  /** Chooses a new token, which the gateway takes with this code at the next login. */
  async function renew(code: string): Promise<void> {
    if (state.paired === null) return;
    const paired = { ...state.paired, token: ids.code(tokenAlphabet, tokenLength), code };
    change({ paired });
    await shelf.keepPaired(paired);
    look();
  }

  function begin(call: WaitingCall): void {
    if (atWork.has(call.id)) return;
    atWork.add(call.id);
    const untilMs = clock.now() + call.forMs;
    void takeCall(call.id, {
      shelf,
      now: () => clock.now(),
      ready: () => (worksUnseen(call.command) ? Promise.resolve("go") : options.ready(call, untilMs)),
      run: async () => {
        const result = await carriedOut(call, call.id, await options.worker);
        options.onDone(call, result.ok);
        return result;
      },
      async deliver(result) {
        if (link === null) throw new RequestFailure({ code: "closed", message: "no line" });
        await link.request("device.result", { id: call.id, ...result });
      },
    })
      // The result is on the shelf, and the gateway asks for it again.
      .catch(() => {})
      .finally(() => atWork.delete(call.id));
  }

  async function share(on: Link): Promise<void> {
    for (const { key, text, files } of await shelf.shared()) {
      try {
        await on.request("device.share", { text, files: [...files], idempotencyKey: key });
        options.onShared(null);
      } catch (error) {
        if (!(error instanceof RequestFailure) || !["denied", "invalid"].includes(error.code)) throw error;
        options.onShared(error.message);
      }
      await shelf.forgetShared(key);
    }
  }

  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    let pauseMs = firstPauseMs;
    try {
      while (state.paired !== null) {
        // Whoever looks from here on begins the next round.
        wake = new AbortController();
        let waitMs = lookEveryMs;
        try {
          link ??= await connect(authOf(state.paired));
          const on = link;
          await asked(on);
          if (!state.isOnline) {
            change({ isOnline: true });
            void subscribe();
          }
          pauseMs = firstPauseMs;
          await share(on);
        } catch (error) {
          const code = error instanceof RequestFailure ? error.code : "closed";
          if (code === "unauthorized" || code === "denied") {
            await over(true);
            break;
          }
          const broken = link;
          link = null;
          broken?.close();
          change({ isOnline: false });
          waitMs = pauseMs;
          pauseMs = Math.min(pauseMs * 2, longestPauseMs);
        }
        await sleep(clock, waitMs, wake.signal);
      }
    } finally {
      isRunning = false;
    }
  }

  function look(): void {
    wake.abort();
    void run();
  }

  async function subscribe(): Promise<void> {
    try {
      const worker = await options.worker;
      if (worker?.pushManager === undefined) throw new Error("this browser takes no pushes");
      if (Notification.permission !== "granted") throw new Error("notifications are not allowed");
      if (link === null) return;
      const { key } = await link.request("device.push", {});
      const applicationServerKey = bytesOf(key);
      let subscription = await worker.pushManager.getSubscription();
      // Made for another gateway, or before its keys were lost.
      if (subscription !== null && !same(subscription.options.applicationServerKey, applicationServerKey)) {
        await subscription.unsubscribe();
        subscription = null;
      }
      subscription ??= await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
      const { endpoint, keys = {} } = subscription.toJSON();
      const { p256dh = "", auth = "" } = keys;
      await link.request("device.push", { subscription: { endpoint: endpoint ?? "", p256dh, auth } });
      change({ noPush: null });
    } catch (error) {
      change({ noPush: error instanceof Error ? error.message : String(error) });
    }
  }

  return {
    start() {
      void shelf.paired().then((paired) => {
        change({ paired });
        return run();
      });
    },
    async pair(code, grants) {
      // Kept for this tab, so that the code counts once also when its answer is lost.
      const kept = sessionStorage.getItem(pairingName);
      const token =
        kept?.startsWith(`${code} `) === true
          ? kept.slice(code.length + 1)
          : ids.code(tokenAlphabet, tokenLength);
      sessionStorage.setItem(pairingName, `${code} ${token}`);
      link = await connect({ code, deviceToken: token, grants: [...grants] });
      const paired = { token, name: "", grants, most: grants };
      await shelf.keepPaired(paired);
      sessionStorage.removeItem(pairingName);
      change({ paired, isRevoked: false });
      look();
    },
    async setGrants(wanted) {
      if (link === null || state.paired === null)
        throw new RequestFailure({ code: "closed", message: "no line" });
      const { grants, most } = await link.request("device.grants", { grants: [...wanted] });
      const paired = { ...state.paired, grants, most };
      await shelf.keepPaired(paired);
      change({ paired });
      look();
    },
    async leave() {
      await link?.request("device.leave", {});
      await over(false);
    },
    look,
    subscribe,
  };
}

function authOf({ token, code }: PairedAs): { token: string } | { code: string; deviceToken: string } {
  return code === undefined ? { token } : { code, deviceToken: token };
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

function same(one: ArrayBuffer | null, other: Uint8Array): boolean {
  const bytes = new Uint8Array(one ?? new ArrayBuffer(0));
  return bytes.length === other.length && bytes.every((byte, at) => byte === other[at]);
}
