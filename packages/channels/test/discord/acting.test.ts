// What is done to a conversation beside sending, and interactions: everything within Discord's three seconds
// and fifteen minutes.
import type {
  Action,
  Button,
  ChannelEvent,
  CreateThread,
  Inbound,
  Receipt,
  RenderedPart,
} from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Channel, Received, Suggest } from "@parley/channels";
import { expectFault, text } from "../contract.ts";
import { alice, discordRig, dm, type Rig } from "./rig.ts";

let rig: Rig;
let events: Inbound[];
beforeEach(async () => {
  events = [];
  rig = await discordRig();
});
afterEach(async () => {
  await rig.close();
  expect(rig.fake.violations()).toEqual([]);
});

let sends = 0;
const how = (more: object = {}) => ({
  idempotencyKey: `turn-1/${++sends}`,
  signal: new AbortController().signal,
  ...more,
});
const room = () => ({ channel: "discord", account: "default", kind: "channel", peer: rig.room }) as const;
const shown = (channel = rig.room) =>
  rig.fake.visible(channel).filter((message) => message.byBot && !message.isLoading);
const act = (action: Action, channel: Channel = rig.channel) =>
  channel.act?.(room(), action, how()) ?? Promise.reject(new Error("no act"));
const receive = async (batch: readonly ChannelEvent[]): Promise<void> => {
  events.push(...batch.filter((event) => "address" in event));
};
const say = (words: string): Promise<{ readonly messageId: string }> =>
  rig.channel.send(room(), text(words), how());
const rendered = (words: string) => ({ text: words, entities: [], plain: words });

test("an edit changes text and buttons; of what is gone it is Fault missing", async () => {
  const { messageId } = await say("first");
  await act({ kind: "edit", messageId, text: rendered("second"), buttons: [[{ label: "Ok" }]] });
  expect(shown()[0]).toMatchObject({ text: "second", buttons: [["Ok"]], edited: true });
  await act({ kind: "remove", messageId });
  await expectFault("missing", act({ kind: "edit", messageId, text: rendered("third") }));
});

test("reactions are given and taken back, custom ones too", async () => {
  const { id: messageId } = rig.fake.as(alice).says("hello", { channel: rig.room });
  await act({ kind: "react", messageId, emoji: "👍" });
  const seen = () => rig.fake.visible(rig.room)[0]?.reactions;
  expect(seen()).toEqual(["👍"]);
  await act({ kind: "react", messageId, emoji: null });
  expect(seen()).toEqual([]);
});

test("a server's own emoji is found by its name; one that it does not have is refused with those that it has", async () => {
  const { id: messageId } = rig.fake.as(alice).says("hello", { channel: rig.room });
  const id = rig.fake.emoji(rig.guild, "tea_cup");
  const seen = () => rig.fake.visible(rig.room)[0]?.reactions;
  for (const emoji of [":tea_cup:", "Tea_Cup", `<:tea_cup:${id}>`, `tea_cup:${id}`]) {
    await act({ kind: "react", messageId, emoji });
    expect(seen()).toEqual(["tea_cup"]);
    await act({ kind: "react", messageId, emoji: null });
  }
  const fault = await expectFault("unsupported", act({ kind: "react", messageId, emoji: ":coffee:" }));
  expect(fault.message).toBe("there is no emoji :coffee: here; there are :tea_cup:");
  await expectFault("unsupported", act({ kind: "react", messageId, emoji: "tea_cup:123" }));
  rig.fake.as(alice);
  const before = rig.fake.as(alice).says("hi");
  const inDm = rig.channel.act?.(dm, { kind: "react", messageId: before.id, emoji: "tea_cup" }, how());
  await expectFault("unsupported", inDm ?? Promise.resolve());
});

test("pins are set and taken back", async () => {
  const { messageId } = await say("keep");
  await act({ kind: "pin", messageId, pinned: true });
  expect(shown()[0]?.pinned).toBe(true);
  await act({ kind: "pin", messageId, pinned: false });
  expect(shown()[0]?.pinned).toBe(false);
  await act({ kind: "remove", messageId });
  await act({ kind: "pin", messageId, pinned: false });
  await expectFault("missing", act({ kind: "pin", messageId, pinned: true }));
});

