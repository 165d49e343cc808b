// What an operator sees of rows and deliveries, each state and content, and what moved between a turn and its
// replay. After a wanted change: `vitest run --project @parley/gateway record-views -u`.
import { formatContent, formatRowPayload, type Content } from "@parley/protocol";
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { outboxMethods } from "../../src/operator/outbox.ts";
import { failuresOf, movedIn } from "../../src/replay/compare-turns.ts";
import { internalOf, shownDelivery, shownRow } from "../../src/trace/record-views.ts";

const part = (content: Content | null, more: object = {}) => ({
  content: content === null ? '{"v":9}' : formatContent(content),
  state: "sent",
  attempts: 1,
  flagged: false,
  receipt: null,
  startedAtMs: 0,
  reason: null,
  ...more,
});
const delivery = (parts: readonly object[], more: object = {}) =>
  ({
    id: "d1",
    lane: "telegram:a:dm:1",
    pool: "telegram:a",
    cause: "t",
    createdAtMs: 5,
    open: false,
    done: true,
    parts,
    ...more,
  }) as never;
const said = (markdown: string): Content => ({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] });
const act = (action: object): Content => ({ v: 1, kind: "act", action }) as never;
const rendered = (shown: object): Content => ({ v: 1, kind: "rendered", part: shown }) as never;

test("deliveries of every state and content", async () => {
  const [sent, failed, unclear] = [
    part(said("a")),
    part(said("b"), { state: "failed", reason: "r" }),
    part(said("c"), { state: "ambiguous" }),
  ];
  const contents: readonly (Content | null)[] = [
    null,
    said("x".repeat(200)),
    said("x".repeat(201)),
    said(` a\n\n b `),
    { v: 1, kind: "reply", parts: [{ kind: "card", markdown: "card" }, { kind: "media" }] } as never,
    { v: 1, kind: "preview", markdown: "growing" },
    rendered({ kind: "text", text: "<b>a</b>", plain: "a" }),
    rendered({ kind: "text", text: "<b>a</b>", plain: "" }),
    rendered({ kind: "poll" }),
    { v: 1, kind: "remove" },
    act({ kind: "edit", text: { plain: "new" } }),
    { v: 1, kind: "action", action: { kind: "edit", markdown: "meant" } } as never,
    act({ kind: "remove" }),
    act({ kind: "react", emoji: "👍" }),
    act({ kind: "react", emoji: null }),
    act({ kind: "pin", pinned: true }),
    act({ kind: "pin", pinned: false }),
    act({ kind: "createThread", title: "T" }),
    act({ kind: "setCommands" }),
  ];
  const shown = [
    delivery([sent]),
    delivery([sent], { open: true }),
    delivery([failed], { done: false }),
    delivery([sent, unclear, failed]),
    delivery([unclear, sent]),
    delivery([part(said("a"), { receipt: '{"messageId":"7"}', startedAtMs: 9, flagged: true, attempts: 3 })]),
    ...contents.map((content) => delivery([part(content)])),
  ];
  await expect(answerTable(shown, shownDelivery)).toMatchFileSnapshot("../tables/deliveries.txt");
});

