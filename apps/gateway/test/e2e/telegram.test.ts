// A message over the wire: fake Telegram -> daemon -> fake model -> fake Telegram, and what a kill before its
// row does to it.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp } from "./daemon.ts";
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

describe("a direct message", () => {
  test("becomes a compiled prompt, and the answer goes back to its chat", async () => {
    const daemon = await w.start({ fromSources: true });
    const alice = w.telegram.as({ id: 4242, name: "Alice" });
    alice.says("hello");
    expect(await w.answered(4242, 1)).toEqual(["echo: hello"]);
    const [call] = w.models.requests();
    expect(call?.system).toMatch(/^Runtime: .*channel=telegram/m);
    expect(call?.system).toContain("agent:main:telegram:dm:4242");
    // What the message tool can do here, and no more.
    expect(call?.system).toContain(
      "capabilities=inlineButtons,media,voice,polls,threads,reactions,edits,removals,replyTags ",
    );
    expect(call?.system).toContain("SOUL.md");
    expect(call?.lastUserText).toBe("hello");
    expect(await daemon.stop()).toBe(0);
  });

  test("is remembered: the second request carries the first exchange", async () => {
    await w.start();
    const alice = w.telegram.as(1);
    alice.says("my name is Alice");
    await w.answered(1, 1);
    alice.says("what is my name?");
    await w.answered(1, 2);
    const messages = w.models.requests()[1]?.body["messages"] as { role: string }[];
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
    const daemon = await w.start();
    // The store's file is locked from outside, so the batch cannot be committed; then the daemon dies.
    const { DatabaseSync } = await import("node:sqlite");
    // The daemon may just be writing.
    const lock = new DatabaseSync(`${daemon.home}/state.db`, { timeout: 5_000 });
    lock.exec("begin immediate");
    w.telegram.as(7).says("are you there?");
    await new Promise((resolve) => setTimeout(resolve, 300));
    daemon.kill("SIGKILL");
    await daemon.exited;
    lock.exec("rollback");
    lock.close();
    expect(w.answers(7)).toEqual([]);
    await w.start({ home: daemon.home });
    expect(await w.answered(7, 1)).toEqual(["echo: are you there?"]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(w.answers(7)).toHaveLength(1);
  });
});
