// Whole spans, attribute by attribute, as they are made of messages, turns, calls and deliveries, and what
// the exporter does with each answer of a collector, in virtual time. After a wanted change of spans:
// `vitest run --project @parley/gateway telemetry/span-tables -u`, and read the difference.
import { createHash } from "node:crypto";
import { version, type Entry } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import type { Store } from "@parley/store";
import { afterEach, expect, test, vi } from "vitest";
import { saidLog } from "../daemon/said-log.ts";
import { messageTraces } from "../../src/telemetry/message-traces.ts";
import { spanExporter, type Span } from "../../src/telemetry/span-exporter.ts";
import { isSampled, root, spanId } from "../../src/telemetry/span-ids.ts";
import { modelSpans, toolSpans, type SeenCall } from "../../src/telemetry/turn-spans.ts";

afterEach(() => vi.unstubAllGlobals());

const usage = { inputTokens: 1, outputTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 1_000 };
const assistant = (atMs: number, more: object = {}): Entry =>
  ({
    type: "assistant",
    content: [],
    model: "vendor/big/one",
    stop: "stop",
    usage: { ...usage, costUsd: 0.5 },
    atMs,
    ...more,
  }) as Entry;
const result = (callId: string, atMs: number, more: object = {}): Entry =>
  ({ type: "toolResult", callId, name: "exec", content: [], isError: false, atMs, ...more }) as Entry;
const said = (key: string, text: string | undefined) => ({ [key]: text });
const turn = { id: "lane#1", lane: "agent:main:telegram:dm:5", openedAtMs: 1_000 };
const within = { turn: turn as never, traceId: "trace", parentSpanId: "parent", said };

test("ids of spans are halves of hashes that every process makes, and a trace is sampled by its last digits", () => {
  const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
  expect(root("r1")).toEqual({
    traceId: hash("row r1").slice(0, 32),
    spanId: hash("received r1").slice(0, 16),
  });
  expect(spanId("turn", "t")).toBe(hash("turn t").slice(0, 16));
  const at = (digits: string, ratio: number): boolean => isSampled(`${"f".repeat(24)}${digits}`, ratio);
  expect([
    at("00000000", 0),
    at("00000000", 0.1),
    at("7fffffff", 0.5),
    at("80000000", 0.5),
    at("ffffffff", 1),
  ]).toEqual([false, true, true, false, true]);
});

test("calls of models: those that the record has from before, then those that this process saw", async () => {
  const end = (more: object = {}): SeenCall["end"] =>
    ({ type: "end", stop: "stop", usage, content: [{ type: "text", text: "hi" }], ...more }) as never;
  const seen: readonly SeenCall[] = [
    { model: "vendor/two", startMs: 3_000, endMs: 5_000, firstMs: 3_500.6, end: end() },
    { model: "plain", startMs: 5_000, endMs: 6_000, firstMs: null, end: null },
    {
      model: "vendor/two",
      startMs: 6_000,
      endMs: 7_000,
      firstMs: null,
      end: end({ model: "other/three", error: { kind: "overloaded" }, stop: "error" }),
    },
  ];
  const entries = [
    { type: "user", content: [], rows: [], atMs: 900 } as never,
    assistant(1_500, {
      stop: "toolUse",
      content: [
        { type: "thinking", text: "hm" },
        { type: "text", text: "first" },
        { type: "toolCall", id: "c1", name: "exec", args: { x: 1 } },
      ],
    }),
    result("c1", 2_000),
    assistant(2_400),
    assistant(2_500, { model: "" }),
    // This process saw it made.
    assistant(5_000),
  ];
  const spans = modelSpans(within, entries, seen);
  await expect(`${JSON.stringify(spans, null, 1)}\n`).toMatchFileSnapshot("tables/model-spans.txt");
  expect(modelSpans(within, [assistant(5)], [])).toMatchObject([{ startMs: 5, endMs: 5 }]);
  expect(modelSpans(within, [assistant(9_000)], seen)).toHaveLength(3);
});