describe("a thread", () => {
  const open = (action: Omit<CreateThread, "kind">, peer = rig.room): Promise<Receipt | null | undefined> =>
    rig.channel.act?.({ ...room(), peer }, { kind: "createThread", ...action }, how()) ?? Promise.reject();

  test("hangs on a message, once, or begins alone with a title that fits", async () => {
    const { messageId } = await say("hang it here");
    const hung = await open({ title: "Tea", messageId });
    expect(shown()[0]?.thread).toEqual({ id: hung?.messageId, title: "Tea" });
    expect(await open({ title: "Tea again", messageId })).toEqual(hung);
    const alone = await open({ title: "x".repeat(150) });
    expect(alone?.extra).toEqual({ thread: alone?.messageId });
    await rig.channel.send({ ...room(), thread: alone?.messageId ?? "" }, text("inside"), how());
    expect(shown(alone?.messageId).map(({ text: words }) => words)).toContain("inside");
  });

  test("of a forum is a post with its first message and its tags, and that is said", async () => {
    const forum = rig.fake.channel({ guild: rig.guild, kind: "forum", tags: ["Green", "Black"] });
    await expectFault("unsupported", open({ title: "Tea" }, forum));
    const post = await open({ title: "Tea", first: text("Which?"), tags: ["green"] }, forum);
    expect(post?.extra).toEqual({ thread: post?.messageId, opened: true });
    expect(rig.fake.visible(forum)).toMatchObject([
      { text: "Which?", thread: { id: post?.messageId, title: "Tea" } },
    ]);
    const [call] = rig.fake.calls("POST /channels/:channel/threads");
    expect((call?.body as { readonly applied_tags?: unknown } | undefined)?.applied_tags).toHaveLength(1);
    const fault = await expectFault("invalid", open({ title: "T", first: text("x"), tags: ["Red"] }, forum));
    expect(fault.message).toBe('this forum has no tag "Red"; it has Green, Black');
    const six = ["1", "2", "3", "4", "5", "6"];
    await expectFault("invalid", open({ title: "T", first: text("x"), tags: six }, forum));
  });

  test("of unknown outcome is found again by its title, and not where there is none", async () => {
    rig.fake.inject({ method: "POST /channels/:channel/threads", when: "after", trouble: { kind: "reset" } });
    const action = { kind: "createThread", title: "Tea" } as const;
    // The look asks who we are.
    await rig.channel.start(receive);
    await expect.poll(() => rig.channel.health().state).toBe("ok");
    const sinceMs = Date.now() - 60_000;
    const look = () => rig.channel.sentSince?.(room(), action, sinceMs, new AbortController().signal);
    expect(await look()).toEqual([]);
    await expectFault("ambiguous", open({ title: "Tea" }));
    expect(await look()).toEqual([{ messageId: expect.any(String), extra: { thread: expect.any(String) } }]);
  });

  test("where the bot may open none is Fault denied, in a private chat unsupported", async () => {
    rig.fake.at(rig.room).deny("threads");
    await expectFault("denied", open({ title: "Tea" }));
    rig.fake.as(alice).says("hi");
    const inDm = rig.channel.act?.(dm, { kind: "createThread", title: "Tea" }, how());
    await expectFault("unsupported", inDm ?? Promise.resolve());
  });
});

test("typing shows in the channel", async () => {
  await rig.channel.typing?.(room());
  expect(rig.fake.at(rig.room).typing()).toEqual([rig.fake.bot().id]);
});

test("a hundred commands at most are registered, each with an optional text", async () => {
  const commands = Array.from({ length: 120 }, (_, n) => ({
    name: `Command_${n}`,
    description: "d".repeat(150),
  }));
  await act({ kind: "setCommands", commands });
  const registered = rig.fake.bot().commands();
  expect(registered).toHaveLength(100);
  expect(registered[0]).toMatchObject({
    name: "command_0",
    description: "d".repeat(100),
    options: [{ name: "text", required: false }],
  });
});

