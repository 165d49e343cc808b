// /estop on the message path: what runs is ended, nothing starts until an owner resumes, also after a
// restart.
import { afterEach, expect, test } from "vitest";
import { askingTool } from "./asking-tool.ts";
import type { Asked, Answer } from "./scripted-model.ts";
import { stage, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

const config = { commands: { ownerAllowFrom: ["telegram:olga"] } };

function script({ messages, text }: Asked): Answer {
  const last = messages.at(-1);
  if (last?.role === "tool") return `so: ${JSON.stringify(last.content)}`;
  if (text.endsWith("deploy")) return { calls: { name: "exec", args: { what: "site" } } };
  return text.endsWith("work") ? { calls: { name: "wait", args: {} } } : `re: ${text}`;
}

test("ends the tools of every session, and no call starts until an owner resumes, also after kill -9", async () => {
  const tool = waitTool(() => s.clock, 60_000);
  s = await stage({ config, tools: [tool.tool] });
  s.model.answers(script);
  const [olga, bob] = [s.person("olga"), s.person("bob")];
  bob.says("work");
  await s.until(() => tool.starts() === 1, "the tool's start");
  const from = s.clock.mono();
  await olga.says("/estop").gets(/^🛑 All tools are held/);
  await s.until(() => s.pools().turnsRunning() === 0, "the end of the turn");
  expect(s.clock.mono() - from).toBeLessThan(2_000);
  await s.kill();
  await s.start();
  await bob.says("more work").gets(/held by \/estop of telegram:olga/);
  expect(tool.starts()).toBe(1);
  await bob.says("hello").gets("re: hello");
  await olga.says("/estop").gets(/were held before/);
  await olga.says("/estop off").gets("Tools may be used again.");
  await olga.says("/estop off").gets("Tools were not held.");
  bob.says("new work");
  await s.until(() => tool.starts() === 2, "the tool's next start");
  await expect(await s.trace()).toMatchFileSnapshot("traces/estop.txt");
});

test("is nobody else's, and says that to them", async () => {
  s = await stage({ config });
  s.model.answers(script);
  const bob = s.person("bob");
  await bob.says("/estop").gets(/^\/estop is for owners/);
  await bob.says("hello").gets("re: hello");
  expect(await s.core().hold.now()).toBeNull();
});

test("ends sub-agents, also one that waits for its own; no parent is woken, which could spawn them again", async () => {
  s = await stage({ config, catalogue: true });
  const spawn = (task: string): Answer => ({
    calls: { name: "sessions_spawn", args: { task, label: task } },
  });
  s.model.answers(({ messages, text, users }) => {
    const task = /Task from session \S+: (\S+)/.exec(users[0] ?? "")?.[1];
    const isTold = text.includes('Sub-agent "');
    if (task === "below") return { afterMs: 60_000, says: ["too late"] };
    if (messages.at(-1)?.role === "tool") return "begun";
    if (task === "above") return isTold ? "told" : spawn("below");
    return text.endsWith("hello") ? `read: ${text}` : spawn("above");
  });
  const olga = s.person("olga");
  await olga.says("begin").gets("begun");
  await s.pass(5_000);
  await olga.says("/estop").gets(/^🛑 All tools are held/);
  await olga.says("/estop off").gets("Tools may be used again.");
  await s.pass(120_000);
  expect(olga.sees()).toHaveLength(3);
  const children = (await s.store().cells.list("child:", 10)).map(
    ({ value }) => (JSON.parse(value) as { readonly end: unknown }).end,
  );
  const ended = expect.objectContaining({ state: "stopped", reason: "/estop" });
  expect(children).toEqual([ended, ended]);
  await olga.says("hello").gets(/read: .*Sub-agent "above" .* was stopped before it finished: \/estop/s);
  await expect(await s.trace()).toMatchFileSnapshot("traces/estop-children.txt");
});

test("an approval that is given meanwhile starts nothing", async () => {
  const tool = askingTool();
  s = await stage({ config, tools: [tool.tool] });
  s.model.answers(script);
  const olga = s.person("olga");
  olga.says("deploy");
  await s.until(
    async () => (await s.core().approvals.list()).some(({ state }) => state === "open"),
    "the request",
  );
  await s.until(() => s.pools().turnsRunning() === 0, "the park");
  const [approval] = await s.core().approvals.list();
  olga.says("/estop");
  await s.until(() => olga.sees().some((text) => text.startsWith("🛑")), "the hold");
  olga.says(`/approve ${approval?.id ?? ""} once`);
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer");
  expect(olga.sees().find((text) => text.startsWith("so: "))).toContain("held by /estop");
  expect(tool.ran).toEqual([]);
});
