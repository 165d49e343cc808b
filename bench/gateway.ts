// What the daemon itself costs, through its edges: start-up, idle memory and CPU, and per message the time from the platform's event to the model's
// request and from the model's last byte to the platform's send. Beside it, in the same run, a bot that keeps nothing: poll, ask, send.
// `node bench/gateway.ts [--messages 300] [--json FILE]`; prints a table.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { sleep, systemClock, type Clock } from "@parley/protocol";
import { fakeModels, fakeTelegram, type FakeModels, type FakeTelegram } from "@parley/testkit";

const { values } = parseArgs({
  options: { messages: { type: "string", default: "300" }, json: { type: "string" } },
});
const messages = Number(values.messages);
const warmUp = 50;
/** Of one start alone, a busy moment of the machine is half. */
const laterStarts = 5;
/** The kernel counts CPU in hundredths of a second: ten seconds tell a tenth of a percent. */
const idleMs = 10_000;
const main = fileURLToPath(new URL("../apps/gateway/src/main.ts", import.meta.url));
/** Fractions of a millisecond matter here. */
const clock: Clock = { ...systemClock(), now: () => performance.timeOrigin + performance.now() };

interface Spans {
  /** Platform event to model request, in milliseconds. */
  readonly inMs: readonly number[];
  /** Model end to platform send. */
  readonly outMs: readonly number[];
}

interface Fakes {
  readonly telegram: FakeTelegram;
  readonly models: FakeModels;
}

async function fakes(): Promise<Fakes> {
  const [telegram, models] = await Promise.all([fakeTelegram({ clock }), fakeModels({ clock })]);
  telegram.bot();
  return { telegram, models };
}

/** One message after the other, so that nothing but the way itself is measured. */
async function converse({ telegram, models }: Fakes): Promise<Spans> {
  const inMs: number[] = [];
  const outMs: number[] = [];
  let asked = 0;
  let ended = 0;
  models.reply((call) => {
    asked = clock.now();
    // The answer is one short write; its end is now for all purposes of this table.
    ended = clock.now();
    return `re: ${call.lastUserText.slice(0, 20)}`;
  });
  const person = telegram.as(1);
  for (let n = 0; n < warmUp + messages; n += 1) {
    const sends = telegram.calls("sendMessage").length;
    const saidAtMs = clock.now();
    person.says(`message ${n}`);
    while (telegram.calls("sendMessage").length === sends) await sleep(clock, 0);
    if (n < warmUp) continue;
    inMs.push(asked - saidAtMs);
    outMs.push((telegram.calls("sendMessage").at(-1)?.atMs ?? 0) - ended);
    // Lets the daemon finish its own book-keeping: the next message must not pay for this one.
    await sleep(clock, 3);
  }
  return { inMs, outMs };
}

async function daemon(
  { telegram, models }: Fakes,
  home: string,
): Promise<{ child: ChildProcess; readyMs: number }> {
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
      agents: { defaults: { model: { primary: "fake/m1" } } },
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
  const startedAtMs = clock.mono();
  const child = spawn(process.execPath, ["--max-semi-space-size=4", "--max-old-space-size=512", main], {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      PARLEY_HOME: home,
      NODE_COMPILE_CACHE: join(home, "compile-cache"),
    },
  });
  await new Promise<void>((resolve) =>
    child.stdout?.on("data", (chunk: Buffer) => chunk.includes("#code=") && resolve()),
  );
  return { child, readyMs: clock.mono() - startedAtMs };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** Resident memory, in MB. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

/** Seconds of CPU used so far; the kernel counts in hundredths. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

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
  for (let offset = 0; !signal.aborted;) {
    const { result } = await post(`${api}/getUpdates`, { offset, timeout: 25 });
    for (const { update_id, message } of result) {
      offset = update_id + 1;
      const answer = await fetch(`${models.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: "m1",
          stream: true,
          messages: [{ role: "user", content: message.text }],
        }),
        signal,
      });
      const text = [...(await answer.text()).matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)]
        .map((match) => match[1])
        .join("");
      await post(`${api}/sendMessage`, { chat_id: message.chat.id, text });
    }
  }
}

function percentile(spans: readonly number[], share: number): number {
  return spans.toSorted((a, b) => a - b)[Math.min(spans.length - 1, Math.floor(spans.length * share))] ?? 0;
}

const round = (value: number): number => Math.round(value * 10) / 10;

async function measureDaemon() {
  const home = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const world = await fakes();
  try {
    // The first start fills the compile cache, as the first start of an installation does.
    const cold = await daemon(world, home);
    await stop(cold.child);
    let warm = await daemon(world, home);
    const warmMs = [warm.readyMs];
    while (warmMs.length < laterStarts) {
      await stop(warm.child);
      warm = await daemon(world, home);
      warmMs.push(warm.readyMs);
    }
    const pid = warm.child.pid ?? 0;
    await sleep(clock, 3_000);
    const idleMb = residentMb(pid);
    const before = cpuSeconds(pid);
    await sleep(clock, idleMs);
    const idleCpu = ((cpuSeconds(pid) - before) / (idleMs / 1_000)) * 100;
    const spans = await converse(world);
    const busyMb = residentMb(pid);
    await stop(warm.child);
    return { coldMs: cold.readyMs, warmMs: percentile(warmMs, 0.5), idleMb, idleCpu, busyMb, spans };
  } finally {
    await Promise.all([world.telegram.close(), world.models.close()]);
    rmSync(home, { recursive: true, force: true });
  }
}

async function measureBare(): Promise<Spans> {
  const world = await fakes();
  const ending = new AbortController();
  const running = bareBot(world, ending.signal).catch(() => {});
  const spans = await converse(world);
  ending.abort();
  await running;
  await Promise.all([world.telegram.close(), world.models.close()]);
  return spans;
}

const bare = await measureBare();
const own = await measureDaemon();
const both = (spans: Spans): number[] => spans.inMs.map((span, at) => span + (spans.outMs[at] ?? 0));
const row = (name: string, pick: (spans: Spans) => readonly number[]) => ({
  span: name,
  "p50 ms": round(percentile(pick(own.spans), 0.5)),
  "p99 ms": round(percentile(pick(own.spans), 0.99)),
  "bare bot p50 ms": round(percentile(pick(bare), 0.5)),
  ratio: round(percentile(pick(own.spans), 0.5) / percentile(pick(bare), 0.5)),
});
const table = [
  row("event -> model request", (s) => s.inMs),
  row("model end -> send", (s) => s.outMs),
  row("both", both),
];
console.table(table);
const figures = {
  "ready after, first start ms": round(own.coldMs),
  [`ready after, median of ${laterStarts} later starts ms`]: round(own.warmMs),
  "idle RSS MB": round(own.idleMb),
  [`idle CPU over ${idleMs / 1_000} s %`]: round(own.idleCpu),
  [`RSS after ${warmUp + messages} messages MB`]: round(own.busyMb),
};
console.table(figures);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ table, figures }, null, 2));
