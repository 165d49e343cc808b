// Interactions by the clock: what Discord is told when, what is kept for the next process, and what a failure
// of a call leaves. Discord is a list of calls, which answers nothing unless a test says so.
import { Fault, type Log, silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Suggestion } from "../../src/channel.ts";
import { interactions } from "../../src/discord/interactions/interactions.ts";
import { fakeRest } from "./fake-rest.ts";
import { DiscordRefusal, faultOf } from "../../src/discord/refusals.ts";
import { keptMemory } from "./rig.ts";

const minuteMs = 60_000;
const app = "900000000000000001";

function stage(
  more: { readonly suggests?: () => Promise<readonly Suggestion[]> } = {},
  memory = keptMemory(),
) {
  const clock = virtualClock({ startMs: 1_000_000 });
  const rest = fakeRest();
  const lines: string[] = [];
  const fails = new Map<string, Error>();
  const answering = {
    ...rest,
    call: async ({ method, route, body }: { method: string; route: string; body?: unknown }) => {
      const call = `${method} ${route.replace(/\/webhooks\/\d+/, "").replace("/interactions", "")}`;
      rest.asked.push(body === undefined ? call : `${call} ${JSON.stringify(body)}`);
      const [, error] = [...fails].find(([part]) => call.includes(part)) ?? [];
      if (error !== undefined) throw error;
      return { id: "answer" };
    },
  } as never;
  const log = {
    ...silentLog,
    ...Object.fromEntries(
      (["debug", "info", "warn"] as const).map((level) => [
        level,
        (_: object, words: string) => lines.push(`${level}: ${words}`),
      ]),
    ),
  } as Log;
  const it = interactions({
    rest: answering,
    memory,
    forms: { find: (id) => (id === "f" ? ({ custom_id: "f", title: "T" } as never) : null) },
    quietCommands: ["status", "help"],
    suggestions: more.suggests ?? (async () => []),
    clock,
    log,
  });
  const arrives = (n: number, kind: object): void =>
    it.arrived(
      { id: `10000000000000000${n}`, application_id: app, token: `t${n}`, ...kind } as never,
      `e${n}`,
    );
  const calls = (): string[] => rest.asked.splice(0).map((call) => call.replaceAll("10000000000000000", "#"));
  const kept = async (): Promise<unknown> => JSON.parse((await memory.load("interactions")) ?? "[]");
  return { it, clock, arrives, calls, lines, fails, kept, memory };
}

const command = (name = "new", guild?: string) => ({ type: 2, data: { name }, guild_id: guild });
const press = (id = "b") => ({ type: 3, data: { custom_id: id } });
const guild = "200000000000000001";
const signal = new AbortController().signal;
const open = (n: number, more: object = {}) => ({
  event: `e${n}`,
  application: app,
  token: `t${n}`,
  atMs: 1_000_000,
  ...more,
});

test("what nobody has accepted within a second and a half is put off, each as what it is, once", async () => {
  const { arrives, clock, calls } = stage();
  arrives(1, command());
  arrives(2, command("status", guild));
  arrives(3, command("status"));
  arrives(4, command("new", guild));
  arrives(5, press());
  arrives(1, command());
  await clock.advance(1_499);
  expect(calls()).toEqual([]);
  await clock.advance(1);
  expect(calls()).toEqual([
    'POST /#1/t1/callback {"type":5}',
    'POST /#2/t2/callback {"type":5,"data":{"flags":64}}',
    'POST /#3/t3/callback {"type":5}',
    'POST /#4/t4/callback {"type":5}',
    'POST /#5/t5/callback {"type":6}',
  ]);
  await clock.advance(minuteMs);
  expect(calls()).toEqual([]);
});

test("a press that opens a form has it at once, and is no event", async () => {
  const { it, arrives, clock, calls, fails, lines } = stage();
  arrives(1, press("f"));
  expect(calls()).toEqual(['POST /#1/t1/callback {"type":9,"data":{"custom_id":"f","title":"T"}}']);
  await it.accepted(["e1"], new Set());
  await clock.advance(minuteMs);
  expect([calls(), lines]).toEqual([[], []]);
  fails.set("/t2/", new Error("away"));
  arrives(2, press("f"));
  await clock.advance(0);
  expect(lines).toEqual(["debug: an interaction could not be answered"]);
});

