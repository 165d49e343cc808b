// Asking for approvals and deciding about them: who may, once, until when, where the cards are shown and
// settled, and what a start, a stop and a new conversation make of open requests.
import {
  parseContent,
  parseRowPayload,
  silentLog,
  type Address,
  type ConversationKey,
  type SessionKey,
} from "@parley/protocol";
import type { NewDelivery, NewRow, SqliteStore } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createApprovals, type Approvals } from "../src/approvals/approvals.ts";
import type { Approval } from "../src/approvals/approval.ts";
import { memoryStore } from "./store.ts";

const minuteMs = 60_000;
const dm = (peer: string): Address => ({ channel: "telegram", account: "default", kind: "dm", peer });
const session = "agent:main:telegram:dm:7" as SessionKey;

let clock: VirtualClock;
let store: SqliteStore;
let approvals: Approvals;
let again: () => Approvals;
let cards: string[];
let woken: NewRow[];
let logged: string[];
let people: string[];
let epoch: number;
let parked: object | null;
let movedTo: (session: string, from: Address) => Address | null;
let refused: unknown[];

beforeEach(async () => {
  clock = virtualClock();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
  [cards, woken, logged, refused] = [[], [], [], []];
  people = ["telegram:1", "telegram:2"];
  epoch = 1;
  parked = null;
  movedTo = (_session, from) => from;
  const log = (level: string) => (fields: unknown, message: string) =>
    void logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
  again = () =>
    createApprovals({
      approvers: null,
      owners: async () => people,
      target: "dm",
      accounts: () => [{ channel: "telegram", account: "default" }],
      cells: store.cells,
      inbox: { accept: async (rows: readonly NewRow[]) => void woken.push(...rows) },
      outbox: {
        post: async (deliveries: readonly NewDelivery[]) => {
          for (const { lane, parts } of deliveries) {
            const content = parseContent(parts.at(-1)?.content ?? "");
            const words =
              content.kind === "reply"
                ? content.parts.map((part) => (part.kind === "text" ? part.markdown : "")).join(" ")
                : JSON.stringify(content);
            cards.push(`${lane.split(":").at(-1)}: ${words}`);
          }
        },
      },
      sessions: { open: async () => ({ epoch }) },
      turns: { find: async () => parked },
      placeOf: (of: string, from: Address) => movedTo(of, from),
      refusals: { note: (...what: unknown[]) => void refused.push(what) },
      clock,
      log: { ...silentLog, info: log("info"), warn: log("warn") },
    } as never);
  approvals = again();
});

const request = (more: Partial<Approval> = {}): Approval => ({
  v: 1,
  id: "abcdefghjk",
  session,
  epoch: 1,
  agent: "main",
  turn: `${session}#1`,
  callId: "c1",
  conversation: "telegram:default:dm:7" as ConversationKey,
  authority: "member",
  owner: false,
  askedBy: ["telegram:7"],
  names: { "telegram:7": "Olga" },
  tool: "exec",
  args: { command: "ls" },
  hash: "h",
  shown: "run: ls",
  reason: "ls is not allowed",
  grant: { argv: ["ls"], cwd: "/w", sandbox: "off", files: [], outside: [] },
  approvers: [...people],
  createdAtMs: clock.now(),
  expiresAtMs: clock.now() + 30 * minuteMs,
  state: "open",
  log: [{ atMs: clock.now(), what: "asked", by: "t" }],
  ...more,
});
const ask = (more: Partial<Approval> = {}, closing: () => Promise<string | null> = async () => null) =>
  approvals.ask(request(more), closing);
const by = (person: string) => ({ person });
const stateOf = async (id = "abcdefghjk"): Promise<string | undefined> =>
  (await approvals.book.get(id))?.approval.state;
const settled = (): readonly string[] => cards.splice(0).map((card) => card.replace(/\s+/g, " "));

