// A day with sub-agents over the wire: a parent fans out to five, one fails, one is killed, one spawns again;
// the daemon is killed twice.
import type { ModelAnswer, ModelCall } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lookAt } from "../crash/store-look.ts";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const me = 4242;
const labels = ["one", "two", "three", "four", "five"];

/**
 * Lets the receipt of what is visible be stored: a death before that may send it again, which is told (I5).
 */
const settled = (home: string) => eventually(() => lookAt(home).openDeliveries === 0);

/** The whole request as text, by which parent and child are told apart. */
const textOf = ({ body }: ModelCall): string => JSON.stringify(body);

function answer(call: ModelCall): ModelAnswer {
  const text = textOf(call);
  const task = /Task from session \S+: work on (\w+)/.exec(text)?.[1];
  if (task === "deeper") return { text: "deeper is done", delayMs: 1_500 };
  if (task === "one")
    return { status: 400, body: { error: { message: "no", type: "invalid_request_error" } } };
  if (task === "two") return { text: "never said", delayMs: 60_000 };
  if (task === "three") {
    if (text.includes("deeper is done")) return "three and deeper are done";
    return call.lastToolResult === null
      ? { toolCalls: [{ name: "sessions_spawn", args: { task: "work on deeper", label: "deeper" } }] }
      : "waiting for deeper";
  }
  if (task !== undefined) return { text: `${task} is done`, delayMs: 2_500 };
  const said = [...text.matchAll(/has the task/g)].length;
  if (text.includes("fan out") && said < labels.length)
    return {
      toolCalls: [{ name: "sessions_spawn", args: { task: `work on ${labels[said]}`, label: labels[said] } }],
    };
  // Ends of others may join the turn at any step, so the whole talk says what is still to do.
  if (text.includes("kill two") && !text.includes("two is killed"))
    return text.includes("Killed")
      ? "two is killed"
      : { toolCalls: [{ name: "subagents", args: { action: "kill", target: "two" } }] };
  if (call.lastToolResult?.includes("has the task") === true) return "all five work";
  return "thanks";
}

test("every result is told once, over two deaths", async () => {
  const home = await freshHome();
  const config = { commands: { ownerAllowFrom: [`telegram:${me}`] } };
  w.models.reply(answer);
  const first = await w.start({ home, config });
  const olga = w.telegram.as(me);
  olga.says("fan out");
  await eventually(() => w.answers(me).some(({ text }) => text === "all five work"), 20_000, "the fan-out");
  await settled(home);
  first.kill("SIGKILL");
  await first.exited;
  const second = await w.start({ home, config });
  olga.says("kill two");
  await eventually(() => w.answers(me).some(({ text }) => text === "two is killed"), 20_000, "the kill");
  await settled(home);
  second.kill("SIGKILL");
  await second.exited;
  await w.start({ home, config });
  // What the parent's model has read so far: the last of its requests holds the whole conversation.
  const read = (): string => {
    const last = w.models.requests().findLast((call) => !textOf(call).includes("Task from session"));
    return last === undefined ? "" : textOf(last).replaceAll('\\"', '"');
  };
  const isTold = (label: string): boolean => read().includes(`Sub-agent "${label}"`);
  await eventually(() => labels.every(isTold), 60_000, "five ends");
  const ends = read();
  for (const label of labels) expect(ends.split(`Sub-agent "${label}"`)).toHaveLength(2);
  expect(ends).toMatch(/"one" \(\w+-1\) failed/);
  expect(ends).toMatch(/"two" \(\w+-1\) was stopped before it finished: killed by its parent/);
  expect(ends).toMatch(/"three" \(\w+-1\) finished[\s\S]*three and deeper are done/);
  expect(ends).not.toContain('Sub-agent "deeper"');
});