test("calls of tools: begun when this process saw it, else when they were asked for", async () => {
  const call = (id: string): object => ({ type: "toolCall", id, name: "exec", args: { of: id } });
  const entries = [
    assistant(1_000, { content: [call("a"), { type: "text", text: "x" }, call("b"), call("late")] }),
    result("a", 1_500, {
      content: [
        { type: "text", text: "one" },
        { type: "image", mediaType: "image/png" },
      ],
    }),
    result("b", 1_600, { isError: true, name: "read" }),
    result("late", 1_700),
    result("never asked", 1_800),
    assistant(2_000, { content: [call("a")] }),
    result("a", 2_500),
  ];
  const begun: { readonly [id: string]: number } = { b: 1_200, late: 1_900 };
  const spans = toolSpans(within, entries, (id) => begun[id]);
  await expect(`${JSON.stringify(spans, null, 1)}\n`).toMatchFileSnapshot("tables/tool-spans.txt");
  expect(new Set(spans.map((span) => span.spanId)).size).toBe(5);
});

test("a message, its turn and its answer as spans, with and without the words", async () => {
  const clock = virtualClock({ startMs: 100_000 });
  const spans: Span[] = [];
  const lost: unknown[] = [];
  const row = (id: string, acceptedAtMs: number, more: object = {}, internal?: object): object => ({
    id,
    conversation: "telegram:default:dm:5",
    acceptedAtMs,
    payload: JSON.stringify({
      v: 1,
      inbound: directMessage({ id, messageId: `m-${id}`, text: `words of ${id}`, atMs: 90_000 }),
      owner: false,
      ...(internal === undefined ? {} : { internal }),
    }),
    ...more,
  });
  const store = (): object => ({
    inbox: {
      accept: async () => [{ verdict: "closed" }, { verdict: "accepted" }, { verdict: "closed" }],
      find: async () => [
        { id: "newest", outcome: "answered" },
        { id: "first", outcome: "answered" },
        { id: "heard", outcome: "context" },
      ],
    },
    turns: {
      absorb: async () => [row("r2", 95_000), row("r1", 91_000)],
      checkpoint: async () => 7,
      commit: async () => "done",
    },
    outbox: { record: async () => true },
  });
  const traced = (includeContent: boolean) =>
    messageTraces({
      sampleRatio: 1,
      includeContent,
      secrets: ["words of r2"],
      add: (span) => void spans.push(span),
      clock,
      log: { debug: ({ error }: { error: unknown }) => void lost.push(error) } as never,
    }).store(store() as Store);
  const held = {
    ...turn,
    openedAtMs: 94_000,
    pool: "main",
    attempt: 2,
    rows: [row("r1", 91_000), row("r3", 96_000, {}, { kind: "task", id: "x", turn: "other#1" })],
  };
  const play = async (includeContent: boolean): Promise<void> => {
    const { inbox, turns, outbox } = traced(includeContent);
    const closed = { kind: "closed", outcome: "refused", reason: "a stranger" };
    const refused = { lane: turn.lane, as: closed };
    await inbox.accept([
      row("c1", 0, refused),
      row("c2", 0, refused),
      row("c3", 0, { ...refused, as: { kind: "work" } }),
    ] as never);
    await turns.absorb(held as never, 0 as never, 5);
    await turns.checkpoint(
      held as never,
      0 as never,
      { steps: [{ kind: "intent", body: '{"callId":"a"}' }] } as never,
    );
    await clock.advance(1_000);
    const entries = [
      assistant(clock.now() - 500, { content: [{ type: "toolCall", id: "a", name: "exec", args: {} }] }),
      result("a", clock.now()),
      assistant(clock.now()),
    ].map((entry) => JSON.stringify(entry));
    expect(
      await turns.commit(
        held as never,
        turn.id as never,
        { outcome: "answered", reason: "well", entries } as never,
      ),
    ).toBe("done");
    await turns.commit(
      { ...held, id: "lane#2", rows: [row("r9", 1)] } as never,
      "lane#2" as never,
      { outcome: "dead", reason: "a bug", entries: [] } as never,
    );
    // Somebody else's turn, and one without rows, have no span.
    await turns.commit(held as never, "other" as never, { outcome: "answered", entries: [] } as never);
    await turns.commit(
      { ...held, rows: [] } as never,
      turn.id as never,
      { outcome: "answered", entries: [] } as never,
    );
    const part = (more: object): object => ({
      content: JSON.stringify({ v: 1, kind: "preview", markdown: "an answer" }),
      startedAtMs: 0,
      attempts: 4,
      ...more,
    });
    const delivery = (id: string, cause: string): object => ({
      id,
      cause,
      pool: "telegram:default",
      lane: "telegram:default:dm:5",
      createdAtMs: 99_000,
      parts: [part({}), part({ startedAtMs: 98_000 })],
    });
    const batch = { deliveries: [delivery("d1", turn.id), delivery("d2", "old#9"), delivery("d3", "row-7")] };
    const record = async (...changes: readonly object[]): Promise<void> => {
      await outbox.record(batch as never, changes as never);
      await clock.advance(100);
    };
    await record({ delivery: "d1", part: 0, to: "sending", attempt: 1 });
    await record(
      { delivery: "d1", part: 0, to: "sent", receipt: '{"messageId":"m1"}' },
      { delivery: "d1", part: 1, to: "sent", receipt: '{"messageId":7}' },
    );
    await record(
      { delivery: "d2", part: 0, to: "queued" },
      { delivery: "d2", part: 1, to: "ambiguous", reason: "?" },
      { delivery: "d3", part: 0, to: "failed", reason: "no" },
      { delivery: "gone", part: 0, to: "failed" },
    );
  };
  await play(false);
  const bare = spans.splice(0);
  await play(true);
  await expect(`${JSON.stringify(bare, null, 1)}\n`).toMatchFileSnapshot("tables/message-spans.txt");
  expect(lost).toEqual([]);
  const words = spans.flatMap(({ name, attributes }) => {
    const told = attributes["parley.content"] ?? attributes["gen_ai.tool.call.arguments"];
    return told === undefined ? [] : [`${name}: ${String(told)}`];
  });
  expect(words).toEqual([
    "received: words of c1",
    "received: words of r1",
    "received: words of r3",
    "received: [secret]",
    "execute_tool exec: {}",
    "received: words of r9",
    ...Array.from({ length: 5 }, () => "deliver: an answer"),
  ]);
  const reasons = [bare, spans].map((of) =>
    of.filter(({ name }) => name === "turn").map(({ attributes }) => attributes["parley.reason"]),
  );
  expect(reasons).toEqual([
    [undefined, "a bug"],
    ["well", "a bug"],
  ]);
});

