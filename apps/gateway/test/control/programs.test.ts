// What programs are told over HTTP: webhooks and the chat API in front of a message path that answers as the
// test says.
import { createHash, createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { secret } from "@parley/config";
import { Fault, noUsage } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { gatewayToken, hooksConfig, startControl, until, type FixtureOptions } from "./control-fixture.ts";

type Requests = NonNullable<FixtureOptions["requests"]>;
type Call = Parameters<Requests["call"]>[0];
type Answer = Awaited<ReturnType<Requests["answer"]>>;

interface Answered {
  readonly status: number;
  readonly headers: { readonly [name: string]: unknown };
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects.
  readonly json: () => any;
}

const answered: Answer = {
  outcome: "answered",
  text: "yes",
  reason: null,
  usage: { ...noUsage, inputTokens: 7, outputTokens: 3, cacheReadTokens: 20, cacheWriteTokens: 100 },
};

async function world(requests: Partial<Requests> = {}, hooks: object = {}, options: FixtureOptions = {}) {
  const clock = virtualClock({ startMs: 1_700_000_000_999 });
  const fixture = await startControl({
    clock,
    agents: () => ["home", "main"],
    hooks: () => hooksConfig(hooks),
    requests: {
      ask: async () => ({ id: "row", duplicate: false }),
      call: async () => ({ id: "row", duplicate: false }),
      tell: async () => ({ id: "row", duplicate: false }),
      answer: async () => answered,
      watch: () => () => {},
      ...requests,
    },
    ...options,
  });
  const http = (
    method: string,
    path: string,
    body: string,
    headers: { readonly [name: string]: string } = {},
    localAddress = "127.0.0.1",
  ): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const { port } = fixture.server;
      const sent = httpRequest(
        { port, host: "127.0.0.1", localAddress, method, path, headers, agent: false },
        (answer) => {
          let text = "";
          answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
          answer.on("end", () =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text,
              json: () => JSON.parse(text) as unknown,
            }),
          );
          answer.on("error", reject);
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  const complete = (
    more: object = {},
    headers: { readonly [name: string]: string } = {},
    from = "127.0.0.1",
  ): Promise<Answered> =>
    http(
      "POST",
      "/v1/chat/completions",
      JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...more }),
      { authorization: `Bearer ${gatewayToken}`, ...headers },
      from,
    );
  return { ...fixture, clock, http, complete };
}

const form = { token: secret("the-token-of-the-form"), maxBytes: 100 };
const build = {
  secret: secret("the-secret-of-the-build"),
  signatureHeader: "X-Hub-Signature-256",
  maxBytes: 100,
  agentId: "home",
  deliver: "telegram:default:dm:7",
  message: "{{ who.name }} of {{list.1}} says {{what}}, {{gone}}: {{body}}",
};
const byToken = { "x-parley-token": "the-token-of-the-form" };

test("a webhook's call is accepted, its repeat is known, and both name the row", async () => {
  const seen = new Set<string>();
  const { http } = await world(
    {
      call: async ({ delivery }) => {
        const duplicate = seen.has(delivery);
        seen.add(delivery);
        return { id: `row ${delivery}`, duplicate };
      },
    },
    { endpoints: { form } },
  );
  const post = (name: string) => http("POST", "/hooks/form", "{}", { ...byToken, "webhook-id": name });
  for (const [name, status, duplicate] of [
    ["a", 202, false],
    ["a", 200, true],
    ["b", 202, false],
    ["a", 200, true],
  ] as const) {
    const answer = await post(name);
    expect([answer.status, answer.json()]).toEqual([status, { ok: true, id: `row ${name}`, duplicate }]);
  }
});

