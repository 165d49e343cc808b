// Discord over the wire: fake Discord -> daemon -> fake model -> fake Discord, and a kill. discord.ci.test.ts
// goes on with what is rarer.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { cleanUp, eventually, type Daemon } from "./daemon.ts";
import { discordWorld, type DiscordWorld } from "./discord-world.ts";

// One daemon for all: each test speaks as a person of its own, and who starts it again leaves it running.
let w: DiscordWorld;
let daemon: Daemon;
beforeAll(async () => {
  w = await discordWorld();
  daemon = await w.start();
});
afterAll(async () => {
  await cleanUp();
  await w.close();
});
afterEach(() => expect(w.discord.violations()).toEqual([]));

async function startedAgain(): Promise<void> {
  await daemon.exited;
  daemon = await w.start({ home: daemon.home });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("a direct message is answered in its chat, out of a prompt that knows where it is", async () => {
  const alice = w.discord.as({ id: "100000000000000042", name: "Alice" });
  alice.says("hello");
  expect(await w.answered(alice.dm(), 1)).toEqual(["echo: hello"]);
  const call = w.models.requests().find(({ lastUserText }) => lastUserText === "hello");
  expect(call?.system).toMatch(/^Runtime: .*channel=discord/m);
  expect(call?.system).toContain("agent:main:discord:dm:100000000000000042");
});

test("slash commands are registered once, deferred in time, and answered in the place of the waiting", async () => {
  await eventually(() => w.discord.bot().commands().length > 0);
  const names = w.discord
    .bot()
    .commands()
    .map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["status", "stop", "new", "whoami"]));
  const bob = { id: "100000000000000043", name: "Bob" };
  const person = w.discord.as(bob);
  const id = person.runs("whoami");
  await eventually(() => w.discord.interaction(id).state === "answered");
  const [answer] = await w.answered(person.dm(), 1);
  expect(answer).toContain(bob.id);
  expect(w.answers(person.dm()).map((message) => message.id)).toEqual([w.discord.interaction(id).messageId]);
  // Silence is no answer in private: whoever waits is told so in the place of the waiting.
  w.models.script({ text: "NO_REPLY" }, { text: "NO_REPLY" });
  const silent = person.runs("weekly_review", { values: { text: "and say nothing" } });
  await eventually(() => w.discord.interaction(silent).state === "answered");
  const [, told] = await w.answered(person.dm(), 2);
  expect(told).toContain("no answer");
  expect(await daemon.stop()).toBe(0);
  await startedAgain();
  await w.live();
  await pause(300);
  expect(w.discord.calls("PUT /applications/:application/commands")).toHaveLength(1);
});

test("killed, with three messages posted while it is down: each is answered once", async () => {
  const carol = w.discord.as({ id: "100000000000000044", name: "Carol" });
  carol.says("before");
  await w.answered(carol.dm(), 1);
  const identified = w.discord.gateway.steps("identify").length;
  daemon.kill("SIGKILL");
  await daemon.exited;
  for (const words of ["one", "two", "three"]) carol.says(words);
  await startedAgain();
  const said = await eventually(() => {
    const all = w
      .answers(carol.dm())
      .map(({ text }) => text)
      .join("\n");
    return ["one", "two", "three"].every((words) => all.includes(words)) && all;
  });
  await pause(300);
  for (const words of ["one", "two", "three"]) expect(said.split(words)).toHaveLength(2);
  // The session went on.
  expect(w.discord.gateway.steps("identify")).toHaveLength(identified);
});
