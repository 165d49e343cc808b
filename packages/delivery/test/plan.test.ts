// The calls that actions become: which messages they touch, and what a channel without actions gets instead.
import { loopback, webChannel, type Channel, type WebMessage } from "@parley/channels";
import {
  conversationKey,
  formatContent,
  parseContent,
  type Address,
  type Content,
  type OutboxAction,
  type Receipt,
} from "@parley/protocol";
import type { DeliveryView, PartView } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { plannedParts } from "../src/plan.ts";
import { channelRender } from "../src/render.ts";
import { partSender } from "../src/send-part.ts";

const to: Address = { channel: "loopback", account: "default", kind: "dm", peer: "alice" };
const clock = virtualClock();
const chat = loopback({ account: "default", clock });

const partOf = (content: Content, receipt?: Receipt): PartView => ({
  content: formatContent(content),
  state: receipt === undefined ? "queued" : "sent",
  token: 0,
  startedAtMs: 0,
  attempts: 0,
  resends: 0,
  receipt: receipt === undefined ? null : JSON.stringify(receipt),
  intoReceipt: null,
  reason: null,
  flagged: false,
});
const deliveryOf = (id: string, parts: readonly PartView[]): DeliveryView => ({
  id,
  pool: "loopback:default",
  lane: conversationKey(to),
  cause: "turn",
  open: false,
  done: true,
  createdAtMs: 0,
  split: false,
  parts,
});
const words = (text: string, continues?: true): Content => ({
  v: 1,
  kind: "rendered",
  part: { kind: "text", text, entities: [], plain: text, ...(continues === undefined ? {} : { continues }) },
});
const media: Content = { v: 1, kind: "rendered", part: { kind: "media", media: "image", files: [] } };
const album = { messageId: "1", extra: { messageIds: ["1", "2"] } };

async function planned(
  action: OutboxAction,
  sent: DeliveryView,
  channel: Channel = chat,
): Promise<readonly Content[] | string> {
  const outbox = { find: async ({ id }: { readonly id?: string }) => (id === sent.id ? [sent] : []) };
  const delivery = deliveryOf("b", [partOf({ v: 1, kind: "action", action })]);
  const plan = await plannedParts({ render: channelRender, outbox }, channel, delivery, 0);
  return "impossible" in plan ? plan.impossible : plan.parts.map(({ content }) => parseContent(content));
}
const touched = (plan: readonly Content[] | string): unknown =>
  typeof plan === "string"
    ? plan
    : plan.map((content) =>
        content.kind === "act" && "messageId" in content.action
          ? [content.action.kind, content.action.messageId, content.thread]
          : content.kind,
      );
const target = { delivery: "a" };

describe("of an album with a caption that went on as text, and another text", () => {
  const sent = deliveryOf("a", [
    partOf(media, album),
    partOf(words("more", true), { messageId: "3" }),
    partOf(words("another"), { messageId: "4" }),
    partOf(words("never sent")),
  ]);

  test("an edit changes the caption and takes away what the caption went on in, as long as a caption may be", async () => {
    const less: Channel = { ...chat, capabilities: { ...chat.capabilities, captionChars: 40 } };
    const plan = await planned({ kind: "edit", target, markdown: "word ".repeat(20) }, sent, less);
    expect(touched(plan)).toEqual([
      ["edit", "1", undefined],
      ["remove", "3", undefined],
    ]);
    const [edit] = typeof plan === "string" ? [] : plan;
    expect(edit).toMatchObject({ action: { text: { text: "word word word word\n[… the rest was cut]" } } });
  });

  test("a removal takes everything that was sent, a reaction and a pin the first", async () => {
    expect(touched(await planned({ kind: "remove", target }, sent))).toEqual(
      ["1", "2", "3", "4"].map((id) => ["remove", id, undefined]),
    );
    expect(touched(await planned({ kind: "react", target, emoji: "👍" }, sent))).toEqual([
      ["react", "1", undefined],
    ]);
    expect(touched(await planned({ kind: "pin", target, pinned: true }, sent))).toEqual([
      ["pin", "1", undefined],
    ]);
  });

  test("without removals an edit is one call", async () => {
    const fewer: Channel = { ...chat, actions: ["edit"] };
    expect(touched(await planned({ kind: "edit", target, markdown: "x" }, sent, fewer))).toEqual([
      ["edit", "1", undefined],
    ]);
    expect(touched(await planned({ kind: "remove", target }, sent, fewer))).toBe(
      "loopback cannot do this: remove",
    );
  });
});

test("what is in a thread is touched there", async () => {
  const opened: Content = { v: 1, kind: "act", action: { kind: "createThread", title: "Tea" } };
  const inside = { messageId: "8", extra: { thread: "7" } };
  const sent = deliveryOf("a", [
    partOf(opened, { messageId: "7", extra: { thread: "7" } }),
    partOf(words("first"), inside),
  ]);
  expect(touched(await planned({ kind: "remove", target }, sent))).toEqual([["remove", "8", "7"]]);
});