test("a delivery is named by the first header that names it, a signed one else by its body, others by chance", async () => {
  const calls: Call[] = [];
  const { http } = await world(
    { call: async (call) => (calls.push(call), { id: "row", duplicate: false }) },
    { endpoints: { form, own: { ...form, idHeader: "X-Own" }, build } },
  );
  const all = {
    "x-request-id": "fourth",
    "idempotency-key": "third",
    "webhook-id": "second",
    "x-github-delivery": "first",
  };
  const named = async (path: string, headers: { readonly [name: string]: string }, body = "{}") => {
    const { status } = await http("POST", path, body, headers);
    return status === 202 ? calls.at(-1)?.delivery : status;
  };
  const rest = Object.entries(all);
  for (const name of ["fourth", "third", "second", "first"].toReversed()) {
    expect(await named("/hooks/form", { ...byToken, ...Object.fromEntries(rest) })).toBe(name);
    rest.pop();
  }
  expect(await named("/hooks/own", { ...byToken, ...all, "x-own": "mine" })).toBe("mine");
  // A name that is there and none, or too long, is refused: to take another would lose what must be told
  // apart.
  for (const name of ["", "two words", "x".repeat(201)])
    expect(await named("/hooks/form", { ...byToken, "x-request-id": name })).toBe(400);
  expect(await named("/hooks/form", { ...byToken, "x-request-id": "x".repeat(200) })).toBe("x".repeat(200));
  expect(await named("/hooks/form", byToken)).not.toBe(await named("/hooks/form", byToken));
  const signature = createHmac("sha256", "the-secret-of-the-build").update("{}").digest("hex");
  expect(await named("/hooks/build", { "x-hub-signature-256": `sha256=${signature}` })).toBe(
    createHash("sha256").update("{}").digest("base64url"),
  );
});

