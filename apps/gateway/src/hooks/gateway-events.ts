// Tells hooks that the gateway started, stops or restarts. The last two are waited for, within one limit for
// all of them: a hook cannot keep the gateway from stopping.
import type { NodeView } from "@parley/cluster";
import { sleep, version, type Clock, type HookEvent, type HookPort } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface GatewayEventsOptions {
  readonly port: HookPort;
  readonly cells: Pick<Cells, "get" | "put">;
  /** The gateway's other processes that are up; null where this one is alone. */
  readonly others: (() => Promise<readonly Pick<NodeView, "boot" | "state" | "startedAtMs">[]>) | null;
  /** Names this start. */
  readonly bootId: string;
  readonly clock: Clock;
}

export interface GatewayEvents {
  started(): Promise<void>;
  stopping(signal: string, restarts: boolean): Promise<void>;
}

const firstKey = "gateway-start";
/** Processes that started within this time of each other started together. */
const togetherMs = 30_000;
const shutdownMs = 5_000;
const restartMs = 10_000;

export function gatewayEvents({ port, cells, others, bootId, clock }: GatewayEventsOptions): GatewayEvents {
  /** Of the processes of one gateway, the one that came up while no other was there. */
  async function isFirst(): Promise<boolean> {
    if (others === null) return true;
    const up = await others();
    const cell = await cells.get(firstKey);
    const longUp = up.some(
      ({ startedAtMs, state }) => state === "running" && clock.now() - startedAtMs > togetherMs,
    );
    if (longUp || up.some(({ boot }) => boot === cell?.value)) return false;
    // Of several that start together, the one that writes this first.
    return (await cells.put(firstKey, bootId, { expect: cell?.version ?? 0 })) !== null;
  }

  const gatewayEvent = (action: string, context: HookEvent["context"]): HookEvent => ({
    type: "gateway",
    action,
    sessionKey: "",
    context: { version, bootId, ...context },
  });

  async function ask(event: HookEvent, limitMs: number): Promise<void> {
    const early = new AbortController();
    await Promise.race([port.ask(event), sleep(clock, limitMs, early.signal)]);
    early.abort();
  }

  return {
    async started() {
      port.tell(gatewayEvent("startup", { first: await isFirst() }));
    },
    async stopping(signal, restarts) {
      const context = { reason: signal };
      if (restarts)
        await ask(gatewayEvent("pre-restart", { ...context, restartExpectedMs: 30_000 }), restartMs);
      await ask(gatewayEvent("shutdown", { ...context, restarts }), shutdownMs);
    },
  };
}