test("accepted commands wait for their answer, also in the next process; presses and what is refused do not", async () => {
  const { it, arrives, clock, calls, kept } = stage();
  arrives(1, command());
  arrives(2, command("help", guild));
  arrives(3, press());
  arrives(4, command());
  arrives(5, press());
  await it.accepted(["e1", "e2", "e3", "e4", "e5", "e9"], new Set(["e4", "e5"]));
  await clock.advance(minuteMs);
  expect(await kept()).toEqual([open(1), open(2, { quiet: true })]);
  expect(calls()).toEqual([
    'POST /#4/t4/callback {"type":4,"data":{"content":"You cannot use this here.","flags":64}}',
    'POST /#1/t1/callback {"type":5}',
    'POST /#2/t2/callback {"type":5,"data":{"flags":64}}',
  ]);
  await it.accepted(["e1"], new Set());
  expect(await kept()).toHaveLength(2);
});

test("what is refused or not ours after it was put off is told in its place, or behind the press", async () => {
  const { it, arrives, clock, calls, fails, lines } = stage();
  for (const n of [1, 2]) arrives(n, command());
  for (const n of [3, 4]) arrives(n, press());
  await clock.advance(1_500);
  calls();
  await it.accepted(["e1", "e3"], new Set(["e1", "e3"]));
  it.notOurs(["e2", "e4", "e9"]);
  await clock.advance(0);
  expect(calls()).toEqual([
    'PATCH /t1/messages/@original {"content":"You cannot use this here."}',
    'PATCH /t2/messages/@original {"content":"This command is no longer in use."}',
    'POST /t4 {"content":"This button is no longer in use.","flags":64}',
  ]);
  arrives(5, press());
  it.notOurs(["e5"]);
  await clock.advance(minuteMs);
  expect(calls()).toEqual([
    'POST /#5/t5/callback {"type":4,"data":{"content":"This button is no longer in use.","flags":64}}',
  ]);
  fails.set("/t6", new Error("away"));
  arrives(6, command());
  arrives(7, command());
  fails.set("/t7", new Error("away"));
  it.notOurs(["e6"]);
  await it.accepted(["e7"], new Set(["e7"]));
  await clock.advance(0);
  expect(lines).toEqual([
    "debug: an interaction could not be answered",
    "debug: a refusal could not be shown",
  ]);
});

test("the first send to ask has the command, and its repeats alone; of several the oldest that is free", async () => {
  const { it, arrives, kept } = stage();
  for (const n of [1, 2]) arrives(n, command());
  await it.accepted(["e1", "e2"], new Set());
  const take = async (events: readonly string[], key: string, onlyTaken = false) =>
    (await it.take(events, key, onlyTaken))?.event ?? null;
  expect(await take(["e1", "e2"], "k1", true)).toBeNull();
  expect([
    await take(["e1", "e2"], "k1"),
    await take(["e1", "e2"], "k1"),
    await take(["e1"], "k2"),
    await take(["e1", "e2"], "k2"),
    await take(["e1", "e2"], "k2", true),
    await take(["e1", "e2"], "k3"),
    await take(["e"], "k4"),
  ]).toEqual(["e1", "e1", null, "e2", "e2", null, null]);
  expect(await kept()).toEqual([open(1, { takenBy: "k1" }), open(2, { takenBy: "k2" })]);
});

test("an answer that comes before the command is durable finds it, by the id of the words behind it too", async () => {
  const { it, arrives, calls, kept } = stage();
  arrives(1, command());
  arrives(2, press());
  expect((await it.take(["e1/message"], "k1", false))?.event).toBe("e1");
  expect(await it.take(["e10/message", "e"], "k2", false)).toBeNull();
  expect(await it.take(["e2"], "k2", false)).toBeNull();
  expect(calls()).toEqual(['POST /#1/t1/callback {"type":5}']);
  expect(await kept()).toEqual([open(1, { takenBy: "k1" })]);
  await it.accepted(["e1"], new Set());
  expect(await kept()).toHaveLength(1);
});