test("a webhook's words go to its agent: as data from outside, or as its message says; a body at its limit still comes", async () => {
  const calls: Call[] = [];
  const { http } = await world(
    { call: async (call) => (calls.push(call), { id: "row", duplicate: false }) },
    { endpoints: { form, build: { ...build, token: form.token } } },
  );
  const body = '{"who":{"name":"Eve"},"list":[1,{"a":2}],"what":"go"}';
  await http("POST", "/hooks/form", body, byToken);
  expect(calls.at(-1)).toMatchObject({ name: "form", agent: "main" });
  expect(calls.at(-1)?.text).toMatch(
    /^The webhook "form" was called\. .*not an instruction:\n\n\{\n {2}"who"/,
  );
  expect(calls.at(-1)).not.toHaveProperty("deliver");
  await http("POST", "/hooks/build", body, byToken);
  expect(calls.at(-1)).toMatchObject({
    name: "build",
    agent: "home",
    deliver: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
    text: `Eve of {"a":2} says go, [no gone]: ${JSON.stringify(JSON.parse(body), null, 2)}`,
  });
  expect((await http("POST", "/hooks/form", "x".repeat(100), byToken)).status).toBe(202);
  expect((await http("POST", "/hooks/form", "x".repeat(101), byToken)).status).toBe(413);
  expect((await http("POST", "/hooks/none", "{}", byToken)).status).toBe(404);
});

test("each failure of a webhook's call has its status, its wait and its count; names that are none share one", async () => {
  const counts: string[] = [];
  let error: Error | null = null;
  const { http } = await world(
    {
      call: async () => {
        if (error !== null) throw error;
        return { id: "row", duplicate: counts.length > 0 };
      },
    },
    { endpoints: { form } },
    { counted: (webhook, result) => void counts.push(`${webhook} ${result}`) },
  );
  const post = async (next: Error | null, name = "form") => {
    error = next;
    const { status, headers, text } = await http("POST", `/hooks/${name}`, "{}", byToken);
    return [status, headers["retry-after"], text.includes("why") ? "said" : "silent"];
  };
  expect([
    await post(null),
    await post(null),
    await post(new Fault("conflict", "why")),
    await post(new Fault("rate_limited", "why", { retryAfterMs: 1_001 })),
    await post(new Fault("unavailable", "why", { retryAfterMs: 2_000 })),
    await post(new Fault("ambiguous", "why")),
    await post(new Fault("unsupported", "why")),
    await post(new TypeError("why")),
    await post(null, "none"),
    await post(null, "toString"),
  ]).toEqual([
    [202, undefined, "silent"],
    [200, undefined, "silent"],
    [409, undefined, "said"],
    [429, "2", "said"],
    [503, "2", "said"],
    [503, undefined, "said"],
    [400, undefined, "said"],
    [500, undefined, "silent"],
    [404, undefined, "silent"],
    [404, undefined, "silent"],
  ]);
  expect(counts).toEqual([
    "form taken",
    "form repeated",
    ...Array.from({ length: 5 }, () => "form refused"),
    "form failed",
    "none refused",
    "none refused",
  ]);
});

test("a signature is hex or base64, with or without its algorithm, of exactly this body; a token beside it is enough", async () => {
  const { http } = await world({}, { endpoints: { build, both: { ...build, token: form.token } } });
  const digest = (key: string, body = "{}") => createHmac("sha256", key).update(body);
  const right = () => digest("the-secret-of-the-build");
  const post = async (signature: string, name = "build", headers = {}) =>
    (await http("POST", `/hooks/${name}`, "{}", { "x-hub-signature-256": signature, ...headers })).status;
  expect([
    await post(right().digest("hex")),
    await post(`sha256=${right().digest("hex").toUpperCase()}`),
    await post(right().digest("base64")),
    await post(`SHA256=${right().digest("base64")}`),
    await post(digest("another").digest("hex")),
    await post(digest("the-secret-of-the-build", "{} ").digest("hex")),
    await post(right().digest("hex").slice(2)),
    await post("wrong", "both", byToken),
    await post(right().digest("hex"), "both", { "x-parley-token": "wrong" }),
    await post("wrong", "both", { "x-parley-token": "wrong" }),
    // Where a webhook has a secret alone, nobody's token opens it.
    await post("wrong", "build", byToken),
  ]).toEqual([202, 202, 202, 202, 401, 401, 401, 202, 202, 401, 401]);
});

test("a webhook's words are cut at a hundred thousand characters, and what is nested too deep is told as it came", async () => {
  const calls: Call[] = [];
  const { http } = await world(
    { call: async (call) => (calls.push(call), { id: "row", duplicate: false }) },
    { endpoints: { form: { ...form, maxBytes: 300_000, message: "{{body}}" } } },
  );
  const said = async (body: string) => {
    await http("POST", "/hooks/form", body, byToken);
    return calls.at(-1)?.text ?? "";
  };
  expect(await said("x".repeat(100_000))).toBe("x".repeat(100_000));
  expect(await said("x".repeat(100_001))).toBe(
    `${"x".repeat(100_000)}\n[cut: the webhook sent 100001 characters]`,
  );
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(await said(nested(101))).toBe(nested(101));
  expect(await said('{"a":1}')).toBe('{\n  "a": 1\n}');
});

test("an answer has OpenAI's form, with what was read from the cache and written to it counted as read", async () => {
  const asked: unknown[] = [];
  const { complete } = await world({
    ask: async (...call) => (asked.push(call), { id: "row", duplicate: false }),
  });
  const answer = await complete({ model: "parley/home", user: "eve" }, { "idempotency-key": "k1" });
  expect(answer.json()).toEqual({
    id: "chatcmpl-k1",
    created: 1_700_000_000,
    model: "parley/home",
    object: "chat.completion",
    choices: [
      { index: 0, message: { role: "assistant", content: "yes" }, logprobs: null, finish_reason: "stop" },
    ],
    usage: {
      prompt_tokens: 127,
      completion_tokens: 3,
      total_tokens: 130,
      prompt_tokens_details: { cached_tokens: 20 },
    },
  });
  await complete({ user: "eve" }, { "x-parley-session": "named", "idempotency-key": "k2" });
  await complete({ user: "" }, { "idempotency-key": "k3" });
  await complete({}, { "idempotency-key": "k4" });
  expect(asked).toMatchObject([
    [{ agent: "home", user: "eve" }, "k1", "hi"],
    [{ agent: "main", user: "named" }, "k2", "hi"],
    [{ agent: "main", user: "once-k3" }, "k3", "hi"],
    [{ agent: "main", user: "once-k4" }, "k4", "hi"],
  ]);
});

test.each([
  ["dead", 503, "server_error", "it broke"],
  ["refused", 403, "permission_error", "it broke"],
  ["stopped", 503, "server_error", "because"],
  ["superseded", 503, "server_error", "because"],
] as const)(
  "a message that ended as %s is an error of %d, no answer",
  async (outcome, status, type, message) => {
    const { complete } = await world({
      answer: async () => ({ ...answered, outcome, text: "it broke", reason: "because" }),
    });
    const answer = await complete();
    expect([answer.status, answer.json().error]).toMatchObject([status, { type, message }]);
  },
);

test("a stream says who speaks, only what is new, its end, then what was used where that is asked for", async () => {
  let grow = (_text: string): void => {};
  let finish: ((answer: Answer) => void) | undefined;
  let stopped = 0;
  const { complete, clock } = await world({
    watch: (_who, hear) => {
      grow = hear;
      return () => (stopped += 1);
    },
    answer: () => new Promise((resolve) => (finish = resolve)),
  });
  const stream = complete({ stream: true, stream_options: { include_usage: true } });
  await until(() => finish !== undefined);
  for (const text of ["On", "One", "One", "On", "Two"]) grow(text);
  await clock.advance(15_000);
  finish?.({ ...answered, text: "Two, three" });
  const { text } = await stream;
  expect(text).toContain(": still at work\n\n");
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
    data === "[DONE]" ? data : (JSON.parse(data) as { choices: { delta: unknown }[]; usage?: unknown }),
  );
  const deltas = events.map((each) =>
    typeof each === "string" ? each : (each.choices[0]?.delta ?? each.usage),
  );
  expect(deltas).toEqual([
    { role: "assistant", content: "" },
    { content: "On" },
    { content: "e" },
    { content: "\n\nTwo" },
    { content: ", three" },
    {},
    expect.objectContaining({ total_tokens: 130 }),
    "[DONE]",
  ]);
  expect(stopped).toBe(1);
});

