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