describe("a slash command", () => {
  let id: string;
  const run = async (
    channel: Channel = rig.channel,
    to: (batch: readonly ChannelEvent[]) => Promise<Received | void> = receive,
  ): Promise<void> => {
    await act({ kind: "setCommands", commands: [{ name: "ask", description: "Ask" }] }, channel);
    await channel.start(to);
    id = rig.fake.as(alice).runs("ask", { channel: rig.room, values: { text: "why?" } });
  };
  const state = () => rig.fake.interaction(id).state;
  const answers = () => ({ answers: [events[0]?.id ?? ""] });

  test("is deferred once it is durable; the first chunk takes its place, the second follows as a message", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    expect(events[0]).toMatchObject({ kind: "command", text: "/ask why?", addressed: true, address: room() });
    const first = await rig.channel.send(room(), text("because"), how(answers()));
    expect(first.messageId).toBe(rig.fake.interaction(id).messageId);
    await rig.channel.send(room(), text("and so on"), how());
    expect(shown().map((message) => message.text)).toEqual(["because", "and so on"]);
  });

  test("is deferred within its three seconds though nothing is durable yet", async () => {
    await run(rig.channel, () => new Promise(() => {}));
    await expect.poll(async () => (await rig.clock.advance(200), state())).toBe("deferred");
    // Its receive never ends, and a stop would wait for it.
    rig = await discordRig();
  });

  test("answered before the channel hears that it is durable has its answer in its place all the same", async () => {
    let answered = "";
    await run(rig.channel, async ([event]) => {
      ({ messageId: answered } = await rig.channel.send(
        room(),
        text("because"),
        how({ answers: [event?.id ?? ""] }),
      ));
    });
    await expect.poll(state).toBe("answered");
    await expect.poll(() => answered).toBe(rig.fake.interaction(id).messageId);
    expect(shown().map((message) => message.text)).toEqual(["because"]);
  });

  test("answered together with another: one has the answer in its place, the other does not wait for ever", async () => {
    await run();
    const second = rig.fake.as(alice).runs("ask", { channel: rig.room, values: { text: "and how?" } });
    await expect.poll(() => [state(), rig.fake.interaction(second).state]).toEqual(["deferred", "deferred"]);
    await expect.poll(() => events.length).toBe(2);
    const both = how({ answers: events.map((event) => event.id) });
    const { messageId } = await rig.channel.send(room(), text("because, and so"), both);
    expect(messageId).toBe(rig.fake.interaction(id).messageId);
    await expect
      .poll(() => rig.fake.visible(rig.room).map((message) => message.text))
      .toEqual(["because, and so"]);
    expect((await rig.channel.send(room(), text("because, and so"), both)).messageId).toBe(messageId);
  });

  test("that only tells something is answered to whoever gave it alone, to the last message of its answer", async () => {
    const quiet = await rig.open({ quietCommands: ["status"] });
    await rig.channel.stop();
    await quiet.act?.(
      room(),
      { kind: "setCommands", commands: [{ name: "status", description: "How I am" }] },
      how(),
    );
    const got: Inbound[] = [];
    await quiet.start(
      async (batch) => void got.push(...batch.flatMap((event) => ("address" in event ? [event] : []))),
    );
    rig.fake.as(alice).runs("status", { channel: rig.room });
    await expect.poll(() => got.length).toBe(1);
    const first = await quiet.send(room(), text("one"), how({ answers: [got[0]?.id ?? ""] }));
    await quiet.send(room(), text("two"), how({ follows: first }));
    expect(shown().map(({ text: said, onlyFor }) => [said, onlyFor])).toEqual([
      ["one", alice.id],
      ["two", alice.id],
    ]);
  });

  describe("that offers arguments", () => {
    const choices = (typed: string): unknown =>
      (rig.fake.interaction(typed).response as { data?: { choices?: unknown } } | null)?.data?.choices;
    async function offering(suggest: Suggest): Promise<(typed: string) => string> {
      const fresh = await rig.open();
      await rig.channel.stop();
      const commands = [{ name: "model", description: "Which model", suggests: true as const }];
      await fresh.act?.(room(), { kind: "setCommands", commands }, how());
      fresh.suggestsWith?.(suggest);
      await fresh.start(async () => {});
      return (typed) => rig.fake.as(alice).typesBehind("model", typed, { channel: rig.room });
    }

    test("asks for them with the command as it is typed, and shows what Discord takes", async () => {
      const asked: Inbound[] = [];
      const type = await offering(async (typed) => {
        asked.push(typed);
        const many = Array.from({ length: 30 }, (_, n) => ({ label: `Model ${n}`, value: `m${n}` }));
        return [
          ...many.slice(0, 2),
          { label: "again", value: "m0" },
          { label: "", value: "x".repeat(101) },
          ...many,
        ];
      });
      const id = type("gp");
      await expect.poll(() => choices(id)).toHaveLength(25);
      expect(choices(id)).toContainEqual({ name: "Model 1", value: "m1" });
      expect(asked).toMatchObject([
        { text: "/model gp", kind: "command", address: room(), sender: { id: alice.id } },
      ]);
      expect(rig.fake.violations()).toEqual([]);
    });

    test("offers none where nobody knows any, or not in time", async () => {
      const type = await offering((typed) =>
        typed.text.endsWith("late") ? new Promise(() => {}) : Promise.reject(new Error("a bug")),
      );
      const [broken, late] = [type("x"), type("late")];
      await expect.poll(() => choices(broken)).toEqual([]);
      await expect
        .poll(async () => {
          await rig.clock.advance(500);
          return choices(late);
        })
        .toEqual([]);
    });
  });

  test("of somebody who is refused is answered to them alone", async () => {
    await run(rig.channel, async (batch) => ({
      refused: batch.flatMap((event) => ("address" in event ? [event.id] : [])),
    }));
    await expect.poll(state).toBe("answered");
    expect(shown()[0]).toMatchObject({ onlyFor: alice.id, text: "You cannot use this here." });
  });

  const endings = () => rig.fake.calls("DELETE /webhooks/:application/:token/messages/:message").length;
  const tokenMs = 14 * 60_000;

  test("answered after its token's time is a message like any other, and the waiting ends by itself, not earlier", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    await rig.clock.advance(tokenMs - 1);
    await rig.channel.typing?.(room());
    expect(endings()).toBe(0);
    await rig.clock.advance(1);
    await expect.poll(endings).toBe(1);
    await rig.channel.send(room(), text("late"), how(answers()));
    expect(shown().map((message) => message.text)).toEqual(["late"]);
    expect(rig.fake.interaction(id).messageId).not.toBe(shown()[0]?.id);
  });

  test("answered in the last moment keeps its answer when its time is over, also in the next process", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    await expect.poll(() => rig.memory.load("interactions")).toContain(events[0]?.id);
    await rig.clock.advance(tokenMs - 1);
    await rig.channel.send(room(), text("because"), how(answers()));
    const next = await rig.open();
    await next.start(receive);
    await rig.clock.advance(60_000);
    await next.send(room(), text("and so on"), how());
    expect(endings()).toBe(0);
    expect(shown().map((message) => message.text)).toEqual(["because", "and so on"]);
  });

  test("whose token Discord has forgotten is answered as a message", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    const body = { code: 10015, message: "Unknown Webhook" };
    rig.fake.inject({
      method: "PATCH /webhooks/:application/:token/messages/:message",
      trouble: { kind: "answer", status: 404, body },
    });
    await rig.channel.send(room(), text("because"), how(answers()));
    expect(shown().map((message) => message.text)).toEqual(["because"]);
  });

  test("is answered in its place by the next process", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    await expect.poll(() => rig.memory.load("interactions")).toContain(events[0]?.id);
    await rig.channel.stop();
    const next = await rig.open();
    await next.start(receive);
    const { messageId } = await next.send(room(), text("because"), how(answers()));
    expect(messageId).toBe(rig.fake.interaction(id).messageId);
  });

  test("whose answer's arrival is unknown is filled again by the same send, and by no other", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    rig.fake.inject({
      method: "PATCH /webhooks/:application/:token/messages/:message",
      when: "after",
      trouble: { kind: "reset" },
    });
    const mine = how(answers());
    await expectFault("ambiguous", rig.channel.send(room(), text("because"), mine));
    await rig.channel.send(room(), text("another"), how(answers()));
    await rig.channel.send(room(), text("because"), mine);
    expect(shown().map((message) => message.text)).toEqual(["because", "another"]);
  });

  test("whose answer may stand there as a message already, is not filled in as well and waits no longer", async () => {
    const early = how();
    await run();
    await expect.poll(state).toBe("deferred");
    await rig.channel.send(room(), text("because"), early);
    await rig.channel.send(room(), text("because"), { ...early, ...answers(), mayHaveArrived: true });
    expect(shown().map((message) => message.text)).toEqual(["because"]);
    await expect.poll(endings).toBe(1);
  });

  test("that its send had taken is filled by a repeat which nobody can look up, too", async () => {
    await run();
    await expect.poll(state).toBe("deferred");
    const mine = how(answers());
    await rig.channel.send(room(), text("because"), mine);
    await rig.channel.send(room(), text("because"), { ...mine, mayHaveArrived: true });
    expect(shown().map((message) => message.text)).toEqual(["because"]);
    expect([rig.fake.interaction(id).messageId, endings()]).toEqual([shown()[0]?.id, 0]);
  });
});

