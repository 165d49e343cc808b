// What a message path tells its hooks, event by event, and what comes of what they say. One hook hears
// everything; the store is real.
import {
  conversationKey,
  Fault,
  formatContent,
  silentLog,
  type HookEvent,
  type SessionKey,
} from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { hookMemory } from "../../src/hooks/hook-runner.ts";
import { pathHooks } from "../../src/message-path/path-hooks.ts";
import { memoryStore } from "../receive/store.ts";

const key = "agent:tea:main" as SessionKey;

async function stage(
  says: (event: HookEvent) => readonly string[] = () => [],
  hooked = true,
  route: () => object = () => ({ agent: "tea", session: key }),
) {
  const clock = virtualClock({ startMs: 50_000 });
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const heard: HookEvent[] = [];
  const lines: unknown[] = [];
  const posted: unknown[] = [];
  let isAway = false;
  let lateMs = 0;
  const hook = { name: "all", key: "all", source: "managed", handler: "/h", timeoutMs: null, agent: null };
  const hooks = pathHooks(
    {
      config: {
        agents: {
          list: [
            { id: "main", workspace: "/w/main" },
            { id: "tea", workspace: "/w/tea" },
          ],
        },
        hooks: {},
      } as never,
      ...(hooked
        ? {
            hookParts: {
              registry: { hearing: async () => [hook], envOf: () => ({}), settingsOf: () => ({}) } as never,
              processes: {
                async call(_hook: unknown, _env: unknown, event: HookEvent) {
                  const { cfg: _config, ...context } = event.context;
                  heard.push({ ...event, context });
                  if (lateMs > 0) await new Promise<void>((resolve) => void clock.after(lateMs, resolve));
                  return { messages: says(event), context: event.context };
                },
              } as never,
              counted: () => {},
              home: "/h",
            },
          }
        : {}),
      kept: { hooks: hookMemory() },
      redaction: {} as never,
      bootId: "boot",
      clock,
      log: {
        ...silentLog,
        child: () => ({ ...silentLog, warn: (fields: object, words: string) => lines.push([words, fields]) }),
      } as never,
    },
    {
      ...store,
      outbox: {
        ...store.outbox,
        post: async (deliveries: readonly object[]) => {
          if (isAway) throw new Error("away");
          posted.push(...deliveries);
        },
      },
    } as never,
    {
      homeOf: async () => ({ place: null }),
      route: route as never,
    },
  );
  const told = async (): Promise<readonly HookEvent[]> => {
    await clock.advance(0);
    return heard.splice(0);
  };
  return {
    hooks,
    store,
    clock,
    told,
    posted,
    lines,
    away: () => void (isAway = true),
    late: (ms: number) => void (lateMs = ms),
  };
}

const inbound = directMessage({
  id: "e1",
  channel: "telegram",
  sender: { id: "5", name: "Eve", isBot: false },
});
const by = { commandSource: "telegram", senderId: "5", senderName: "Eve" };
const entry = (epoch: number, createdAtMs: number, updatedAtMs: number) => ({
  sessionKey: key,
  sessionId: `${key}#${epoch}`,
  epoch,
  createdAtMs,
  updatedAtMs,
});

test("a conversation that ended by a command is told with both sessions, and what hooks say is its answer", async () => {
  const { hooks, clock, told, posted } = await stage(() => ["saved", "well"]);
  const first = await hooks.beginAnew(key, "/new");
  expect(await told()).toEqual([]);
  await clock.advance(1_000);
  const second = await hooks.beginAnew(key, "/reset");
  expect([first.previous.epoch, first.session.epoch, second.previous.epoch, second.session.epoch]).toEqual([
    1, 2, 2, 3,
  ]);
  expect(await hooks.ended("new", key, inbound, second)).toEqual(["saved", "well"]);
  expect(await told()).toEqual([
    {
      type: "command",
      action: "new",
      sessionKey: key,
      id: "e1",
      context: {
        ...by,
        workspaceDir: "/w/tea",
        sessionEntry: entry(3, 50_000, second.session.updatedAtMs),
        previousSessionEntry: entry(2, 50_000, second.previous.updatedAtMs),
      },
    },
  ]);
  await hooks.reset(key, second);
  expect(await told()).toMatchObject([
    {
      type: "command",
      action: "reset",
      context: { commandSource: "control", sessionEntry: { epoch: 3 }, previousSessionEntry: { epoch: 2 } },
    },
  ]);
  expect(posted).toEqual([]);
});

test("one that ends by itself is told with its reason and both ids; one by a command is not", async () => {
  const { hooks, told } = await stage();
  await hooks.beginAnew(key, "daily");
  await hooks.beginAnew(key, "/new");
  await hooks.beginAnew(key, "idle");
  const reset = (reason: string, from: number) => ({
    type: "session",
    action: "auto-reset",
    sessionKey: key,
    context: {
      reason,
      sessionId: `${key}#${from}`,
      nextSessionId: `${key}#${from + 1}`,
      workspaceDir: "/w/tea",
    },
  });
  expect(await told()).toEqual([reset("daily", 1), reset("idle", 3)]);
});

