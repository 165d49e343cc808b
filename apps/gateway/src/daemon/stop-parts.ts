// Stops the parts in order: no new work, running work ends within its time budget, the rest stays durable for
// the next start or another node (I1); clients and operators go last. A part that fails to stop does not
// block the others.
import { sleep, type Clock } from "@parley/protocol";
import type { Pools } from "@parley/queue";
import type { Parts } from "./parts.ts";

/** systemd kills after 90 s by default; the unit file allows more. */
const drainBudgets = { turnsMs: 25_000, flushMs: 10_000 } as const;
/** Most time for a stopping channel to finish what it is receiving. */
const channelStopMs = 10_000;

export async function stopParts(parts: Parts, pools: Pools, clock: Clock): Promise<void> {
  const { wired, workNotifier, control, machinePorts, mcp, state, ending, cluster, nodeRegistry } = parts;
  state.enter("draining");
  ending.abort();
  // Other nodes then take over at once; the last node first sends what it can.
  if (await nodeRegistry.othersLead().catch(() => false)) await cluster?.handOver();
  // One channel that cannot stop must not keep the turns from draining.
  const stopping = Promise.allSettled([...wired.channels.values()].map((channel) => channel.stop()));
  await Promise.race([stopping, sleep(clock, channelStopMs)]);
  await pools.drain(drainBudgets);
  parts.hookProcesses.close();
  await machinePorts.end();
  await mcp.close();
  await cluster?.handOver();
  await nodeRegistry.leave();
  cluster?.close();
  parts.closeHub();
  await workNotifier.close();
  await control.close();
}