test("a request goes to each approver, and who asked is told that it went elsewhere; asked again it is the same", async () => {
  let closed = 0;
  const closing = async () => ((closed += 1), "preview");
  await ask({}, closing);
  expect([settled().map((card) => card.split(":")[0]), closed]).toEqual([["7", "1", "2"], 1]);
  expect(logged).toEqual([
    `info approval asked for ${JSON.stringify({ approval: "abcdefghjk", session, turn: `${session}#1`, hash: "h" })}`,
  ]);
  // In an approver's own chat the request stands there, and nobody else is asked.
  await ask({ id: "bbbbbbbbbb", conversation: "telegram:default:dm:1" as ConversationKey });
  expect(settled().map((card) => card.split(":")[0])).toEqual(["1"]);
  await approvals.decide("abcdefghjk", "deny", by("telegram:1"));
  settled();
  const kept = await ask({}, closing);
  expect([kept, settled(), closed]).toMatchObject([{ approval: { state: "denied" } }, [], 1]);
});

test("a decision counts once, is kept before anybody is told, wakes the session, and settles every card", async () => {
  await ask();
  settled();
  await expect(approvals.decide("zzz", "once", by("telegram:1"))).rejects.toMatchObject({
    code: "missing",
    message: 'there is no approval "zzz"',
  });
  const decided = await approvals.decide(" ABCDEFGHJK ", "once", by("telegram:2"));
  expect([decided.approval.state, await stateOf()]).toEqual(["once", "once"]);
  expect(decided.approval.log.at(-1)).toEqual({ atMs: clock.now(), what: "once", by: "telegram:2" });
  expect(settled().map((card) => card.split(":")[0])).toEqual(["1", "2"]);
  expect(woken.map(({ id, lane }) => [id.includes("abcdefghjk"), lane])).toEqual([[true, session]]);
  expect(logged.at(-1)).toBe(
    `info approval decided ${JSON.stringify({ approval: "abcdefghjk", session, verdict: "once", by: "telegram:2", hash: "h" })}`,
  );
  // The same answer again is an answer that may have been lost: what follows is done again.
  expect(await approvals.decide("abcdefghjk", "once", by("telegram:2"))).toMatchObject({ say: decided.say });
  expect([woken.length, settled().length]).toEqual([2, 2]);
  for (const [verdict, who] of [
    ["deny", "telegram:2"],
    ["once", "telegram:1"],
  ] as const)
    await expect(approvals.decide("abcdefghjk", verdict, by(who))).rejects.toMatchObject({
      code: "conflict",
    });
  expect(woken).toHaveLength(2);
});

test("only who was asked and still is an approver decides, or an operator; others are in the log", async () => {
  await ask();
  people = ["telegram:2", "telegram:3"];
  for (const person of ["telegram:1", "telegram:3", "telegram:9"])
    await expect(approvals.decide("abcdefghjk", "once", by(person))).rejects.toMatchObject({
      code: "denied",
    });
  expect(logged.slice(1)).toEqual(
    ["telegram:1", "telegram:3", "telegram:9"].map(
      (person) =>
        `warn somebody who is no approver tried to decide ${JSON.stringify({ approval: "abcdefghjk", by: person })}`,
    ),
  );
  expect([await stateOf(), woken]).toEqual(["open", []]);
  const { approval } = await approvals.decide("abcdefghjk", "deny", { operator: "console" });
  expect([approval.state, approval.log.at(-1)?.by]).toEqual(["denied", "operator (console)"]);
});

test("what is allowed for good is granted to its agent in the name of who allowed it, where that may be chosen", async () => {
  await ask();
  await approvals.decide("abcdefghjk", "always", by("telegram:1"));
  expect(await approvals.book.grants("main")).toMatchObject([{ argv: ["ls"], cwd: "/w", by: "telegram:1" }]);
  expect(await approvals.book.grants("other")).toEqual([]);
  await ask({ id: "cccccccccc", grant: null });
  await expect(approvals.decide("cccccccccc", "always", by("telegram:1"))).rejects.toMatchObject({
    code: "invalid",
    message: "this command cannot be allowed for good: answer once or deny",
  });
  expect(await stateOf("cccccccccc")).toBe("open");
  await ask({ id: "dddddddddd", agent: "other" });
  await approvals.decide("dddddddddd", "once", by("telegram:1"));
  expect(await approvals.book.grants("other")).toEqual([]);
});

