// The receiving side as it is put together: what of the config each account and person is asked by, and what
// an event opens again. The store is real.
import { botLoops } from "@parley/access";
import type { Config } from "@parley/config";
import { Fault, parseRowPayload, silentLog, type ChannelEvent, type Inbound } from "@parley/protocol";
import { directMessage, groupMessage, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { beginAnew } from "../../src/receive/reset-policy.ts";
import { intake } from "../../src/receive/intake.ts";
import { loaded } from "./loaded.ts";
import { memoryStore } from "./store.ts";

async function receiving(file: string) {
  const config: Config = await loaded(file);
  const clock = virtualClock({ startMs: Date.UTC(2026, 0, 2, 12) });
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const did: unknown[] = [];
  let isAway = false;
  const inbox = {
    ...store.inbox,
    accept: (rows: Parameters<typeof store.inbox.accept>[0]) => {
      if (isAway) throw new Fault("unavailable", "the store is away");
      return store.inbox.accept(rows);
    },
  };
  const receive = intake({
    config,
    store: { ...store, inbox } as never,
    channel: () => null,
    policy: () => ({
      dmPolicy: "open",
      allowFrom: ["*"],
      allowBots: true,
      rules: () => ({ policy: "open", served: true, enabled: true, senders: null, requireMention: true }),
    }),
    isOwner: async ({ sender }) => sender.id === "1",
    pairing: { isPaired: async () => false, ask: async () => ({ kind: "full" }) },
    botLoops: botLoops(clock),
    route: ({ address: { channel, kind, peer } }) => ({
      agent: "main",
      session: `agent:main:${channel}:${kind}:${peer}` as never,
    }),
    runPastLane: async ({ name }) => `did ${name}`,
    skillCalled: async () => null,
    questionHere: async () => null,
    modelNamed: () => null,
    stopTurn: (turn) => did.push(`stops ${turn}`),
    closed: {
      open: async (from) =>
        void did.push(["opens", ...[...from].map(({ channel, peer }) => `${channel} ${peer}`)]),
    },
    heard: {
      beginAnew: async (key, by) => {
        did.push(`begins ${key} anew: ${by}`);
        return { session: await beginAnew(store.sessions, key, clock.now()), previous: null as never };
      },
      command: (name) => did.push(`command ${name}`),
      received: (_session, { text }) => did.push(`heard ${text}`),
    },
    refusals: { note: (reason) => did.push(reason) },
    bootAtMs: clock.now(),
    clock,
    log: silentLog,
  });
  const rows = async () =>
    (await store.inbox.find({ dismissed: true, limit: 50 })).toReversed().map((row) => ({
      lane: row.lane,
      authority: row.authority,
      text: row.payload === "" ? row.reason : parseRowPayload(row.payload).inbound.text,
      outcome: row.outcome,
    }));
  return { clock, store, did, receive, rows, away: () => void (isAway = true) };
}

const on = (account: string, more: Partial<Inbound> = {}): Inbound => ({
  ...directMessage({ address: { account }, sender: { id: "5" }, atMs: Date.UTC(2026, 0, 2, 12), ...more }),
  account,
});

test("each account says itself which reactions the agent is told of", async () => {
  const { receive, rows } = await receiving(`{ channels: { telegram: { accounts: {
    default: { botToken: "1:x", reactionNotifications: "off" },
    work: { botToken: "2:x", reactionNotifications: "all" },
    home: { botToken: "3:x" },
  } } } }`);
  const reacted = (account: string): Inbound =>
    on(account, { kind: "reaction", text: "reacted 👍", replyTo: { messageId: "9", toBot: false } });
  await receive([reacted("default"), reacted("work"), reacted("home")]);
  expect((await rows()).map(({ text }) => text)).toEqual([
    "reactions are not told (reactionNotifications: off)",
    "reacted 👍 to message 9",
    "a reaction to a message that is not mine (reactionNotifications: own)",
  ]);
});

test("whoever has tool rules of their own has rights of their own; limits and history are the config's", async () => {
  const { receive, rows, did } = await receiving(`{
    tools: { toolsBySender: { "telegram:6": { deny: ["exec"] } } },
    limits: { person: { messagesPerMinute: 1 } },
    messages: { groupChat: { historyLimit: 0 } },
  }`);
  const by = (id: string, text: string) => on("default", { sender: { id, name: id, isBot: false }, text });
  await receive([
    by("1", "owner"),
    by("5", "member"),
    by("6", "ruled"),
    by("5", "one more"),
    by("1", "owner again"),
    by("5", "/help"),
    groupMessage({ sender: { id: "8" }, text: "to nobody" }),
  ]);
  expect(await rows()).toMatchObject([
    { text: "owner", authority: "owner" },
    { text: "member", authority: "member" },
    { text: "ruled", authority: expect.stringMatching(/^member:[0-9a-f]{16}$/) },
    { text: "more than limits.person lets in: 1 a minute", authority: "none", outcome: "refused" },
    { text: "owner again", authority: "owner" },
    { text: "/help", authority: "member", outcome: "commanded" },
    { text: "to nobody", authority: "none", outcome: "context" },
  ]);
  expect(did).toEqual([
    "person_limit",
    "heard owner",
    "heard member",
    "heard ruled",
    "heard owner again",
    "command help",
    "heard to nobody",
    ["opens", ...["1", "5", "6", "5", "1", "5"].map((id) => `telegram ${id}`), "telegram -100"],
  ]);
});

test("a bot that goes on and on is cut, over batches, and nobody else", async () => {
  const { receive, did, clock } = await receiving("{}");
  const bot = (n: number) =>
    on("default", { text: `beep ${n}`, sender: { id: "9", name: "bot", isBot: true }, atMs: clock.now() });
  for (let n = 0; n < 21; n += 1) await receive([bot(n)]);
  await receive([on("default", { text: "hello" })]);
  expect(did.filter((each) => typeof each === "string").slice(19)).toEqual([
    "heard beep 19",
    "bot_loop",
    "heard hello",
  ]);
});

test("a day of the config's zone ends a conversation, by the first message after it", async () => {
  const { receive, did, clock, store } = await receiving(`{
    session: { reset: { mode: "daily", atHour: 4 } },
    agents: { defaults: { userTimezone: "Etc/GMT-6" } },
  }`);
  const say = async (text: string) => {
    await receive([on("default", { text, atMs: clock.now() })]);
    const turn = await store.turns.take({ pool: "main", holder: "boot", leaseMs: 60_000, maxRows: 9 });
    if ("idle" in turn) throw new Error("there is one");
    await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
    return did.splice(0).filter((each) => typeof each === "string");
  };
  expect(await say("at 18:00")).toEqual(["heard at 18:00"]);
  await clock.advance(10 * 3_600_000 - 1);
  expect(await say("at 3:59")).toEqual(["heard at 3:59"]);
  await clock.advance(1);
  expect(await say("at 4:00")).toEqual(["begins agent:main:telegram:dm:5 anew: daily", "heard at 4:00"]);
  expect(await say("right after")).toEqual(["heard right after"]);
});

test("chats that sent something are open again, once it is kept; a webhook's call opens no chat that it is answered in", async () => {
  const { receive, did, away } = await receiving("{}");
  const call: Inbound = {
    ...on("default", { text: "built" }),
    channel: "hook",
    sender: { id: "main/ci", name: "ci", isBot: false },
  };
  const deletion = {
    kind: "deletion",
    id: "d",
    channel: "telegram",
    account: "default",
    messages: [],
  } as const;
  const events: readonly ChannelEvent[] = [
    on("default", { text: "hi" }),
    call,
    deletion,
    groupMessage({ text: "to nobody", sender: { id: "8" } }),
  ];
  await receive(events);
  expect(did.splice(0)).toEqual(["heard hi", "heard to nobody", ["opens", "telegram 5", "telegram -100"]]);
  away();
  await expect(receive([on("default", { text: "lost" })])).rejects.toThrow("away");
  expect(did).toEqual([]);
});
