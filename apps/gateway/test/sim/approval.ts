// A script over the store's own verbs for what the message path does not do yet: a call that needs an
// approval. The turn asks, parks and gives its slot back; the decision wakes it; the approval is used up
// together with the intent of the call, so that it is used once.
import { runLanes, type LeaseHandle, type WorkEnd } from "@parley/queue";
import { silentLog, type ConversationKey, type SessionKey } from "@parley/protocol";
import { sqliteStore, type NewRow, type Store, type Turn } from "@parley/store";
import { seededIds } from "@parley/testkit";
import { draws } from "./chance.ts";
import { life, type Life } from "./life.ts";
import type { Harm, Plan, Trouble } from "./plan.ts";
import type { Simulated } from "./simulate.ts";
import { storePort } from "./store-port.ts";
import { witnessBook, witnessed } from "./witness.ts";
import { world } from "./world.ts";

const lane = "agent:main:telegram:dm:olga" as SessionKey;
const conversation = "telegram:default:dm:olga" as ConversationKey;
const ticket = "ticket-1";
const cell = `approval:${ticket}`;

export function makeApprovalPlan(seed: number): Plan {
  const draw = draws(seed);
  const harms: readonly Harm[] = ["crash before", "crash after", "fail before", "fail after", "slow"];
  const ports = [
    "turns.take",
    "turns.checkpoint",
    "turns.checkpoint",
    "turns.park",
    "turns.commit",
    "cells.get",
    "cells.remove",
    "tool",
  ];
  const troubles = Array.from({ length: Math.floor(draw("troubles") * 4) }, (_, i): Trouble => {
    const port = ports[Math.floor(draw(`port ${i}`) * ports.length)] ?? "turns.take";
    return {
      port,
      nth: 1 + Math.floor(draw(`nth ${i}`) * 3),
      harm: harms[Math.floor(draw(`harm ${i}`) * harms.length)] ?? "slow",
    };
  });
  return {
    seed,
    scope: "per-channel-peer",
    store: "node",
    streaming: "off",
    queue: "steer",
    calm: false,
    acts: [],
    troubles,
  };
}

/** `apart`: the planted bug, an approval that is used up in a write of its own. */
export async function simulateApproval(plan: Plan, apart = false): Promise<Simulated> {
  const at = world(plan);
  const { time } = at;
  const clock = { now: time.now, mono: time.now, after: () => ({ cancel() {} }) };
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "world",
    onFatal: () => {},
  });
  const book = witnessBook();
  let boots = 0;
  let effects = 0;
  let told = "";

  function boot(): void {
    boots += 1;
    const self = life(at, `boot-${boots}`, () => void time.after(100, boot));
    const port = storePort(at, self, witnessed(at, book, store));
    runLanes<Turn>({
      lanes: port.turns,
      pool: "main",
      holder: self.bootId,
      concurrency: 1,
      leaseMs: 30_000,
      maxRows: 10,
      clock: self.clock,
      ids: seededIds(plan.seed + boots),
      log: silentLog,
      onReady: port.onReady,
      work: (turn, held) => work(self, port, turn, held),
      bury: async (turn, error) => at.broken("bug", `${turn.id}: ${String(error)}`),
    });
  }

  async function work(self: Life, port: Store, turn: Turn, held: LeaseHandle): Promise<WorkEnd> {
    const logged = (kind: string): boolean => turn.log.some((step) => step.kind === kind);
    let length = turn.log.length;
    if (!logged("model")) {
      const steps = [{ kind: "model", body: "a call that needs an approval" }] as const;
      length = await port.turns.checkpoint(turn, length, {
        steps,
        cells: [{ key: cell, value: "open", expect: 0 }],
      });
    }
    const decided = turn.rows.some((row) => row.ticket === ticket);
    if (!decided) {
      await port.turns.park(turn, {
        tickets: [ticket],
        wake: "answer",
        untilMs: self.clock.now() + 3_600_000,
      });
      return { settled: true };
    }
    let end = "outcome unknown";
    if (!logged("intent")) {
      const open = await port.cells.get(cell);
      if (open === null) end = "the approval is gone";
      else {
        const intent = [{ kind: "intent", body: "call-1" }] as const;
        if (apart) await port.cells.remove(cell);
        const cells = apart ? [] : [{ key: cell, value: null, expect: open.version }];
        await held.cover(30_000);
        length = await port.turns.checkpoint(turn, length, { steps: intent, cells });
        await self.request("tool", "call-1", () => void (effects += 1));
        end = "done";
      }
    }
    await port.turns.commit(turn, turn.id, { outcome: "answered", reason: end, entries: [] });
    told = end;
    return { settled: true };
  }

  boot();
  const row = (id: string, as: NewRow["as"]): NewRow => ({
    id,
    pool: "main",
    lane,
    conversation,
    authority: "owner",
    as,
    payload: "{}",
  });
  time.after(10, () => void store.inbox.accept([row("asks", { kind: "work" })]));
  const decidedAtMs = at.draw("decided") * 2_000;
  time.after(
    50 + decidedAtMs,
    () =>
      void store.inbox.accept([{ ...row("decides", { kind: "work", ticket }), subject: `ticket:${ticket}` }]),
  );
  await time.run(time.now() + 60_000, () => false);
  at.heal();
  await time.run(time.now() + 30 * 60_000, () => told !== "" || at.violations.length > 0);

  const [asked] = await store.inbox.find({ id: "asks", limit: 1 });
  if (asked?.outcome !== "answered")
    at.broken("liveness", `the turn was approved and never ended: its row is ${asked?.state}`);
  if (effects > 1) at.broken("I7", `the approved call was made ${effects} times`);
  if (asked?.reason === "the approval is gone")
    at.broken("I7", "the approval was used up, and the call it was for was never made nor told");
  if ((await store.cells.get(cell)) !== null && asked?.outcome === "answered")
    at.broken("I7", "the approval can be used again");
  await store.close();
  return {
    violations: at.violations,
    history: at.history(),
    hash: at.hash(),
    boots,
    harmed: at.harmed(),
    shown: effects,
  };
}
