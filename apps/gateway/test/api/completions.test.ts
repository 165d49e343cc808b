// The chat API over a path that answers as the test says, in virtual time: what a program gets while the
// agent is at work, when it leaves, and where nobody lets it in.
import { Readable } from "node:stream";
import { connectedClients, Unauthorized, whileKnown, type Caller } from "@parley/control";
import { Fault, noUsage, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { completions, type CompletionOptions } from "../../src/api/completions.ts";

type Answer = Awaited<ReturnType<CompletionOptions["requests"]["answer"]>>;
const answered: Answer = { outcome: "answered", text: "yes", reason: null, usage: noUsage };

function world(answer: CompletionOptions["requests"]["answer"] = async () => answered) {
  const clock = virtualClock({ startMs: 1_700_000_000_999 });
  const asked: unknown[] = [];
  const noted: unknown[] = [];
  const scopes: string[] = [];
  const closing = new AbortController();
  const clients = connectedClients();
  let caller: Partial<Caller> | Unauthorized = { peer: "web-p", scopes: ["read", "write"], device: null };
  const api = completions({
    requests: {
      ask: async (...what: readonly unknown[]) => (asked.push(what), { id: "row", duplicate: false }),
      answer,
      watch: () => () => {},
    } as unknown as CompletionOptions["requests"],
    agents: () => ["home", "main"],
    callerOf: async (_incoming, scope) => {
      scopes.push(scope);
      if (caller instanceof Unauthorized) throw caller;
      return { address: "10.0.0.1", ...caller } as Caller;
    },
    refusals: { note: (...what: readonly unknown[]) => void noted.push(what) } as never,
    whileKnown: whileKnown({ clients, devices: { isKnown: async () => true }, clock }),
    closing: closing.signal,
    clock,
    ids: seededIds(1),
    log: silentLog,
  });
  const app = new Hono<never>()
    .post("/v1/chat/completions", api.complete as never)
    .get("/v1/models", api.models as never)
    .get("/v1/models/*", api.model as never);
  const send = (method: string, path: string, body = "", headers: object = {}) =>
    Promise.resolve(
      app.request(path, { method, headers: { ...headers } }, {
        incoming: Object.assign(Readable.from([Buffer.from(body)]), { url: path }),
      } as never),
    );
  const complete = (more: object = {}, headers: object = {}) =>
    send(
      "POST",
      "/v1/chat/completions",
      JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...more }),
      headers,
    );
  const told = async (response: Response) => {
    const { status, headers } = response;
    const kept = ["cache-control", "retry-after", "www-authenticate"].flatMap((name) =>
      headers.has(name) ? [`${name}: ${headers.get(name)}`] : [],
    );
    const { error } = (await response.json()) as { readonly error?: { readonly [field: string]: unknown } };
    return [status, error?.["code"], error?.["message"], kept];
  };
  return {
    clock,
    asked,
    noted,
    scopes,
    closing,
    clients,
    send,
    complete,
    told,
    as: (next: Partial<Caller> | Unauthorized) => (caller = next),
  };
}

