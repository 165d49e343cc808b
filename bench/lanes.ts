// What lanes cost. Many chats at once: 200 messages to a model that takes 200 ms, beside the same calls
// without anything around them. One long session: 2,000 messages, the last hundred against the first, and
// between them as many that begin a session of their own. `node bench/lanes.ts [--chats 200] [--messages
// 2000] [--json FILE]`; prints a table, and says whether the promises are kept.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { sleep, systemClock } from "@parley/protocol";
import { course } from "../apps/gateway/test/message-path/course.ts";

const { values } = parseArgs({
  options: {
    chats: { type: "string", default: "200" },
    messages: { type: "string", default: "2000" },
    json: { type: "string" },
  },
});
const chats = Number(values.chats);
const messages = Number(values.messages);
const modelMs = 200;
const hundred = 100;
/**
 * Promised: all chats are answered in this time with pacing off, and the last hundred take at most this share
 * of the first.
 */
const promised = { allMs: 1_200, ratio: 1.2 } as const;
const clock = systemClock();

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const names = Array.from({ length: chats }, (_, n) => `chat${n}`);

async function manyChats(): Promise<{ readonly ms: number; readonly bareMs: number }> {
  const bareMs = await timed(() => Promise.all(names.map(() => sleep(clock, modelMs))));
  const path = await course({ modelMs, turns: chats });
  // The modules of a first turn are loaded once in a daemon's life.
  await path.ask("warm up", "hello");
  const ms = await timed(() => Promise.all(names.map((name) => path.ask(name, "What is on today?"))));
  await path.close();
  return { ms, bareMs };
}

interface Spans {
  /** Milliseconds of each message in the one session. */
  readonly session: readonly number[];
  /**
   * Of the message after it, which begins a session of its own: what the machine was worth at that moment.
   */
  readonly fresh: readonly number[];
}

async function oneByOne(): Promise<Spans> {
  const path = await course({ modelMs: 0, turns: 8 });
  const [session, fresh]: [number[], number[]] = [[], []];
  for (let n = 0; n < hundred; n += 1) await path.ask(`warm up ${n}`, "hello");
  for (let n = 0; n < messages; n += 1) {
    const text = `Message ${n}: what is on today?`;
    session.push(await timed(() => path.ask("long", text)));
    fresh.push(await timed(() => path.ask(`fresh${n}`, text)));
  }
  await path.close();
  return { session, fresh };
}

/** Half of the messages were faster: a stall of a shared machine does not move it. */
function median(spans: readonly number[]): number {
  return spans.toSorted((a, b) => a - b)[Math.floor(spans.length / 2)] ?? 0;
}

function ends(spans: readonly number[]): {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly ratio: number;
} {
  const [firstMs, lastMs] = [median(spans.slice(0, hundred)), median(spans.slice(-hundred))];
  return { firstMs, lastMs, ratio: lastMs / firstMs };
}

const many = await manyChats();
const spans = await oneByOne();
const [long, own] = [ends(spans.session), ends(spans.fresh)];
/** The growth that the machine is not to blame for. */
const ratio = long.ratio / own.ratio;
const result = {
  manyChats: { chats, modelMs, ...many, promisedMs: promised.allMs, kept: many.ms < promised.allMs },
  oneSession: {
    messages,
    ...long,
    againstFresh: ratio,
    promisedRatio: promised.ratio,
    kept: ratio <= promised.ratio,
  },
  ownSessions: { messages, ...own },
};

const line = (what: string, ...cells: readonly string[]): string =>
  what.padEnd(44) + cells.map((cell) => cell.padStart(14)).join("");
console.log(line("", "all, ms", "bare, ms", "promised, ms", "kept"));
console.log(
  line(
    `${chats} chats x 1 message, model ${modelMs} ms`,
    many.ms.toFixed(0),
    many.bareMs.toFixed(0),
    `< ${promised.allMs}`,
    String(result.manyChats.kept),
  ),
);
console.log();
console.log(line("median milliseconds a message", "first 100", "last 100", "ratio"));
console.log(
  line(`${messages} in one session`, long.firstMs.toFixed(2), long.lastMs.toFixed(2), long.ratio.toFixed(2)),
);
console.log(
  line(
    "between them, each in a session of its own",
    own.firstMs.toFixed(2),
    own.lastMs.toFixed(2),
    own.ratio.toFixed(2),
  ),
);
console.log(
  line(
    "the session's growth beside that",
    "",
    "",
    ratio.toFixed(2),
    `<= ${promised.ratio}`,
    String(result.oneSession.kept),
  ),
);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
process.exitCode = result.manyChats.kept && result.oneSession.kept ? 0 : 1;
