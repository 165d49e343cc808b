// What an operator reads of messages, answers, schedules and people in trouble: whole pages, with every
// state. After a wanted change: `vitest run --project @parley/web pages/ -u`, and read the difference.
import type { DeliveryStory, RowStory, Scope, Story } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { Activity } from "../../src/pages/activity.ts";
import { DeadLetters } from "../../src/pages/dead.ts";
import { Outbox } from "../../src/pages/outbox.ts";
import { MessageStory } from "../../src/pages/story.ts";
import { nowMs, offeredTo, section, showPage } from "./show-page.ts";

const row = (id: string, more: Partial<RowStory> = {}): RowStory => ({
  id,
  session: `agent:main:telegram:dm:${id}`,
  conversation: `telegram:default:dm:${id}`,
  messageId: "41",
  sender: `Eve ${id}`,
  text: `words of ${id}`,
  sentAtMs: nowMs - 61_000,
  receivedAtMs: nowMs - 60_000,
  state: "ended",
  outcome: "dead",
  reason: `why ${id}`,
  endedAtMs: nowMs - 3_600_000,
  ...more,
});

const part = (more: Partial<DeliveryStory["parts"][number]> = {}): DeliveryStory["parts"][number] => ({
  state: "sent",
  attempts: 1,
  flagged: false,
  messageId: "m1",
  startedAtMs: nowMs - 5_000,
  reason: null,
  ...more,
});

const delivery = (
  state: DeliveryStory["state"],
  parts: DeliveryStory["parts"],
  text = `answer ${state}`,
): DeliveryStory => ({
  id: `d-${state}`,
  conversation: `telegram:default:dm:${state}`,
  cause: `row-${state}`,
  createdAtMs: nowMs - state.length * 86_400_000,
  state,
  text,
  parts,
});

const deliveries = [
  delivery("waiting", [part({ state: "queued", attempts: 0 })], ""),
  delivery("open", [part({ state: "sending" })], "half\u202e"),
  delivery("sent", [part()]),
  delivery("failed", [part(), part({ state: "failed", attempts: 3, reason: "no such chat" })]),
  delivery("ambiguous", [
    part({ state: "ambiguous", flagged: true, reason: "no answer" }),
    part({ state: "queued", reason: "second" }),
  ]),
];

describe("dead letters", () => {
  const answers = {
    "dead.list": {
      rows: [row("r1"), row("r2", { text: "", sender: null, reason: null, endedAtMs: null })],
    },
    "dead.retry": { id: "r1" },
    "dead.drop": { id: "r1" },
  } as never;

  test("each with who said it and why it failed; one that is gone; one who may only look", async () => {
    const page = await showPage(DeadLetters, { at: "#/dead", answers });
    const looker = await showPage(DeadLetters, { at: "#/dead/r1", answers, may: ["read"] });
    const none = await showPage(DeadLetters, { at: "#/dead", answers: { "dead.list": { rows: [] } } });
    await expect(
      section("the list", await page.text()) +
        section("one", await page.go("#/dead/r1")) +
        section("without words", await page.go("#/dead/r2")) +
        section("gone", await page.go("#/dead/r3")) +
        section("may only look", await looker.text()) +
        section("none", await none.text()),
    ).toMatchFileSnapshot("shown/dead.txt");
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) => offeredTo(scope, DeadLetters, { at: "#/dead/r1", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      [],
      [],
      ["Try again", "Drop"],
    ]);
  });

  test("the buttons ask for the message that is open, and the list is read again", async () => {
    const page = await showPage(DeadLetters, { at: "#/dead/r2", answers });
    expect(await page.press("Try again")).toBe("Done.");
    expect(await page.press("Drop")).toBe("Done.");
    expect(page.asked).toEqual([
      'dead.list {"limit":500}',
      'dead.retry {"id":"r2","idempotencyKey":"uuid-1"}',
      'dead.list {"limit":500}',
      'dead.drop {"id":"r2","idempotencyKey":"uuid-2"}',
      'dead.list {"limit":500}',
    ]);
  });

  test("what was read stays when a reading fails, and the failure is told until one succeeds", async () => {
    let isDown = false;
    const rows = [row("r1")];
    const page = await showPage(DeadLetters, {
      at: "#/dead",
      answers: {
        "dead.list": () => {
          if (isDown) throw page.refusal("unavailable", "the store is away");
          return { rows };
        },
      },
    });
    expect(await page.text()).toContain("words of r1");
    isDown = true;
    expect(await page.pass(4_999)).not.toContain("could not be read");
    const failed = await page.pass(1);
    expect(failed).toContain("! This could not be read: the store is away");
    expect(failed).toContain("words of r1");
    isDown = false;
    expect(await page.pass(5_000)).not.toContain("could not be read");
    expect(page.asked).toHaveLength(3);
  });
});

