// What jobs cost: a daemon with ten thousand that wait beside one without, at its start and idle; a thousand
// slots that fall due at once, per slot, beside messages of the same daemon; and how long people wait while a
// thousand jobs of every minute run. `node bench/schedules.ts [--jobs 10000] [--slots 1000] [--messages 100]
// [--idle 30] [--starts 3] [--part waiting,firing,beside]`; prints a table.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { silentLog, sleep, systemClock, type Clock } from "@parley/protocol";
import { sqliteStore, type SqliteStore } from "@parley/store";
import { fakeModels, fakeTelegram } from "@parley/testkit";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "10000" },
    slots: { type: "string", default: "1000" },
    messages: { type: "string", default: "100" },
    idle: { type: "string", default: "30" },
    starts: { type: "string", default: "3" },
    part: { type: "string", default: "waiting,firing,beside" },
  },
});
const [jobs, slots, messages] = [Number(values.jobs), Number(values.slots), Number(values.messages)];
const [idleSeconds, starts] = [Number(values.idle), Number(values.starts)];
const everyMs = 100;
const settleMs = 10_000;
const main = fileURLToPath(new URL("../apps/gateway/src/main.ts", import.meta.url));
const clock: Clock = { ...systemClock(), now: () => performance.timeOrigin + performance.now() };
const [telegram, models] = await Promise.all([fakeTelegram({ clock }), fakeModels({ clock })]);
const homes: string[] = [];

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "parley-bench-"));
  homes.push(home);
  const provider = {
    api: "openai-completions",
    baseUrl: `${models.url}/v1`,
    apiKey: "bench",
    models: [{ id: "m1" }],
  };
  const telegramBlock = {
    botToken: telegram.bot().token,
    apiRoot: telegram.url,
    dmPolicy: "open",
    allowFrom: ["*"],
    pacing: "off",
    streaming: "off",
  };
  writeFileSync(
    join(home, "parley.json5"),
    JSON.stringify({
      gateway: { port: 0 },
      models: { providers: { fake: provider } },
      agents: { defaults: { model: { primary: "fake/m1" } } },
      channels: { telegram: telegramBlock },
    }),
  );
  return home;
}

interface Running {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly readyMs: number;
  stop(): Promise<void>;
}

async function start(home: string): Promise<Running> {
  const begunAtMs = clock.now();
  const process_ = spawn(process.execPath, [main], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], HOME: home, PARLEY_HOME: home },
  });
  await new Promise<void>((resolve) =>
    process_.stdout.on("data", (chunk: Buffer) => chunk.includes("#code=") && resolve()),
  );
  return {
    process: process_,
    pid: process_.pid ?? 0,
    readyMs: clock.now() - begunAtMs,
    async stop() {
      process_.kill("SIGTERM");
      await new Promise((resolve) => process_.once("exit", resolve));
    },
  };
}

/** While no daemon runs. */
async function inStore(home: string, work: (store: SqliteStore) => Promise<void>): Promise<void> {
  const store = await sqliteStore({
    path: join(home, "state.db"),
    clock,
    log: silentLog,
    bootId: "bench",
    onFatal: (error) => {
      throw error;
    },
  });
  await work(store);
  await store.close();
}

async function fill(home: string, count: number, schedule: object, nextMs: number): Promise<void> {
  const nowMs = Math.floor(clock.now());
  const owner = { kind: "operator", sender: null, isOwner: true, conversation: null, session: null };
  const rest = {
    misfire: "latest",
    overlap: "skip",
    catchUpMs: 345_600_000,
    maxRuns: null,
    deleteAfterRun: false,
  };
  const state = {
    decidedMs: nowMs,
    nextMs,
    runs: 0,
    missed: 0,
    last: null,
    consecutiveErrors: 0,
    backoffMs: 0,
  };
  await inStore(home, async ({ cells }) => {
    for (let n = 0; n < count; n += 1) {
      const id = `bench-${n}`;
      const job = {
        v: 1,
        id,
        name: `job ${n}`,
        agent: "main",
        owner: { ...owner, turn: null, authority: "owner", tools: null },
        schedule,
        staggerMs: 0,
        payload: { kind: "agentTurn", message: "look at it" },
        target: { kind: "isolated" },
        wake: "now",
        delivery: { kind: "none" },
        ...rest,
        enabled: true,
        timeoutSeconds: 3_600,
        mostTokensPerDay: null,
        version: 1,
        createdAtMs: nowMs,
        editedAtMs: nowMs,
        effectiveFromMs: nowMs,
        state: { ...state, alertedAtMs: null, paused: null },
      };
      await cells.put(`job:${id}`, JSON.stringify(job), { expect: 0 });
    }
  });
}

