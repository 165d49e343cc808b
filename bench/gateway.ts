// What the daemon itself costs, through its edges: start-up, idle memory and CPU, and per message the time from the platform's event to the model's
// request and from the model's last byte to the platform's send, cold (the first 40) and warm (after 1,000). Beside it, in the same run, a bot
// that keeps nothing: poll, ask, send. `node bench/gateway.ts [--messages 300] [--warm 1000] [--json FILE]`; prints tables.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { sleep } from "@parley/protocol";
import { bothMs, converse, percentile, type Spans } from "./daemon/converse.ts";
import { clock, fakes, homeFor, startDaemon, type Fakes } from "./daemon/daemon.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "300" },
    warm: { type: "string", default: "1000" },
    json: { type: "string" },
  },
});
const messages = Number(values.messages);
const coldMessages = 40;
const warmUp = Math.max(0, Number(values.warm) - coldMessages);
/** Of one start alone, a busy moment of the machine is half. */
const laterStarts = 5;
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

const round = (value: number): number => Math.round(value * 10) / 10;

interface Phase {
  readonly spans: Spans;
  readonly cpuMs: number;
}

/** The first messages after a start, then those after `--warm`; `cpuSeconds` reads the CPU of whoever answers. */
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

async function measureDaemon() {
  const world = await fakes();
  const home = homeFor(world);
  try {
    // The first start fills the compile cache, as the first start of an installation does.
    const cold = await startDaemon(home);
    await cold.stop();
    let warm = await startDaemon(home);
    const warmMs = [warm.readyMs];
    while (warmMs.length < laterStarts) {
      await warm.stop();
      warm = await startDaemon(home);
      warmMs.push(warm.readyMs);
    }
    await sleep(clock, 3_000);
    const idleMb = warm.residentMb();
    const before = warm.cpuSeconds();
    await sleep(clock, idleMs);
    const idleCpu = ((warm.cpuSeconds() - before) / (idleMs / 1_000)) * 100;
    const told = await phases(world, warm.cpuSeconds);
    const busyMb = warm.residentMb();
    await warm.stop();
    return { coldMs: cold.readyMs, warmMs: percentile(warmMs, 0.5), idleMb, idleCpu, busyMb, ...told };
  } finally {
    await world.close();
    home.remove();
  }
}

async function measureBare(): Promise<{ readonly cold: Phase; readonly warm: Phase }> {
  const world = await fakes();
  const ending = new AbortController();
  const running = bareBot(world, ending.signal).catch(() => {});
  // It shares the bench's process, so its CPU cannot be told apart.
  const told = await phases(world, () => 0);
  ending.abort();
  await running;
  await world.close();
  return told;
}

const bare = await measureBare();
const own = await measureDaemon();
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
  "ready after, first start ms": round(own.coldMs),
  [`ready after, median of ${laterStarts} later starts ms`]: round(own.warmMs),
  "idle RSS MB": round(own.idleMb),
  [`idle CPU over ${idleMs / 1_000} s %`]: round(own.idleCpu),
  "first message after the start ms": percentile(bothMs(own.first.spans), 0.5),
  [`CPU ms a message, the first ${coldMessages}`]: round(own.cold.cpuMs),
  [`CPU ms a message, after ${coldMessages + warmUp}`]: round(own.warm.cpuMs),
  [`RSS after ${coldMessages + warmUp + messages} messages MB`]: round(own.busyMb),
};
console.table(figures);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ table, figures }, null, 2));