test("a request is over at its time and not before, by itself or for whoever looks, and is told of once", async () => {
  await ask();
  settled();
  await clock.advance(30 * minuteMs - 1);
  expect(await stateOf()).toBe("open");
  await clock.advance(1);
  const over = ["1", "2"].map((peer) =>
    expect.stringMatching(`^${peer}: .*Nobody answered in time: not run`),
  );
  await expect.poll(() => cards.length).toBe(2);
  expect([await stateOf(), settled()]).toEqual(["expired", over]);
  expect((await approvals.book.get("abcdefghjk"))?.approval.log.at(-1)).toEqual({
    atMs: clock.now(),
    what: "expired",
    by: "time",
  });
  await expect(approvals.decide("abcdefghjk", "once", by("telegram:1"))).rejects.toMatchObject({
    code: "conflict",
  });
  expect([(await approvals.list()).map(({ state }) => state), settled(), woken]).toEqual([
    ["expired"],
    [],
    [],
  ]);
});

test("a stop ends the open requests of its turn, or of its session, and counts them", async () => {
  await ask();
  await ask({ id: "bbbbbbbbbb", turn: `${session}#2` });
  await ask({ id: "cccccccccc", session: "agent:main:other" as SessionKey, turn: "o#1" });
  await ask({ id: "dddddddddd" });
  // Sessions and turns whose names only begin like theirs are others.
  await ask({ id: "eeeeeeeeee", session: `${session}:thread:1` as SessionKey, turn: `${session}#10` });
  await approvals.decide("dddddddddd", "once", by("telegram:1"));
  settled();
  expect(await approvals.stop({ turn: `${session}#1` })).toBe(1);
  expect(settled()).toEqual(["1", "2"].map((peer) => expect.stringMatching(`^${peer}: .*Stopped: not run`)));
  expect(await approvals.stop({ session })).toBe(1);
  const ids = ["abcdefghjk", "bbbbbbbbbb", "cccccccccc", "dddddddddd", "eeeeeeeeee"];
  const states = await Promise.all(ids.map((id) => stateOf(id)));
  expect(states).toEqual(["stopped", "stopped", "open", "once", "open"]);
});

test("a conversation that began anew has forgotten the request: nobody decides about it", async () => {
  await ask();
  epoch = 2;
  await expect(approvals.decide("abcdefghjk", "once", by("telegram:1"))).rejects.toMatchObject({
    code: "conflict",
  });
  const kept = await approvals.book.get("abcdefghjk");
  expect([kept?.approval.state, kept?.approval.log.at(-1)]).toMatchObject([
    "stopped",
    { what: "stopped", by: "a new conversation" },
  ]);
  expect(woken).toEqual([]);
});

test("a start follows up decisions of the last day, and watches what is open until its time", async () => {
  for (const [id, verdict] of [
    ["aaaaaaaaaa", "deny"],
    ["bbbbbbbbbb", "once"],
  ] as const) {
    await ask({ id });
    await approvals.decide(id, verdict, by("telegram:1"));
  }
  await clock.advance(86_400_000 - 1);
  await ask({ id: "cccccccccc" });
  woken = [];
  await again().heal();
  expect(woken.map(({ id }) => /[ab]{10}/.exec(id)?.[0] ?? "").toSorted()).toEqual([
    "aaaaaaaaaa",
    "bbbbbbbbbb",
  ]);
  await clock.advance(1);
  woken = [];
  approvals = again();
  await approvals.heal();
  expect(woken).toEqual([]);
  settled();
  await clock.advance(30 * minuteMs);
  await expect.poll(() => stateOf("cccccccccc")).toBe("expired");
});