test("what cannot be made a span of costs the span alone: what was stored stays stored, and is answered", async () => {
  const clock = virtualClock();
  const { log, said } = saidLog();
  const spans: Span[] = [];
  const { turns } = messageTraces({
    sampleRatio: 1,
    includeContent: false,
    secrets: [],
    add: (span) => void spans.push(span),
    clock,
    log,
  }).store({
    inbox: {},
    turns: { commit: async () => "done", checkpoint: async () => 7 },
    outbox: {},
  } as unknown as Store);
  const row = { id: "r", conversation: "c", acceptedAtMs: 1, payload: "no JSON" };
  const held = { ...turn, pool: "main", attempt: 1, rows: [row] };
  const answers = [
    await turns.commit(held as never, turn.id as never, { outcome: "answered", entries: ["{"] } as never),
    await turns.checkpoint(held as never, 0 as never, { steps: [{ kind: "intent", body: "{" }] } as never),
  ];
  expect(answers).toEqual(["done", 7]);
  const lost = ["debug", "a span could not be made", { error: expect.any(Error) as Error }];
  expect([said, spans.map(({ name }) => name)]).toEqual([
    [lost, lost],
    ["received", "waited"],
  ]);
});

interface Posted {
  readonly atMs: number;
  readonly url: string;
  readonly spans: number;
  readonly init: { readonly body: string; readonly redirect: string; readonly headers: object };
}

/** An exporter whose collector answers as `answer` says. */
function exporting(answer: (nth: number) => Response | Promise<Response>, endpoint = "http://c:4318") {
  const clock = virtualClock({ startMs: 0 });
  const posts: Posted[] = [];
  const counts: string[] = [];
  const logged: string[] = [];
  const log = Object.fromEntries(
    (["info", "warn"] as const).map((level) => [
      level,
      (fields: object, words: string) => void logged.push(`${level} ${words} ${JSON.stringify(fields)}`),
    ]),
  );
  vi.stubGlobal("fetch", async (url: string, init: Posted["init"] & { readonly signal: AbortSignal }) => {
    const { resourceSpans } = JSON.parse(init.body) as {
      resourceSpans: { scopeSpans: { spans: object[] }[] }[];
    };
    posts.push({ atMs: clock.now(), url, spans: resourceSpans[0]?.scopeSpans[0]?.spans.length ?? 0, init });
    const { promise: cut, reject } = Promise.withResolvers<never>();
    init.signal.addEventListener("abort", () => reject(new Error("aborted")));
    return Promise.race([answer(posts.length), cut]);
  });
  const exporter = spanExporter({
    endpoint,
    headers: { "content-type": "text/odd", "x-key": "k" },
    resource: { "service.name": "parley", none: undefined },
    count: (result_, spans) => void counts.push(`${result_} ${spans}`),
    clock,
    log: log as never,
  });
  const add = (count: number): void => {
    for (let n = 0; n < count; n += 1) exporter.add(spanOf({ name: `s${n}` }));
  };
  return { clock, posts, counts, logged, exporter, add };
}

