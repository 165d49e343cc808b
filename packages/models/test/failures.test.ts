import {
  type FakeModels,
  fakeModels,
  modelStep,
  type ModelStep,
  streamBytes,
  virtualClock,
} from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ModelErrorKind } from "../src/index.ts";
import { ask, asking, collect, wires } from "./collect.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const body = (type: string, message: string): { error: { type: string; message: string } } => ({
  error: { type, message },
});

const refusals: readonly (readonly [string, ModelStep, ModelErrorKind, number?])[] = [
  ["429 with retry-after in seconds", { status: 429, headers: { "retry-after": "7" } }, "rate_limited", 7000],
  [
    "429 with retry-after in milliseconds",
    { status: 429, headers: { "retry-after-ms": "250", "retry-after": "7" } },
    "rate_limited",
    250,
  ],
  [
    "429 with retry-after as a date",
    { status: 429, headers: { "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" } },
    "rate_limited",
    60_000,
  ],
  [
    "429 for an empty account",
    { status: 429, body: body("insufficient_quota", "You exceeded your current quota") },
    "billing",
  ],
  ["402", { status: 402 }, "billing"],
  [
    "400 about credit",
    { status: 400, body: body("invalid_request_error", "Your credit balance is too low") },
    "billing",
  ],
  ["401", { status: 401, body: body("authentication_error", "invalid x-api-key") }, "auth"],
  ["403", { status: 403 }, "auth"],
  ["404", { status: 404, body: body("not_found_error", "model: claude-9") }, "not_found"],
  [
    "400 about a full context",
    {
      status: 400,
      body: body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    },
    "context_overflow",
  ],
  [
    "400 about question and answer together",
    {
      status: 400,
      body: body(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000",
      ),
    },
    "context_overflow",
  ],
  [
    "400 about a full context, another wording",
    {
      status: 400,
      body: body("context_length_exceeded", "This model's maximum context length is 128000 tokens"),
    },
    "context_overflow",
  ],
  [
    "400 by a content filter",
    { status: 400, body: body("content_filter", "The response was filtered") },
    "refused",
  ],
  [
    "400 about anything else",
    { status: 400, body: body("invalid_request_error", "messages.0: unexpected field") },
    "invalid",
  ],
  ["529", { status: 529, body: body("overloaded_error", "Overloaded") }, "overloaded"],
  ["500", { status: 500 }, "unavailable"],
  ["502 with a web page", { status: 502, body: "<html>bad gateway</html>" }, "unavailable"],
  ["503", { status: 503 }, "unavailable"],
  ["504", { status: 504 }, "timeout"],
  ["200 with a web page", { status: 200, body: "<html>log in to the network</html>" }, "unavailable"],
  ["200 with a JSON error", { status: 200, body: body("rate_limit_exceeded", "slow down") }, "rate_limited"],
  [
    "an overload behind a 200",
    { text: "half an ans", errorEvent: { type: "overloaded_error", message: "Overloaded" } },
    "overloaded",
  ],
  [
    "an overload behind a 200 before any word",
    { errorEvent: { type: "overloaded_error", message: "Overloaded" } },
    "overloaded",
  ],
  [
    "a rate limit behind a 200",
    { text: "half", errorEvent: { type: "rate_limit_error", message: "rate limit" } },
    "rate_limited",
  ],
  [
    "a server error behind a 200",
    { text: "half", errorEvent: { type: "server_error", message: "The server had an error" } },
    "unavailable",
  ],
];

describe.each(wires)("$name fails as a value", ({ model }) => {
  it.each(refusals.map(([name, step, kind, retryAfterMs]) => ({ name, step, kind, retryAfterMs })))(
    "$name",
    async ({ step, kind, retryAfterMs }) => {
      server.script(step);
      const clock = virtualClock({ startMs: Date.UTC(2026, 0, 1) });
      const { end, calls } = await ask(model(server.url, { clock }));
      expect(end.error?.kind).toBe(kind);
      expect(end.error?.retryAfterMs).toBe(retryAfterMs);
      expect(end.stop).toBe("error");
      expect(calls).toEqual([]);
      expect(clock.armed()).toBe(0);
      expect(server.requests()).toHaveLength(1);
    },
  );

  it("a server that is not there", async () => {
    expect((await ask(model("http://127.0.0.1:9"))).end.error?.kind).toBe("unavailable");
  });

  it("without telling the key", async () => {
    server.script({
      status: 401,
      body: body("invalid_api_key", "Incorrect API key provided: key-of-the-test"),
    });
    expect(JSON.stringify(await ask(model(server.url)))).not.toContain("key-of-the-test");
  });
});

const timers = { connectMs: 10_000, firstTokenMs: 120_000, idleMs: 60_000 };