test("256 requests may wait at once; each that ends, by an answer, an error or its client's leave, makes room for one", async () => {
  const open: { readonly resolve: (answer: Answer) => void; readonly reject: (error: Fault) => void }[] = [];
  const { complete } = await world({
    answer: () => new Promise((resolve, reject) => open.push({ resolve, reject })),
  });
  // An address may hold 256 connections, so two of them share these.
  const waiting = Array.from({ length: 256 }, (_, n) =>
    complete({ stream: n % 2 === 0 }, {}, n < 128 ? "127.0.0.2" : "127.0.0.3"),
  );
  await until(() => open.length === 256);
  const beyond = await complete();
  expect([beyond.status, beyond.headers["retry-after"], beyond.json().error.code]).toEqual([
    429,
    "5",
    "rate_limited",
  ]);
  for (const [n, { resolve, reject }] of open.entries())
    if (n % 3 === 0) reject(new Fault("unavailable", "gone"));
    else resolve(answered);
  await Promise.all(waiting);
  const again = Array.from({ length: 256 }, (_, n) => complete({}, {}, n < 128 ? "127.0.0.2" : "127.0.0.3"));
  await until(() => open.length === 512);
  expect((await complete()).status).toBe(429);
  for (const { resolve } of open) resolve(answered);
  expect((await Promise.all(again)).map(({ status }) => status)).toEqual(
    Array.from({ length: 256 }, () => 200),
  );
});

test("a webhook's own token opens it alone; one without takes the token of all, from any header that platforms use", async () => {
  const shared = "the-token-of-all-the-hooks";
  const own = "the-token-of-this-mapping";
  const caller = { signatureHeader: "x-sig", maxBytes: 100, wakeMode: "now", action: "wake" };
  const { http } = await world(
    {},
    {
      token: secret(shared),
      endpoints: { form, open: { maxBytes: 100 }, build },
      mappings: [
        { ...caller, match: { path: "own" }, token: secret(own) },
        { ...caller, match: { path: "any" } },
        // The config's endpoint of the same name comes first.
        { ...caller, match: { path: "form" }, token: secret(own) },
      ],
    },
  );
  const post = async (name: string, headers: { readonly [name: string]: string }) =>
    (await http("POST", `/hooks/${name}`, "{}", headers)).status;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  expect([
    await post("form", bearer(shared)),
    await post("form", bearer(own)),
    await post("own", bearer(shared)),
    await post("build", bearer(shared)),
    await post("open", bearer(own)),
  ]).toEqual([401, 401, 401, 401, 401]);
  expect([
    await post("form", byToken),
    await post("own", bearer(own)),
    await post("open", bearer(shared)),
    await post("any", bearer(shared)),
    await post("open", { "x-parley-token": shared }),
    await post("open", { "x-openclaw-token": shared }),
    await post("open", { "x-gitlab-token": shared }),
    await post("open", { "x-parley-token": shared, "x-gitlab-token": "wrong" }),
    await post("open", { ...bearer(shared), "x-parley-token": "wrong" }),
  ]).toEqual([202, 202, 202, 202, 202, 202, 202, 202, 202]);
  // Of two the first counts, not whichever is right.
  expect([
    await post("open", { "x-parley-token": "wrong", "x-gitlab-token": shared }),
    await post("open", { ...bearer("wrong"), "x-parley-token": shared }),
  ]).toEqual([401, 401]);
});

