// Discord over the wire, after discord.test.ts: threads, commands that are stopped or refused, a session that
// is gone, deleted messages, answers that were lost, a token that is refused, who loads the library.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lookAt } from "../crash/store-look.ts";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";
import { discordWorld, type DiscordWorld } from "./discord-world.ts";

const alice = { id: "100000000000000042", name: "Alice" };
const create = "POST /channels/:channel/messages";
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

test("a mention in a thread is answered in the thread, in a session of its own; a bystander's words are only context", async () => {
  const guild = w.discord.guild({ name: "Tea House" });
  const room = w.discord.channel({ guild, name: "general" });
  await w.start();
  const person = w.discord.as(alice);
  const thread = person.opensThread("Oolong", { channel: room });
  person.says("nobody is called", { channel: thread });
  person.says(`<@${w.discord.bot().id}> which one?`, { channel: thread });
  const [answer] = await w.answered(thread, 1);
  expect(answer).toMatch(/^echo:/);
  const [call] = w.models.requests();
  expect(call?.system).toContain(`agent:main:discord:channel:${room}:thread:${thread}`);
  expect(call?.lastUserText).toContain("which one?");
  expect(call?.lastUserText).toContain("nobody is called");
  await pause(200);
  expect(w.answers(room)).toEqual([]);
  expect(w.models.requests()).toHaveLength(1);
});

describe("slash commands", () => {
  test("whose turn is stopped, or that end in the queue, do not think for ever", async () => {
    const ended = (): number =>
      w.discord.calls("DELETE /webhooks/:application/:token/messages/:message").length;
    w.models.reply({ text: "too late", delayMs: 60_000 });
    await w.start();
    await eventually(() => w.discord.bot().commands().length > 0);
    const person = w.discord.as(alice);
    person.runs("new", { values: { text: "what is tea?" } });
    await eventually(() => w.models.requests().length === 1);
    person.runs("weekly_review", { values: { text: "waits" } });
    const stop = person.runs("stop");
    await eventually(() => w.discord.interaction(stop).state === "answered");
    await eventually(() => ended() === 2);
    expect(w.answers(person.dm()).map(({ text }) => text)).toEqual([expect.stringContaining("Stopped")]);
  });

  test("whose answer is silence in a group that allows it do not think for ever", async () => {
    await w.close();
    w = await discordWorld({ groupPolicy: "open" });
    await w.start({ config: { ...w.config, agents: { defaults: { silentReply: { group: "allow" } } } } });
    await eventually(() => w.discord.bot().commands().length > 0);
    w.models.reply("NO_REPLY");
    const person = w.discord.as(alice);
    const room = w.discord.channel({ guild: w.discord.guild({ name: "Tea House" }), name: "general" });
    person.runs("new", { values: { text: "and say nothing" }, channel: room });
    await eventually(
      () => w.discord.calls("DELETE /webhooks/:application/:token/messages/:message").length === 1,
    );
    expect(w.answers(room)).toEqual([]);
  });

  test("of somebody who may not are told so, to them alone", async () => {
    await w.close();
    w = await discordWorld({ dmPolicy: "allowlist", allowFrom: ["1"] });
    await w.start();
    await eventually(() => w.discord.bot().commands().length > 0);
    const person = w.discord.as(alice);
    const id = person.runs("status");
    await eventually(() => w.discord.interaction(id).state === "answered");
    expect(w.answers(person.dm())[0]).toMatchObject({ onlyFor: alice.id, text: "You cannot use this here." });
  });

  test("asked before a kill are answered in their place after it", async () => {
    let calls = 0;
    w.models.reply(async ({ lastUserText }) => {
      calls += 1;
      return calls === 1 ? { text: "too late", delayMs: 60_000 } : `answer to ${lastUserText}`;
    });
    const daemon = await w.start();
    await eventually(() => w.discord.bot().commands().length > 0);
    const person = w.discord.as(alice);
    const id = person.runs("new", { values: { text: "what is tea?" } });
    await eventually(() => calls === 1);
    await pause(100);
    daemon.kill("SIGKILL");
    await daemon.exited;
    await w.start({ home: daemon.home });
    const shown = await eventually(
      () =>
        w.answers(person.dm()).some(({ text }) => text === "answer to what is tea?") &&
        w.answers(person.dm()),
    );
    expect(w.discord.interaction(id).state).toBe("answered");
    expect(shown.filter(({ text }) => text === "answer to what is tea?")).toHaveLength(1);
  });
});

