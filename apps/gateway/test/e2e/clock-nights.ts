// A real daemon whose wall clock is libfaketime's: it runs at any night, and its clock may jump while it runs
// or is stopped.
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programPath, type Program } from "@parley/testkit";
import { controlClient, type ControlClient } from "./control-client.ts";
import { eventually, freshHome, startDaemon, type Daemon } from "./daemon.ts";
import type { World } from "./world.ts";

interface Run {
  readonly slot: string;
  readonly outcome: string;
  readonly count: number;
}

interface Night {
  /** Its clock says this instant now; the state is kept. */
  start(instant: string): Promise<Daemon>;
  /** The clock of what runs says this instant now. */
  set(instant: string): Promise<void>;
  jump(seconds: number): Promise<void>;
  /** Returns the job's id. */
  add(schedule: object, more?: object): Promise<string>;
  nextAt(job: string): Promise<string | null>;
  runs(job: string): Promise<readonly Run[]>;
  /** Of the slots that ran: their instants, oldest first. */
  ran(job: string): Promise<readonly string[]>;
  until(so: () => Promise<boolean>, what: string): Promise<void>;
}

export async function clockNight(w: World, faketime: Program): Promise<Night> {
  const home = await freshHome();
  const clockFile = join(home, "clock");
  const script = ["-f", "+0s", "sh", "-c", "echo $LD_PRELOAD"];
  const library = execFileSync(programPath(faketime), script, { encoding: "utf8" }).trim();
  let aheadSeconds = 0;
  let client: ControlClient | null = null;

  const setClock = (): Promise<void> =>
    writeFile(clockFile, `${aheadSeconds < 0 ? "-" : "+"}${Math.abs(aheadSeconds)}\n`);
  async function set(instant: string): Promise<void> {
    aheadSeconds = Math.round((Date.parse(instant) - Date.now()) / 1_000);
    await setClock();
  }
  async function call<T>(method: string, params: object): Promise<T> {
    if (client === null) throw new Error("nothing runs");
    return (await client.call(method, params)) as T;
  }
  async function runs(id: string): Promise<readonly Run[]> {
    return (await call<{ readonly runs: readonly Run[] }>("cron.runs", { id, limit: 1_000 })).runs;
  }

  return {
    set,
    runs,
    async start(instant) {
      await set(instant);
      // Elapsed time stays real, as it does when a machine sleeps or its clock is set.
      const env = {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: clockFile,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      };
      const daemon = await startDaemon({ home, config: w.config, env });
      client = await controlClient(daemon);
      return daemon;
    },
    async jump(seconds) {
      aheadSeconds += seconds;
      await setClock();
    },
    async add(schedule, more = {}) {
      const job = { name: "night", message: "look", delivery: { kind: "none" }, schedule, ...more };
      return (await call<{ readonly job: { readonly id: string } }>("cron.add", { job })).job.id;
    },
    nextAt: async (id) =>
      (await call<{ readonly job: { readonly nextAt: string | null } }>("cron.get", { id })).job.nextAt,
    async ran(job) {
      const slots = (await runs(job)).filter(({ outcome }) => outcome === "ok").map(({ slot }) => slot);
      return slots.map((slot) => slot.slice(`cron:${job}:`.length)).toSorted();
    },
    until: async (so, what) => void (await eventually(so, 90_000, what)),
  };
}