describe("the outbox", () => {
  const answers = {
    "outbox.list": { deliveries },
    "outbox.retry": { id: "x" },
    "outbox.drop": { id: "x" },
  } as never;

  test("every state, with what may be done in it and what people may see twice", async () => {
    const page = await showPage(Outbox, { at: "#/outbox", answers });
    const one = async (id: string): Promise<string> => section(id, drawerOf(await page.go(`#/outbox/${id}`)));
    const looker = await showPage(Outbox, { at: "#/outbox/d-failed", answers, may: ["read", "write"] });
    const all = await page.text();
    const ones: string[] = [];
    for (const { id } of deliveries) ones.push(await one(id));
    const none = await showPage(Outbox, { at: "#/outbox", answers: { "outbox.list": { deliveries: [] } } });
    await expect(
      [
        section("the list", all),
        ...ones,
        await one("d-gone"),
        section("may only look", drawerOf(await looker.text())),
        section("none", await none.text()),
      ].join(""),
    ).toMatchFileSnapshot("shown/outbox.txt");
  });

  test("a whole failed answer is sent again without a warning that people see it twice", async () => {
    const failed = delivery("failed", [part({ state: "failed" }), part({ state: "failed" })]);
    const page = await showPage(Outbox, {
      at: "#/outbox/d-failed",
      answers: { "outbox.list": { deliveries: [failed] } },
    });
    expect(await page.text()).toContain("[Send again | It is sent once more, as a new answer.]");
    // Of these, each by itself, people may have seen something.
    const seen = [
      delivery("ambiguous", [part({ state: "ambiguous" })]),
      delivery("failed", [part({ state: "failed", flagged: true })]),
      delivery("failed", [part({ state: "failed" }), part()]),
    ];
    for (const each of seen) {
      const answers = { "outbox.list": { deliveries: [each] } };
      const other = await showPage(Outbox, { at: `#/outbox/${each.id}`, answers });
      expect(await other.text()).toContain("[Send again | Parts of it may have arrived");
    }
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) => offeredTo(scope, Outbox, { at: "#/outbox/d-failed", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      [],
      [],
      ["Send again", "Give up"],
    ]);
  });

  test("the buttons ask for the answer that is open", async () => {
    const page = await showPage(Outbox, { at: "#/outbox/d-ambiguous", answers });
    expect(await page.press("Send again")).toBe("Done.");
    expect(await page.press("Give up")).toBe("Done.");
    const list = 'outbox.list {"limit":500}';
    expect(page.asked).toEqual([
      list,
      'outbox.retry {"id":"d-ambiguous","idempotencyKey":"uuid-1"}',
      list,
      'outbox.drop {"id":"d-ambiguous","idempotencyKey":"uuid-2"}',
      list,
    ]);
  });
});

const story: Story = {
  row: row("r1", { outcome: "answered", reason: null }),
  admitted: true,
  waitedMs: 50,
  waitedFor: ["t0", "t00"],
  turn: {
    id: "t1",
    state: "done",
    attempt: 2,
    openedAtMs: nowMs - 50_000,
    endedAtMs: nowMs - 10_000,
    stop: "stop",
    tickets: [],
    rows: ["r1", "r2"],
    steps: [
      { kind: "model", name: "m", end: "toolUse" },
      { kind: "tool", name: "exec", end: "failed" },
      { kind: "tool", name: "read", end: "ok" },
      { kind: "joined", name: "r2", end: "" },
      { kind: "model", name: "n", end: "error" },
    ],
    inputTokens: 1_200,
    outputTokens: 30,
    cacheReadTokens: 1,
    costUsd: 0.01234,
  },
  deliveries: [deliveries[3], deliveries[4]].filter((each) => each !== undefined),
  now: null,
  words: [],
};

