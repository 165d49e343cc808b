// A program's request from its row to its answer: what is stored once, what an answer is made of, and when
// the wait for it ends.
import {
  conversationKey,
  type Fault,
  formatContent,
  formatRowPayload,
  noUsage,
  type ChannelEvent,
  type Content,
  type Inbound,
} from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { apiRequests, requestId } from "../../src/api/api-requests.ts";
import type { HookCall } from "../../src/api/hook-call.ts";

interface Row {
  readonly id: string;
  readonly payload: string;
  readonly state?: string;
  readonly turn?: string | null;
  readonly outcome?: string | null;
  readonly reason?: string | null;
  readonly conversation?: string;
}

function world() {
  const clock = virtualClock({ startMs: 1_700_000_000_000 });
  const rows = new Map<string, Row>();
  const turns = new Map<string, object>();
  /** By cause, the newest first. */
  const said = new Map<string, readonly object[]>();
  const received: Inbound[] = [];
  const looked: unknown[] = [];
  const woken: unknown[] = [];
  const sessions: string[] = [];
  const followed = new Map<string, { wake(): void; show(frame: string): void }>();
  let open = true;
  const requests = apiRequests({
    receive: async (events: readonly ChannelEvent[]) => {
      for (const event of events as readonly Inbound[]) {
        received.push(event);
        rows.set(event.id, {
          id: event.id,
          payload: formatRowPayload({ v: 1, inbound: event, owner: false }),
          state: "waiting",
          turn: null,
          conversation: conversationKey(event.address),
        });
      }
    },
    isOpen: () => open,
    inbox: {
      find: async (how) => {
        looked.push(how);
        const { id = "" } = how;
        return (rows.has(id) ? [rows.get(id)] : []) as never;
      },
    },
    turns: { find: async (id: string) => (turns.get(id) ?? null) as never },
    outbox: {
      find: async (how) => {
        looked.push(how);
        return (said.get(how.cause ?? "") ?? []) as never;
      },
    },
    hub: {
      follow: (stream: string, follower: { wake(): void; show(frame: string): void }) => {
        followed.set(stream, follower);
        return () => void followed.delete(stream);
      },
    } as never,
    wake: (async (...call: readonly unknown[]) => void woken.push(call)) as never,
    sessions: {
      open: async (lane: string) => (sessions.push(`open ${lane}`), { lastSeq: 3 }),
      reset: async (lane: string) => (sessions.push(`reset ${lane}`), { epoch: 2, fields: {} }),
      trim: async () => 0,
      patch: async (lane: string, patch: object) =>
        void sessions.push(`patch ${lane} ${Object.keys(patch).join()}`),
    } as never,
    hookRetentionMs: () => 1_000,
    clock,
  });
  const change = (id: string, more: Partial<Row>) => rows.set(id, { ...(rows.get(id) as Row), ...more });
  return {
    clock,
    rows,
    turns,
    said,
    received,
    looked,
    woken,
    sessions,
    followed,
    requests,
    change,
    shut: () => (open = false),
  };
}

const delivery = (...contents: readonly Content[]) => ({
  parts: contents.map((content) => ({ content: formatContent(content) })),
});
const rendered = (text: string): Content =>
  ({ v: 1, kind: "rendered", part: { kind: "text", text, entities: [], plain: text } }) as Content;
const who = { agent: "main", client: "web-1", user: "eve", guest: true };

test("a program's words are stored once under its key; other words under it are refused, and a scrubbed row is known still", async () => {
  const { requests, received, rows, change } = world();
  const id = "api:default:web-1:k1";
  expect(requestId("hook", "ci:1")).toBe("hook:default:ci:1");
  expect(await requests.ask(who, "k1", "hi")).toEqual({ id, duplicate: false });
  expect(await requests.ask(who, "k1", "hi")).toEqual({ id, duplicate: true });
  await expect(requests.ask(who, "k1", "ho")).rejects.toMatchObject({ code: "conflict" });
  // Another user of the same program, or another agent, is handed nobody's answer.
  for (const other of [{ user: "bob" }, { agent: "home" }])
    await expect(requests.ask({ ...who, ...other }, "k1", "hi")).rejects.toMatchObject({ code: "conflict" });
  expect(await requests.ask({ ...who, client: "web-2", guest: false }, "k1", "ho")).toMatchObject({
    id: "api:default:web-2:k1",
    duplicate: false,
  });
  expect(received).toEqual([
    {
      id,
      channel: "api",
      account: "default",
      address: { channel: "api", account: "default", kind: "dm", peer: "main/web-1/eve" },
      sender: { id: "web-1", name: "eve", isBot: false, roles: ["guest"] },
      messageId: "web-1:k1",
      kind: "message",
      text: "hi",
      attachments: [],
      mentions: [],
      addressed: true,
      atMs: 1_700_000_000_000,
    },
    expect.objectContaining({ sender: { id: "web-2", name: "eve", isBot: false } }),
  ]);
  // Its words were forgotten: what it said cannot be compared, and is nothing new.
  change(id, { payload: "" });
  expect(await requests.ask(who, "k1", "other")).toEqual({ id, duplicate: true });
  expect([received.length, rows.size]).toEqual([3, 2]);
});