describe.each(wires)("$name, a server that hangs", ({ wire, model }) => {
  const hangs: readonly (readonly [string, ModelStep, number, RegExp])[] = [
    ["before its headers", { hang: "headers" }, timers.connectMs, /no headers within 10 s/],
    ["before its first token", { hang: "body" }, timers.firstTokenMs, /no first token within 120 s/],
    [
      "before its first token, pinging forever",
      { hang: "pings" },
      timers.firstTokenMs,
      /no first token within 120 s/,
    ],
  ];
  it.each(hangs)("%s times out", async (_name, step, limitMs, message) => {
    const clock = virtualClock();
    server.script(step);
    const answer = ask(model(server.url, { clock }));
    await until(() => server.requests().length === 1);
    await pause();
    await clock.advance(limitMs - 1);
    expect(clock.armed()).toBe(1);
    await clock.advance(1);
    const { end } = await answer;
    expect(end.error).toMatchObject({ kind: "timeout", message: expect.stringMatching(message) as string });
    await until(() => server.requests()[0]?.aborted === true);
    expect(clock.armed()).toBe(0);
  });

  it.each(["body", "pings"] as const)("after some words (%s) times out between events", async (hang) => {
    const clock = virtualClock();
    const step: ModelStep = { text: "one two three ".repeat(20), usage: { input: 1 } };
    // Behind a whole event, so that a ping is a ping and not the rest of one.
    const cutAtByte = streamBytes(modelStep.parse(step), { wire, model: "fake" }).indexOf("\n\n", 1500) + 2;
    server.script({ ...step, hang, cutAtByte });
    const stream = model(server.url, { clock })
      .stream(asking("hi"), new AbortController().signal)
      [Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ type: "text" });
    const rest = collect({ [Symbol.asyncIterator]: () => stream });
    // In steps, with room for pings to arrive in between: none of them may start the count again.
    for (let step = 0; step < 6; step += 1) {
      await pause();
      await pause();
      await clock.advance(timers.idleMs / 6);
    }
    const { end } = await rest;
    expect(end.error?.kind).toBe("timeout");
    expect(end.content[0]).toMatchObject({ type: "text" });
  });
});

describe.each(wires)("$name, a server that drips", ({ model }) => {
  it("is given up once its answer has taken all of its time, however little each silence was", async () => {
    const clock = virtualClock();
    server.script({ text: "drop ".repeat(400), betweenMs: 20 });
    const patient = { idleMs: 200_000, totalMs: 100_000 };
    const stream = model(server.url, { clock, timers: patient })
      .stream(asking("hi"), new AbortController().signal)
      [Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ type: "text" });
    const rest = collect({ [Symbol.asyncIterator]: () => stream });
    await clock.advance(99_999);
    await pause();
    expect(clock.armed()).toBe(1);
    await clock.advance(1);
    const { end } = await rest;
    expect(end.error).toMatchObject({ kind: "timeout", message: "no end of the answer within 100 s" });
    expect(clock.armed()).toBe(0);
  });
});

describe.each(wires)("$name, stopped", ({ model }) => {
  it.each(["headers", "body", "pings"] as const)(
    "while the server hangs (%s): the call ends and the request is dropped",
    async (hang) => {
      server.script({ hang });
      const stop = new AbortController();
      const answer = ask(model(server.url), asking("hi"), stop.signal);
      await until(() => server.requests().length === 1);
      stop.abort();
      expect((await answer).end).toMatchObject({ stop: "aborted", error: { kind: "aborted" } });
      await until(() => server.requests()[0]?.aborted === true);
    },
  );

  it("before it began: nothing is sent", async () => {
    const { end } = await ask(model(server.url), asking("hi"), AbortSignal.abort());
    expect(end.stop).toBe("aborted");
    expect(server.requests()).toEqual([]);
  });

  it("a reader that takes its time is waited for: silence counts only while somebody reads", async () => {
    const clock = virtualClock();
    server.script({ text: "one two three ".repeat(20) });
    const stream = model(server.url, { clock })
      .stream(asking("hi"), new AbortController().signal)
      [Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ type: "text" });
    for (let at = 0; at < 5; at += 1) await clock.advance(timers.idleMs);
    const { end } = await collect({ [Symbol.asyncIterator]: () => stream });
    expect([end.stop, end.error]).toEqual(["stop", undefined]);
    expect(clock.armed()).toBe(0);
  });

  it("a reader that goes away takes the request along", async () => {
    server.script({ text: "one two three ".repeat(20), hang: "body", cutAtByte: 1500 });
    for await (const _ of model(server.url).stream(asking("hi"), new AbortController().signal)) break;
    await until(() => server.requests()[0]?.aborted === true);
  });
});

/** Real sockets move in real time: waits for what must come, without asserting when. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause();
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 15));
}
