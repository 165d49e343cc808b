// Runs one schedule of several nodes over one store: each with its own life, clock and line to the store,
// leaders by the product's own leadership. Then everything heals and comes to rest, and is judged by the laws
// of one process; besides, never two lead one account.
import { Fault, silentLog } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { freeLeaders } from "@parley/cluster";
import { boot, type Booted } from "./boot.ts";
import { freeLeases } from "./dead-leases.ts";
import { discordMemory } from "./discord.ts";
import { evidence } from "./evidence.ts";
import { judge } from "./laws.ts";
import { life, type Life } from "./life.ts";
import { people } from "./people.ts";
import type { Plan, PlannedNode, Script } from "./plan.ts";
import { noPlant, type Plant } from "./plants.ts";
import { platform, type Platform } from "./platform.ts";
import {
  drain,
  probeEveryMs,
  restartMs,
  settleMs,
  troubledMs,
  unsettled,
  type Simulated,
} from "./simulate.ts";
import { settleTrial } from "@parley/runner";
import { simulatedBus } from "./simulated-bus.ts";
import { storePort, type Line } from "./store-port.ts";
import { witnessBook, witnessed } from "./witness.ts";
import { world } from "./world.ts";

/** Started again in another place: nothing proves the one before dead. */
const elsewhereMs = 20_000;
const lookEveryMs = 500;

interface Standing {
  readonly planned: PlannedNode;
  readonly name: string;
  current: { readonly life: Life; readonly booted: Booted } | null;
  line: Line;
  boots: number;
  deadBoot: string | null;
  endedWell: boolean;
}