test("a stream breathes every quarter of a minute as long as the agent works, and not once it has answered", async () => {
  let finish: (answer: Answer) => void = () => {};
  const { complete, clock } = world(() => new Promise((resolve) => (finish = resolve)));
  const response = await complete({ stream: true, model: "home" }, { "idempotency-key": "k" });
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  const text = response.text();
  await clock.advance(14_999);
  await clock.advance(1);
  await clock.advance(15_000);
  await clock.advance(15_000);
  finish(answered);
  const head = { id: "chatcmpl-k", created: 1_700_000_000, model: "home", object: "chat.completion.chunk" };
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })}\n\n`;
  const breath = ": still at work\n\n";
  expect(await text).toBe(
    [
      chunk({ role: "assistant", content: "" }),
      breath,
      breath,
      breath,
      chunk({ content: "yes" }),
      chunk({}, "stop"),
      "data: [DONE]\n\n",
    ].join(""),
  );
  expect(clock.armed()).toBe(0);
});

test("an error within a stream is its last event, with neither an end nor what was used", async () => {
  const { complete, clock } = world(async () => {
    throw new Fault("conflict", "it waits for an approval");
  });
  const response = await complete({ stream: true, stream_options: { include_usage: true } });
  const events = (await response.text()).split("\n\n").filter((each) => each !== "");
  expect(events).toHaveLength(2);
  expect(JSON.parse(events[1]?.slice("data: ".length) ?? "")).toEqual({
    error: {
      message: "it waits for an approval",
      type: "invalid_request_error",
      param: null,
      code: "conflict",
    },
  });
  expect(clock.armed()).toBe(0);
});

test("nobody waits on for a client that left, a device that was revoked, or a gateway that closes", async () => {
  const waits = () => {
    const signals: AbortSignal[] = [];
    const at = world((_id, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Fault("aborted", "nobody waits"))),
      );
    });
    return { ...at, signals };
  };
  const left = waits();
  const response = await left.complete({ stream: true });
  await response.body?.cancel();
  expect([left.signals[0]?.aborted, left.clock.armed()]).toEqual([true, 0]);

  const revoked = waits();
  revoked.as({ peer: "web-d", scopes: ["write"], device: "d1", rotation: 3 });
  const pending = revoked.complete({}).then(revoked.told);
  await revoked.clock.advance(0);
  expect(revoked.clients.count("d1")).toBe(1);
  revoked.clients.close("d1");
  expect(await pending).toEqual([503, "aborted", "nobody waits", ["cache-control: no-store"]]);
  expect(revoked.clients.count("d1")).toBe(0);

  const closed = waits();
  const ends = closed.complete({}).then(closed.told);
  await closed.clock.advance(0);
  closed.closing.abort();
  expect(await ends).toEqual([503, "aborted", "nobody waits", ["cache-control: no-store"]]);
});

test("a client asks as itself, a guest unless it may administer, under its key or one of its own", async () => {
  const { complete, asked, as, scopes } = world();
  await complete({ model: "parley/home" }, { "x-parley-session": "s", "idempotency-key": "k" });
  as({ peer: "web-op", scopes: ["write", "admin"], device: null });
  await complete({ user: null, n: null, tools: null, functions: null, stream: null, stream_options: null });
  const [first, second] = asked as [unknown[], [{ user: string }, string, string]];
  expect(first).toEqual([{ agent: "home", client: "web-p", guest: true, user: "s" }, "k", "hi"]);
  expect(second).toEqual([
    { agent: "main", client: "web-op", guest: false, user: `once-${second[1]}` },
    second[1],
    "hi",
  ]);
  expect(second[1]).toMatch(/^[0-9a-f-]{36}$/);
  expect(scopes).toEqual(["write", "write"]);
});

test("each refusal has its status, its words and its headers, and nothing is asked of an agent", async () => {
  const { complete, send, told, asked, noted, as } = world();
  const header = (name: string): string =>
    `the header ${name} must be 1 to 128 printable characters without spaces`;
  const plain = ["cache-control: no-store"];
  const path = "/v1/chat/completions";
  expect(await told(await complete({}, { "x-parley-session": "two words" }))).toEqual([
    400,
    "invalid",
    header("x-parley-session"),
    plain,
  ]);
  expect(await told(await complete({}, { "idempotency-key": "k".repeat(129) }))).toEqual([
    400,
    "invalid",
    header("idempotency-key"),
    plain,
  ]);
  expect(await told(await send("POST", path, "{"))).toEqual([400, "invalid", "the body is not JSON", plain]);
  const long = (chars: number) => ({ messages: [{ role: "user", content: "x".repeat(chars) }] });
  expect(await told(await complete(long(200_001)))).toEqual([
    400,
    "invalid",
    "the message has more than 200000 characters",
    plain,
  ]);
  expect(noted).toEqual([]);
  expect((await told(await send("POST", path, " ".repeat(4_194_305)))).slice(0, 2)).toEqual([
    413,
    "too_large",
  ]);
  expect(noted).toEqual([["body_too_large", "10.0.0.1", { address: "10.0.0.1", device: null, path }]]);
  as(new Unauthorized("this token is none"));
  expect(await told(await complete())).toEqual([
    401,
    "invalid_api_key",
    "this token is none",
    [...plain, "www-authenticate: Bearer"],
  ]);
  expect(asked).toEqual([]);
  as({ peer: "web-p", scopes: ["write"], device: null });
  const whole = JSON.stringify(long(1)).padEnd(4_194_304);
  expect((await send("POST", path, whole)).status).toBe(200);
  asked.length = 0;
  expect((await complete(long(200_000), { "idempotency-key": "k".repeat(128) })).status).toBe(200);
  expect(asked).toHaveLength(1);
});

test("a wait is told in whole seconds, no shorter than it is", async () => {
  const { complete, told } = world(async () => {
    throw new Fault("unavailable", "restarting", { retryAfterMs: 1_001 });
  });
  expect(await told(await complete())).toEqual([
    503,
    "unavailable",
    "restarting",
    ["cache-control: no-store", "retry-after: 2"],
  ]);
});

test("models are the agents, each by its own name, for whoever may read", async () => {
  const { send, told, scopes } = world();
  const model = (id: string) => ({ id, object: "model", created: 0, owned_by: "parley" });
  expect(await (await send("GET", "/v1/models")).json()).toEqual({
    object: "list",
    data: [model("home"), model("main")],
  });
  expect(await (await send("GET", "/v1/models/home")).json()).toEqual(model("home"));
  expect(await (await send("GET", "/v1/models/parley/home")).json()).toEqual(model("home"));
  expect(await (await send("GET", "/v1/models/parley")).json()).toEqual(model("main"));
  // As OpenAI's own clients write the slash.
  expect(await (await send("GET", "/v1/models/parley%2Fhome")).json()).toEqual(model("home"));
  expect((await told(await send("GET", "/v1/models/%zz"))).slice(0, 2)).toEqual([404, "missing"]);
  expect((await told(await send("GET", "/v1/models/none"))).slice(0, 2)).toEqual([404, "missing"]);
  expect(scopes).toEqual(Array.from({ length: 7 }, () => "read"));
});

test("a device that was revoked while it asked is refused, and takes no room from those that wait", async () => {
  const { complete, told, as, clients, asked } = world();
  clients.close("d1");
  as({ peer: "web-d", scopes: ["write"], device: "d1", rotation: 3 });
  const refused = [
    401,
    "invalid_api_key",
    "this device was revoked",
    ["cache-control: no-store", "www-authenticate: Bearer"],
  ];
  for (let nth = 0; nth < 256; nth += 1) expect(await told(await complete())).toEqual(refused);
  expect([asked, clients.count("d1")]).toEqual([[], 0]);
  as({ peer: "web-e", scopes: ["write"], device: "d2" });
  expect((await complete()).status).toBe(200);
  expect(clients.count("d2")).toBe(0);
  // One whose token was made anew asks by the new one only.
  clients.rotated("d3", 2);
  as({ peer: "web-f", scopes: ["write"], device: "d3", rotation: 1 });
  expect((await complete()).status).toBe(401);
  as({ peer: "web-f", scopes: ["write"], device: "d3", rotation: 2 });
  expect((await complete({ stream: true })).status).toBe(200);
});

test.each([
  [{ outcome: "dead", text: "", reason: "no model" }, 503, "unavailable", "the agent could not answer"],
  [{ outcome: "dead", text: "It broke", reason: "no model" }, 503, "unavailable", "It broke"],
  [{ outcome: "refused", text: "", reason: null }, 403, "denied", "the message was refused"],
  [{ outcome: "refused", text: "", reason: "not you" }, 403, "denied", "not you"],
  [{ outcome: "stopped", text: "half", reason: null }, 503, "aborted", "it was stopped"],
  [{ outcome: "superseded", text: "", reason: "edited" }, 503, "aborted", "edited"],
] as const)("%j is told as %d %s", async (ended, status, code, words) => {
  const { complete, told } = world(async () => ({ ...answered, ...ended }));
  expect(await told(await complete())).toEqual([status, code, words, ["cache-control: no-store"]]);
});

test("a silent agent's answer is an empty one; what a body lacks is told by its place", async () => {
  const { complete, send, told } = world(async () => ({ ...answered, outcome: "silent", text: "" }));
  const quiet = (await (await complete()).json()) as { choices: { message: object }[] };
  expect(quiet.choices[0]?.message).toEqual({ role: "assistant", content: "" });
  const text = await (await complete({ stream: true })).text();
  expect(text.match(/"delta":\{[^}]*\}/g)).toEqual([
    '"delta":{"role":"assistant","content":""}',
    '"delta":{}',
  ]);
  const wrong = async (body: object) =>
    (await told(await send("POST", "/v1/chat/completions", JSON.stringify(body)))).slice(0, 3);
  expect(await wrong({})).toEqual([400, "invalid", expect.stringMatching(/^✖ .*\n {2}→ at messages$/)]);
  expect(await wrong({ messages: [{ role: "user", content: "a" }, { role: "x" }] })).toEqual([
    400,
    "invalid",
    expect.stringMatching(/→ at messages\[1\]\.role$/),
  ]);
});

test("whoever names itself has a conversation that is kept, so only its new words are said; without a name all of it is", async () => {
  const { complete, asked } = world();
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "one" },
    { role: "assistant", content: "1" },
    { role: "user", content: "two" },
  ];
  const said = async (more: object, headers: object = {}) => {
    await complete({ messages, ...more }, headers);
    const [{ user }, , text] = asked.at(-1) as [{ readonly user: string }, string, string];
    return [user.slice(0, 5), text];
  };
  const whole = `[What the application asks of you]\nBe brief.\n\n[The conversation so far]\nuser: one\n\nassistant: 1\n\n[The message now]\ntwo`;
  expect([
    await said({ user: "eve" }),
    await said({}, { "x-parley-session": "s" }),
    await said({ user: "eve" }, { "x-parley-session": "s" }),
    await said({ user: "" }),
    await said({ user: null }),
  ]).toEqual([
    ["eve", "two"],
    ["s", "two"],
    ["s", "two"],
    ["once-", whole],
    ["once-", whole],
  ]);
});

test("what was used is the last event of a stream where it is asked for, and is left out where it is not", async () => {
  const used = { ...noUsage, inputTokens: 5, outputTokens: 2, cacheReadTokens: 3 };
  const { complete } = world(async () => ({ ...answered, usage: used }));
  const last = async (stream_options?: object | null) => {
    const text = await (await complete({ stream: true, stream_options }, { "idempotency-key": "k" })).text();
    const events = text.split("\n\n").filter((each) => each.startsWith("data: "));
    expect(events.pop()).toBe("data: [DONE]");
    return JSON.parse(events.at(-1)?.slice("data: ".length) ?? "") as object;
  };
  const head = { id: "chatcmpl-k", created: 1_700_000_000, model: "main", object: "chat.completion.chunk" };
  const end = { ...head, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: "stop" }] };
  expect([await last(), await last(null), await last({}), await last({ include_usage: false })]).toEqual([
    end,
    end,
    end,
    end,
  ]);
  expect(await last({ include_usage: true })).toEqual({
    ...head,
    choices: [],
    usage: {
      prompt_tokens: 8,
      completion_tokens: 2,
      total_tokens: 10,
      prompt_tokens_details: { cached_tokens: 3 },
    },
  });
});