test("rows of people and of Parley, refused ones, and those of another version", () => {
  const inbound = {
    id: "r1",
    channel: "telegram",
    account: "a",
    address: { channel: "telegram", account: "a", kind: "dm", peer: "1" },
    sender: { id: "1", name: "Ada", isBot: false },
    messageId: "m1",
    kind: "message",
    text: "hi",
    attachments: [],
    mentions: [],
    addressed: true,
    atMs: 3,
  } as never;
  const row = (payload: string) =>
    ({
      id: "r1",
      lane: "agent:main:main",
      conversation: "telegram:a:dm:1",
      payload,
      acceptedAtMs: 4,
      state: "ended",
      outcome: "answered",
      reason: null,
      endedAtMs: 6,
    }) as never;
  const own = formatRowPayload({ v: 1, inbound, owner: true, internal: { kind: "hook", id: "h", turn: "" } });
  const rows = [
    row(formatRowPayload({ v: 1, inbound, owner: true })),
    row(own),
    row(""),
    row("{}"),
    row("x".repeat(201)),
  ];
  expect(rows.map(shownRow)).toMatchInlineSnapshot(`
    [
      {
        "conversation": "telegram:a:dm:1",
        "endedAtMs": 6,
        "id": "r1",
        "messageId": "m1",
        "outcome": "answered",
        "reason": null,
        "receivedAtMs": 4,
        "sender": "Ada (telegram:1)",
        "sentAtMs": 3,
        "session": "agent:main:main",
        "state": "ended",
        "text": "hi",
      },
      {
        "conversation": "telegram:a:dm:1",
        "endedAtMs": 6,
        "id": "r1",
        "messageId": "m1",
        "outcome": "answered",
        "reason": null,
        "receivedAtMs": 4,
        "sender": "Ada (telegram:1)",
        "sentAtMs": 3,
        "session": "agent:main:main",
        "state": "ended",
        "text": "hi",
      },
      {
        "conversation": "telegram:a:dm:1",
        "endedAtMs": 6,
        "id": "r1",
        "messageId": null,
        "outcome": "answered",
        "reason": null,
        "receivedAtMs": 4,
        "sender": null,
        "sentAtMs": null,
        "session": "agent:main:main",
        "state": "ended",
        "text": "",
      },
      {
        "conversation": "telegram:a:dm:1",
        "endedAtMs": 6,
        "id": "r1",
        "messageId": null,
        "outcome": "answered",
        "reason": null,
        "receivedAtMs": 4,
        "sender": null,
        "sentAtMs": null,
        "session": "agent:main:main",
        "state": "ended",
        "text": "{}",
      },
      {
        "conversation": "telegram:a:dm:1",
        "endedAtMs": 6,
        "id": "r1",
        "messageId": null,
        "outcome": "answered",
        "reason": null,
        "receivedAtMs": 4,
        "sender": null,
        "sentAtMs": null,
        "session": "agent:main:main",
        "state": "ended",
        "text": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...",
      },
    ]
  `);
  expect(rows.map((each) => internalOf(each)?.id ?? null)).toEqual([null, "h", null, null, null]);
});

function outbox(all: readonly unknown[], dropped = 1) {
  const log: unknown[] = [];
  const methods = outboxMethods(
    {
      find: async (query: object) => {
        log.push(["find", query]);
        return all.filter((each) => {
          const { id, troubled, state } = query as { id?: string; troubled?: boolean; state?: string };
          const found = each as { id: string; kinds: readonly string[] };
          return id === undefined
            ? found.kinds.includes(troubled === true ? "troubled" : (state ?? ""))
            : found.id === id;
        });
      },
      post: async (made: unknown) => void log.push(["post", made]),
      drop: async (...given: unknown[]) => (log.push(["drop", ...given]), dropped),
    } as never,
    { open: async (chats: Iterable<unknown>) => void log.push(["open", ...chats]) },
  );
  return { log, methods };
}

test("the operator's list has what waits, what goes out and what is in trouble, newest first, each once", async () => {
  const each = (id: string, createdAtMs: number, ...kinds: string[]) =>
    delivery([part(said(id))], { id, createdAtMs, kinds });
  const { methods, log } = outbox([
    each("old", 1, "queued"),
    each("both", 4, "queued", "troubled"),
    each("sending", 2, "sending"),
    each("troubled", 3, "troubled"),
  ]);
  const ids = async (params: object) => (await methods.list(params as never)).deliveries.map(({ id }) => id);
  expect(await ids({})).toEqual(["both", "troubled", "sending", "old"]);
  expect(log).toContainEqual(["find", { limit: 100, troubled: true }]);
  expect(await ids({ limit: 2 })).toEqual(["both", "troubled"]);
  expect(await ids({ troubled: true })).toEqual(["both", "troubled"]);
  await ids({ lane: "telegram:a:dm:1", limit: 7 });
  expect(log.at(-1)).toEqual(["find", { lane: "telegram:a:dm:1", limit: 7, state: "sending" }]);
});

