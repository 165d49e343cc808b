// What sub-agents cost beside people: a hundred children with a model of 200 ms run while people write, and the people's times stand
// beside those of the same daemon without children, in the same run. Also the daemon's own CPU for each child and for each message.
// `node bench/children.ts [--children 100] [--messages 100]`; prints a table.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { sleep, systemClock, type Clock } from "@parley/protocol";
import { fakeModels, fakeTelegram, type ModelAnswer, type ModelCall } from "@parley/testkit";

const { values } = parseArgs({
  options: {
    children: { type: "string", default: "100" },
    messages: { type: "string", default: "100" },
  },
});
const children = Number(values.children);
const messages = Number(values.messages);
const perParent = 10;
const modelMs = 200;
/** People write this often. */
const everyMs = 50;
const main = fileURLToPath(new URL("../apps/gateway/src/main.ts", import.meta.url));
const clock: Clock = { ...systemClock(), now: () => performance.timeOrigin + performance.now() };

const [telegram, models] = await Promise.all([fakeTelegram({ clock }), fakeModels({ clock })]);
const home = mkdtempSync(join(tmpdir(), "parley-bench-"));
writeFileSync(
  join(home, "parley.json5"),
  JSON.stringify({
    gateway: { port: 0 },
    models: {
      providers: {
        fake: {
          api: "openai-completions",
          baseUrl: `${models.url}/v1`,
          apiKey: "bench",
          models: [{ id: "m1" }],
        },
      },
    },
    agents: {
      defaults: {
        model: { primary: "fake/m1" },
        subagents: { maxChildrenPerAgent: perParent },
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
  }),
);

function answer(call: ModelCall): ModelAnswer {
  const text = JSON.stringify(call.body["messages"]);
  if (text.includes("Task from session")) return { text: "dug", delayMs: modelMs };
  const begun = [...text.matchAll(/has the task/g)].length;
  if (text.includes("fan out") && begun < perParent)
    return { toolCalls: [{ name: "sessions_spawn", args: { task: "dig", label: `n${begun}` } }] };
  return "ok";
}

/** People write one after the other, each in a chat of their own; returns how long each waited. */
async function people(first: number): Promise<readonly number[]> {
  const waits: number[] = [];
  const sent = (chat: number): number => telegram.visible(chat).filter(({ byBot }) => byBot).length;
  const talks: Promise<void>[] = [];
  for (let n = 0; n < messages; n += 1) {
    const chat = first + n;
    const saidAtMs = clock.now();
    telegram.as(chat).says("hello");
    talks.push(
      (async () => {
        while (sent(chat) === 0) await sleep(clock, 1);
        waits.push(clock.now() - saidAtMs);
      })(),
    );
    await sleep(clock, everyMs);
  }
  await Promise.all(talks);
  return waits;
}

/** Seconds of CPU; the kernel counts in hundredths. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const percentile = (spans: readonly number[], share: number): number =>
  Math.round(
    10 * (spans.toSorted((a, b) => a - b)[Math.min(spans.length - 1, Math.floor(spans.length * share))] ?? 0),
  ) / 10;

const daemon = spawn(process.execPath, [main], {
  stdio: ["ignore", "pipe", "ignore"],
  env: { PATH: process.env["PATH"], HOME: home, PARLEY_HOME: home },
});
await new Promise<void>((resolve) =>
  daemon.stdout.on("data", (chunk: Buffer) => chunk.includes("#code=") && resolve()),
);
const pid = daemon.pid ?? 0;
try {
  models.reply(answer);
  await people(1_000);
  const cpu = [cpuSeconds(pid)];
  const alone = await people(2_000);
  cpu.push(cpuSeconds(pid));
  const parents = Math.ceil(children / perParent);
  for (let n = 0; n < parents; n += 1) telegram.as(5_000 + n).says("fan out");
  const beside = await people(3_000);
  const told = (): number =>
    models
      .requests()
      .filter(({ body }) => !JSON.stringify(body["messages"]).includes("Task from session"))
      .reduce((most, { body }) => {
        for (const [, id] of JSON.stringify(body["messages"]).matchAll(/Sub-agent [^(]*\((\w+-1)\)/g))
          if (id !== undefined) most.add(id);
        return most;
      }, new Set<string>()).size;
  while (told() < parents * perParent) await sleep(clock, 50);
  cpu.push(cpuSeconds(pid));
  const [start = 0, middle = 0, end = 0] = cpu;
  const perMessage = ((middle - start) / messages) * 1_000;
  const perChild = ((end - middle - (middle - start)) / (parents * perParent)) * 1_000;
  console.table({
    "people alone": { "p50 ms": percentile(alone, 0.5), "p95 ms": percentile(alone, 0.95) },
    "people beside children": { "p50 ms": percentile(beside, 0.5), "p95 ms": percentile(beside, 0.95) },
    ratio: {
      "p50 ms": Math.round((100 * percentile(beside, 0.5)) / percentile(alone, 0.5)) / 100,
      "p95 ms": Math.round((100 * percentile(beside, 0.95)) / percentile(alone, 0.95)) / 100,
    },
  });
  console.log(
    `${parents * perParent} children, all told. Own CPU: ${Math.round(perMessage * 10) / 10} ms a message, ${Math.round(perChild * 10) / 10} ms a child (its spawn, run and telling).`,
  );
} finally {
  daemon.kill("SIGTERM");
  await new Promise((resolve) => daemon.once("exit", resolve));
  rmSync(home, { recursive: true, force: true });
  await Promise.all([telegram.close(), models.close()]);
}