function spanOf(more: Partial<Span> = {}): Span {
  return {
    traceId: "t",
    spanId: "s",
    name: "n",
    kind: "internal",
    startMs: 1,
    endMs: 2,
    attributes: {},
    ...more,
  };
}

test("what is posted, field by field", async () => {
  const at = exporting(() => new Response("{}"));
  const kinds = ["internal", "server", "client", "producer", "consumer"] as const;
  for (const kind of kinds) at.exporter.add(spanOf({ kind, name: kind }));
  const link = { traceId: "lt", spanId: "ls" };
  at.exporter.add(
    spanOf({
      parentSpanId: "p",
      startMs: 1_700_000_000_000.6,
      endMs: 5,
      error: "it broke",
      links: [link],
      attributes: {
        text: "",
        whole: -3,
        part: 0.5,
        huge: 2 ** 53,
        no: false,
        list: ["a", "b"],
        none: undefined,
      },
    }),
  );
  at.exporter.add(spanOf({ startMs: -5, endMs: -1, links: [] }));
  await at.clock.advance(999);
  expect(at.posts).toEqual([]);
  await at.clock.advance(1);
  const [post] = at.posts;
  expect([post?.url, post?.init.redirect, post?.init.headers]).toEqual([
    "http://c:4318/v1/traces",
    "manual",
    { "content-type": "application/json", "x-key": "k" },
  ]);
  const plain = { traceId: "t", spanId: "s", attributes: [], status: {} };
  expect(JSON.parse(post?.init.body ?? "")).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "parley" } }] },
        scopeSpans: [
          {
            scope: { name: "parley", version },
            spans: [
              ...kinds.map((name, nth) => ({
                ...plain,
                name,
                kind: nth + 1,
                startTimeUnixNano: "1000000",
                endTimeUnixNano: "2000000",
              })),
              {
                ...plain,
                parentSpanId: "p",
                name: "n",
                kind: 1,
                startTimeUnixNano: "1700000000001000000",
                endTimeUnixNano: "1700000000001000000",
                attributes: [
                  { key: "text", value: { stringValue: "" } },
                  { key: "whole", value: { intValue: "-3" } },
                  { key: "part", value: { doubleValue: 0.5 } },
                  { key: "huge", value: { doubleValue: 2 ** 53 } },
                  { key: "no", value: { boolValue: false } },
                  {
                    key: "list",
                    value: { arrayValue: { values: [{ stringValue: "a" }, { stringValue: "b" }] } },
                  },
                ],
                links: [link],
                status: { code: 2, message: "it broke" },
              },
              { ...plain, name: "n", kind: 1, startTimeUnixNano: "0000000", endTimeUnixNano: "0000000" },
            ],
          },
        ],
      },
    ],
  });
});

test("an address with a path of its own is taken as it is", async () => {
  const urls: string[] = [];
  for (const endpoint of ["http://c", "http://c/", "http://c/own", "http://c/v1/traces?x=1"]) {
    const at = exporting(() => new Response("{}"), endpoint);
    at.add(1);
    await at.clock.advance(1_000);
    urls.push(at.posts[0]?.url ?? "");
  }
  expect(urls).toEqual([
    "http://c/v1/traces",
    "http://c/v1/traces",
    "http://c/own",
    "http://c/v1/traces?x=1",
  ]);
});