test("a retry posts what was not sent, opens the chat first, and gives the old one up last", async () => {
  const parts = [part(said("a")), part(said("b"), { state: "failed" })];
  const { methods, log } = outbox([
    delivery(parts),
    delivery(parts, { id: "open", done: false }),
    delivery([part(said("a"))], { id: "whole" }),
  ]);
  const { id } = await methods.retry({ id: "d1" });
  expect(log.slice(1).map((entry) => (entry as readonly unknown[])[0])).toEqual(["open", "post", "drop"]);
  expect(log[2]).toEqual([
    "post",
    [
      {
        id,
        pool: "telegram:a",
        lane: "telegram:a:dm:1",
        cause: "t",
        parts: [{ content: formatContent(said("b")) }],
      },
    ],
  ]);
  expect(log[3]).toEqual(["drop", ["d1"], "sent again by an operator"]);
  expect((await methods.show({ id: "d1" })).state).toBe("failed");
  await expect(methods.retry({ id: "open" })).rejects.toThrow("still being delivered");
  await expect(methods.retry({ id: "whole" })).rejects.toThrow("sent whole");
  await expect(methods.retry({ id: "none" })).rejects.toMatchObject({ code: "missing" });
  await expect(methods.drop({ id: "none" })).rejects.toMatchObject({ code: "missing" });
  await expect(outbox([delivery(parts)], 0).methods.drop({ id: "d1" })).rejects.toBeDefined();
});

const side = (more: object = {}) => ({
  model: "m",
  stop: "stop",
  calls: [{ name: "read", args: { path: "a" } }],
  answer: "yes",
  inputTokens: 100,
  outputTokens: 10,
  cacheReadTokens: 5,
  cacheWriteTokens: 1,
  costUsd: 0.01,
  tookMs: 50,
  ...more,
});
test("what moved between a turn and its replay, and what a saved turn did not keep", async () => {
  const prompt = {
    moves: [{ id: "time", zone: "volatile", change: "changed", charsBefore: 1, charsAfter: 2 }],
    files: ["a", "b"],
    tools: [],
  };
  const replays = [
    { after: null, prompt },
    { after: side(), prompt: { moves: [], files: [], tools: ["exec"] } },
    { after: side({ model: "n", answer: " yes\n" }) },
    ...["stop", "length", "cut", "steps", "loop", "error"].map((stop) => ({
      after: side({ stop, answer: "no" }),
    })),
    {
      after: side({ calls: [] }),
      unanswered: [
        { name: "read", given: "another" },
        { name: "exec", given: "nothing" },
      ],
    },
    { after: side({ calls: [{ name: "read", args: { path: "b" } }] }) },
    { after: side({ inputTokens: 158 }) },
    { after: side({ cacheReadTokens: 0, cacheWriteTokens: 0 }) },
    {
      before: side({
        inputTokens: 0,
        outputTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        costUsd: null,
        tookMs: null,
      }),
      after: side(),
    },
    { after: side({ costUsd: null, tookMs: 51 }) },
  ].map((more) => ({ before: side(), prompt: null, unanswered: [], ...more }));
  const expects = [
    { calls: "any", answer: {} },
    { calls: "names", answer: { same: true } },
    { calls: "same", answer: { includes: ["yes", "no"], excludes: ["no", "never"] } },
    { calls: "any", answer: {}, tokens: 1 },
    { calls: "any", answer: {}, tokens: 1.5 },
  ];
  const table = [
    answerTable(replays, (replayed) => [...movedIn(replayed as never)]),
    ...expects.map((expected) =>
      answerTable(replays, (replayed) => [...failuresOf(expected as never, replayed as never)]),
    ),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("../tables/replays.txt");
});