test("other commands are told to nobody who waits; what is said to /stop comes as one message, once", async () => {
  const { hooks, told, posted, lines, away } = await stage(() => ["one", "two"]);
  hooks.command("status", key, inbound);
  const event = {
    type: "command",
    action: "status",
    sessionKey: key,
    id: "e1",
    context: { ...by, workspaceDir: "/w/tea" },
  };
  expect(await told()).toEqual([event]);
  expect(posted).toEqual([]);
  hooks.command("stop", "agent:gone:main" as SessionKey, { ...inbound, id: "e2" });
  expect(await told()).toEqual([
    {
      ...event,
      action: "stop",
      sessionKey: "agent:gone:main",
      id: "e2",
      context: { ...by, workspaceDir: undefined },
    },
  ]);
  expect(posted).toEqual([
    {
      id: "notice:hook:e2",
      pool: "telegram:default",
      lane: conversationKey(inbound.address),
      cause: "e2",
      parts: [
        {
          content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: "one\n\ntwo" }] }),
        },
      ],
    },
  ]);
  away();
  hooks.command("stop", key, { ...inbound, id: "e3" });
  await told();
  expect(lines).toEqual([["what hooks said was not sent", { rows: ["e3"], error: new Error("away") }]]);
});

test("what hooks say too late to be the answer comes as a message of its own", async () => {
  const { hooks, clock, posted, late, told } = await stage(() => ["late"]);
  const begun = await hooks.beginAnew(key, "/new");
  late(4_000);
  const answer = hooks.ended("new", key, inbound, begun);
  await clock.advance(10_000);
  expect(await answer).toEqual([]);
  await told();
  expect(posted).toMatchObject([{ id: "notice:hook:e1:late", cause: "e1" }]);
});

test("settings that changed, and words that came and went, are told with their place", async () => {
  const { hooks, store, told } = await stage();
  const session = await store.sessions.open(key);
  hooks.patched(session, { thinking: "high" });
  hooks.received(key, inbound);
  const to = { channel: "discord", account: "work", kind: "channel", peer: "7", thread: "8" } as const;
  const part = (content: object) => ({ content: formatContent({ v: 1, ...content } as never) });
  const text = (words: string) => ({ kind: "text", text: words, entities: [], plain: words });
  const delivery = {
    lane: conversationKey(to),
    parts: [
      part({
        kind: "reply",
        parts: [
          { kind: "text", markdown: "a" },
          { kind: "media", files: [] },
          { kind: "text", markdown: "b" },
        ],
      }),
      part({ kind: "rendered", part: text("c") }),
      part({ kind: "rendered", part: { kind: "media", files: [] } }),
      part({ kind: "remove" }),
    ],
  } as never;
  for (const index of [0, 1, 2, 3, 4]) hooks.sent(delivery, index, { messageId: `m${index}` });
  hooks.failed(delivery, "no right");
  hooks.sent(
    { lane: "telegram:default:dm:5", parts: [part({ kind: "rendered", part: text("d") })] } as never,
    0,
    {
      messageId: "m",
    },
  );
  const heard = await told();
  expect(heard[0]).toEqual({
    type: "session",
    action: "patch",
    sessionKey: key,
    context: { sessionEntry: entry(1, 50_000, session.updatedAtMs), patch: { thinking: "high" } },
  });
  expect(heard[1]).toMatchObject({ type: "message", action: "received", sessionKey: key });
  const at = {
    to: "7",
    channelId: "discord",
    accountId: "work",
    conversationId: "7",
    threadId: "8",
    isGroup: true,
  };
  const sent = (context: object) => ({ type: "message", action: "sent", sessionKey: key, context });
  expect(heard.slice(2)).toEqual([
    ...["a\nb", "c", "", "", ""].map((content, index) =>
      sent({ ...at, content, success: true, messageId: `m${index}` }),
    ),
    sent({ ...at, content: "a\nb\nc\n\n", success: false, error: "no right" }),
    sent({
      to: "5",
      channelId: "telegram",
      accountId: "default",
      conversationId: "5",
      threadId: undefined,
      isGroup: false,
      content: "d",
      success: true,
      messageId: "m",
    }),
  ]);
});

test("a process without hooks ends conversations all the same, and tells nobody", async () => {
  const { hooks, told } = await stage(() => ["said"], false);
  const begun = await hooks.beginAnew(key, "daily");
  expect(begun.session.epoch).toBe(2);
  expect(await hooks.ended("new", key, inbound, begun)).toEqual([]);
  hooks.sent({ lane: "no key", parts: [] } as never, 0, { messageId: "m" });
  expect([await told(), hooks.bootstrap]).toEqual([[], []]);
});

test("what went to a place in which no agent answers is told without a session; another failure to route is no such place", async () => {
  let why = new Fault("invalid", "no agent answers there");
  const { hooks, told } = await stage(
    () => [],
    true,
    () => {
      throw why;
    },
  );
  const content = formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: "hi" }] });
  const delivery = { lane: "discord:work:channel:55:9", parts: [{ content }, { content }] } as never;
  hooks.sent(delivery, 1, { messageId: "m7" } as never);
  hooks.failed(delivery, "no right");
  hooks.sent(delivery, 2, { messageId: "m8" } as never);
  const context = {
    to: "55",
    channelId: "discord",
    accountId: "work",
    conversationId: "55",
    threadId: "9",
    isGroup: true,
  };
  const event = { type: "message", action: "sent", sessionKey: "" };
  expect(await told()).toEqual([
    { ...event, context: { ...context, content: "hi", success: true, messageId: "m7" } },
    { ...event, context: { ...context, content: "hi\nhi", success: false, error: "no right" } },
    { ...event, context: { ...context, content: "", success: true, messageId: "m8" } },
  ]);
  why = new Fault("unavailable", "no store");
  expect(() => hooks.failed(delivery, "x")).toThrow("no store");
});
