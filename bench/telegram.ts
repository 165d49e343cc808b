// What a Telegram message costs: an update read, an answer rendered and split, beside the least that any bot
// does with both (JSON.parse, markdown-it). Then a backlog that waits at the start of the daemon: how fast it
// is durable and answered, and how much memory that takes. `node bench/telegram.ts [--backlog 10000] [--json
// FILE]`
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { normalizeTelegram, renderMarkdown } from "@parley/channels";
import { sleep, systemClock } from "@parley/protocol";
import { fakeModels, fakeTelegram } from "@parley/testkit";
import MarkdownIt from "markdown-it";
import { Bench } from "tinybench";

const { values } = parseArgs({
  options: { backlog: { type: "string", default: "10000" }, json: { type: "string" } },
});
const backlog = Number(values.backlog);
const people = 100;
const clock = systemClock();
const main = fileURLToPath(new URL("../apps/gateway/src/main.ts", import.meta.url));

const update = JSON.stringify({
  update_id: 1,
  message: {
    message_id: 2,
    date: 1_767_225_600,
    chat: { id: -1_001_234_567_890, type: "supergroup", title: "Trip", is_forum: true },
    from: { id: 7, is_bot: false, first_name: "Ann", username: "ann" },
    message_thread_id: 5,
    is_topic_message: true,
    text: "@parley_bot when does the train leave, and what does it cost for two?",
    entities: [{ type: "mention", offset: 0, length: 11 }],
    reply_to_message: {
      message_id: 1,
      date: 1_767_225_500,
      chat: { id: -1_001_234_567_890, type: "supergroup", title: "Trip" },
      from: { id: 8, is_bot: false, first_name: "Bob" },
      text: "There are trains at nine and at ten.",
    },
  },
});
const answer = `The next train leaves **at nine**, from platform 4; see [the plan](https://example.org/plan).

1. Two seats cost \`48.20\`.
2. With a card it is *half*.

| class | price |
|:--|--:|
| first | 96.40 |
| second | 48.20 |
`;
const long = answer.repeat(40);
const context = {
  channel: "telegram",
  account: "default",
  me: { id: "99", username: "parley_bot" },
  nowMs: 0,
};
const limits = { dialect: "telegram", textChars: 4096, textEntities: 100 } as const;
const bare = new MarkdownIt({ html: false, linkify: true });

async function perMessage() {
  const pairs: readonly (readonly [task: string, ours: () => unknown, least: () => unknown])[] = [
    ["read an update", () => normalizeTelegram(JSON.parse(update), context), () => JSON.parse(update)],
    ["render an answer", () => renderMarkdown(answer, limits), () => bare.render(answer)],
    [
      `render and split ${long.length} characters`,
      () => renderMarkdown(long, limits),
      () => bare.render(long),
    ],
    [
      "all of one message",
      () => [normalizeTelegram(JSON.parse(update), context), renderMarkdown(answer, limits)],
      () => [JSON.parse(update), bare.render(answer)],
    ],
  ];
  const bench = new Bench({ time: 500, warmupTime: 200 });
  for (const [task, ours, least] of pairs) bench.add(task, ours).add(`${task}, least`, least);
  const tasks = await bench.run();
  const medianUs = tasks.map(({ result }) =>
    result.state === "completed" ? result.latency.p50 * 1_000 : Number.NaN,
  );
  return pairs.map(([task], index) => {
    const [ours = Number.NaN, least = Number.NaN] = medianUs.slice(2 * index);
    return { task, "median µs": round(ours), "least µs": round(least), ratio: round(ours / least) };
  });
}

/** The daemon starts before a queue that is already full; everybody is served in turn. */
async function drain() {
  const home = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const [telegram, models] = await Promise.all([fakeTelegram(), fakeModels()]);
  const bot = telegram.bot();
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
          botToken: bot.token,
          apiRoot: telegram.url,
          dmPolicy: "open",
          allowFrom: ["*"],
          pacing: "off",
          streaming: "off",
        },
      },
    }),
  );
  models.reply("done");
  for (let nth = 0; nth < backlog; nth += 1)
    telegram.as(1 + (nth % people)).says(`message ${nth} of a long night`);
  const child = spawn(process.execPath, ["--max-semi-space-size=4", "--max-old-space-size=512", main], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], HOME: home, PARLEY_HOME: home },
  });
  try {
    await new Promise<void>((resolve) =>
      child.stdout?.on("data", (chunk: Buffer) => chunk.includes("#code=") && resolve()),
    );
    const startMs = clock.mono();
    let peakMb = 0;
    const until = async (so: () => boolean): Promise<number> => {
      while (!so()) {
        peakMb = Math.max(peakMb, residentMb(child.pid ?? 0));
        await sleep(clock, 20);
      }
      return clock.mono() - startMs;
    };
    const idleMb = residentMb(child.pid ?? 0);
    const durableMs = await until(() => bot.queue.pending().length === 0);
    // Quiet: nothing was sent for a second, and everybody has an answer.
    let sends = 0;
    let quietSinceMs = clock.mono();
    const answeredMs = await until(() => {
      const now = telegram.calls("sendMessage").length;
      if (now !== sends) quietSinceMs = clock.mono();
      sends = now;
      return sends >= people && clock.mono() - quietSinceMs > 1_000;
    });
    return {
      updates: backlog,
      "durable after s": round(durableMs / 1_000),
      "updates per second": Math.round(backlog / (durableMs / 1_000)),
      "answered after s": round((answeredMs - 1_000) / 1_000),
      "model calls": models.requests().length,
      "RSS before MB": round(idleMb),
      "RSS at most MB": round(peakMb),
      "RSS after MB": round(residentMb(child.pid ?? 0)),
    };
  } finally {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    await Promise.all([telegram.close(), models.close()]);
    rmSync(home, { recursive: true, force: true });
  }
}

/** Resident memory, in MB; Linux only. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const table = await perMessage();
console.table(table);
const figures = await drain();
console.table(figures);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ table, figures }, null, 2));
