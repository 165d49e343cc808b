// What more workers bring and what Redis costs: chats that all write at once to one edge and 1, 2 and 4
// workers before a model that takes 200 ms, each worker with eight turns at a time; and one message after the
// other on one process, on SQLite and on Redis. `node bench/nodes.ts [--chats 100] [--each 3] [--messages
// 100]`; prints a table. Fakes, nodes and Redis share this machine's cores.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { sleep, systemClock } from "@parley/protocol";
import { fakeModels, fakeTelegram, redisServer } from "@parley/testkit";

const { values } = parseArgs({
  options: {
    chats: { type: "string", default: "100" },
    each: { type: "string", default: "3" },
    messages: { type: "string", default: "100" },
  },
});
const [chats, each, messages] = [Number(values.chats), Number(values.each), Number(values.messages)];
const main = fileURLToPath(new URL("../apps/gateway/src/main.ts", import.meta.url));
const clock = systemClock();
const modelMs = 200;
const turnsAtOnce = 8;

interface Shape {
  readonly store: "sqlite" | "redis";
  readonly nodes: readonly string[];
}

interface Stand {
  readonly telegram: Awaited<ReturnType<typeof fakeTelegram>>;
  readonly models: Awaited<ReturnType<typeof fakeModels>>;
}

async function on<T>({ store, nodes }: Shape, work: (stand: Stand) => Promise<T>): Promise<T> {
  const [telegram, models, redis] = await Promise.all([
    fakeTelegram(),
    fakeModels(),
    store === "redis" ? redisServer() : null,
  ]);
  const root = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const config = {
    gateway: { port: 0 },
    models: {
      providers: {
        fake: { api: "openai-completions", baseUrl: `${models.url}/v1`, apiKey: "k", models: [{ id: "m1" }] },
      },
    },
    agents: {
      defaults: {
        model: { primary: "fake/m1" },
        maxConcurrent: turnsAtOnce,
        workspace: join(root, "workspace"),
      },
    },
    channels: {
      telegram: {
        botToken: telegram.bot().token,
        apiRoot: telegram.url,
        dmPolicy: "open",
        allowFrom: ["*"],
        pacing: "off",
        streaming: "off",
      },
    },
    logging: { level: "error" },
    store: redis === null ? { driver: "sqlite" } : { driver: "redis", redis: { url: redis.url } },
  };
  writeFileSync(join(root, "parley.json5"), JSON.stringify(config));
  const children: ChildProcess[] = [];
  for (const [n, role] of nodes.entries()) {
    const words = store === "redis" ? ["--role", role, "--node", `${role}-${n}`] : [];
    const child = spawn(process.execPath, [main, ...words], {
      env: { PATH: process.env["PATH"], HOME: root, PARLEY_HOME: root },
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    await new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
  }
  try {
    return await work({ telegram, models });
  } finally {
    await Promise.all(
      children.map((child) => new Promise((resolve) => (child.once("exit", resolve), child.kill("SIGTERM")))),
    );
    await Promise.all([telegram.close(), models.close(), redis?.close()]);
    rmSync(root, { recursive: true, force: true });
  }
}

async function flood({ telegram, models }: Stand): Promise<number> {
  models.reply(async () => {
    await sleep(clock, modelMs);
    return "done";
  });
  const answered = (chat: number): number => telegram.visible(chat).filter(({ byBot }) => byBot).length;
  telegram.as(1).says("warm up");
  while (answered(1) === 0) await sleep(clock, 5);
  const from = performance.now();
  for (let n = 1; n <= each; n += 1) {
    for (let chat = 100; chat < 100 + chats; chat += 1) telegram.as(chat).says(`message ${n}`);
    const waits = (): boolean =>
      Array.from({ length: chats }, (_, at) => answered(100 + at)).some((count) => count < n);
    while (waits()) await sleep(clock, 10);
  }
  return ((chats * each) / (performance.now() - from)) * 1_000;
}

/** Milliseconds of the way itself, median: the model answers at once. */
async function oneByOne({ telegram, models }: Stand): Promise<number> {
  models.reply(() => "done");
  const spans: number[] = [];
  for (let n = 0; n < messages + 20; n += 1) {
    const sent = telegram.calls("sendMessage").length;
    const from = performance.now();
    telegram.as(1).says(`message ${n}`);
    while (telegram.calls("sendMessage").length === sent) await sleep(clock, 0);
    if (n >= 20) spans.push(performance.now() - from);
    await sleep(clock, 3);
  }
  return spans.toSorted((a, b) => a - b)[Math.floor(spans.length / 2)] ?? Number.NaN;
}

console.log(
  `| nodes | answers a second, ${chats} chats, a ${modelMs} ms model, ${turnsAtOnce} turns at a time each |\n| --- | --- |`,
);
for (const workers of [1, 2, 4]) {
  const rate = await on(
    { store: "redis", nodes: ["edge", ...Array.from({ length: workers }, () => "worker")] },
    flood,
  );
  console.log(`| 1 edge, ${workers} workers | ${rate.toFixed(1)} |`);
}
console.log("\n| one process, one message after the other | own time, p50 |\n| --- | --- |");
for (const store of ["sqlite", "redis"] as const)
  console.log(`| ${store} | ${(await on({ store, nodes: ["all"] }, oneByOne)).toFixed(1)} ms |`);