test("a page is told which message a new one replaces, and does nothing else", async () => {
  const shown: WebMessage[] = [];
  const page = webChannel({
    account: "default",
    clock,
    publish: async (_stream, _id, message) => shown.push(message),
  });
  const sent = deliveryOf("a", [partOf(words("first"), { messageId: "a/0" })]);
  const plan = await planned({ kind: "edit", target, markdown: "**second**" }, sent, page);
  const [edit] = typeof plan === "string" ? [] : plan;
  if (edit === undefined) throw new Error(JSON.stringify(plan));
  const how = {
    lateMs: 0,
    beforeAnew: async () => {},
    idempotencyKey: "b/0",
    signal: new AbortController().signal,
  };
  const receipt = await partSender().send(page, { ...to, channel: "web" }, partOf(edit), how);
  expect(receipt).toEqual({ messageId: "b/0" });
  expect(shown).toMatchObject([{ id: "b/0", replaces: "a/0", text: "second" }]);
  expect(touched(await planned({ kind: "pin", target, pinned: true }, sent, page))).toBe(
    "web cannot do this: pin",
  );
});

test("a thread is opened on the message that is meant, with its first message in hand, and the rest goes after", async () => {
  const sent = deliveryOf("a", [partOf(words("first"), { messageId: "8", extra: { thread: "7" } })]);
  const parts = [
    { kind: "text", markdown: "one" },
    { kind: "poll", question: "?", options: ["a", "b"], multiple: false, anonymous: false },
  ] as const;
  const quiet = { kind: "text", text: "one", entities: [], plain: "one", silent: true };
  const asked = { kind: "createThread", title: "Tea", tags: ["t"] } as const;
  expect([
    await planned({ ...asked, target, parts, silent: true }, sent),
    await planned(asked, sent),
    await planned({ ...asked, target: { delivery: "z" } }, sent),
  ]).toEqual([
    [
      { v: 1, kind: "act", action: { ...asked, messageId: "8", first: quiet }, thread: "7" },
      { v: 1, kind: "rendered", part: quiet },
      { v: 1, kind: "rendered", part: { ...parts[1], silent: true } },
    ],
    [{ v: 1, kind: "act", action: asked }],
    "there is no delivery z",
  ]);
});

test("an edit carries its buttons and says why it is none; what goes on ends at the first other text", async () => {
  const sent = deliveryOf("a", [
    partOf(words("1"), { messageId: "1" }),
    partOf(words("2", true), { messageId: "2" }),
    partOf(media, { messageId: "3" }),
    partOf(words("4", true), { messageId: "4" }),
    partOf(words("5"), { messageId: "5" }),
    partOf(words("6", true), { messageId: "6" }),
  ]);
  const buttons = [[{ label: "Yes", value: "~y" }]];
  const text = { text: "new", entities: [], plain: "new" };
  expect([
    await planned({ kind: "edit", target, markdown: "new", buttons }, sent),
    await planned({ kind: "edit", target: { messageId: "9" }, markdown: "new" }, sent),
    await planned({ kind: "edit", target, markdown: " " }, sent),
    await planned({ kind: "edit", markdown: "new" } as never, sent),
    await planned({ kind: "remove", target: { messageId: "9" } }, sent),
    await planned({ kind: "react", target, emoji: null }, sent),
  ]).toEqual([
    [
      { v: 1, kind: "act", action: { kind: "edit", messageId: "1", text, buttons } },
      ...["2", "4"].map((messageId) => ({ v: 1, kind: "act", action: { kind: "remove", messageId } })),
    ],
    [{ v: 1, kind: "act", action: { kind: "edit", messageId: "9", text, buttons: [] } }],
    "there is nothing to see in it",
    "an edit names the message that it changes",
    [{ v: 1, kind: "act", action: { kind: "remove", messageId: "9" } }],
    [{ v: 1, kind: "act", action: { kind: "react", messageId: "1", emoji: null } }],
  ]);
});

test("an answer quotes what an earlier delivery sent, goes into the thread that one opened, and says that it is late", async () => {
  const quoted = deliveryOf("a", [partOf(words("first"), { messageId: "8" })]);
  const opener = deliveryOf("o", [partOf(words("post"), { messageId: "7", extra: { thread: "t7" } })]);
  const find = async ({ id }: { readonly id?: string }) => [quoted, opener].filter((each) => each.id === id);
  const plan = async (content: object, nowMs = 0) => {
    const delivery = deliveryOf("b", [
      partOf({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: "hi" }], ...content } as Content),
    ]);
    const found = await plannedParts({ render: channelRender, outbox: { find } }, chat, delivery, nowMs);
    return "impossible" in found ? found : found.split;
  };
  const said = (more: object = {}, text = "hi") => ({
    v: 1,
    kind: "rendered",
    part: { kind: "text", text, entities: [], plain: text, ...more },
  });
  expect([
    await plan({ replyTo: { delivery: "a" } }),
    await plan({ replyTo: { delivery: "gone" } }),
    await plan({ replyTo: "5", inThreadOf: "o" }),
    await plan({ inThreadOf: "a" }),
    await plan({ kind: "preview", markdown: "so far", replyTo: "6" }),
    await plan({}, 900_000),
    await plan({}, 900_001),
  ]).toEqual([
    [said({ replyTo: "8" })],
    [said()],
    [{ ...said({ replyTo: "5" }), thread: "t7" }],
    { impossible: "a opened no thread" },
    [said({ replyTo: "6" }, "so far")],
    [said()],
    [said({}, "(delayed by 15 min)\n\nhi")],
  ]);
});
