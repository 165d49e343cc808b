// The loopback keeps the channel contract, and shows a repeated send once.
import { virtualClock } from "@parley/testkit";
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { loopback } from "@parley/channels";
import { channelContract, text } from "./contract.ts";

channelContract({
  name: "loopback",
  async open() {
    const clock = virtualClock();
    const channel = loopback({ account: "default", clock });
    const places = {
      dm: {},
      mention: { address: { kind: "group", peer: "room" }, addressed: true },
      bystander: { address: { kind: "group", peer: "room" } },
    } as const;
    return {
      channel,
      says: (how, words) => void channel.says(words, places[how]),
      acknowledged: () => channel.accepted().length,
      shown: () => channel.sent("person").map(({ part }) => (part.kind === "text" ? part.text : part.kind)),
      advance: (byMs) => clock.advance(byMs),
      limitsNextSend: (retryAfterMs) =>
        channel.failsNext(new Fault("rate_limited", "slow down", { retryAfterMs })),
      losesNextAnswer: () => channel.failsNext(new Fault("ambiguous", "the answer was lost")),
      sendsFile: (bytes) =>
        void channel.says("", { fields: { attachments: [channel.attaches(bytes, { kind: "file" })] } }),
      close: async () => {},
    };
  },
  skip: [
    {
      case: "a token that is refused rejects start with Fault denied",
      reason: "there is nobody to refuse it",
    },
    {
      case: "a poll at its limits is sent, and one beyond them is Fault invalid and not sent",
      reason: "it has no limits",
    },
  ],
});

test("a send under the same key is shown once and gets the same receipt", async () => {
  const channel = loopback({ account: "default", clock: virtualClock() });
  const to = { channel: "loopback", account: "default", kind: "dm", peer: "person" } as const;
  const options = { idempotencyKey: "delivery-1", signal: new AbortController().signal };
  const first = await channel.send(to, text("once"), options);
  expect(await channel.send(to, text("once"), options)).toEqual(first);
  expect(channel.sent()).toHaveLength(1);
});

test("what was sent can be changed, reacted to, pinned and taken back, each alone", async () => {
  const channel = loopback({ account: "work", clock: virtualClock(), name: "echo" });
  const to = { channel: "echo", account: "work", kind: "dm", peer: "person" } as const;
  const how = (idempotencyKey: string) => ({ idempotencyKey, signal: new AbortController().signal });
  const part = { ...text("a"), buttons: [[{ label: "x", value: "x" }]] } as const;
  const { messageId } = await channel.send(to, part, how("1"));
  await channel.send({ ...to, peer: "other" }, text("b"), how("2"));
  const act = (action: object) => channel.act?.(to, action as never, how("3"));
  const seen = () =>
    channel
      .sent("person")
      .map(({ part: shown, edited, reactions, pinned }) => ({ part: shown, edited, reactions, pinned }));
  await act({ kind: "react", messageId, emoji: "👍" });
  await act({ kind: "pin", messageId, pinned: true });
  const left = { edited: false, reactions: ["👍"], pinned: true };
  expect(seen()).toEqual([{ part, ...left }]);
  expect(await act({ kind: "edit", messageId, text: { text: "c", entities: [], plain: "c" } })).toEqual({
    messageId,
  });
  expect(seen()).toEqual([{ part: { ...text("c") }, ...left, edited: true }]);
  const buttons = [[{ label: "y", value: "y" }]];
  await act({ kind: "edit", messageId, text: { text: "d", entities: [], plain: "d" }, buttons });
  await act({ kind: "react", messageId, emoji: null });
  await act({ kind: "pin", messageId, pinned: false });
  expect(seen()).toEqual([{ part: { ...text("d"), buttons }, edited: true, reactions: [], pinned: false }]);
  const thread = await act({ kind: "createThread", title: "T" });
  expect([thread, await act({ kind: "createThread", title: "T" }), channel.threads()]).toEqual([
    { messageId: "thread-3", extra: { thread: "thread-3" } },
    thread,
    ["T"],
  ]);
  await act({ kind: "remove", messageId });
  expect([seen(), channel.sent().length]).toEqual([[], 1]);
  for (const [action, code] of [
    [{ kind: "edit", messageId, text: { text: "e", entities: [], plain: "e" } }, "missing"],
    [{ kind: "pin", messageId, pinned: true }, "missing"],
    [{ kind: "answerCallback" }, "unsupported"],
  ] as const)
    await expect(act(action)).rejects.toMatchObject({ code });
  const files = await channel.send(to, { kind: "media", files: [] } as never, how("4"));
  await expect(
    act({ kind: "edit", messageId: files.messageId, text: { text: "e", entities: [], plain: "e" } }),
  ).rejects.toThrow("only texts can be edited on the loopback");
  const long = (length: number) => channel.send(to, text("x".repeat(length)), how(`${length}`));
  await long(16_384);
  await expect(long(16_385)).rejects.toThrow("16385 units of text are over 16384");
});

