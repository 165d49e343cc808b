// How an instant of a job becomes a row and is read back: place, person, tools, limits, and what joins a
// heartbeat.
import { parseRowPayload, type Address, type SessionKey } from "@parley/protocol";
import { expect, test } from "vitest";
import {
  asksHeartbeat,
  isHeartbeat,
  isUnasked,
  joining,
  ownRun,
  placeOfRuns,
  runLimits,
  scheduleRow,
  sessionOfRuns,
  slotOf,
  slotRow,
} from "../src/schedules/slot-row.ts";

const to: Address = { channel: "telegram", account: "work", kind: "group", peer: "-5", thread: "9" };
const job = (more: object = {}, payload: object = {}, owner: object = {}) =>
  ({
    id: "j1",
    name: "Morning",
    agent: "main",
    version: 3,
    target: { kind: "isolated" },
    delivery: { kind: "announce", to },
    schedule: { kind: "at", atMs: 0, zone: "UTC" },
    timeoutSeconds: 60,
    payload: { kind: "agentTurn", message: "Look.", ...payload },
    owner: { sender: "telegram:7", session: "agent:main:main", turn: "t0", tools: null, ...owner },
    ...more,
  }) as never;
const rights = { owner: true, authority: "owner" };
const row = (of: never, slot: object = {}) =>
  slotRow(of, { id: "s1", instantMs: 60_000, ...slot }, rights, 61_000);
const payloadOf = (of: never, slot: object = {}) => parseRowPayload(row(of, slot).payload);

test.for([
  [{ kind: "isolated" }, {}, "agent:main:cron:j1"],
  [{ kind: "main" }, {}, "agent:main:main"],
  [{ kind: "main" }, { session: "agent:main:telegram:dm:7" }, "agent:main:telegram:dm:7"],
  [{ kind: "main" }, { session: null }, "agent:main:main"],
  [{ kind: "session", session: "agent:main:x" }, {}, "agent:main:x"],
  [{ kind: "current", session: "agent:main:y" }, {}, "agent:main:y"],
] as const)("the runs of %j, made in %j, work in %s", ([target, owner, session]) => {
  expect(sessionOfRuns(job({ target }, {}, owner))).toBe(session);
});

test("a row has the job's place and its maker's rights, and a ticket and a turn of its own", () => {
  const { payload: _payload, ...made } = row(job());
  expect(made).toEqual({
    id: "s1",
    pool: "cron",
    lane: "agent:main:cron:j1",
    conversation: expect.stringMatching(/^telegram:work:group:-5:.*9$/),
    authority: "owner",
    as: { kind: "work", ticket: "s1", barrier: true },
  });
  const { inbound, internal, owner } = payloadOf(job());
  expect(inbound).toMatchObject({
    channel: "telegram",
    account: "work",
    address: to,
    sender: { id: "7", name: "Parley" },
    atMs: 61_000,
    text: 'Scheduled job "Morning" (j1), due 1970-01-01 00:01 UTC:\nLook.',
  });
  expect([owner, internal]).toEqual([
    true,
    {
      kind: "schedule",
      id: "j1",
      turn: "t0",
      slot: { version: 3, instantMs: 60_000, own: true },
      run: { label: "Morning", timeoutSeconds: 60 },
    },
  ]);
});

test("a job that tells nobody is unseen; one of the operator has the operator's person; a watch says why", () => {
  const silent = job({ delivery: { kind: "none" } }, {}, { sender: null, turn: null, untrusted: "web" });
  expect(placeOfRuns(silent)).toBeNull();
  const { inbound, internal } = payloadOf(silent, { because: "a file changed" });
  expect(inbound).toMatchObject({
    channel: "web",
    sender: { id: "operator" },
    text: expect.stringContaining("(j1), a file changed:"),
  });
  expect(inbound.address).toMatchObject({ channel: "hook", account: inbound.address.account });
  expect(internal).toMatchObject({ kind: "watch", turn: "", unseen: true, untrusted: "web" });
  // The maker's account counts on the maker's channel alone.
  expect(payloadOf(job({}, {}, { sender: "discord:8" })).inbound).toMatchObject({
    channel: "discord",
    account: "default",
  });
});

test("what a run does stands in its words and settings", () => {
  const text = (payload: object) => payloadOf(job({}, payload)).inbound.text;
  expect(text({ kind: "systemEvent", text: "Hello" })).toMatch(/^Scheduled event "Morning" .*:\nHello$/s);
  expect(text({ kind: "command", command: "/status" })).toMatch(/^Scheduled job .*:\n\/status$/s);
  const set = { model: "m", fallbacks: ["n"], thinking: "high", lightContext: true, tools: ["read"] };
  expect(payloadOf(job({ target: { kind: "main" } }, set)).internal).toMatchObject({
    slot: { own: false, light: true, tools: ["read"] },
    run: { model: "m", fallbacks: ["n"], thinking: "high" },
  });
});

test.for([
  [null, undefined, undefined],
  [null, ["web_*"], ["web_*"]],
  [["read", "web_fetch"], undefined, ["read", "web_fetch"]],
  [
    ["read", "web_fetch", "exec"],
    ["web_*", "exec"],
    ["web_fetch", "exec"],
  ],
  [["read"], ["exec"], []],
] as const)("of the maker's tools %j and the asked %j are left %j", ([tools, asked, left]) => {
  const made = payloadOf(job({}, asked === undefined ? {} : { tools: asked }, { tools }));
  expect(made.internal?.slot?.tools).toEqual(left);
});

