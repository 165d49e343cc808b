// Stopping in order: nothing more is taken, running work ends within its budget, the rest stays durable for
// the next start or for another node (I1); clients and operators are the last to go. No part that cannot stop
// keeps the others from it.
import { sleep, type Clock } from "@parley/protocol";
import type { Pools } from "@parley/queue";
import type { Parts } from "./assemble.ts";

/** systemd gives 90 s by default before it kills; the unit file gives more. */
const drainBudgets = { turnsMs: 25_000, flushMs: 10_000 } as const;
/** A channel waits for what it is just receiving; more than this is no waiting any more. */
const channelStopMs = 10_000;

export async function stopParts(parts: Parts, pools: Pools, clock: Clock): Promise<void> {
  const { wired, workNotifier, control, toolPorts, state, ending, cluster, nodeRegistry } = parts;
  state.enter("draining");
  ending.abort();
  // Then it does so at once; the last node of all brings out what it can first.
  if (await nodeRegistry.othersLead().catch(() => false)) await cluster?.handOver();
  // One channel that cannot stop must not keep the turns from draining.
  const stopping = Promise.allSettled([...wired.channels.values()].map((channel) => channel.stop()));
  await Promise.race([stopping, sleep(clock, channelStopMs)]);
  await pools.drain(drainBudgets);
  await toolPorts.end();
  await cluster?.handOver();
  await nodeRegistry.leave();
  cluster?.close();
  parts.closeHub();
  await workNotifier.close();
  await control.close();
}