test("the decision's row goes where the conversation goes on, unless its turn still waits where it began", async () => {
  movedTo = () => dm("70");
  const decide = async (id: string): Promise<string | undefined> => {
    await ask({ id });
    woken = [];
    await approvals.decide(id, "once", by("telegram:1"));
    return woken[0]?.conversation;
  };
  expect(await decide("aaaaaaaaaa")).toBe("telegram:default:dm:70");
  parked = { state: "parked", tickets: ["other", "bbbbbbbbbb"] };
  expect(await decide("bbbbbbbbbb")).toBe("telegram:default:dm:7");
  parked = { state: "parked", tickets: ["other"] };
  expect(await decide("cccccccccc")).toBe("telegram:default:dm:70");
  parked = { state: "open", tickets: ["dddddddddd"] };
  expect(await decide("dddddddddd")).toBe("telegram:default:dm:70");
  const row = woken[0];
  expect(row === undefined ? null : parseRowPayload(row.payload).internal).toMatchObject({
    kind: "approval",
  });
});

test("an open request is shown where its session's person goes on, once kept, and settled there too", async () => {
  people = ["telegram:1", "discord:8"];
  await ask();
  settled();
  movedTo = (_session, from) => from;
  // Where the approvers see it anyway, and in another session, nothing is shown.
  await approvals.follow(session, dm("1"));
  await approvals.follow("agent:main:other", dm("7"));
  expect(settled()).toEqual([]);
  await ask({
    id: "bbbbbbbbbb",
    conversation: "telegram:default:dm:6" as ConversationKey,
    approvers: ["telegram:7"],
  });
  people = ["telegram:7"];
  settled();
  const web: Address = { channel: "web", account: "default", kind: "dm", peer: "p1" };
  await approvals.follow(session, web);
  expect(settled().map((card) => card.split(":")[0])).toEqual(["p1", "p1"]);
  expect((await approvals.book.get("abcdefghjk"))?.approval).toMatchObject({
    followed: ["web:default:dm:p1"],
    log: [{ what: "asked" }, { what: "shown where the conversation goes on", by: "web:default:dm:p1" }],
  });
  await approvals.follow(session, web);
  expect((await approvals.book.get("abcdefghjk"))?.approval.log).toHaveLength(2);
  settled();
  await approvals.stop({ turn: `${session}#1` });
  expect(settled().map((card) => card.split(":")[0])).toContain("p1");
  movedTo = (_session, from) => (from.channel === "web" ? from : null);
  await approvals.follow(session, web);
  expect(settled()).toEqual([]);
});

test("who waits with too many is told so and counted, and requests that are over take no room", async () => {
  for (let n = 0; n < 5; n += 1)
    await ask({ id: `aaaaaaaaa${n}`, conversation: `telegram:default:dm:7${n}` as ConversationKey });
  settled();
  const full = await ask({ id: "ffffffffff" });
  expect([full, settled()]).toEqual([{ full: "5 requests of telegram:7 wait for an answer" }, []]);
  expect(refused).toEqual([
    [
      "too_many_approvals",
      "telegram:7",
      { session, turn: `${session}#1`, conversation: "telegram:default:dm:7", open: 5 },
    ],
  ]);
  // One of those that wait is found again.
  expect(await ask({ id: "aaaaaaaaa0" })).toMatchObject({ approval: { state: "open" } });
  await clock.advance(30 * minuteMs);
  expect(await ask({ id: "ffffffffff" })).toMatchObject({ approval: { id: "ffffffffff" } });
});

test("of several that ask at once for the last places, no more than fit are asked", async () => {
  const asked = await Promise.all(
    Array.from({ length: 7 }, (_each, n) =>
      ask({ id: `aaaaaaaaa${n}`, conversation: `telegram:default:dm:7${n}` as ConversationKey }),
    ),
  );
  expect(asked.filter((each) => "full" in each)).toHaveLength(2);
});