const at = (internal: object | undefined, more: Partial<Parameters<typeof scheduleRow>[0]> = {}) => {
  const made = scheduleRow({
    id: "r",
    lane: "agent:main:main" as SessionKey,
    place: to,
    job: "j",
    sender: "telegram:7",
    owner: true,
    authority: "owner",
    text: "t",
    turn: "",
    nowMs: 0,
    ...more,
  });
  const payload = JSON.parse(made.payload) as { internal: object };
  const own = internal === undefined ? undefined : { ...payload.internal, ...internal };
  return { ...made, payload: JSON.stringify({ ...payload, internal: own }) };
};
const slot = (more: object = {}) => ({ version: 1, instantMs: 0, own: true, ...more });
const broken = { id: "b", payload: "{" };

test("a row's slot and a run of its own are read from the first row, and from no other kind", () => {
  expect(slotOf(at({ slot: slot() }))).toMatchObject({ job: "j", id: "r" });
  expect(slotOf(at({ kind: "watch", slot: slot() }))).toMatchObject({ job: "j" });
  for (const none of [at({}), at({ kind: "heartbeat", slot: slot() }), at(undefined), broken])
    expect(slotOf(none)).toBeNull();
  const run = { label: "l" };
  expect(ownRun([at({ slot: slot(), run })])).toEqual({ settings: run });
  for (const none of [[], [at({ slot: slot({ own: false }), run })], [at({ slot: slot() })], [broken]])
    expect(ownRun(none)).toBeNull();
  expect(ownRun([at({}), at({ slot: slot(), run })])).toBeNull();
});

test("a turn has the limits of its first row, and the tools that all of its rows may use", () => {
  const run = { label: "l", model: "m", fallbacks: ["n"], timeoutSeconds: 2 };
  const limits = (...rows: readonly (object | undefined)[]) => runLimits(rows.map((each) => at(each)));
  expect([runLimits([]), runLimits([broken]), limits(undefined), limits({ run })]).toEqual([{}, {}, {}, {}]);
  expect(limits({ slot: slot({ light: true }), run })).toEqual({
    light: true,
    fallbacks: ["n"],
    timeoutMs: 2_000,
  });
  expect(limits({ kind: "heartbeat", slot: slot({ light: true }), run })).toEqual({
    light: "heartbeat",
    model: "m",
    fallbacks: ["n"],
    timeoutMs: 2_000,
  });
  const tools = (...lists: readonly (readonly string[] | undefined)[]) =>
    limits(...lists.map((each) => ({ slot: slot(each === undefined ? {} : { tools: each }) }))).within;
  expect([
    tools(["read", "exec"], ["exec", "web_fetch"]),
    tools(["web_*"], ["web_fetch", "read"]),
    tools(undefined, ["read"], undefined),
    tools(["read"], ["exec"]),
    tools(["a", "b", "c"], ["c", "b"], ["b", "a"]),
    tools(undefined),
  ]).toEqual([["exec"], ["web_fetch"], ["read"], [], ["b"], undefined]);
});

test("nobody asked for a turn whose rows are all Parley's own; a heartbeat may have company", () => {
  const of = (...kinds: readonly (string | undefined)[]) =>
    kinds.map((kind) => at(kind === undefined ? undefined : { kind }));
  const judged = (rows: Parameters<typeof isUnasked>[0]) => [
    isUnasked(rows),
    isHeartbeat(rows),
    asksHeartbeat(rows),
  ];
  expect(judged([])).toEqual([false, false, false]);
  for (const kind of ["schedule", "watch", "hook"]) expect(judged(of(kind))).toEqual([true, false, false]);
  expect(judged(of("heartbeat", "heartbeat"))).toEqual([true, true, true]);
  expect(judged(of("hook", "heartbeat"))).toEqual([true, false, true]);
  expect(judged(of("heartbeat", undefined))).toEqual([false, false, false]);
  expect(judged(of("heartbeat", "subagent"))).toEqual([false, false, false]);
});

test("an event joins a heartbeat of the same session and person, where no other conversation sees it", () => {
  const beat = at({ kind: "heartbeat" }, { id: "beat", pool: "heartbeat", kind: "heartbeat" });
  const hidden = at({ kind: "heartbeat", unseen: true }, { id: "beat", pool: "heartbeat" });
  const event = at({ unseen: true }, { id: "e", place: null });
  const joined = joining(event, beat);
  expect(joined).toMatchObject({
    id: "e",
    pool: "heartbeat",
    conversation: beat.conversation,
    as: { kind: "work", ticket: "e" },
  });
  const { inbound, internal } = parseRowPayload(joined.payload);
  expect([inbound.address, internal?.unseen]).toEqual([to, undefined]);
  expect(parseRowPayload(joining(event, hidden).payload).internal?.unseen).toBe(true);
  expect(joining(at({}, { id: "e" }), beat).pool).toBe("heartbeat");
  for (const other of [
    at({}, { id: "e", place: { ...to, peer: "-6" } }),
    at({ unseen: true }, { id: "e", lane: "agent:other:main" as SessionKey }),
    at({ unseen: true }, { id: "e", authority: "member" }),
    at(undefined, { id: "e" }),
  ])
    expect(joining(other, beat)).toBe(other);
});