/** Seconds of CPU; the kernel counts in hundredths. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** People write one after the other, each in a chat of their own; returns how long each waited. */
async function people(first: number): Promise<readonly number[]> {
  const waits: number[] = [];
  const talks: Promise<void>[] = [];
  for (let n = 0; n < messages; n += 1) {
    const chat = first + n;
    const saidAtMs = clock.now();
    telegram.as(chat).says("hello");
    talks.push(
      (async () => {
        while (!telegram.visible(chat).some(({ byBot }) => byBot)) await sleep(clock, 1);
        waits.push(clock.now() - saidAtMs);
      })(),
    );
    await sleep(clock, everyMs);
  }
  await Promise.all(talks);
  return waits;
}

const tenths = (value: number): number => Math.round(value * 10) / 10;
const percentile = (spans: readonly number[], share: number): number =>
  tenths(spans.toSorted((a, b) => a - b)[Math.min(spans.length - 1, Math.floor(spans.length * share))] ?? 0);

async function waiting(): Promise<void> {
  const [without, withJobs] = [newHome(), newHome()];
  const yearly = { kind: "cron", expression: "0 9 1 1 *", zone: "UTC" };
  await fill(withJobs, jobs, yearly, Math.floor(clock.now()) + 30 * 86_400_000);
  const least = { ready: [Infinity, Infinity], cpu: [Infinity, Infinity], idle: [0, 0] };
  for (let nth = 0; nth < starts; nth += 1)
    for (const [at, home] of [without, withJobs].entries()) {
      const daemon = await start(home);
      await sleep(clock, settleMs);
      const begun = cpuSeconds(daemon.pid);
      least.ready[at] = Math.min(least.ready[at] ?? 0, daemon.readyMs);
      least.cpu[at] = Math.min(least.cpu[at] ?? 0, begun);
      if (nth === starts - 1) {
        await sleep(clock, idleSeconds * 1_000);
        least.idle[at] = ((cpuSeconds(daemon.pid) - begun) / idleSeconds) * 100;
      }
      await daemon.stop();
    }
  const row = (at: number) => ({
    "ready ms": Math.round(least.ready[at] ?? 0),
    "CPU ms until idle": Math.round((least.cpu[at] ?? 0) * 1_000),
    "idle CPU %": Math.round((least.idle[at] ?? 0) * 100) / 100,
  });
  console.table({ "without jobs": row(0), [`${jobs} jobs that wait`]: row(1) });
}

const ran = (): number =>
  models.requests().filter(({ lastUserText }) => lastUserText.includes("Scheduled job")).length;

async function firing(): Promise<void> {
  const home = newHome();
  models.reply("ok");
  let daemon = await start(home);
  await people(1_000);
  const begun = cpuSeconds(daemon.pid);
  await people(2_000);
  const perMessage = ((cpuSeconds(daemon.pid) - begun) / messages) * 1_000;
  await daemon.stop();
  const atMs = Math.floor(clock.now()) + 20_000;
  await fill(home, slots, { kind: "at", atMs, zone: "UTC" }, atMs);
  daemon = await start(home);
  await sleep(clock, Math.max(0, atMs - 500 - clock.now()));
  const before = cpuSeconds(daemon.pid);
  const isEnd = async (): Promise<void> => {
    while (ran() < slots) await sleep(clock, 100);
  };
  await isEnd();
  const tookMs = clock.now() - atMs;
  await sleep(clock, 1_000);
  const perSlot = ((cpuSeconds(daemon.pid) - before) / slots) * 1_000;
  await daemon.stop();
  console.log(
    `${slots} slots at once: ${tenths(perSlot)} ms of own CPU a slot, all begun after ${tenths(tookMs / 1_000)} s; a message takes ${tenths(perMessage)} ms: ratio ${Math.round((perSlot / perMessage) * 100) / 100}.`,
  );
}

async function beside(): Promise<void> {
  const home = newHome();
  const modelMs = 200;
  models.reply(({ lastUserText }) =>
    lastUserText.includes("Scheduled job") ? { text: "NO_REPLY", delayMs: modelMs } : "ok",
  );
  let daemon = await start(home);
  await people(5_000);
  const alone = await people(6_000);
  await daemon.stop();
  const nextMs = Math.ceil(clock.now() / 60_000) * 60_000;
  await fill(home, 1_000, { kind: "cron", expression: "* * * * *", zone: "UTC" }, nextMs);
  daemon = await start(home);
  // What a process pays for its first messages is no delay by jobs.
  await people(7_000);
  const minuteMs = Math.ceil(clock.now() / 60_000) * 60_000;
  await sleep(clock, minuteMs + 1_000 - clock.now());
  const ranBefore = ran();
  const busy = await people(8_000);
  const meanwhile = ran() - ranBefore;
  await daemon.stop();
  const row = (waits: readonly number[]) => ({
    "p50 ms": percentile(waits, 0.5),
    "p95 ms": percentile(waits, 0.95),
  });
  console.table({ "people alone": row(alone), "beside 1,000 jobs of every minute": row(busy) });
  console.log(`${meanwhile} jobs began meanwhile.`);
}

try {
  const parts = values.part.split(",");
  if (parts.includes("waiting")) await waiting();
  if (parts.includes("firing")) await firing();
  if (parts.includes("beside")) await beside();
} finally {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
  await Promise.all([telegram.close(), models.close()]);
}