test("a request that cannot be ended in time is told to the log, and whoever looks at it ends it", async () => {
  await ask();
  cards.length = 0;
  const { get } = store.cells;
  const broken = Object.assign(store.cells, { get: () => Promise.reject(new Error("the store is away")) });
  await clock.advance(30 * minuteMs);
  await expect.poll(() => logged.length).toBe(2);
  expect(logged[1]).toBe(
    `warn an approval could not be ended in time; whoever looks at it ends it ${JSON.stringify({ approval: "abcdefghjk", error: {} })}`,
  );
  Object.assign(broken, { get });
  expect([await stateOf(), cards]).toEqual(["open", []]);
  expect((await approvals.list()).map(({ state }) => state)).toEqual(["expired"]);
  expect(settled().map((card) => card.split(":")[0])).toEqual(["1", "2"]);
  expect(clock.armed()).toBe(0);
});

test("of two decisions at once the second is told of the first, and a request that is over is told as it is", async () => {
  await ask();
  const { put } = store.cells;
  let first: Promise<unknown> | null = null;
  Object.assign(store.cells, {
    put: async (...args: Parameters<typeof put>) => {
      if (first === null) {
        first = Promise.resolve();
        await approvals.decide("abcdefghjk", "deny", by("telegram:2"));
      }
      return put(...args);
    },
  });
  await expect(approvals.decide("abcdefghjk", "always", by("telegram:1"))).rejects.toMatchObject({
    code: "conflict",
    message: "Approval abcdefghjk: it was denied before, by telegram:2.",
  });
  expect([woken.length, await approvals.book.grants()]).toEqual([1, []]);
  await ask({ id: "bbbbbbbbbb", conversation: "telegram:default:dm:6" as ConversationKey });
  await approvals.stop({ session });
  await expect(approvals.decide("bbbbbbbbbb", "once", by("telegram:1"))).rejects.toThrow(
    "Approval bbbbbbbbbb: what asked for it was stopped.",
  );
  // A stop of what is decided counts nothing and changes nothing.
  expect([await approvals.stop({ session }), await stateOf(), await stateOf("bbbbbbbbbb")]).toEqual([
    0,
    "denied",
    "stopped",
  ]);
});

test("a start does again what an answer for good leads to, and nothing of a request that was not allowed", async () => {
  await ask();
  await approvals.decide("abcdefghjk", "always", by("telegram:1"));
  for (const { id, agent } of await approvals.book.grants()) {
    expect(agent).toBe("main");
    await approvals.book.revoke(id);
  }
  await ask({ id: "bbbbbbbbbb" });
  await approvals.stop({ turn: `${session}#1` });
  [woken, cards] = [[], []];
  await again().heal();
  expect(woken.map(({ id }) => id)).toEqual(["approval:abcdefghjk"]);
  expect(await approvals.book.grants("main")).toMatchObject([{ by: "telegram:1" }]);
  expect(settled().map((card) => card.slice(0, 30))).toEqual(
    ["1", "2"].map((peer) => `${peer}: ♾ Allowed for good by telegram:1.`.slice(0, 30)),
  );
});

test("only the card of the place that asked takes the growing answer's place; others are told without it", async () => {
  const closes: (string | undefined)[] = [];
  const posting = (deliveries: readonly NewDelivery[]) =>
    void closes.push(...deliveries.map((each) => `${each.lane.split(":").at(-1)} ${each.closes ?? "-"}`));
  const options = {
    approvers: null,
    owners: async () => people,
    target: "both",
    accounts: () => [{ channel: "telegram", account: "default" }],
    cells: store.cells,
    inbox: { accept: async () => {} },
    outbox: { post: async (deliveries: readonly NewDelivery[]) => posting(deliveries) },
    sessions: { open: async () => ({ epoch }) },
    turns: { find: async () => null },
    placeOf: () => null,
    clock,
    log: silentLog,
  };
  const both = createApprovals(options as never);
  await both.ask(request({ conversation: "telegram:default:group:-5" as ConversationKey }), async () => "p");
  expect(closes.splice(0)).toEqual(["-5 p", "1 -", "2 -"]);
  await both.ask(
    request({ id: "bbbbbbbbbb", conversation: "telegram:default:dm:7" as ConversationKey }),
    async () => "p",
  );
  expect(closes).toEqual(["7 p", "1 -", "2 -"]);
});