test("a mapping takes JSON by any of its types, also by none; what calls itself something else is taken where it is JSON", async () => {
  const caller = { ...form, signatureHeader: "x-sig", wakeMode: "now" };
  const { http } = await world(
    {},
    { mappings: [{ ...caller, match: { path: "raw" }, action: "wake", textTemplate: "{{a}}" }] },
  );
  const post = async (body: string, type?: string) => {
    const { status, json } = await http("POST", "/hooks/raw", body, {
      ...byToken,
      ...(type === undefined ? {} : { "content-type": type }),
    });
    return [status, status === 202 ? "" : json().error];
  };
  const wrong = [415, "the body is not JSON: send an object, with content-type: application/json"];
  for (const type of [
    undefined,
    "application/json",
    "Application/JSON; charset=utf-8",
    " application/json ;x",
    "application/cloudevents+json",
    "application/vnd.a-b.c+json",
  ])
    expect([type, await post("{", type)]).toEqual([type, [202, ""]]);
  for (const type of ["text/json", "application/jsonp", "application/x-json", "x application/json", "json"]) {
    expect([type, await post("{", type)]).toEqual([type, wrong]);
    expect([type, await post("{}", type)]).toEqual([type, [202, ""]]);
  }
});

test("an endpoint tells main where it names no agent, else the first; without any it waits for one", async () => {
  const calls: Call[] = [];
  let agents: readonly string[] = ["home", "main"];
  const { http } = await world(
    { call: async (call) => (calls.push(call), { id: "row", duplicate: false }) },
    { endpoints: { form } },
    { agents: () => agents },
  );
  const post = async () => (await http("POST", "/hooks/form", "{}", byToken)).status;
  expect(await post()).toBe(202);
  agents = ["first", "second"];
  expect(await post()).toBe(202);
  agents = [];
  const none = await http("POST", "/hooks/form", "{}", byToken);
  expect([none.status, none.json()]).toEqual([503, { ok: false, error: "no agent is configured" }]);
  expect(calls.map(({ agent }) => agent)).toEqual(["main", "first"]);
});

test("what stands in braces is a path of at most two hundred characters without spaces; anything else is the operator's own words", async () => {
  const texts: string[] = [];
  const [longest, longer] = ["p".repeat(200), "p".repeat(201)];
  const message = `{{${longest}}}|{{${longer}}}|{{ a }}|{{a b}}|{{a}|{ {a}}|{{{a}}}|{{}}`;
  const { http } = await world(
    {
      call: async ({ text }) => (texts.push(text), { id: "row", duplicate: false }),
      tell: async ({ row }) => (
        texts.push((JSON.parse(row.payload) as { inbound: { text: string } }).inbound.text),
        { id: "row", duplicate: false }
      ),
    },
    {
      endpoints: { form: { ...form, message } },
      mappings: [
        {
          ...form,
          signatureHeader: "x-sig",
          match: { path: "words" },
          wakeMode: "now",
          action: "wake",
          textTemplate: message,
        },
      ],
    },
    { world: { homeOf: async () => ({ session: "agent:main:main" as never, place: null }) } as never },
  );
  for (const name of ["form", "words"])
    expect((await http("POST", `/hooks/${name}`, '{"a":"A"}', byToken)).status).toBe(202);
  const [first = "", second = ""] = texts;
  const rest = `|{{${longer}}}|A|{{a b}}|{{a}|{ {a}}|{A}|{{}}`;
  expect(first).toBe(`[no ${longest}]${rest}`);
  expect(second.split("\n").at(-1)).toBe(rest);
});
