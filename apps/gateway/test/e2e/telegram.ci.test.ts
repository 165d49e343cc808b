// Telegram over the wire, after telegram.test.ts: a kill while the model answers, two busy chats, strangers.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
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

test("killed while the model answers, the message is answered once after the restart", async () => {
  let calls = 0;
  w.models.reply(async ({ lastUserText }) => {
    calls += 1;
    return calls === 1 ? { text: "too late", delayMs: 60_000 } : `answer to ${lastUserText}`;
  });
  const daemon = await w.start();
  w.telegram.as(7).says("hello");
  await eventually(() => calls === 1);
  daemon.kill("SIGKILL");
  await daemon.exited;
  await w.start({ home: daemon.home });
  expect(await w.answered(7, 1)).toEqual(["answer to hello"]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(w.answers(7)).toHaveLength(1);
});

test("two chats at once, ten messages each: order in each chat, chats side by side", async () => {
  let running = 0;
  let most = 0;
  // No chat is answered before both are asked about.
  const both = Promise.withResolvers<void>();
  w.models.reply(async ({ lastUserText }) => {
    most = Math.max(most, (running += 1));
    if (most === 2) both.resolve();
    await both.promise;
    running -= 1;
    return `re: ${lastUserText.split("\n\n").join(" | ")}`;
  });
  await w.start();
  const people = [w.telegram.as(11), w.telegram.as(22)];
  for (let n = 1; n <= 10; n += 1) for (const person of people) person.says(`m${n}`);
  for (const chat of [11, 22]) {
    const said = await eventually(() => {
      const numbers = w
        .answers(chat)
        .flatMap((message) => [...message.text.matchAll(/m(\d+)/g)].map((match) => Number(match[1])));
      return numbers.length >= 10 && numbers;
    });
    expect(said).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  }
  expect(most).toBe(2);
});

describe("strangers", () => {
  test("get a pairing code once, and are heard after the operator approved it", async () => {
    await w.close();
    w = await world({ dmPolicy: "pairing", allowFrom: [] });
    const daemon = await w.start();
    const bob = w.telegram.as({ id: 99, name: "Bob" });
    bob.says("hi");
    const [told] = await w.answered(99, 1);
    const code = /[A-HJ-NP-Z2-9]{8}/.exec(told ?? "")?.[0];
    expect(code).toBeDefined();
    bob.says("hello?");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(w.answers(99)).toHaveLength(1);
    expect(w.models.requests()).toEqual([]);

    const { controlClient } = await import("./control-client.ts");
    const control = await controlClient(daemon);
    expect(await control.call("pairing.approve", { code })).toMatchObject({
      channel: "telegram",
      senderId: "99",
      senderName: "Bob",
    });
    await expect(control.call("pairing.approve", { code })).rejects.toMatchObject({ code: "missing" });
    control.close();
    bob.says("now?");
    expect((await w.answered(99, 2))[1]).toBe("echo: now?");
  });

  test.each([
    ["disabled", ["5"]],
    ["allowlist", ["6"]],
  ])("are not answered under dmPolicy %s", async (dmPolicy, allowFrom) => {
    await w.close();
    w = await world({ dmPolicy, allowFrom });
    await w.start();
    w.telegram.as(5).says("hi");
    await eventually(() => w.telegram.calls("getUpdates").length >= 2);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(w.answers(5)).toEqual([]);
    expect(w.models.requests()).toEqual([]);
  });

  test("on the allowlist are answered", async () => {
    await w.close();
    w = await world({ dmPolicy: "allowlist", allowFrom: ["5"] });
    await w.start();
    w.telegram.as(5).says("hi");
    expect(await w.answered(5, 1)).toEqual(["echo: hi"]);
  });
});
