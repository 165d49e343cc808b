// Discord over the wire: fake Discord -> daemon -> fake model -> fake Discord, and a kill. discord.ci.test.ts
// goes on with what is rarer.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";
import { discordWorld, type DiscordWorld } from "./discord-world.ts";

const alice = { id: "100000000000000042", name: "Alice" };
let w: DiscordWorld;
beforeEach(async () => {
  w = await discordWorld();
});
afterEach(async () => {
  await cleanUp();
  expect(w.discord.violations()).toEqual([]);
  await w.close();
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("a direct message is answered in its chat, out of a prompt that knows where it is", async () => {
  const daemon = await w.start();
  const person = w.discord.as(alice);
  person.says("hello");
  expect(await w.answered(person.dm(), 1)).toEqual(["echo: hello"]);
  const [call] = w.models.requests();
  expect(call?.system).toMatch(/^Runtime: .*channel=discord/m);
  expect(call?.system).toContain(`agent:main:discord:dm:${alice.id}`);
  expect(call?.lastUserText).toBe("hello");
  expect(await daemon.stop()).toBe(0);
});

describe("slash commands", () => {
  test("are registered once, deferred in time, and answered in the place of the waiting", async () => {
    const daemon = await w.start();
    await eventually(() => w.discord.bot().commands().length > 0);
    const names = w.discord
      .bot()
      .commands()
      .map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["status", "stop", "new", "whoami"]));
    const person = w.discord.as(alice);
    const id = person.runs("whoami");
    await eventually(() => w.discord.interaction(id).state === "answered");
    const [answer] = await w.answered(person.dm(), 1);
    expect(answer).toContain(alice.id);
    expect(w.answers(person.dm()).map((message) => message.id)).toEqual([
      w.discord.interaction(id).messageId,
    ]);
    // Silence is no answer in private: whoever waits is told so in the place of the waiting.
    w.models.script({ text: "NO_REPLY" }, { text: "NO_REPLY" });
    const silent = person.runs("weekly_review", { values: { text: "and say nothing" } });
    await eventually(() => w.discord.interaction(silent).state === "answered");
    const [, told] = await w.answered(person.dm(), 2);
    expect(told).toContain("no answer");
    await daemon.stop();
    await w.start({ home: daemon.home });
    await w.live();
    await pause(300);
    expect(w.discord.calls("PUT /applications/:application/commands")).toHaveLength(1);
  });
});

test("killed, with three messages posted while it is down: each is answered once", async () => {
  const daemon = await w.start();
  const person = w.discord.as(alice);
  person.says("before");
  await w.answered(person.dm(), 1);
  daemon.kill("SIGKILL");
  await daemon.exited;
  for (const words of ["one", "two", "three"]) person.says(words);
  await w.start({ home: daemon.home });
  const said = await eventually(() => {
    const all = w
      .answers(person.dm())
      .map(({ text }) => text)
      .join("\n");
    return ["one", "two", "three"].every((words) => all.includes(words)) && all;
  });
  await pause(300);
  for (const words of ["one", "two", "three"]) expect(said.split(words)).toHaveLength(2);
  expect(w.discord.gateway.steps("identify")).toHaveLength(1);
});

test("discord.js is loaded where Discord is configured, and nowhere else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-loads-"));
  const spy = join(folder, "spy.mjs");
  await writeFile(
    spy,
    `import { registerHooks } from "node:module";
     registerHooks({ load(url, context, next) { if (/discord/i.test(url) && url.includes("node_modules")) process.stderr.write("LOADED " + url + "\\n"); return next(url, context); } });`,
  );
  try {
    const env = { NODE_OPTIONS: `--import=${spy}` };
    const without = await startDaemon({ config: {}, env, fromSources: true });
    await without.stop();
    expect(without.log()).not.toContain("LOADED");
    const daemon = await w.start({ env, fromSources: true });
    await daemon.stop();
    expect(daemon.log()).toContain("LOADED");
  } finally {
    await rm(folder, { recursive: true });
  }
});