describe("a button", () => {
  const show = async (button: Button): Promise<string> => {
    await rig.channel.start(receive);
    const part = { ...text("which?"), buttons: [[button]] } as RenderedPart;
    return (await rig.channel.send(room(), part, how())).messageId;
  };

  test("is told as a press, and its waiting ends with or without a word to whoever pressed", async () => {
    const message = await show({ label: "Yes", value: "yes" });
    const quiet = rig.fake.as(alice).presses(message, "yes", { channel: rig.room });
    await expect.poll(() => events.length).toBe(1);
    expect(events[0]).toMatchObject({
      kind: "callback",
      callback: { id: quiet, value: "yes" },
      replyTo: { messageId: message, toBot: true },
    });
    await act({ kind: "answerCallback", callbackId: quiet });
    expect(rig.fake.interaction(quiet).state).toBe("deferred");
    const told = rig.fake.as(alice).presses(message, "yes", { channel: rig.room });
    await expect.poll(() => events.length).toBe(2);
    await act({ kind: "answerCallback", callbackId: told, text: "This was already pressed." });
    expect(shown().at(-1)).toMatchObject({ text: "This was already pressed.", onlyFor: alice.id });
  });

  test("pressed by somebody who is refused says nothing by itself, and they alone see the word that follows", async () => {
    const part = { ...text("which?"), buttons: [[{ label: "Yes", value: "yes" }]] } as RenderedPart;
    let refused = 0;
    await rig.channel.start(async (batch) => {
      const ids = batch.flatMap((event) => ("address" in event ? [event.id] : []));
      refused += ids.length;
      return { refused: ids };
    });
    const { messageId } = await rig.channel.send(room(), part, how());
    const before = shown().length;
    const press = rig.fake.as(alice).presses(messageId, "yes", { channel: rig.room });
    await expect.poll(() => refused).toBe(1);
    await act({ kind: "answerCallback", callbackId: press, text: "You may not." });
    expect(shown().slice(before)).toMatchObject([{ text: "You may not.", onlyFor: alice.id }]);
  });

  test("whose press waits too long is put off by itself, and the word follows", async () => {
    const message = await show({ label: "Yes", value: "yes" });
    const press = rig.fake.as(alice).presses(message, "yes", { channel: rig.room });
    await expect.poll(() => events.length).toBe(1);
    await act({ kind: "answerCallback", callbackId: press });
    await act({ kind: "answerCallback", callbackId: press, text: "Done." });
    expect(shown().at(-1)).toMatchObject({ text: "Done.", onlyFor: alice.id });
  });

  test("with choices is a menu, and the choice is its value", async () => {
    const message = await show({
      label: "Tea",
      value: "tea",
      choices: [
        { label: "Green", value: "g" },
        { label: "Black", value: "b" },
      ],
    });
    rig.fake.as(alice).selects(message, "tea", ["b"], { channel: rig.room });
    await expect.poll(() => events.length).toBe(1);
    expect(events[0]?.callback?.value).toBe("b");
  });

  test("with a form opens it at once, also in the next process, and what is written comes as its press", async () => {
    const message = await show({
      label: "Order",
      value: "order",
      form: [
        { name: "tea", label: "Which tea?" },
        { name: "note", label: "Anything else?", long: true },
      ],
    });
    await rig.channel.stop();
    const next = await rig.open();
    await next.start(receive);
    const press = rig.fake.as(alice).presses(message, "order", { channel: rig.room });
    await expect.poll(() => rig.fake.interaction(press).state).toBe("answered");
    expect(events).toEqual([]);
    const filled = rig.fake.as(alice).submits(press, { tea: "Oolong", note: "no milk" });
    await expect.poll(() => events.length).toBe(1);
    expect(events[0]).toMatchObject({
      kind: "callback",
      text: "order\ntea: Oolong\nnote: no milk",
      replyTo: { messageId: message },
    });
    await act({ kind: "answerCallback", callbackId: filled }, next);
  });
});