test.each<[string, Error, boolean]>([
  ["is lost", new Fault("ambiguous", "lost"), true],
  ["was there before", faultOf(new DiscordRefusal("a call", 400, 40060, "acknowledged")), true],
  ["is refused", faultOf(new DiscordRefusal("a call", 404, 10062, "unknown interaction")), false],
  ["does not go out", new Fault("unavailable", "nobody there"), false],
])("a command whose putting off %s is filled: %j", async (_, error, isFilled) => {
  const { it, arrives, fails, lines } = stage();
  fails.set("callback", error);
  arrives(1, command());
  await it.accepted(["e1"], new Set());
  expect((await it.take(["e1"], "k", false)) !== null).toBe(isFilled);
  expect(lines).toEqual(["warn: an interaction could not be deferred"]);
});

test("fourteen minutes after it came a command waits no more: its waiting ends unless a send took it", async () => {
  const { it, arrives, clock, calls, kept, memory } = stage();
  for (const n of [1, 2]) arrives(n, command());
  await it.accepted(["e1", "e2"], new Set());
  await it.take(["e2"], "k", false);
  calls();
  const next = stage({}, memory);
  await next.it.load();
  await clock.advance(14 * minuteMs - 1);
  expect(calls()).toEqual([]);
  expect((await it.take(["e1"], "other", true))?.event ?? null).toBeNull();
  await clock.advance(1);
  expect(calls()).toEqual(["DELETE /t1/messages/@original"]);
  expect([await it.take(["e1"], "k2", false), await it.take(["e2"], "k", false)]).toEqual([null, null]);
  expect(await it.follow("e2", { body: {} }, signal)).toBeNull();
  await next.clock.advance(14 * minuteMs);
  expect(next.calls()).toEqual(["DELETE /t1/messages/@original"]);
  arrives(3, command());
  await it.accepted(["e3"], new Set());
  expect(await kept()).toEqual([open(3, { atMs: 1_000_000 + 14 * minuteMs })]);
  // A process that comes later finds nothing of them.
  const late = stage({}, memory);
  await late.clock.advance(29 * minuteMs);
  await late.it.load();
  await late.clock.advance(minuteMs);
  expect(late.calls()).toEqual([]);
});

test("an answer that Discord has forgotten becomes a message; any other trouble is told", async () => {
  const { it, arrives, fails, lines, calls } = stage();
  arrives(1, command());
  await it.accepted(["e1"], new Set());
  const one = await it.take(["e1"], "k", false);
  if (one === null) throw new Error("none");
  calls();
  const body = { content: "hi" };
  expect(await it.fill(one, { body }, signal)).toEqual({ id: "answer" });
  expect(await it.follow("e1", { body }, signal)).toEqual({ id: "answer" });
  expect(await it.follow("e2", { body }, signal)).toBeNull();
  expect(calls()).toEqual(['PATCH /t1/messages/@original {"content":"hi"}', 'POST /t1 {"content":"hi"}']);
  for (const gone of [
    new Fault("missing", "gone"),
    faultOf(new DiscordRefusal("a call", 401, 50027, "invalid webhook token")),
  ]) {
    fails.set("/t1", gone);
    expect([await it.fill(one, { body }, signal), await it.follow("e1", { body }, signal)]).toEqual([
      null,
      null,
    ]);
  }
  expect(lines).toEqual(
    Array.from({ length: 2 }, () => "info: Discord has forgotten an interaction: answering as a message"),
  );
  fails.set("/t1", new Fault("unavailable", "away"));
  await expect(it.fill(one, { body }, signal)).rejects.toThrow("away");
  await expect(it.follow("e1", { body }, signal)).rejects.toThrow("away");
});

test("what one answer covers ends beside it, what gets none ends by itself, and what a send took stays", async () => {
  const { it, arrives, fails, lines, calls, kept } = stage();
  for (const n of [1, 2, 3, 4, 5]) arrives(n, command());
  await it.accepted(["e1", "e2", "e3", "e4"], new Set());
  const one = await it.take(["e1"], "k1", false);
  await it.take(["e3"], "k3", false);
  if (one === null) throw new Error("none");
  calls();
  await it.endOthers(["e1", "e2", "e3"], one);
  expect(calls()).toEqual(["DELETE /t2/messages/@original"]);
  fails.set("DELETE", new Error("away"));
  await it.settle(["e4", "e5", "e3"]);
  expect(calls()).toEqual([
    'POST /#5/t5/callback {"type":5}',
    "DELETE /t4/messages/@original",
    "DELETE /t5/messages/@original",
  ]);
  expect(lines).toEqual(Array.from({ length: 2 }, () => "debug: could not end a command's waiting"));
  expect(await kept()).toEqual([open(1, { takenBy: "k1" }), open(3, { takenBy: "k3" })]);
});