test("which answers are tried again, and which drop what was sent", async () => {
  const table: string[] = [];
  const said: { [status: number]: readonly string[] } = {};
  for (const status of [200, 202, 302, 400, 401, 408, 413, 429, 500, 501, 502, 503, 504, 505]) {
    const at = exporting(
      (nth) => new Response(nth === 1 && status >= 300 ? "x" : "{}", { status: nth === 1 ? status : 200 }),
    );
    at.add(2);
    await at.clock.advance(1_000);
    const first = at.counts.join(", ") || "waits";
    await at.clock.advance(2_000);
    table.push(`${status} ${first}; ${at.posts.length} posts, ${at.counts.join(", ")}`);
    said[status] = at.logged;
  }
  const url = '"url":"http://c:4318/v1/traces"';
  expect([said[200], said[401], said[429]]).toEqual([
    [],
    [`warn the collector refused traces {${url},"reason":"it answered with status 401","spans":2}`],
    [
      `warn traces cannot be sent; it is tried again {${url},"reason":"it answered with status 429"}`,
      `info traces are sent again {${url}}`,
    ],
  ]);
  const dropped = (status: number): string => `${status} dropped 2; 1 posts, dropped 2`;
  const again = (status: number): string => `${status} waits; 2 posts, sent 2`;
  expect(table).toEqual([
    "200 sent 2; 1 posts, sent 2",
    "202 sent 2; 1 posts, sent 2",
    ...[302, 400, 401].map(dropped),
    again(408),
    dropped(413),
    again(429),
    ...[500, 501].map(dropped),
    ...[502, 503, 504].map(again),
    dropped(505),
  ]);
});

test("a collector that is away is asked after one second, two, four and so on to a minute; the log says it once", async () => {
  const at = exporting((nth) => {
    if (nth <= 9) throw Object.assign(new Error("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    return new Response("{}");
  });
  at.add(1);
  await at.clock.advance(400_000);
  const waits = at.posts.map(({ atMs }, nth) => (atMs - (at.posts[nth - 1]?.atMs ?? 0)) / 1_000);
  expect(waits).toEqual([1, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
  const url = '"url":"http://c:4318/v1/traces"';
  expect(at.logged).toEqual([
    `warn traces cannot be sent; it is tried again {${url},"reason":"ECONNREFUSED"}`,
    `info traces are sent again {${url}}`,
  ]);
  // From there on it begins anew.
  at.add(1);
  await at.clock.advance(1_000);
  expect([at.posts.length, at.counts]).toEqual([11, ["sent 1", "sent 1"]]);
});

test("batches have 256 spans: full ones follow at once, the rest is gathered for a second", async () => {
  const at = exporting(() => new Response("{}"));
  at.add(600);
  await at.clock.advance(10_000);
  expect(at.posts.map(({ atMs, spans }) => [atMs, spans])).toEqual([
    [1_000, 256],
    [1_000, 256],
    [2_000, 88],
  ]);
});

test("what a collector says it rejected is counted as dropped, and never more than was sent", async () => {
  const bodies = [
    '{"partialSuccess":{"rejectedSpans":"2"}}',
    '{"partialSuccess":{"rejectedSpans":1}}',
    '{"partialSuccess":{"rejectedSpans":"9"}}',
    '{"partialSuccess":{"rejectedSpans":-1}}',
    '{"partialSuccess":{"rejectedSpans":1.5}}',
    '{"partialSuccess":null}',
    "",
    "no JSON",
  ];
  const counts: string[] = [];
  for (const body of bodies) {
    const at = exporting(() => new Response(body));
    at.add(3);
    await at.clock.advance(1_000);
    counts.push(at.counts.join(", "));
  }
  expect(counts).toEqual([
    "sent 1, dropped 2",
    "sent 2, dropped 1",
    "sent 0, dropped 3",
    ...Array.from({ length: 5 }, () => "sent 3"),
  ]);
});

test("a collector that does not answer is given up after ten seconds, and after two at the end", async () => {
  const at = exporting(() => new Promise(() => {}));
  at.add(1);
  await at.clock.advance(10_999);
  expect(at.logged).toEqual([]);
  await at.clock.advance(1);
  expect(at.logged).toHaveLength(1);
  expect(at.logged[0]).toContain("no answer in time");
  const begunMs = at.clock.now();
  let endedMs = -1;
  void at.exporter.stop().then(() => (endedMs = at.clock.now()));
  await at.clock.advance(1_999);
  expect([endedMs, at.counts]).toEqual([-1, []]);
  await at.clock.advance(1);
  expect([endedMs - begunMs, at.counts]).toEqual([2_000, ["dropped 1"]]);
  at.add(1);
  expect(at.counts).toEqual(["dropped 1", "dropped 1"]);
  expect(at.clock.armed()).toBe(0);
});
