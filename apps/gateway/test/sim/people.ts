// The people of a schedule: turns what they do into events of the platforms, at their time.
import type { Inbound } from "@parley/protocol";
import { account } from "./channels.ts";
import type { Act, Chat } from "./plan.ts";
import type { Platform } from "./platform.ts";
import type { World } from "./world.ts";

interface Place {
  readonly channel: "telegram" | "discord" | "web" | "loopback";
  readonly kind: "dm" | "group" | "channel";
  readonly peer: string;
}

const places: { readonly [chat in Chat]: Place } = {
  olga: { channel: "telegram", kind: "dm", peer: "olga" },
  petra: { channel: "telegram", kind: "dm", peer: "petra" },
  room: { channel: "telegram", kind: "group", peer: "room" },
  mallory: { channel: "telegram", kind: "dm", peer: "mallory" },
  dora: { channel: "discord", kind: "dm", peer: "dora" },
  den: { channel: "discord", kind: "channel", peer: "den" },
  web: { channel: "web", kind: "dm", peer: "web-1" },
  loopback: { channel: "loopback", kind: "dm", peer: "lou" },
};

/** Lets everybody act; resolves nothing, events do. Returns how many acts are still to come. */
export function people(world: World, platforms: ReadonlyMap<string, Platform>): () => number {
  let left = world.plan.acts.length;
  const said = new Map<number, Inbound>();
  for (const [index, act] of world.plan.acts.entries()) {
    world.time.after(act.atMs, () => {
      left -= 1;
      const inbound = inboundOf(act, index, world.time.now(), said);
      if (inbound === null) return;
      if (act.kind === "say") said.set(act.n, inbound);
      world.note(`${act.from} in ${act.chat}: ${inbound.text}`);
      platforms.get(inbound.channel)?.offer(inbound);
    });
  }
  return () => left;
}

function inboundOf(
  act: Act,
  index: number,
  nowMs: number,
  said: ReadonlyMap<number, Inbound>,
): Inbound | null {
  const { channel, kind, peer } = places[act.chat];
  const inbound: Inbound = {
    id: `${channel}:${account}:event-${index}`,
    channel,
    account,
    address: { channel, account, kind, peer },
    sender: { id: act.from, name: act.from, isBot: false },
    messageId: `said-${index}`,
    kind: "message",
    text: "",
    attachments: [],
    mentions: [],
    addressed: true,
    atMs: nowMs,
  };
  if (act.kind === "say") return { ...inbound, text: `#${act.n} please`, addressed: act.aside !== true };
  // On Discord a command is no message: it has an id of its own, and no history shows it.
  if (act.kind === "command" && channel === "discord")
    return { ...inbound, kind: "command", messageId: `interaction-${index}`, text: act.text };
  if (act.kind === "command") return { ...inbound, text: act.text };
  const edited = said.get(act.of);
  // Its message was left out of the plan by the shrinker.
  if (edited === undefined) return null;
  // Two edits of one message have two dates, as on every platform that has dates of edits.
  return {
    ...inbound,
    kind: "edit",
    messageId: edited.messageId,
    addressed: edited.addressed,
    text: `${edited.text}, if you can`,
    editedAtMs: nowMs + index,
  };
}