test("a press is answered with a word to whoever pressed or with none, at once or behind its putting off", async () => {
  const { it, arrives, clock, calls, fails } = stage();
  const id = (n: number): string => `10000000000000000${n}`;
  for (const n of [1, 2, 3, 4]) arrives(n, press());
  await it.answer(id(1), "saved", signal);
  await it.answer(id(2), undefined, signal);
  expect(calls()).toEqual([
    'POST /#1/t1/callback {"type":4,"data":{"content":"saved","flags":64}}',
    'POST /#2/t2/callback {"type":6}',
  ]);
  await clock.advance(1_500);
  await it.answer(id(3), "later", signal);
  expect(calls()).toEqual([
    'POST /#3/t3/callback {"type":6}',
    'POST /#4/t4/callback {"type":6}',
    'POST /t3 {"content":"later","flags":64}',
  ]);
  await expect(it.answer("7", "x", signal)).rejects.toMatchObject({
    code: "missing",
    message: "the interaction is of another process, or too old",
  });
  fails.set("callback", new Fault("unavailable", "away"));
  arrives(5, press());
  arrives(6, press());
  await expect(it.answer(id(5), "x", signal)).rejects.toThrow("away");
  await expect(it.answer(id(5), undefined, signal)).rejects.toThrow("the interaction is over");
  await expect(it.answer(id(6), undefined, signal)).rejects.toThrow("the interaction is over");
});

test("what is typed is offered up to twenty-five values, each once and as long as Discord takes; nothing after two seconds", async () => {
  const long = "x".repeat(100);
  const found = [
    { value: "", label: "empty" },
    { value: "a", label: "A".repeat(101) },
    { value: "a", label: "again" },
    { value: long, label: "" },
    { value: `${long}x`, label: "too long" },
    ...Array.from({ length: 30 }, (_, n) => ({ value: `v${n}`, label: `V${n}` })),
  ];
  const { arrives, clock, calls } = stage({ suggests: async () => found });
  arrives(1, { type: 4 });
  await clock.advance(0);
  const [call = ""] = calls();
  const [, route, body = ""] = /^POST (\S+) (.*)$/.exec(call) ?? [];
  expect(route).toBe("/#1/t1/callback");
  expect(JSON.parse(body)).toEqual({
    type: 8,
    data: {
      choices: [
        { name: "A".repeat(100), value: "a" },
        { name: long, value: long },
        ...Array.from({ length: 23 }, (_, n) => ({ name: `V${n}`, value: `v${n}` })),
      ],
    },
  });
  await clock.advance(minuteMs);
  expect(calls()).toEqual([]);
  const slow = stage({ suggests: () => new Promise(() => {}) });
  slow.arrives(1, { type: 4 });
  await slow.clock.advance(1_999);
  expect(slow.calls()).toEqual([]);
  await slow.clock.advance(1);
  expect(slow.calls()).toEqual(['POST /#1/t1/callback {"type":8,"data":{"choices":[]}}']);
  const failing = stage({ suggests: () => Promise.reject(new Error("flaw")) });
  failing.fails.set("callback", new Error("away"));
  failing.arrives(1, { type: 4 });
  await failing.clock.advance(0);
  expect(failing.lines).toEqual([
    "debug: no arguments could be suggested",
    "debug: suggestions could not be shown",
  ]);
});

test("a stop leaves no timer, and of many commands the newest five hundred wait", async () => {
  const { it, arrives, clock, calls, kept } = stage();
  arrives(1, command());
  arrives(2, command());
  await it.accepted(["e2"], new Set());
  calls();
  it.stop();
  await clock.advance(15 * minuteMs);
  expect(calls()).toEqual([]);
  const many = stage();
  for (let n = 0; n <= 500; n += 1)
    many.it.arrived({ id: `${n}`, application_id: app, token: `t${n}`, ...command() } as never, `m${n}`);
  await many.it.accepted(
    Array.from({ length: 501 }, (_, n) => `m${n}`),
    new Set(),
  );
  const left = (await many.kept()) as readonly { readonly event: string }[];
  expect([left.length, left[0]?.event, left.at(-1)?.event]).toEqual([500, "m1", "m500"]);
  expect(await kept()).toHaveLength(1);
});
