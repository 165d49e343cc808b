// What sub-agents cost beside people: a hundred children with a model of 200 ms run while people write, and
// the people's times stand beside those of the same daemon without children, in the same run. Also the
// daemon's own CPU for each child and for each message. `node bench/children.ts [--children 100] [--messages
// 100] [--checkout DIR]`; prints a table.
import { parseArgs } from "node:util";
import { sleep } from "@parley/protocol";
import type { ModelAnswer, ModelCall } from "@parley/testkit";
import { percentile } from "./daemon/converse.ts";
import { clock, fakes, homeFor, startDaemon } from "./daemon/daemon.ts";

const { values } = parseArgs({
  options: {
    children: { type: "string", default: "100" },
    messages: { type: "string", default: "100" },
    checkout: { type: "string" },
  },
});
const children = Number(values.children);
const messages = Number(values.messages);
const perParent = 10;
const modelMs = 200;
/** People write this often. */
const everyMs = 50;

const world = await fakes();
const { telegram, models } = world;
const home = homeFor(world, { subagents: { maxChildrenPerAgent: perParent } });

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

const daemon = await startDaemon(home, values.checkout === undefined ? {} : { checkout: values.checkout });
try {
  models.reply(answer);
  await people(1_000);
  const cpu = [daemon.cpuSeconds()];
  const alone = await people(2_000);
  cpu.push(daemon.cpuSeconds());
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
  cpu.push(daemon.cpuSeconds());
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
  await daemon.stop();
  home.remove();
  await world.close();
}
