// What the daemon itself costs, through its edges: start-up, idle memory and CPU, and per message the time
// from the platform's event to the model's request and from the model's last byte to the platform's send,
// cold (the first 40) and warm (after 1,000). Beside it, in the same run, a bot that keeps nothing: poll,
// ask, send. `node bench/gateway.ts [--messages 300] [--warm 1000] [--bundle FOLDER] [--json FILE]`; prints
// tables, with the goals of issue 23.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { sleep } from "@parley/protocol";
import { bothMs, converse, flood, percentile, type Spans } from "./daemon/converse.ts";
import { clock, fakes, here, homeFor, startDaemon, type Fakes } from "./daemon/daemon.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "300" },
    warm: { type: "string", default: "1000" },
    bundle: { type: "string" },
    json: { type: "string" },
  },
});
const messages = Number(values.messages);
const coldMessages = 40;
const warmUp = Math.max(0, Number(values.warm) - coldMessages);
/** Of one start alone, a busy moment of the machine is half. */
const laterStarts = 5;
const manyChats = 200;
/** Messages of each of them in the sustained flood. */
const sustained = 5;
/** The kernel counts CPU in hundredths of a second: ten seconds tell a tenth of a percent. */
const idleMs = 10_000;

/** The least that a bot can do: no row, no session, no prompt. */
async function bareBot({ telegram, models }: Fakes, signal: AbortSignal): Promise<void> {
  const api = `${telegram.url}/bot${telegram.bot().token}`;
  const post = async (
    url: string,
    body: object,
  ): Promise<{ result: { update_id: number; message: { chat: { id: number }; text: string } }[] }> => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    return (await answer.json()) as never;
  };
  const answerTo = async ({ chat, text: asked }: { chat: { id: number }; text: string }): Promise<void> => {
    const answer = await fetch(`${models.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m1", stream: true, messages: [{ role: "user", content: asked }] }),
      signal,
    });
    const text = [...(await answer.text()).matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)]
      .map((match) => match[1])
      .join("");
    await post(`${api}/sendMessage`, { chat_id: chat.id, text });
  };
  for (let offset = 0; !signal.aborted;) {
    const { result } = await post(`${api}/getUpdates`, { offset, timeout: 25 });
    for (const { update_id, message } of result) {
      offset = update_id + 1;
      // Nobody waits for another chat's answer; what fails ends with the bench.
      answerTo(message).catch(() => {});
    }
  }
}

const round = (value: number): number => Math.round(value * 10) / 10;

interface Phase {
  readonly spans: Spans;
  readonly cpuMs: number;
}

/**
 * The first messages after a start, then those after `--warm`; `cpuSeconds` reads the CPU of whoever answers.
 */
async function phases(
  world: Fakes,
  cpuSeconds: () => number,
): Promise<{ readonly first: Phase; readonly cold: Phase; readonly warm: Phase }> {
  const phase = async (count: number): Promise<Phase> => {
    const before = cpuSeconds();
    const spans = await converse(world, count);
    return { spans, cpuMs: ((cpuSeconds() - before) / count) * 1_000 };
  };
  const first = await phase(1);
  const cold = await phase(coldMessages - 1);
  await phase(warmUp);
  return { first, cold, warm: await phase(messages) };
}

interface Program {
  readonly coldMs: number;
  readonly warmMs: number;
  readonly idleMb: number;
}

/** Left running, on its own fakes. */
async function started(checkout: string) {
  const world = await fakes();
  const home = homeFor(world, { maxConcurrent: manyChats });
  // The first start fills the compile cache, as the first start of an installation does.
  const cold = await startDaemon(home, { checkout });
  await cold.stop();
  let daemon = await startDaemon(home, { checkout });
  const warmMs = [daemon.readyMs];
  while (warmMs.length < laterStarts) {
    await daemon.stop();
    daemon = await startDaemon(home, { checkout });
    warmMs.push(daemon.readyMs);
  }
  await sleep(clock, 3_000);
  const program: Program = {
    coldMs: cold.readyMs,
    warmMs: percentile(warmMs, 0.5),
    idleMb: daemon.residentMb(),
  };
  return {
    world,
    home,
    daemon,
    program,
    async end() {
      await daemon.stop();
      await world.close();
      home.remove();
    },
  };
}

/** How long people wait for a command, beside bare Node. */
function commandMs(home: string, ...words: readonly string[]): number {
  const [program = "", ...args] = words;
  const env = { PATH: process.env["PATH"], HOME: home, PARLEY_HOME: home };
  const spans = Array.from({ length: 7 }, () => {
    const begun = clock.mono();
    spawnSync(program, args, { env, stdio: "ignore" });
    return clock.mono() - begun;
  });
  return percentile(spans, 0.5);
}

async function measureDaemon() {
  const { world, home, daemon, program, end } = await started(here);
  try {
    const before = daemon.cpuSeconds();
    await sleep(clock, idleMs);
    const idleCpu = ((daemon.cpuSeconds() - before) / (idleMs / 1_000)) * 100;
    const told = await phases(world, daemon.cpuSeconds);
    const busyMb = daemon.residentMb();
    const parley = join(here, "bin/parley");
    const commands = {
      node: commandMs(home.path, process.execPath, "-e", "0"),
      help: commandMs(home.path, parley, "--help"),
      status: commandMs(home.path, parley, "status"),
    };
    return { ...program, idleCpu, busyMb, ...told, ...(await floods(world)), commands };
  } finally {
    await end();
  }
}

/** Many chats at once: the first flood opens their sessions, and is not counted. */
async function floods(world: Fakes): Promise<{ readonly atOnceMs: number; readonly aSecond: number }> {
  await flood(world, { chats: manyChats, each: 1, modelMs: 0 });
  const atOnceMs = await flood(world, { chats: manyChats, each: 1, modelMs: 200 });
  const took = await flood(world, { chats: manyChats, each: sustained, modelMs: 0 });
  return { atOnceMs, aSecond: (manyChats * sustained * 1_000) / took };
}

async function measureBundle(folder: string): Promise<Program> {
  const { program, end } = await started(folder);
  await end();
  return program;
}

async function measureBare() {
  const world = await fakes();
  const ending = new AbortController();
  const running = bareBot(world, ending.signal).catch(() => {});
  // It shares the bench's process, so its CPU cannot be told apart.
  const told = { ...(await phases(world, () => 0)), ...(await floods(world)) };
  ending.abort();
  await running;
  await world.close();
  return told;
}

const megabytes = Number(
  spawnSync("du", ["-sm", "--exclude=.git", here], { encoding: "utf8" }).stdout.split("\t")[0],
);
const bare = await measureBare();
const own = await measureDaemon();
const bundle = values.bundle === undefined ? null : await measureBundle(resolve(values.bundle));
const row = (name: string, pick: (spans: Spans) => readonly number[]) => ({
  span: name,
  "cold p50 ms": percentile(pick(own.cold.spans), 0.5),
  "warm p50 ms": percentile(pick(own.warm.spans), 0.5),
  "warm p95 ms": percentile(pick(own.warm.spans), 0.95),
  "warm p99 ms": percentile(pick(own.warm.spans), 0.99),
  "bare bot cold": percentile(pick(bare.cold.spans), 0.5),
  "bare bot warm": percentile(pick(bare.warm.spans), 0.5),
});
const table = [
  row("event -> model request", (s) => s.inMs),
  row("model end -> send", (s) => s.outMs),
  row("both", bothMs),
];
console.table(table);
const figures = {
  "ready after, first start ms": { here: round(own.coldMs) },
  [`ready after, median of ${laterStarts} later starts ms`]: { here: round(own.warmMs), goal: 500 },
  "idle RSS MB": { here: round(own.idleMb), goal: 90 },
  ...(bundle === null
    ? {}
    : {
        "bundle: ready ms": { here: round(bundle.warmMs), goal: 350 },
        "bundle: idle RSS MB": { here: round(bundle.idleMb), goal: 80 },
      }),
  [`idle CPU over ${idleMs / 1_000} s %`]: { here: round(own.idleCpu) },
  "first message after the start ms": {
    here: percentile(bothMs(own.first.spans), 0.5),
    bare: percentile(bothMs(bare.first.spans), 0.5),
    goal: 30,
  },
  [`CPU ms a message, the first ${coldMessages}`]: { here: round(own.cold.cpuMs) },
  [`CPU ms a message, after ${coldMessages + warmUp}`]: { here: round(own.warm.cpuMs), goal: 4 },
  [`${manyChats} chats at once, a 200 ms model, ms`]: {
    here: round(own.atOnceMs),
    bare: round(bare.atOnceMs),
    goal: 500,
  },
  [`sustained in ${manyChats} chats, messages a second`]: {
    here: round(own.aSecond),
    bare: round(bare.aSecond),
    goal: 1_000,
  },
  "parley --help ms": { here: own.commands.help, bare: own.commands.node, goal: 60 },
  "parley status ms": { here: own.commands.status, bare: own.commands.node, goal: 120 },
  "a checkout after set-up MB": { here: megabytes, goal: 350 },
  [`RSS after ${coldMessages + warmUp + messages} messages MB`]: { here: round(own.busyMb) },
};
console.table(figures);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ table, figures }, null, 2));
