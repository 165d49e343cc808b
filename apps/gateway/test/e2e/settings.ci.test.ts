// The tool `gateway` over the wire: an owner's agent reads the config without its secrets, changes what it
// may, and restarts the daemon.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ModelAnswer, ModelCall } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
import { parley } from "./operator.ts";
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

const owner = 4242;
const config = { commands: { ownerAllowFrom: [`telegram:${owner}`] } };

/** Calls the tool with each of these in turn, then says what the last one answered. */
function handling(...calls: readonly object[]): (call: ModelCall) => ModelAnswer {
  let next = 0;
  return ({ lastToolResult }) => {
    const args = calls[next];
    next += 1;
    return args === undefined
      ? `done: ${lastToolResult ?? ""}`
      : { toolCalls: [{ name: "gateway", args: { ...args } }] };
  };
}

function results(): readonly string[] {
  return w.models
    .requests()
    .flatMap(({ lastToolResult }) => (lastToolResult === null ? [] : [lastToolResult]));
}

test("the config is shown without secrets, changed where it may be, in force at once; what protects people stays", async () => {
  const daemon = await w.start({ config });
  const path = join(daemon.home, "parley.json5");
  const before = await readFile(path, "utf8");
  w.models.reply(
    handling(
      { action: "config.schema.lookup", path: "messages.queue" },
      { action: "config.get" },
      { action: "config.patch", patch: { tools: { exec: { mode: "full" } } } },
      { action: "config.patch", patch: { messages: { queue: { mode: "no such mode" } } } },
      { action: "config.patch", patch: { agents: { defaults: { userTimezone: "${HOME}" } } } },
      { action: "config.schema.lookup", path: "no.such.key" },
      { action: "config.patch", patch: { agents: { defaults: { userTimezone: "Asia/Tokyo" } } } },
      { action: "config.get", path: "agents.defaults.userTimezone" },
    ),
  );
  w.telegram.as(owner).says("set me up");
  const [answer] = await w.answered(owner, 1);
  const [schema, shown, refused, wrong, variable, unknown, changed] = results();
  expect(schema).toContain('"mode"');
  expect(shown).toContain("[secret]");
  expect(shown).toContain(`telegram:${owner}`);
  for (const secret of before.matchAll(/(?:botToken|apiKey|token)"?: ?"([^"]+)"/g))
    expect(results().join("\n")).not.toContain(secret[1]);
  expect(refused).toMatch(/only the operator may change tools/);
  expect(wrong).toMatch(/messages\.queue\.mode/);
  expect(variable).toMatch(/variables of the environment \(HOME\)/);
  expect(unknown).toMatch(/there is no key/);
  expect(changed).toBe("Changed, and in effect.");
  expect(answer).toContain('done: "Asia/Tokyo"');
  const after = await readFile(path, "utf8");
  expect(after).toContain("Asia/Tokyo");
  // Everything else is as it was, secrets too.
  for (const secret of before.matchAll(/(?:botToken|apiKey)"?: ?"([^"]+)"/g))
    expect(after).toContain(secret[1]);
  expect(after).not.toContain("[secret]");
  expect(daemon.log()).toContain('"msg":"the config was taken up"');
});

test("a restart drains and tells the session when it is over, once; what it is told may not restart again", async () => {
  const daemon = await w.start({ config });
  w.models.reply(({ lastUserText, lastToolResult }) => {
    if (lastToolResult?.includes("restarts after this answer") === true) return "I restart now.";
    if (lastToolResult?.includes("restarted just now") === true) return "No second time.";
    if (lastToolResult !== null) return `so: ${lastToolResult}`;
    return lastUserText.includes("restart")
      ? { toolCalls: [{ name: "gateway", args: { action: "restart", reason: "a new broom" } }] }
      : "ok";
  });
  w.telegram.as(owner).says("please restart");
  await eventually(
    () => w.answers(owner).some(({ text }) => text === "No second time."),
    30_000,
    "the word after the restart",
  );
  expect(w.answers(owner).map(({ text }) => text)).toEqual(["I restart now.", "No second time."]);
  expect(
    w.models
      .requests()
      .map(({ lastUserText }) => lastUserText)
      .join("\n"),
  ).toContain('restarted as you asked (\\"a new broom\\")'.replaceAll("\\", ""));
  expect(daemon.log().split('"msg":"ready"').length).toBe(3);
  w.telegram.as(owner).says("hello");
  await w.answered(owner, 3);
  expect(w.answers(owner)[2]?.text).toBe("ok");
});

test("others than owners do not have it", async () => {
  await w.start({ config });
  w.models.reply(handling({ action: "config.get" }));
  w.telegram.as(7).says("show me the config");
  expect((await w.answered(7, 1))[0]).toMatch(/There is no tool "gateway"/);
});

test("a gateway that may choose its port is found by the command line", async () => {
  const daemon = await w.start();
  const { out, err } = await parley(daemon.home, "status");
  expect(err).toBe("");
  expect(out).toContain(`pid ${daemon.pid}`);
});