export async function simulateNodes(plan: Plan, plant: Plant = noPlant): Promise<Simulated> {
  const at = world(plan);
  const book = witnessBook();
  const effects = new Map<string, number>();
  const scripts = new Map<number, Script>(
    plan.acts.flatMap((act) => (act.kind === "say" ? [[act.n, act.script] as const] : [])),
  );
  const flaws = plant.flaws ?? {};
  const discord = discordMemory(at, flaws);
  const platforms = new Map<string, Platform>(
    (["telegram", "discord", "web", "loopback"] as const).map((name) => [
      name,
      platform(at, {
        name,
        idempotent: name !== "telegram",
        ...(name === "discord" ? { keyLivesMs: discord.keyLivesMs } : {}),
      }),
    ]),
  );
  const accounts = [...platforms.keys()].map((name) => `${name}:default`);
  const models = { scripts, calls: new Map<number, number>() };
  const bus = simulatedBus(at);
  const storeClock = { now: at.time.now, mono: at.time.now, after: () => ({ cancel() {} }) };
  const opened = await sqliteStore({
    path: ":memory:",
    clock: storeClock,
    log: silentLog,
    bootId: "the store",
    onFatal: () => {},
  });
  const store = witnessed(at, book, (plant.store?.() ?? ((same) => same))(opened));
  const brokenPort = plant.port?.() ?? ((same) => same);
  const standing = (plan.nodes ?? []).map((planned, index): Standing => ({
    planned,
    name: `node-${index + 1}`,
    current: null,
    line: "up",
    boots: 0,
    deadBoot: null,
    endedWell: false,
  }));
  const awake = (node: Standing): boolean =>
    node.current !== null && node.current.life.frozenUntilMs <= at.time.now();
  let boots = 0;
  let over = false;

  async function start(node: Standing): Promise<void> {
    if (over) return;
    boots += 1;
    node.boots += 1;
    const nth = boots;
    const bootId = `${node.name}-boot-${node.boots}`;
    at.note(`${bootId} starts as ${node.planned.role}`);
    const self = life(
      at,
      bootId,
      () => {
        node.current = null;
        const isHere = at.draw(`${bootId} comes back`) < 0.6;
        node.deadBoot = isHere ? bootId : null;
        at.time.after(isHere ? restartMs : elsewhereMs, () => start(node));
      },
      node.planned.skewMs,
    );
    const port = brokenPort(storePort(at, self, store, () => node.line));
    if (node.deadBoot !== null) {
      await freeLeases(store, accounts, { holder: node.deadBoot });
      await freeLeaders(store.cells, node.deadBoot);
      await settleTrial(store.cells, node.deadBoot, node.endedWell ? null : at.time.now());
    }
    const booted = await boot({
      world: at,
      life: self,
      store: port,
      platforms,
      discord,
      models,
      effects,
      flaws,
      nth,
      seat: {
        role: node.planned.role,
        name: node.name,
        bus: bus.join(self, () => node.line === "up"),
        async freeLeases(of) {
          await self.request("free leases", JSON.stringify(of), () => {});
          if (node.line !== "up") throw new Fault("unavailable", "simulated: the store is away");
          return freeLeases(store, accounts, of);
        },
        leaderClock: plant.leaderClock?.(self.clock) ?? self.clock,
        hasClients: () => standing.find((each) => awake(each) && each.line === "up") === node,
      },
    });
    node.endedWell = false;
    if (self.alive) node.current = { life: self, booted };
  }

  async function terminate(node: Standing): Promise<void> {
    if (node.current === null) return;
    const { life: self, booted } = node.current;
    at.note(`${self.bootId} is told to end`);
    if (
      standing.some((other) => other !== node && other.current !== null && other.planned.role !== "worker")
    ) {
      await booted.cluster?.handOver();
    }
    await Promise.all(booted.channels.map((channel) => channel.stop()));
    await booted.pools.drain(drain);
    await booted.cluster?.handOver();
    booted.cluster?.close();
    node.endedWell = true;
    self.die("its end");
  }

  function cut(node: Standing, how: Line, forMs: number): void {
    at.note(`${node.name} is ${how} for ${forMs} ms`);
    node.line = how;
    at.time.after(forMs, () => {
      if (node.line === how) node.line = "up";
    });
  }

  /** Never two that act lead one account. */
  function look(): void {
    if (over) return;
    const leaders = new Map<string, string>();
    for (const node of standing.filter(awake)) {
      for (const account of node.current?.booted.cluster?.leads() ?? []) {
        const other = leaders.get(account);
        if (other !== undefined) at.broken("two leaders", `${other} and ${node.name} both lead ${account}`);
        leaders.set(account, node.name);
      }
    }
    at.time.after(lookEveryMs, look);
  }

  try {
    for (const node of standing) await start(node);
    const actsLeft = people(at, platforms);
    for (const trouble of plan.troubles) {
      if (!("process" in trouble)) continue;
      const node = standing[trouble.node ?? 0];
      if (node === undefined) continue;
      at.time.after(trouble.atMs, () => {
        at.harm();
        if (trouble.process === "kill") node.current?.life.die("killed");
        else if (trouble.process === "freeze") node.current?.life.freeze(trouble.forMs);
        else if (trouble.process === "terminate") void terminate(node);
        else if ("forMs" in trouble) cut(node, trouble.process, trouble.forMs);
      });
    }
    look();
    await at.time.run(at.time.now() + troubledMs, () => at.violations.length > 0);
    at.heal();
    for (const node of standing) node.line = "up";

    let settled = false;
    let why = "";
    const probe = async (): Promise<void> => {
      why = "";
      for (const { name, current } of standing) {
        if (why === "")
          why =
            current === null
              ? `${name} does not run`
              : await unsettled(opened, current.booted, platforms, actsLeft());
      }
      settled = why === "";
      if (!settled) at.time.after(probeEveryMs, probe);
    };
    at.time.after(0, probe);
    await at.time.run(at.time.now() + settleMs, () => settled || at.violations.length > 0);
    if (!settled && at.violations.length === 0)
      at.broken("liveness", `not settled half an hour after the last fault: ${why}`);
    const running = standing.flatMap(({ current }) => current ?? []);
    const seen = {
      world: at,
      platforms,
      book,
      effects,
      timers: Math.max(0, ...running.map((each) => each.life.waiting())),
      running: running.reduce((sum, { booted }) => sum + booted.core.running.count(), 0),
    };
    if (at.violations.length === 0) judge(await evidence(seen, opened));
    const shown = [...platforms.values()].reduce((sum, each) => sum + each.shown.length, 0);
    return {
      violations: at.violations,
      history: at.history(),
      hash: at.hash(),
      boots,
      harmed: at.harmed(),
      shown,
    };
  } finally {
    over = true;
    for (const { current } of standing) current?.life.die("the simulation is over");
    await opened.close();
  }
}
