// A message over the wire: fake Telegram -> daemon -> fake model -> fake Telegram, and what a kill before its
// row does to it.
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, type Daemon } from "./daemon.ts";
import { world, type World } from "./world.ts";

// One daemon for all: each test speaks as a person of its own, and who starts it again leaves it running. It
// starts from its sources first, as a checkout runs that was edited.
let w: World;
let daemon: Daemon;
beforeAll(async () => {
  w = await world();
  daemon = await w.start({ fromSources: true });
});
afterAll(async () => {
  const code = await daemon.stop();
  await cleanUp();
  await w.close();
  expect(code).toBe(0);
});
afterEach(() => expect(w.telegram.violations()).toEqual([]));

describe("a direct message", () => {
  test("becomes a compiled prompt, and the answer goes back to its chat", async () => {
    const alice = w.telegram.as({ id: 4242, name: "Alice" });
    alice.says("hello");
    expect(await w.answered(4242, 1)).toEqual(["echo: hello"]);
    const call = w.models.requests().find(({ lastUserText }) => lastUserText === "hello");
    expect(call?.system).toMatch(/^Runtime: .*channel=telegram/m);
    expect(call?.system).toContain("agent:main:telegram:dm:4242");
    // What the message tool can do here, and no more.
    expect(call?.system).toContain(
      "capabilities=inlineButtons,media,voice,polls,threads,reactions,edits,removals,replyTags ",
    );
    expect(call?.system).toContain("SOUL.md");
  });

  test("is remembered: the second request carries the first exchange", async () => {
    const alice = w.telegram.as(1);
    alice.says("my name is Alice");
    await w.answered(1, 1);
    alice.says("what is my name?");
    await w.answered(1, 2);
    const messages = w.models.requests().at(-1)?.body["messages"] as { role: string }[];
    expect(
      messages
        .filter((message) => message.role !== "system" && message.role !== "developer")
        .map((message) => message.role),
    ).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(messages)).toContain("my name is Alice");
  });
});

describe("the offset", () => {
  test("moves only after the row is durable: killed before, the message is answered once after the restart", async () => {
    // The store's file is locked from outside, so the batch cannot be committed; then the daemon dies.
    // It may just be writing.
    const lock = new DatabaseSync(`${daemon.home}/state.db`, { timeout: 5_000 });
    lock.exec("begin immediate");
    w.telegram.as(7).says("are you there?");
    await new Promise((resolve) => setTimeout(resolve, 300));
    daemon.kill("SIGKILL");
    await daemon.exited;
    lock.exec("rollback");
    lock.close();
    expect(w.answers(7)).toEqual([]);
    daemon = await w.start({ home: daemon.home });
    expect(await w.answered(7, 1)).toEqual(["echo: are you there?"]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(w.answers(7)).toHaveLength(1);
  });
});
