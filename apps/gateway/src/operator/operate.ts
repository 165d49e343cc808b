// Collects the operator's methods that need only the store: they work the same in a running daemon and in
// `--once`.
import { Fault, type Clock, type MethodParams, type MethodResult } from "@parley/protocol";
import type { LaneView, Store } from "@parley/store";
import { deadMethods } from "./dead.ts";
import { findMessage } from "../trace/find-message.ts";
import { outboxMethods } from "./outbox.ts";
import type { StorePorts } from "./ports.ts";
import { storyTeller } from "../trace/story.ts";

export interface OperatePorts extends Pick<StorePorts, "closed" | "dropDeliveries" | "listNodes"> {
  readonly store: Pick<Store, "inbox" | "turns" | "outbox">;
  readonly clock: Clock;
}

export function operateMethods({ store, closed, dropDeliveries, listNodes, clock }: OperatePorts) {
  const { inbox, turns, outbox } = store;
  const find = findMessage(inbox, outbox);
  const tell = storyTeller({ inbox, turns, outbox, clock });
  // What waits for a delivery, such as a sub-agent for its thread, hears that it was given up.
  const deliveries = outboxMethods({ ...outbox, drop: dropDeliveries }, closed);
  const dead = deadMethods(inbox);

  async function why({ query }: MethodParams<"why">): Promise<MethodResult<"why">> {
    const row = await find(query);
    if (row !== null) return tell(row);
    throw new Fault(
      "missing",
      `no message, turn or delivery is known by ${JSON.stringify(query)}; what ended is kept for five days`,
    );
  }

  async function lanes(params: MethodParams<"lanes.list">): Promise<MethodResult<"lanes.list">> {
    const limit = params.limit ?? 100;
    const [sessions, conversations] = await Promise.all([
      turns.list(undefined, limit),
      outbox.list(undefined, limit),
    ]);
    return { sessions: sessions.map(shownLane), conversations: conversations.map(shownLane) };
  }

  async function nodes(_params: MethodParams<"nodes.list">): Promise<MethodResult<"nodes.list">> {
    return { nodes: (await listNodes()).map((node) => ({ ...node, leads: [...node.leads] })) };
  }

  return {
    why,
    "outbox.list": deliveries.list,
    "outbox.show": deliveries.show,
    "outbox.retry": deliveries.retry,
    "outbox.drop": deliveries.drop,
    "dead.list": dead.list,
    "dead.retry": dead.retry,
    "dead.drop": dead.drop,
    "lanes.list": lanes,
    "nodes.list": nodes,
  };
}

function shownLane({
  lane,
  pool,
  atMs,
  holder,
  waiting,
}: LaneView): MethodResult<"lanes.list">["sessions"][number] {
  return { lane, pool, atMs, holder, waiting };
}
