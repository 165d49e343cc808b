// Actions by the outbox: in order with what is sent, once or harmlessly again, and never in anybody's way.
import {
  accountKey,
  conversationKey,
  Fault,
  formatContent,
  type Address,
  type Content,
  type OutboxAction,
  type Part,
  type Quoted,
} from "@parley/protocol";
import type { DeliveryView } from "@parley/store";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { outboxMethods } from "../../src/operator/outbox.ts";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
beforeEach(async () => {
  s = await stage();
});
afterEach(() => s.close());

const alice: Address = { channel: "telegram", account: "default", kind: "dm", peer: "alice" };
const cause = "turn-1";

const post = (id: string, content: Content, to = alice): Promise<void> =>
  s.store().outbox.post([
    {
      id: `tool:${id}`,
      pool: accountKey(to),
      lane: conversationKey(to),
      cause,
      parts: [{ content: formatContent(content) }],
    },
  ]);
const say = (id: string, parts: string | readonly Part[], replyTo?: Quoted): Promise<void> =>
  post(id, {
    v: 1,
    kind: "reply",
    parts: typeof parts === "string" ? [{ kind: "text", markdown: parts }] : parts,
    ...(replyTo === undefined ? {} : { replyTo }),
  });
const act = (id: string, action: OutboxAction): Promise<void> => post(id, { v: 1, kind: "action", action });
const of = (id: string): { readonly delivery: string } => ({ delivery: `tool:${id}` });
const view = async (id: string): Promise<DeliveryView | undefined> =>
  (await s.deliveries({ id: `tool:${id}` }))[0];
const done = (id: string): Promise<void> =>
  s.until(async () => (await view(id))?.done === true, `the end of ${id}`);
const shown = () =>
  s.telegram.sent("alice").map(({ part, to, reactions, pinned }) => ({
    text: part.kind === "text" ? part.text : part.kind,
    ...(part.replyTo === undefined ? {} : { replyTo: part.replyTo }),
    ...(to.thread === undefined ? {} : { thread: to.thread }),
    ...(reactions.length === 0 ? {} : { reactions }),
    ...(pinned ? { pinned } : {}),
  }));
const reasons = async (id: string) => (await view(id))?.parts.map(({ state, reason }) => [state, reason]);

