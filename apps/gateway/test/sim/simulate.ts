// Runs one schedule: boots the message path, lets people write and things go wrong, then lets everything heal
// and come to rest, and judges what is left by the laws of DESIGN section 1.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "@parley/protocol";
import { sqliteStore, type Store } from "@parley/store";
import { folderInMemory } from "@parley/testkit";
import { settleTrial } from "@parley/runner";
import { boot, type Booted } from "./boot.ts";
import { discordMemory } from "./discord.ts";
import { life, type Life } from "./life.ts";
import { evidence } from "./evidence.ts";
import { judge } from "./laws.ts";
import { people } from "./people.ts";
import type { Plan, Script } from "./plan.ts";
import { noPlant, type Plant } from "./plants.ts";
import { platform, type Platform } from "./platform.ts";
import { storePort } from "./store-port.ts";
import { witnessBook, witnessed } from "./witness.ts";
import { world, type Violation } from "./world.ts";

export interface Simulated {
  readonly violations: readonly Violation[];
  readonly history: readonly string[];
  readonly hash: string;
  /** Boots, harms that came about, and answers that people saw. */
  readonly boots: number;
  readonly harmed: number;
  readonly shown: number;
}

/** Faults may happen this long; then there are none. */
export const troubledMs = 60_000;
/**
 * After the last fault everything must be settled within this: leases run out, back-offs end, a day's fences
 * do not matter.
 */
export const settleMs = 30 * 60_000;
export const probeEveryMs = 2_000;
export const restartMs = 120;
export const drain = { turnsMs: 2_000, flushMs: 500 } as const;

export async function simulate(plan: Plan, plant: Plant = noPlant): Promise<Simulated> {
  const at = world(plan);
  const file = plan.store === "boot" ? databaseFile() : null;
  const book = witnessBook();
  const effects = new Map<string, number>();
  const scripts = new Map<number, Script>(
    plan.acts.flatMap((act) => (act.kind === "say" ? [[act.n, act.script] as const] : [])),
  );
  const discord = discordMemory(at, plant.flaws ?? {});
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
  const models = { scripts, calls: new Map<number, number>() };
  const brokenStore = plant.store?.() ?? ((store: Store) => store);
  const brokenPort = plant.port?.() ?? ((store: Store) => store);

  let opened: Store | null = null;
  let current: { readonly life: Life; readonly booted: Booted } | null = null;
  let boots = 0;
  let endedWell = false;

  async function openStore(bootId: string): Promise<Store> {
    if (opened !== null && file === null) return opened;
    const options = {
      clock: { now: at.time.now, mono: at.time.now, after: () => ({ cancel() {} }) },
      log: silentLog,
      bootId,
    };
    opened = await sqliteStore({
      ...options,
      path: file?.path ?? ":memory:",
      exclusive: file !== null,
      onFatal: () => {},
    });
    return opened;
  }

  async function start(): Promise<void> {
    boots += 1;
    const bootId = `boot-${boots}`;
    at.note(`${bootId} starts`);
    const store = await openStore(bootId);
    await settleTrial(store.cells, `boot-${boots - 1}`, endedWell ? null : at.time.now());
    endedWell = false;
    const self = life(at, bootId, () => {
      current = null;
      at.time.after(1, async () => {
        // The dead process let go of its file; with a shared store nobody notices until its leases run out.
        if (file !== null) await store.close();
        at.time.after(restartMs, start);
      });
    });
    const booted = await boot({
      world: at,
      life: self,
      store: brokenPort(storePort(at, self, witnessed(at, book, brokenStore(store)))),
      platforms,
      discord,
      models,
      effects,
      flaws: plant.flaws ?? {},
      nth: boots,
    });
    if (self.alive) current = { life: self, booted };
  }

  async function terminate(): Promise<void> {
    if (current === null) return;
    const { life: self, booted } = current;
    at.note(`${self.bootId} is told to end`);
    await Promise.all(booted.channels.map((channel) => channel.stop()));
    await booted.pools.drain(drain);
    endedWell = true;
    self.die("its end");
  }

  try {
    await start();
    const actsLeft = people(at, platforms);
    for (const trouble of plan.troubles) {
      if (!("process" in trouble)) continue;
      at.time.after(trouble.atMs, () => {
        at.harm();
        if (trouble.process === "kill") current?.life.die("killed");
        else if (trouble.process === "freeze") current?.life.freeze(trouble.forMs);
        else void terminate();
      });
    }
    await at.time.run(at.time.now() + troubledMs, () => false);
    at.heal();

    let settled = false;
    let why = "";
    const probe = async (): Promise<void> => {
      why =
        current === null || opened === null
          ? "no process runs"
          : await unsettled(opened, current.booted, platforms, actsLeft());
      settled = why === "";
      if (!settled) at.time.after(probeEveryMs, probe);
    };
    at.time.after(0, probe);
    await at.time.run(at.time.now() + settleMs, () => settled || at.violations.length > 0);
    if (!settled && at.violations.length === 0)
      at.broken("liveness", `not settled half an hour after the last fault: ${why}`);
    if (opened !== null && current !== null) {
      const { life: self, booted } = current as { readonly life: Life; readonly booted: Booted };
      const seen = {
        world: at,
        platforms,
        book,
        effects,
        timers: self.waiting(),
        running: booted.core.running.count(),
      };
      judge(await evidence(seen, opened));
    }
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
    (current as { readonly life: Life } | null)?.life.die("the simulation is over");
    await (opened as Store | null)?.close();
    if (file !== null) rmSync(file.folder, { recursive: true, force: true });
  }
}

/** What still waits; empty when nothing does. */
export async function unsettled(
  store: Store,
  booted: Booted,
  platforms: ReadonlyMap<string, Platform>,
  actsLeft: number,
): Promise<string> {
  if (actsLeft > 0) return "people are still writing";
  for (const [name, { pending }] of platforms)
    if (pending().length > 0) return `${name} has events that are not confirmed`;
  const [waiting, claimed, deliveries] = await Promise.all([
    store.inbox.find({ state: "waiting", limit: 1 }),
    store.inbox.find({ state: "claimed", limit: 1 }),
    store.outbox.find({ limit: 1_000 }),
  ]);
  const row = waiting[0] ?? claimed[0];
  if (row !== undefined) return `the row ${row.id} is ${row.state}`;
  const delivery = deliveries.find((each) => !each.done);
  if (delivery !== undefined) return `the delivery ${delivery.id} is not done`;
  const busy = booted.pools.turnsRunning() + booted.pools.deliveriesRunning();
  return busy > 0 ? `${busy} leases are held` : "";
}

function databaseFile(): { readonly folder: string; readonly path: string } {
  const folder = folderInMemory("sim");
  return { folder, path: join(folder, "state.db") };
}