test("a webhook's call speaks as its webhook, to its own conversation or where the config sends it", async () => {
  const { requests, received } = world();
  const call = { name: "ci", agent: "main", delivery: "d1", text: "built" };
  const deliver = { channel: "telegram", account: "default", kind: "dm", peer: "7" } as const;
  expect(await requests.call(call)).toEqual({ id: "hook:default:ci:d1", duplicate: false });
  await requests.call({ ...call, delivery: "d2", text: "built again", deliver });
  const own = { channel: "hook", account: "default", kind: "dm", peer: "main/ci" };
  const said = (delivery: string, address: object, text: string) => ({
    id: `hook:default:ci:${delivery}`,
    channel: "hook",
    account: "default",
    address,
    sender: { id: "main/ci", name: "webhook ci", isBot: false },
    messageId: `ci:${delivery}`,
    kind: "message",
    text,
    attachments: [],
    mentions: [],
    addressed: true,
    atMs: 1_700_000_000_000,
  });
  expect(received).toEqual([said("d1", own, "built"), said("d2", deliver, "built again")]);
  // The config sends its answers elsewhere since: a repeat stays one.
  expect(await requests.call({ ...call, deliver })).toMatchObject({ duplicate: true });
  await expect(requests.call({ ...call, text: "other" })).rejects.toMatchObject({
    code: "conflict",
    message: "this key was used with another message; take a new key for a new message",
  });
});

test("a row that is made already begins its own session, wakes its agent once, and a gateway that ends takes none", async () => {
  const { requests, woken, sessions, rows, received, shut } = world();
  const row = (id: string, text: string) =>
    ({
      id,
      lane: "agent:main:hook:ci",
      payload: formatRowPayload({
        v: 1,
        inbound: { ...directMessage({ text }), id, messageId: id },
        owner: false,
      }),
    }) as never;
  const call = (id: string, own: boolean, text = "x"): HookCall => ({
    row: row(id, text),
    agent: "main",
    mode: "next-heartbeat",
    own,
    wait: false,
  });
  expect(await requests.tell(call("a", true))).toEqual({ id: "a", duplicate: false });
  expect(woken).toEqual([[row("a", "x"), "main", "next-heartbeat"]]);
  expect(sessions.splice(0).map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
    "open agent:main:hook:ci",
    "reset agent:main:hook:ci",
    "patch agent:main:hook:ci",
  ]);
  expect(await requests.tell(call("b", false))).toEqual({ id: "b", duplicate: false });
  rows.set("a", row("a", "x"));
  expect(await requests.tell(call("a", true))).toEqual({ id: "a", duplicate: true });
  for (const other of [call("a", true, "y"), { ...call("a", true), agent: "home" }])
    await expect(requests.tell(other)).rejects.toMatchObject({ code: "conflict" });
  expect([sessions, woken.length]).toEqual([[], 2]);
  shut();
  for (const late of [requests.tell(call("c", true)), requests.ask(who, "k", "hi")])
    await expect(late).rejects.toMatchObject({ code: "unavailable", retryAfterMs: 2_000 });
  expect([sessions, woken.length, received]).toEqual([[], 2, []]);
});

test("an answer is all that was said, oldest first, of the row and then of its turn, with what its turn used", async () => {
  const { requests, change, said, turns, followed, looked } = world();
  const { id } = await requests.ask(who, "k", "hi");
  const usage = (inputTokens: number) => ({ ...noUsage, inputTokens });
  turns.set("t1", {
    state: "ended",
    entries: [
      { type: "assistant", usage: usage(3) },
      { type: "user", usage: usage(100) },
      { type: "assistant", usage: usage(4) },
    ].map((entry) => ({ body: JSON.stringify(entry) })),
  });
  said.set("t1", [
    delivery({
      v: 1,
      kind: "reply",
      parts: [
        { kind: "text", markdown: "**last**" },
        { kind: "card", title: "Card", markdown: "inside" },
        { kind: "poll", question: "?", options: ["a", "b"], multiple: false, anonymous: false },
      ],
    } as Content),
    delivery(
      rendered("first"),
      { v: 1, kind: "rendered", part: { kind: "media" } } as never,
      rendered("second"),
    ),
    delivery({ v: 1, kind: "remove" }),
  ]);
  said.set(id, [delivery(rendered("notice"))]);
  change(id, { state: "ended", turn: "t1", outcome: "answered", reason: "because" });
  looked.length = 0;
  const answer = await requests.answer(id, new AbortController().signal);
  // What an operator took off a list is known still, and fifty deliveries of each are read.
  expect(looked).toEqual([
    { id, dismissed: true, limit: 1 },
    { id, dismissed: true, limit: 1 },
    { cause: id, limit: 50 },
    { cause: "t1", limit: 50 },
  ]);
  expect(answer).toEqual({
    outcome: "answered",
    text: ["first", "second", "**last**", "**Card**\n\ninside", "notice"].join("\n\n"),
    reason: "because",
    usage: usage(7),
  });
  change(id, { turn: null, outcome: null, reason: null });
  expect(await requests.answer(id, new AbortController().signal)).toEqual({
    outcome: "silent",
    text: "notice",
    reason: null,
    usage: noUsage,
  });
  expect(followed.size).toBe(0);
});