test("a story: what waited, each step, each part of an answer, and what it waits for now", async () => {
  const { turn } = story;
  if (turn === null) throw new Error("the story has a turn");
  const shown = async (of: Story): Promise<string> =>
    (await showPage(MessageStory, { at: "#/why/r1", answers: { why: of } })).text();
  const refused = { ...story, admitted: false, waitedMs: 49, turn: null, deliveries: [] };
  const empty = await showPage(MessageStory, { at: "#/why", answers: {} });
  const unknown = await showPage(MessageStory, { at: "#/why/r9", answers: {} });
  const { costUsd: _, ...free } = turn;
  const parked: Story = {
    ...story,
    turn: { ...free, state: "parked", attempt: 1, rows: ["r1"], endedAtMs: null, stop: null, steps: [] },
    deliveries: [delivery("waiting", [part({ state: "queued", startedAtMs: null })])],
    now: "an approval",
  };
  await expect(
    section("answered", await shown(story)) +
      section("parked", await shown(parked)) +
      section("running", await shown({ ...parked, turn: { ...free, state: "running", stop: null } })) +
      section("refused", await shown({ ...refused, row: row("r1", { sender: null }) })) +
      section("nothing asked", await empty.text()) +
      section("not found", await unknown.text()),
  ).toMatchFileSnapshot("shown/story.txt");
  expect(empty.asked).toEqual([]);
  await empty.submit("Tell its story", { query: "a b/c" });
  expect(empty.went).toEqual(["#/why/a%20b%2Fc"]);
});

test("lately said: each turn once with its words and the last answer, the newest first", async () => {
  const session = (key: string, working: boolean, name: string | null = null): object => ({
    key,
    name,
    agent: "main",
    kind: "dm",
    working,
    updatedAtMs: nowMs,
  });
  const entry = (turn: string, type: string, text: string, agoMs: number): object => ({
    turn,
    type,
    text,
    atMs: nowMs - agoMs,
  });
  const [first, second] = ["agent:main:telegram:dm:7", "agent:main:web:dm:1"];
  const entries: { readonly [key: string]: readonly object[] } = {
    [first]: [
      entry("t0", "assistant", "an answer to what was not read", 90_000),
      entry("t1", "user", "one", 80_000),
      entry("t1", "user", "two", 79_000),
      entry("t1", "assistant", "first words", 70_000),
      entry("t1", "toolResult", "a result", 69_000),
      entry("t1", "assistant", "last words", 68_000),
      entry("t1", "assistant", "", 67_000),
      entry("t3", "user", "three", 10_000),
      entry("t3", "assistant", "begun", 9_000),
    ],
    [second]: [entry("t2", "user", "a silent one", 40_000), entry("t4", "user", "the newest", 1_000)],
  };
  let changed = nowMs;
  const page = await showPage(Activity, {
    at: "#/activity",
    answers: {
      "sessions.list": () =>
        ({
          sessions: [session(first, true), { ...session(second, false, "Garden"), updatedAtMs: changed }],
        }) as never,
      "sessions.show": ({ key }) => ({ entries: entries[key] }) as never,
      why: story,
    },
  });
  const all = await page.text();
  const asked = [...page.asked];
  await page.pass(3_000);
  changed += 1;
  await page.pass(3_000);
  const later = page.asked.slice(asked.length);
  await expect(
    section("the list", all) +
      section("one", drawerOf(await page.go("#/activity/t1"))) +
      section("asked at first", `${asked.join("\n")}\n`) +
      section("asked later", `${later.join("\n")}\n`),
  ).toMatchFileSnapshot("shown/activity.txt");
});

/** A page without its list: the drawer alone. */
function drawerOf(text: string): string {
  return text.slice(text.lastIndexOf("\n## ") + 1);
}