test("an interaction that says nothing of ours is always answered, to the one who gave it alone", async () => {
  await rig.channel.start(receive);
  const user = { id: alice.id, username: "alice" };
  const begin = (id: string, fields: object) =>
    rig.fake.gateway.push("INTERACTION_CREATE", {
      id,
      application_id: "1",
      token: `t${id}`,
      channel_id: rig.room,
      guild_id: rig.guild,
      ...fields,
    });
  begin("81", { type: 3, member: { user, roles: [] }, data: {} });
  begin("82", { type: 3, member: 7, data: { custom_id: "yes" } });
  begin("83", { type: 9, member: { user, roles: [] } });
  const told = () =>
    rig.fake.calls("POST /interactions/:interaction/:token/callback").map(({ body }) => body);
  const answer = { type: 4, data: { content: "This button is no longer in use.", flags: 64 } };
  await expect.poll(told).toEqual([answer, answer, answer]);
});

test("reactions come in with their message and their place", async () => {
  await rig.channel.start(receive);
  const { messageId } = await say("mine");
  rig.fake.as(alice).reacts(messageId, "👍", { channel: rig.room });
  rig.fake.as(alice).unreacts(messageId, "👍", { channel: rig.room });
  await expect.poll(() => events.map((event) => event.text)).toEqual(["reacted 👍", "took back 👍"]);
  expect(events[0]).toMatchObject({
    kind: "reaction",
    replyTo: { messageId, toBot: true },
    address: room(),
    addressed: false,
  });
});

test("a forum's post comes in as its thread, with its title", async () => {
  const forum = rig.fake.channel({ guild: rig.guild, kind: "forum" });
  await rig.channel.start(receive);
  const post = rig.fake.as(alice).posts("Which tea?", "I ask for a friend.", { channel: forum });
  await expect.poll(() => events.length).toBe(1);
  expect(events[0]).toMatchObject({
    text: "I ask for a friend.",
    enclosed: [{ kind: "post", words: ["Which tea?"] }],
    address: { kind: "channel", peer: forum, thread: post.id },
  });
});

test("an edit comes in as one, a link's preview as nothing", async () => {
  await rig.channel.start(receive);
  const { id } = rig.fake.as(alice).says("tea", { channel: rig.room });
  rig.fake.as(alice).unfurls(id, [{ title: "Tea" }], { channel: rig.room });
  rig.fake.as(alice).edits(id, "oolong", { channel: rig.room });
  await expect
    .poll(() => events.map(({ kind, text: words }) => [kind, words]))
    .toEqual([
      ["message", "tea"],
      ["edit", "oolong"],
    ]);
});