test("killed, its session gone, with messages posted while it is down: the history brings each once", async () => {
  const daemon = await w.start();
  const person = w.discord.as(alice);
  person.says("before");
  await w.answered(person.dm(), 1);
  await pause(100);
  daemon.kill("SIGKILL");
  await daemon.exited;
  w.discord.gateway.forgetSessions();
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
  for (const words of ["before", "one", "two", "three"]) expect(said.split(words)).toHaveLength(2);
});

test("a message that is deleted while it waits is not answered; one that is being answered is", async () => {
  const endings: (() => void)[] = [];
  w.models.reply(async ({ lastUserText }) => {
    if (/long story/.test(lastUserText)) await new Promise<void>((resolve) => endings.push(resolve));
    return `echo: ${lastUserText}`;
  });
  const guild = w.discord.guild({ name: "Tea House" });
  const room = w.discord.channel({ guild, name: "general" });
  const { home } = await w.start();
  /** What is taken and has no end: what is deleted while it waits has one. */
  const open = (count: number) => eventually(() => lookAt(home).openRows === count);
  const person = w.discord.as(alice);
  const me = `<@${w.discord.bot().id}>`;
  for (const channel of [person.dm(), room]) {
    await open(0);
    const asked = person.says(`${me} a long story`, { channel });
    await eventually(() => endings.length === 1);
    const waiting = ["two", "three", "four"].map((words) => person.says(`${me} ${words}`, { channel }));
    await open(4);
    for (const { id } of [asked, ...waiting.slice(1)]) person.deletes(id, { channel });
    await open(2);
    person.says(`${me} five`, { channel });
    await open(3);
    endings.shift()?.();
    const said = await eventually(() => {
      const texts = w.answers(channel).map(({ text }) => text);
      return texts.join().includes("five") && texts.join("\n");
    });
    expect(said).toMatch(/long story[^]*two[^]*five/);
    expect(said).not.toMatch(/three|four/);
  }
});

describe("an answer whose arrival is unknown is shown once", () => {
  test("502, a reset or half an answer after Discord took it, and 502 before", async () => {
    await w.start();
    const person = w.discord.as(alice);
    const lost = [
      { when: "after", trouble: { kind: "answer", status: 502, body: "<html>Bad Gateway" } },
      { when: "after", trouble: { kind: "reset" } },
      { when: "after", trouble: { kind: "truncate" } },
      { when: "before", trouble: { kind: "answer", status: 502, body: "<html>Bad Gateway" } },
    ] as const;
    for (const [nth, how] of lost.entries()) {
      w.discord.inject({ method: create, ...how });
      person.says(`question ${nth}`);
      await w.answered(person.dm(), nth + 1);
    }
    person.says("and now?");
    await w.answered(person.dm(), 5);
    expect(w.answers(person.dm()).map(({ text }) => text)).toEqual([
      ...lost.map((_how, nth) => `echo: question ${nth}`),
      "echo: and now?",
    ]);
  });

  test("killed between Discord's taking it and our record, on a server that knows no nonces", async () => {
    await w.close();
    w = await discordWorld({}, { nonceWindowMs: 0 });
    const daemon = await w.start();
    const person = w.discord.as(alice);
    w.discord.inject({ method: create, when: "after", trouble: { kind: "hang" } });
    person.says("hello");
    await w.answered(person.dm(), 1);
    daemon.kill("SIGKILL");
    await daemon.exited;
    w.discord.heal();
    await w.start({ home: daemon.home });
    person.says("and now?");
    await w.answered(person.dm(), 2);
    await pause(500);
    expect(w.answers(person.dm()).map(({ text }) => text)).toEqual(["echo: hello", "echo: and now?"]);
    expect(w.discord.calls(create)).toHaveLength(2);
  });
});

test("a token that Discord refuses shows in status, and keeps nothing else from starting", async () => {
  w.discord.bot().revoke();
  const daemon = await w.start();
  const ready = await fetch(`${daemon.url}/healthz`);
  expect(ready.status).toBe(200);
  await eventually(() => daemon.log().includes("a channel cannot start"));
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
