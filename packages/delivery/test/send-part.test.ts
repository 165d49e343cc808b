// The platform calls of one part: what is edited, what is written anew in place of a refused edit, and what
// the caller gets back.
import { loopback, type Channel } from "@parley/channels";
import { Fault, formatContent, type Address, type Content, type Receipt } from "@parley/protocol";
import type { PartView } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { partSender } from "../src/send-part.ts";

const to: Address = { channel: "loopback", account: "default", kind: "dm", peer: "7" };
const { capabilities } = loopback({ account: "default", clock: virtualClock() });
const buttons = [[{ label: "Yes", value: "~y" }]];
const words = (more: object = {}): Content => ({
  v: 1,
  kind: "rendered",
  part: { kind: "text", text: "<b>hi</b>", entities: [], plain: "hi", ...more },
});

async function sending(
  content: Content,
  {
    into = null,
    lateMs = 0,
    how = {},
    channel: own = {},
    fails = [],
    acts = true,
  }: {
    readonly into?: Receipt | null;
    readonly lateMs?: number;
    readonly how?: object;
    readonly channel?: object;
    /** What each call answers, in order; undefined for success. */
    readonly fails?: readonly (Fault | undefined)[];
    readonly acts?: boolean;
  } = {},
) {
  const calls: unknown[] = [];
  const errors = [...fails];
  const answer = async (call: unknown, receipt: unknown) => {
    calls.push(call);
    const error = errors.shift();
    if (error !== undefined) throw error;
    return receipt;
  };
  const channel = {
    name: "loopback",
    account: "default",
    capabilities: { ...capabilities, textChars: 100, captionChars: 10 },
    send: (
      at: Address,
      part: { readonly plain?: string; readonly buttons?: unknown },
      { replaces }: { readonly replaces?: string },
    ) =>
      answer(
        [
          "send",
          part.plain,
          ...(at.thread === undefined ? [] : [at.thread]),
          ...(part.buttons === undefined ? [] : [part.buttons]),
          ...(replaces === undefined ? [] : [replaces]),
        ],
        { messageId: "new" },
      ),
    ...(acts
      ? {
          act: (at: Address, action: { readonly kind: string }) =>
            answer(
              ["act", action, ...(at.thread === undefined ? [] : [at.thread])],
              action.kind === "react" ? null : { messageId: "acted" },
            ),
        }
      : {}),
    settle: async (events: readonly string[]) => void calls.push(["settle", ...events]),
    ...own,
  } as unknown as Channel;
  const view = {
    content: formatContent(content),
    intoReceipt: into === null ? null : JSON.stringify(into),
  } as PartView;
  const sender = partSender();
  const result = await sender
    .send(channel, to, view, {
      lateMs,
      beforeAnew: async () => void calls.push("before anew"),
      idempotencyKey: "d/0",
      signal: new AbortController().signal,
      ...how,
    })
    .catch(
      (error: Fault) => `${error.code}: ${error.message}${sender.mayRepeat(error) ? "" : " (not again)"}`,
    );
  return { calls, result };
}

const preview = { messageId: "p1" };
const edit = (more: object = {}) => ({
  kind: "edit",
  messageId: "p1",
  text: { text: "<b>hi</b>", entities: [], plain: "hi" },
  ...more,
});

test("an answer takes the place of its preview, with its buttons, and has the preview's receipt", async () => {
  expect(await sending(words({ buttons }), { into: preview, lateMs: 900_001 })).toEqual({
    calls: [["act", edit({ buttons })]],
    result: preview,
  });
  expect(await sending(words(), { into: preview })).toEqual({ calls: [["act", edit()]], result: preview });
  // Where nothing can be edited, the channel is told what the message replaces.
  expect(await sending(words(), { into: preview, acts: false })).toEqual({
    calls: [["send", "hi", "p1"]],
    result: { messageId: "new" },
  });
});

test.each(["invalid", "unsupported", "denied", "missing"] as const)(
  "an edit that is refused as %s becomes a new message, and the preview goes",
  async (code) => {
    const done = {
      calls: [["act", edit()], "before anew", ["send", "hi"], ["act", { kind: "remove", messageId: "p1" }]],
      result: { messageId: "new" },
    };
    const refused = new Fault(code, "no");
    expect(await sending(words(), { into: preview, fails: [refused] })).toEqual(done);
    // A preview that cannot be removed is no reason to say it again.
    const unremoved = [refused, undefined, new Fault("unavailable", "down")];
    expect(await sending(words(), { into: preview, fails: unremoved })).toEqual(done);
  },
);