test("the wait for an answer ends with it, within a quarter of a second also without a word, and follows nobody any more", async () => {
  const { requests, change, clock, followed, turns, rows } = world();
  const { id } = await requests.ask(who, "k", "hi");
  const ends = async (begin: () => void | Promise<void>, signal = new AbortController().signal) => {
    const waiting = requests.answer(id, signal).then(
      ({ outcome }) => outcome as string,
      (error: Fault) => `${error.code}: ${error.message}`,
    );
    await clock.advance(0);
    await begin();
    const end = await waiting;
    expect([followed.size, clock.armed()]).toEqual([0, 0]);
    return end;
  };
  expect(
    await ends(async () => {
      change(id, { state: "ended", outcome: "answered" });
      await clock.advance(250);
    }),
  ).toBe("answered");
  change(id, { state: "waiting", outcome: null });
  expect(
    await ends(() => {
      change(id, { state: "ended", outcome: "stopped" });
      for (const follower of followed.values()) follower.wake();
    }),
  ).toBe("stopped");
  change(id, { state: "claimed", turn: "t1", outcome: null });
  turns.set("t1", { state: "running" });
  expect(
    await ends(() => {
      turns.set("t1", { state: "parked" });
      for (const follower of followed.values()) follower.show("{}");
    }),
  ).toBe("conflict: the agent waits for an approval; ask again under the same key once it is given");
  turns.set("t1", { state: "running" });
  const left = new AbortController();
  expect(await ends(() => left.abort(), left.signal)).toBe("aborted: nobody waits for the answer any more");
  expect(
    await ends(async () => {
      rows.delete(id);
      await clock.advance(250);
    }),
  ).toBe(`missing: nothing is known of ${id} any more`);
  expect(await ends(() => {})).toBe(`missing: nothing is known of ${id} any more`);
});

test("a stream hears the text of its own user's turns, and nothing else of what is shown there", () => {
  const { requests, followed } = world();
  const heard: string[] = [];
  const stop = requests.watch(who, (text) => heard.push(text));
  const [[stream, follower] = ["", { wake() {}, show() {} }]] = followed;
  expect(stream).toBe("api:default:dm:main%2Fweb-1%2Feve");
  const show = (event: string, payload: object) => follower.show(JSON.stringify({ event, payload }));
  show("chat.delta", { text: "On" });
  show("chat.delta", {});
  show("chat.message", { text: "no" });
  show("chat.delta", { text: "" });
  follower.wake();
  stop();
  expect([heard, followed.size]).toEqual([["On", ""], 0]);
});

test("a call in its own session begins it anew, and what calls before it left goes after its time, with a record of it", async () => {
  const nowMs = 1_700_000_000_000;
  const did: unknown[] = [];
  const left = (lastSeq: number, entries: number) =>
    apiRequests({
      isOpen: () => true,
      inbox: { find: async () => [] },
      wake: async () => void did.push("wake"),
      sessions: {
        open: async (lane: string) => (did.push(["open", lane]), { lastSeq }),
        reset: async (lane: string) => (did.push(["reset", lane]), { epoch: 9, fields: {} }),
        trim: async (...what: readonly unknown[]) => (did.push(["trim", ...what]), entries),
        patch: async (...what: readonly unknown[]) => void did.push(["patch", ...what]),
      },
      hookRetentionMs: () => 0,
      clock: virtualClock({ startMs: nowMs }),
    } as never);
  const payload = formatRowPayload({ v: 1, inbound: directMessage({ text: "x" }), owner: false });
  const row = { id: "a", lane: "agent:main:hook:ci", payload } as never;
  const call: HookCall = { row, agent: "main", mode: "now", own: true, wait: false };
  await left(0, 0).tell(call);
  expect(did.splice(0)).toEqual([["open", "agent:main:hook:ci"], "wake"]);
  await left(3, 5).tell(call);
  const [open, reset, trim, patch, wake] = did.splice(0) as unknown[][];
  expect([open, reset, trim, wake]).toEqual([
    ["open", "agent:main:hook:ci"],
    ["reset", "agent:main:hook:ci"],
    ["trim", "agent:main:hook:ci", 9],
    "wake",
  ]);
  expect(patch?.slice(0, 2)).toEqual(["patch", "agent:main:hook:ci"]);
  expect(patch?.[2]).toMatchObject({ forgotten: { atMs: nowMs, entries: 5 } });
  await left(3, 0).tell(call);
  expect(did.find((each) => Array.isArray(each) && each[0] === "patch")).not.toHaveProperty("2.forgotten");
});