test("what people say comes in whole and in order, is offered again until it is accepted, and by default in private", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const channel = loopback({ account: "work", clock, name: "echo" });
  expect([channel.name, channel.account, channel.health()]).toEqual(["echo", "work", { state: "starting" }]);
  const first = channel.says("hi");
  await clock.advance(5);
  const second = channel.says("all", {
    from: "ann",
    address: { kind: "group", peer: "room", thread: "t" },
    fields: { title: "Room" },
  });
  const usual = { channel: "echo", account: "work", kind: "message", attachments: [], mentions: [] };
  expect([
    first,
    second,
    channel.says("you", { from: "ann", address: { kind: "group", peer: "room" }, addressed: true }),
  ]).toEqual([
    {
      ...usual,
      id: "echo:work:e1",
      address: { channel: "echo", account: "work", kind: "dm", peer: "person" },
      sender: { id: "person", name: "person", isBot: false },
      messageId: "said-1",
      text: "hi",
      addressed: true,
      atMs: 1_000,
    },
    {
      ...usual,
      id: "echo:work:e2",
      address: { channel: "echo", account: "work", kind: "group", peer: "room", thread: "t" },
      sender: { id: "ann", name: "ann", isBot: false },
      messageId: "said-2",
      text: "all",
      addressed: false,
      title: "Room",
      atMs: 1_005,
    },
    expect.objectContaining({ id: "echo:work:e3", addressed: true }),
  ]);
  const batches: string[][] = [];
  let refuses = true;
  await channel.start(async (events) => {
    batches.push(events.map(({ id }) => id));
    if (refuses) throw new Error("the disk is full");
  });
  await clock.advance(999);
  expect(channel.health()).toEqual({ state: "degraded", reason: "the disk is full" });
  expect([batches.length, channel.accepted()]).toEqual([1, []]);
  refuses = false;
  channel.says("late");
  await clock.advance(1);
  expect(batches).toEqual([
    ["echo:work:e1", "echo:work:e2", "echo:work:e3"],
    ["echo:work:e1", "echo:work:e2", "echo:work:e3", "echo:work:e4"],
  ]);
  expect(channel.accepted().map(({ text: said }) => said)).toEqual(["hi", "all", "you", "late"]);
  expect(channel.health()).toEqual({ state: "ok", lastInboundAtMs: 2_005 });
  await expect(channel.start(async () => {})).rejects.toThrow(
    "the loopback was started before: make a new one",
  );
  await channel.stop();
  channel.says("too late");
  await clock.advance(10_000);
  expect([batches.length, channel.health(), clock.armed()]).toEqual([2, { state: "stopped" }, 0]);
});

test("a file is read up to its limit, typing is noted, and a send fails as it is told to, once", async () => {
  const channel = loopback({ account: "default", clock: virtualClock() });
  const to = { channel: "loopback", account: "default", kind: "dm", peer: "ann" } as const;
  const attachment = channel.attaches(new Uint8Array(4), { kind: "file", name: "a" });
  expect(attachment).toEqual({ kind: "file", name: "a", ref: "file-1", bytes: 4 });
  const read = (ref: string, limit: number) => channel.download?.(ref, limit, new AbortController().signal);
  expect((await read("file-1", 4))?.bytes).toHaveLength(4);
  await expect(read("file-1", 3)).rejects.toThrow("the file has 4 bytes, over the limit of 3");
  await expect(read("file-2", 9)).rejects.toThrow('there is no file "file-2" on the loopback');
  await channel.typing?.(to);
  await channel.typing?.({ ...to, peer: "bo" });
  expect(channel.typed()).toEqual(["ann", "bo"]);
  const how = { idempotencyKey: "1", signal: new AbortController().signal };
  channel.failsNext(new Fault("ambiguous", "one"));
  channel.failsNext(new Fault("denied", "two"));
  await expect(channel.send(to, text("a"), { ...how, signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "aborted",
  });
  await expect(channel.send(to, text("a"), how)).rejects.toThrow("one");
  await expect(channel.send(to, text("a"), how)).rejects.toThrow("two");
  expect(channel.sent()).toEqual([]);
  expect(await channel.send(to, text("a"), how)).toEqual({ messageId: "sent-2" });
  expect(channel.sent("ann")).toHaveLength(1);
  expect(channel.sent("bo")).toEqual([]);
});