test("an edit of unknown outcome may be tried again, a message in its place may not, except where keys count", async () => {
  const [lost, refused] = [new Fault("ambiguous", "lost"), new Fault("missing", "gone")];
  expect(await sending(words(), { into: preview, fails: [lost] })).toEqual({
    calls: [["act", edit()]],
    result: "ambiguous: lost",
  });
  const anew = { calls: [["act", edit()], "before anew", ["send", "hi"]] };
  const channel = (idempotentSends: boolean) => ({ capabilities: { ...capabilities, idempotentSends } });
  const twice = { into: preview, fails: [refused, new Fault("ambiguous", "lost")] };
  expect(await sending(words(), { ...twice, channel: channel(false) })).toEqual({
    ...anew,
    result: "ambiguous: lost (not again)",
  });
  expect(
    await sending(words(), {
      ...twice,
      fails: [refused, new Fault("ambiguous", "lost")],
      channel: channel(true),
    }),
  ).toEqual({ ...anew, result: "ambiguous: lost" });
  expect(
    await sending(words(), {
      into: preview,
      fails: [refused, new Fault("unavailable", "down")],
      channel: channel(false),
    }),
  ).toEqual({ ...anew, result: "unavailable: down" });
});

test("a late message says so where it is new text and has room, and never beside a file", async () => {
  const late = async (content: Content, lateMs = 900_001) => (await sending(content, { lateMs })).calls;
  expect([
    await late(words()),
    await late(words(), 0),
    // Its limit is the one of a text, not of a caption.
    await late(words({ text: "x".repeat(79), plain: "x".repeat(79) })),
    await late(words({ text: "x".repeat(80), plain: "x".repeat(80) })),
    await late({ v: 1, kind: "rendered", part: { kind: "voice", file: {} } } as never),
  ]).toEqual([
    [["send", "(delayed by 15 min)\n\nhi"]],
    [["send", "hi"]],
    [["send", `(delayed by 15 min)\n\n${"x".repeat(79)}`]],
    [["send", "x".repeat(80)]],
    [["send", undefined]],
  ]);
});

test("a removal takes the message away and settles what it answered; without a message it settles alone", async () => {
  const remove: Content = { v: 1, kind: "remove" };
  const how = { answers: ["row"] };
  expect(await sending(remove, { into: preview, how })).toEqual({
    calls: [
      ["act", { kind: "remove", messageId: "p1" }],
      ["settle", "row"],
    ],
    result: preview,
  });
  expect(await sending(remove, { how })).toEqual({ calls: [["settle", "row"]], result: { messageId: "" } });
  expect(await sending(remove, { into: preview, acts: false })).toEqual({ calls: [], result: preview });
});

test("an action has a receipt where it leaves a message or a thread, in the thread that it was done in", async () => {
  const act = (action: object, more: object = {}): Content =>
    ({ v: 1, kind: "act", action, ...more }) as never;
  const react = { kind: "react", messageId: "5", emoji: "👍" };
  const thread = { kind: "createThread", title: "Tea" };
  const change = { kind: "edit", messageId: "5", text: { text: "x", entities: [], plain: "x" }, buttons };
  expect([
    await sending(act(react, { thread: "t" })),
    await sending(act(change, { thread: "t" })),
    await sending(act(change)),
    await sending(act(thread, { thread: "t" })),
    await sending(act({ kind: "pin", messageId: "5", pinned: true })),
  ]).toEqual([
    { calls: [["act", react, "t"]], result: { messageId: "" } },
    { calls: [["act", change, "t"]], result: { messageId: "acted", extra: { thread: "t" } } },
    { calls: [["act", change]], result: { messageId: "acted" } },
    { calls: [["act", thread, "t"]], result: { messageId: "acted" } },
    { calls: [["act", { kind: "pin", messageId: "5", pinned: true }]], result: { messageId: "" } },
  ]);
  // A channel without actions takes a new text as a message in the other's place.
  expect([await sending(act(change), { acts: false }), await sending(act(react), { acts: false })]).toEqual([
    { calls: [["send", "x", buttons, "5"]], result: { messageId: "new" } },
    { calls: [], result: "unsupported: loopback cannot do this: react" },
  ]);
});

test("the first message of a post is there already, and what was not split is never sent", async () => {
  const follows = { messageId: "opened", extra: { opened: true } };
  expect(await sending(words(), { how: { follows } })).toEqual({
    calls: [],
    result: { messageId: "opened" },
  });
  expect(
    (await sending(words(), { how: { follows: { messageId: "m", extra: { opened: false } } } })).calls,
  ).toEqual([["send", "hi"]]);
  const meant: Content = { v: 1, kind: "reply", parts: [] };
  expect(await sending(meant)).toEqual({ calls: [], result: "invalid: a part was sent before it was split" });
});
