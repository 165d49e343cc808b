// Drivers of the simulated platforms, one object per life. `polled` confirms by asking for what comes next,
// like Telegram; `pushed` is told each event and answers when it is durable, like the web chat and the
// loopback. Discord's is in discord.ts.
import type { Channel, Receive } from "@parley/channels";
import { Fault, sleep, type Capabilities, type Inbound } from "@parley/protocol";
import type { Life } from "./life.ts";
import type { Platform } from "./platform.ts";
import type { World } from "./world.ts";

export const account = "default";

export const plain: Capabilities = {
  dialect: "plain",
  // Small, so that long answers come in several messages.
  textChars: 120,
  captionChars: 120,
  uploadBytes: 0,
  downloadBytes: 0,
  media: false,
  polls: false,
  voice: false,
  silent: false,
  threads: true,
  pins: false,
  typing: false,
  reactions: false,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: false,
  menus: false,
  forms: false,
  idempotentSends: true,
};

export interface DriverFlaws {
  /** Confirms what it fetched before `receive` has resolved. */
  readonly confirmsEarly?: boolean;
  /** Begins a new session without a look at the history. */
  readonly skipsHistory?: boolean;
  /** Sends without a nonce, and never looks whether a message is there already. */
  readonly sendsBlindly?: boolean;
}

const retryMs = 1_000;

export function polledChannel(world: World, life: Life, platform: Platform, flaws: DriverFlaws): Channel {
  const inFlight = new Set<Promise<unknown>>();
  let stopped = false;

  const fetched = (): Promise<void> =>
    new Promise((resolve) => platform.whenPending(() => world.time.after(1, resolve, life)));

  async function poll(receive: Receive): Promise<void> {
    // Nothing is remembered over a restart: the platform offers everything that is not confirmed.
    let offset = 0;
    while (!stopped) {
      try {
        await fetched();
        if (stopped) return;
        const batch = await life.request(`${platform.traits.name}.poll`, `offset ${offset}`, () => {
          platform.confirm(offset);
          return [...platform.pending()];
        });
        if (stopped) return;
        const next = (batch.at(-1)?.number ?? offset - 1) + 1;
        if (flaws.confirmsEarly === true) platform.confirm(next);
        const work = receive(batch.map((offered) => offered.inbound));
        inFlight.add(work);
        await work.finally(() => inFlight.delete(work));
        offset = next;
        // The next poll confirms; so that a quiet platform is confirmed too, it is told at once.
        await life.request(`${platform.traits.name}.poll`, `confirm ${offset}`, () =>
          platform.confirm(offset),
        );
      } catch (error) {
        if (!(error instanceof Fault)) world.broken("bug", `receive threw ${String(error)}`);
        await sleep(life.clock, retryMs);
      }
    }
  }

  return {
    ...outbound(life, platform),
    async start(receive) {
      void poll(receive);
    },
    async stop() {
      stopped = true;
      await Promise.allSettled(inFlight);
    },
  };
}

/** `isHere`: whether this process is the one that people's clients are connected to. */
export function pushedChannel(
  world: World,
  life: Life,
  platform: Platform,
  isHere: () => boolean = () => true,
): Channel {
  const inFlight = new Set<Promise<unknown>>();
  const asking = new Set<string>();
  let stopped = false;

  /** Each person's client sends one message after the other, and the same one again until it was taken. */
  function push(receive: Receive): void {
    if (stopped || !life.alive || !isHere()) return;
    const people = new Set<string>();
    for (const offered of platform.pending()) {
      const person = offered.inbound.address.peer;
      if (people.has(person)) continue;
      people.add(person);
      if (asking.has(person)) continue;
      asking.add(person);
      void submit(receive, offered.inbound, offered.number).finally(() => asking.delete(person));
    }
  }

  async function submit(receive: Receive, inbound: Inbound, number: number): Promise<void> {
    const { nth, harm } = world.harmOf(`${platform.traits.name}.receive`);
    if (harm === "crash before") return life.die(`${platform.traits.name}.receive#${nth}`);
    const work = receive([inbound]);
    inFlight.add(work);
    try {
      await work;
      if (harm === "crash after") return life.die(`after ${platform.traits.name}.receive#${nth}`);
      // The answer to the client may be lost: it sends the same again.
      if (harm !== "fail after") platform.confirm(number + 1);
    } catch (error) {
      if (!(error instanceof Fault)) world.broken("bug", `receive threw ${String(error)}`);
    } finally {
      inFlight.delete(work);
    }
    world.time.after(harm === "fail after" ? retryMs : 1, () => push(receive), life);
  }

  return {
    ...outbound(life, platform),
    async start(receive) {
      const listen = (): void => {
        if (stopped || !life.alive) return;
        push(receive);
        world.time.after(retryMs, listen, life);
      };
      listen();
    },
    async stop() {
      stopped = true;
      await Promise.allSettled(inFlight);
    },
  };
}

function outbound(life: Life, platform: Platform): Omit<Channel, "start" | "stop"> {
  const { name, idempotent } = platform.traits;
  return {
    name,
    account,
    capabilities: { ...plain, idempotentSends: idempotent },
    actions: ["edit", "remove"],
    health: () => ({ state: "ok" }),
    send: (to, part, { idempotencyKey, signal }) =>
      life.request(`${name}.send`, idempotencyKey, () => platform.post(to, part, idempotencyKey), {
        signal,
        onUnknown: () => platform.unknown.add(idempotencyKey),
      }),
    act: (to, action, { idempotencyKey, signal }) =>
      life.request(`${name}.act`, `${idempotencyKey} ${action.kind}`, () => platform.perform(to, action), {
        signal,
      }),
  };
}
