// The platforms as they stand outside of the process: what people sent and whether that was confirmed, and
// everything that was ever visible. Laws are judged from here and from the store, never from what the product
// says about itself.
import {
  conversationKey,
  Fault,
  type Action,
  type Address,
  type Inbound,
  type Receipt,
  type RenderedPart,
} from "@parley/protocol";
import type { World } from "./world.ts";

/** One message of the product, with everything that it ever showed. */
export interface Shown {
  readonly messageId: string;
  readonly conversation: string;
  /** `<delivery>/<part>`. */
  readonly key: string;
  readonly texts: string[];
  /** What it was filled into, where it took a place that waited for it. */
  readonly place?: string;
  readonly atMs: number;
  removed: boolean;
}

export interface PlatformTraits {
  readonly name: string;
  /** A repeat under the same key shows nothing new. */
  readonly idempotent: boolean;
  /** The platform knows a key this long; for ever when it is left out. */
  readonly keyLivesMs?: number;
}

/** An event on its way to the product. */
export interface Offered {
  readonly number: number;
  readonly inbound: Inbound;
}

export interface Platform {
  readonly traits: PlatformTraits;
  readonly shown: readonly Shown[];
  /** What the platform was told that the product has. */
  readonly confirmed: ReadonlySet<string>;
  /** Events that are not confirmed yet, in order. */
  pending(): readonly Offered[];
  offer(inbound: Inbound): void;
  /** Calls `then` at once when something is pending, else with the next event. */
  whenPending(then: () => void): void;
  confirm(numberBelow: number): void;
  /** Offers an event again that was confirmed already. */
  redeliver(chance: number): void;
  /** Events that nobody is told of any more. */
  readonly forgotten: ReadonlySet<string>;
  /** Forgets what is `lost`. */
  forget(lost: (offered: Offered) => boolean): void;
  /** The last events that were confirmed. */
  recent(count: number): readonly Inbound[];
  /** `place`: fills in what waits there; again, it is filled anew. */
  post(to: Address, part: RenderedPart, key: string, place?: string): Receipt;
  /** Our messages that say this and are not older, oldest first. */
  saying(to: Address, part: RenderedPart, sinceMs: number): readonly Receipt[];
  perform(to: Address, action: Action): Receipt | null;
  /** Keys of sends whose outcome the sender could not know. */
  readonly unknown: Set<string>;
}

export function platform(world: World, traits: PlatformTraits): Platform {
  const shown: Shown[] = [];
  const confirmed = new Set<string>();
  const unknown = new Set<string>();
  const forgotten = new Set<string>();
  const old: Inbound[] = [];
  let queue: Offered[] = [];
  let waiters: (() => void)[] = [];
  let numbers = 0;

  const textOf = (part: RenderedPart): string => (part.kind === "text" ? part.text : `(${part.kind})`);
  const enqueue = (inbound: Inbound): void => {
    queue.push({ number: ++numbers, inbound });
    const waiting = waiters;
    waiters = [];
    for (const then of waiting) then();
  };

  return {
    traits,
    shown,
    confirmed,
    unknown,
    forgotten,
    pending: () => queue,
    offer: enqueue,
    whenPending(then) {
      if (queue.length > 0) then();
      else waiters.push(then);
    },
    confirm(numberBelow) {
      const gone = queue.filter((offered) => offered.number < numberBelow);
      queue = queue.filter((offered) => offered.number >= numberBelow);
      for (const { inbound } of gone) {
        confirmed.add(inbound.id);
        old.push(inbound);
      }
    },
    redeliver(chance) {
      const again = old[Math.floor(chance * old.length)];
      if (again !== undefined) enqueue(again);
    },
    forget(lost) {
      for (const offered of queue) if (lost(offered)) forgotten.add(offered.inbound.id);
      queue = queue.filter(({ inbound }) => !forgotten.has(inbound.id));
    },
    recent: (count) => old.slice(-count),
    saying: (to, part, sinceMs) =>
      shown
        .filter((message) => message.conversation === conversationKey(to) && message.atMs >= sinceMs)
        .filter((message) => !message.removed && message.texts.at(-1) === textOf(part))
        .map(({ messageId }) => ({ messageId })),
    post(to, part, key, place) {
      const before = shown.findLast((message) =>
        place === undefined ? message.key === key && message.place === undefined : message.place === place,
      );
      if (before !== undefined && place !== undefined) {
        if (before.texts.at(-1) !== textOf(part)) before.texts.push(textOf(part));
        return { messageId: before.messageId };
      }
      const isKnown =
        before !== undefined && world.time.now() - before.atMs < (traits.keyLivesMs ?? Infinity);
      if (traits.idempotent && isKnown) return { messageId: before.messageId };
      const message: Shown = {
        messageId: `${traits.name}-${shown.length + 1}`,
        conversation: conversationKey(to),
        key,
        texts: [textOf(part)],
        ...(place === undefined ? {} : { place }),
        atMs: world.time.now(),
        removed: false,
      };
      shown.push(message);
      return { messageId: message.messageId };
    },
    perform(to, action) {
      if (action.kind !== "edit" && action.kind !== "remove")
        throw new Fault("unsupported", `simulated: no ${action.kind}`);
      const message = shown.find(
        (each) => each.messageId === action.messageId && each.conversation === conversationKey(to),
      );
      if (message === undefined || message.removed) throw new Fault("missing", "simulated: no such message");
      if (action.kind === "remove") message.removed = true;
      else if (message.texts.at(-1) !== action.text.text) message.texts.push(action.text.text);
      return { messageId: message.messageId };
    },
  };
}