test("act in the order in which they were queued, on what was queued before them", async () => {
  await say("a", "draft");
  await act("b", { kind: "edit", target: of("a"), markdown: "**final**" });
  await act("c", { kind: "react", target: of("a"), emoji: "👍" });
  await act("d", { kind: "pin", target: of("b"), pinned: true });
  await say("e", "this one", of("a"));
  await done("e");
  const [first] = s.telegram.sent("alice");
  expect(shown()).toEqual([
    { text: "final", reactions: ["👍"], pinned: true },
    { text: "this one", replyTo: first?.id },
  ]);
  await act("f", { kind: "react", target: of("a"), emoji: null });
  await act("g", { kind: "pin", target: of("a"), pinned: false });
  await act("h", { kind: "remove", target: { messageId: first?.id ?? "" } });
  await done("h");
  expect(shown().map(({ text }) => text)).toEqual(["this one"]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/actions-in-order.txt");
});

test("of a long text: an edit takes its place as one message, a removal takes all of it away", async () => {
  const long = Array.from({ length: 40 }, (_, n) => `word${n}`).join(" ");
  s.telegram.can({ textChars: 100 });
  await s.kill();
  await s.start();
  await say("a", long);
  await say("b", long);
  await say("two", [
    { kind: "text", markdown: long },
    { kind: "text", markdown: "another" },
  ]);
  await act("one", { kind: "edit", target: of("two"), markdown: "short" });
  await act("c", { kind: "edit", target: of("a"), markdown: long });
  await act("d", { kind: "remove", target: of("b") });
  await done("d");
  const [only, ...others] = shown();
  expect(others).toEqual([{ text: "short" }, { text: "another" }]);
  expect(only?.text.length).toBeLessThanOrEqual(100);
  expect(only?.text).toMatch(/^word0 [\s\S]*\n\[… the rest was cut\]$/);
});

test("an edit changes the buttons, too, and takes away those that it does not name", async () => {
  const buttons = [[{ label: "Yes", value: "yes" }]];
  await say("a", [{ kind: "text", markdown: "Sure?", buttons }]);
  await act("b", { kind: "edit", target: of("a"), markdown: "Really?", buttons });
  await done("b");
  expect(s.telegram.sent("alice")[0]?.part).toMatchObject({ text: "Really?", buttons });
  await act("c", { kind: "edit", target: of("a"), markdown: "Done." });
  await done("c");
  expect(s.telegram.sent("alice")[0]?.part).toMatchObject({ text: "Done.", buttons: [] });
});

test("a thread is opened, what belongs into it goes there, and later actions find it there", async () => {
  await act("a", {
    kind: "createThread",
    title: "Tea",
    parts: [
      { kind: "text", markdown: "first" },
      { kind: "text", markdown: "second" },
    ],
  });
  await say("b", "outside");
  await act("c", { kind: "pin", target: of("a"), pinned: true });
  await done("c");
  expect(s.telegram.threads()).toEqual(["Tea"]);
  const [thread] = (await view("a"))?.parts.map(({ receipt }) => JSON.parse(receipt ?? "{}").messageId) ?? [];
  expect(shown()).toEqual([
    { text: "first", thread, pinned: true },
    { text: "second", thread },
    { text: "outside" },
  ]);
});

test("what of a thread could not be sent is sent again into that thread, and opens no other", async () => {
  const parts: Part[] = [
    { kind: "text", markdown: "first" },
    { kind: "text", markdown: "second" },
  ];
  s.telegram.harm(({ text }) => (text === "second" ? { refuse: new Fault("invalid", "no") } : null));
  await act("a", { kind: "createThread", title: "Tea", parts });
  await done("a");
  s.telegram.harm(() => null);
  const operator = outboxMethods(s.store().outbox, s.core().closed);
  await operator.retry({ id: "tool:a" });
  await done("a~2");
  expect(s.telegram.threads()).toEqual(["Tea"]);
  const [first, second] = shown();
  expect(first).toEqual({ text: "first", thread: expect.stringMatching(/^thread-/) });
  expect(second).toEqual({ text: "second", thread: first?.thread });
  await expect(await s.trace()).toMatchFileSnapshot("traces/thread-sent-again.txt");
});

describe("what cannot be done", () => {
  const bob: Address = { ...alice, peer: "bob" };

  test("fails with its reason, tells the person nothing, and keeps nothing waiting", async () => {
    await say("far", "for bob");
    await post("bobs", { v: 1, kind: "reply", parts: [{ kind: "text", markdown: "hi bob" }] }, bob);
    s.telegram.harmActions(({ action }) =>
      action.kind === "pin" ? { refuse: new Fault("denied", "not enough rights") } : null,
    );
    await act("a", { kind: "edit", target: { messageId: "nothing" }, markdown: "x" });
    await act("b", { kind: "react", target: of("never"), emoji: "👍" });
    await act("c", { kind: "pin", target: of("far"), pinned: true });
    await act("d", { kind: "edit", target: of("bobs"), markdown: "not his" });
    await act("e", { kind: "edit", target: of("far"), markdown: "  " });
    await act("f", { kind: "remove", target: of("c") });
    await say("last", "still here");
    await done("last");
    await s.pass(60_000);
    expect(await reasons("a")).toEqual([["failed", 'there is no message "nothing" on the loopback']]);
    expect(await reasons("b")).toEqual([["failed", "there is no delivery tool:never"]]);
    expect(await reasons("c")).toEqual([["failed", "not enough rights"]]);
    expect((await reasons("d"))?.[0]?.[1]).toContain("belongs to another conversation");
    expect(await reasons("e")).toEqual([["failed", "there is nothing to see in it"]]);
    expect(await reasons("f")).toEqual([["failed", "delivery tool:c has no message: not enough rights"]]);
    expect(shown().map(({ text }) => text)).toEqual(["for bob", "still here"]);
    expect(s.telegram.sent("bob")).toHaveLength(1);
    await expect(await s.trace()).toMatchFileSnapshot("traces/actions-refused.txt");
  });

  test("is told to the agent in the next turn of the conversation, once", async () => {
    s.model.answers(({ text }) => text);
    await act("b", { kind: "react", target: of("never"), emoji: "👍" });
    await done("b");
    const person = s.person("alice");
    await person
      .says("hi")
      .gets("[Parley: your reaction was not carried out: there is no delivery tool:never]\n\nhi");
    await person.says("again").gets("again");
  });

  test("a quote of what was never sent is left out, and the answer goes", async () => {
    await say("a", "answer", of("never"));
    await done("a");
    expect(shown()).toEqual([{ text: "answer" }]);
  });

  test("a platform that is away is waited for", async () => {
    await say("a", "draft");
    await done("a");
    s.telegram.harmActions(({ nth }) => (nth < 4 ? { refuse: new Fault("unavailable", "away") } : null));
    await act("b", { kind: "edit", target: of("a"), markdown: "final" });
    await done("b");
    expect(shown()).toEqual([{ text: "final" }]);
  });
});

describe("killed between the call and its receipt", () => {
  const lost = new Fault("ambiguous", "the connection broke");
  const states: readonly [string, OutboxAction, readonly object[]][] = [
    ["an edit", { kind: "edit", target: of("a"), markdown: "final" }, [{ text: "final" }]],
    ["a removal", { kind: "remove", target: of("a") }, []],
    ["a reaction", { kind: "react", target: of("a"), emoji: "👍" }, [{ text: "draft", reactions: ["👍"] }]],
    ["a pin", { kind: "pin", target: of("a"), pinned: true }, [{ text: "draft", pinned: true }]],
  ];

  test.each(states)(
    "%s is done again, also long after, and is nowhere in doubt",
    async (_what, action, after) => {
      await say("a", "draft");
      await done("a");
      s.telegram.harmActions(() => "hang");
      await act("b", action);
      await s.until(async () => (await view("b"))?.parts[0]?.state === "sending", "the call");
      await s.kill();
      s.clock.jumpWall(60 * 60_000);
      s.telegram.harmActions(() => null);
      await s.start();
      await done("b");
      expect(shown()).toEqual(after);
      expect((await view("b"))?.parts[0]).toMatchObject({ state: "sent", flagged: false });
    },
  );

  test.each(states)(
    "%s whose answers are lost again and again is repeated until one comes",
    async (_what, action, after) => {
      await say("a", "draft");
      s.telegram.harmActions(({ nth }) => (nth <= 3 ? { lose: lost } : null));
      await act("b", action);
      await done("b");
      expect(shown()).toEqual(after);
      expect((await view("b"))?.parts[0]).toMatchObject({ state: "sent", flagged: false, attempts: 4 });
    },
  );

  const thread: OutboxAction = {
    kind: "createThread",
    title: "Tea",
    parts: [{ kind: "text", markdown: "first" }],
  };

  test("a new thread is tried once more within its time, and the repeat is flagged", async () => {
    s.telegram.harmActions(({ nth }) => (nth === 1 ? { lose: lost } : null));
    await act("b", thread);
    await done("b");
    expect(s.telegram.threads()).toEqual(["Tea", "Tea"]);
    expect((await view("b"))?.parts.map(({ state, flagged }) => [state, flagged])).toEqual([
      ["sent", true],
      ["sent", false],
    ]);
  });

  test("a new thread is not tried again when the process comes back late, and nothing goes elsewhere instead", async () => {
    s.telegram.harmActions(() => "hang");
    await act("b", thread);
    await s.until(async () => (await view("b"))?.parts[0]?.state === "sending", "the call");
    await s.kill();
    s.clock.jumpWall(16 * 60_000);
    s.telegram.harmActions(() => null);
    await s.start();
    await say("c", "later");
    await done("c");
    expect(s.telegram.threads()).toEqual([]);
    expect((await reasons("b"))?.map(([state]) => state)).toEqual(["ambiguous", "failed"]);
    expect(shown()).toEqual([{ text: "later" }]);
  });

  test("a message into a new thread comes once more into that thread, not beside it", async () => {
    s.telegram.harm(() => "hang");
    await act("b", thread);
    await s.until(async () => (await view("b"))?.parts[1]?.state === "sending", "the message");
    await s.kill();
    s.telegram.harm(() => null);
    await s.start();
    await done("b");
    expect(s.telegram.threads()).toEqual(["Tea"]);
    expect(shown()).toEqual([{ text: "first", thread: expect.stringMatching(/^thread-/) }]);
  });
});
