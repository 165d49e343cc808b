// What other agents are offered over POST /mcp: which tools each token sees and may call, what is asked for
// them, and how each kind of trouble is answered.
import { request as httpRequest } from "node:http";
import { Fault, noUsage, version, type Scope } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { gatewayToken, startControl, until, type FixtureOptions } from "./control-fixture.ts";

type Requests = NonNullable<FixtureOptions["requests"]>;
type Answer = Awaited<ReturnType<Requests["answer"]>>;

const answered: Answer = { outcome: "answered", text: "yes", reason: null, usage: noUsage };

async function world(requests: Partial<Requests> = {}, more: FixtureOptions = {}) {
  const clock = virtualClock({ startMs: 1_700_000_000_000 });
  const asked: unknown[] = [];
  const fixture = await startControl({
    clock,
    agents: () => ["home", "second"],
    requests: {
      ask: async (...call) => (asked.push(call), { id: `row ${asked.length}`, duplicate: false }),
      call: () => Promise.reject(new Error("no webhook is expected")),
      tell: () => Promise.reject(new Error("no webhook is expected")),
      answer: async () => answered,
      watch: () => () => {},
      ...requests,
    },
    ...more,
  });
  const post = (body: string, token: string | null = gatewayToken) =>
    new Promise<{ readonly status: number; readonly headers: object; readonly body: unknown }>(
      (resolve, reject) => {
        const headers = token === null ? {} : { authorization: `Bearer ${token}` };
        const { port } = fixture.server;
        const sent = httpRequest(
          { port, host: "127.0.0.1", method: "POST", path: "/mcp", headers, agent: false },
          (answer) => {
            let text = "";
            answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
            answer.on("end", () =>
              resolve({
                status: answer.statusCode ?? 0,
                headers: answer.headers,
                body: text === "" ? null : JSON.parse(text),
              }),
            );
          },
        );
        sent.on("error", reject);
        sent.end(body);
      },
    );
  const says = async (method: string, params?: object, token?: string): Promise<unknown> =>
    (await post(JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }), token)).body;
  /** The result of a tool, or the error in its place. */
  const use = async (name: string, args?: object, token?: string): Promise<unknown> => {
    const body = (await says("tools/call", { name, arguments: args }, token)) as {
      readonly result?: { readonly content: readonly { readonly text: string }[]; readonly isError?: true };
      readonly error?: object;
    };
    if (body.result === undefined) return body.error;
    return [body.result.isError === true ? "error" : "said", body.result.content.map(({ text }) => text)];
  };
  const device = (...granted: readonly Scope[]) => fixture.devices.mintDevice(granted, "laptop");
  return { ...fixture, clock, asked, post, says, use, device };
}

test("a client and the gateway agree on a revision: the client's where it is known, else the newest", async () => {
  const { says } = await world();
  const agreed = async (protocolVersion?: unknown) => {
    const { result } = (await says("initialize", { protocolVersion })) as {
      readonly result: { readonly protocolVersion: string };
    };
    return result.protocolVersion;
  };
  const known = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
  expect(await Promise.all(known.map(agreed))).toEqual(known);
  for (const other of ["2030-01-01", "2025-06-1", "", 20_250_618, null])
    expect(await agreed(other)).toBe("2025-11-25");
  expect(await says("initialize")).toEqual({
    jsonrpc: "2.0",
    id: 7,
    result: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "parley", version },
    },
  });
  expect(await says("ping")).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
});

test("a token sees and may call the tools of its scopes only", async () => {
  const { says, use, device, asked, calls } = await world();
  const reader = await device("read");
  const seen = async (token?: string) => {
    const { result } = (await says("tools/list", undefined, token)) as {
      readonly result: {
        readonly tools: readonly {
          readonly name: string;
          readonly annotations: { readonly readOnlyHint: boolean };
          readonly inputSchema: { readonly required?: readonly string[]; readonly properties: object };
        }[];
      };
    };
    return result.tools.map(
      ({ name, annotations, inputSchema: { required = [], properties } }) =>
        `${name} ${annotations.readOnlyHint ? "reads" : "writes"} ${Object.keys(properties)
          .map((each) => (required.includes(each) ? each : `[${each}]`))
          .join(" ")}`,
    );
  };
  const readers = [
    "sessions_list reads [agent] [limit]",
    "sessions_history reads key [limit]",
    "memory_search reads query [agent] [maxResults]",
  ];
  expect(await seen()).toEqual([...readers, "messages_send writes message [conversation] [agent]"]);
  expect(await seen(reader.token)).toEqual(readers);
  const none = (name: string) => ({ code: -32_602, message: `there is no tool "${name}" for this token` });
  expect([
    await use("messages_send", { message: "hi" }, reader.token),
    await use("toString"),
    await use("x".repeat(81)),
    asked,
    calls,
  ]).toEqual([none("messages_send"), none("toString"), none("x".repeat(80)), [], []]);
});

test("a tool is a method of the control plane, under the caller's own name; what the method refuses is said", async () => {
  const { use, device, calls } = await world(
    {},
    {
      handlers: {
        "memory.search": () => Promise.reject(new Fault("unsupported", "this agent has no memory")),
        "sessions.list": async () => ({ sessions: [] }) as never,
      },
    },
  );
  const { token, peer } = await device("read");
  expect([
    await use("sessions_list", {}, token),
    await use("sessions_history", { key: "agent:home:main" }, token),
    await use("sessions_history", { key: "agent:home:main", limit: 200 }),
    await use("memory_search", { query: "tea", maxResults: 50 }),
  ]).toEqual([
    ["said", ['{"sessions":[]}']],
    ["said", ['{"ok":true}']],
    ["said", ['{"ok":true}']],
    ["error", ["this agent has no memory"]],
  ]);
  expect(calls).toMatchObject([
    { method: "sessions.show", params: { key: "agent:home:main", limit: 50 }, peer },
    { method: "sessions.show", params: { key: "agent:home:main", limit: 200 } },
  ]);
  for (const [name, args] of [
    ["sessions_list", { limit: 0 }],
    ["sessions_list", { limit: 201 }],
    ["sessions_history", {}],
    ["sessions_history", { key: "" }],
    ["memory_search", { query: "" }],
    ["memory_search", { query: "tea", maxResults: 51 }],
    ["messages_send", undefined],
    ["messages_send", { message: "" }],
    ["messages_send", { message: "hi", conversation: "two words" }],
    ["messages_send", { message: "hi", conversation: "" }],
    ["messages_send", { message: "hi", conversation: "x".repeat(129) }],
    ["messages_send", { message: "x".repeat(200_001) }],
    ["messages_send", { message: "hi", agent: "x".repeat(65) }],
    ["sessions_list", { agent: "x".repeat(65) }],
    ["memory_search", { query: "tea", agent: "x".repeat(65) }],
    ["memory_search", { query: "x".repeat(10_001) }],
    ["sessions_history", { key: "x".repeat(1_025) }],
    ["sessions_history", { key: "k", limit: 201 }],
  ] as const)
    expect(await use(name, args)).toEqual(["error", [expect.stringContaining("✖")]]);
  expect(calls).toHaveLength(2);
});

test("a message goes to the agent and the conversation that it names, as a guest's where the token is no owner's", async () => {
  const { use, device, asked } = await world();
  const guest = await device("read", "write");
  expect(await use("messages_send", { message: "hi" })).toEqual(["said", ["yes"]]);
  const named = { message: "again", conversation: "tea", agent: "second" };
  expect(await use("messages_send", named, guest.token)).toEqual(["said", ["yes"]]);
  expect(await use("messages_send", { message: "x", agent: "third" })).toEqual([
    "error",
    ['there is no agent "third"; there are: home, second'],
  ]);
  const [[, first], [, second]] = asked as [[unknown, string], [unknown, string]];
  expect(asked).toEqual([
    [{ agent: "home", client: expect.any(String), guest: false, user: "mcp" }, expect.any(String), "hi"],
    [{ agent: "second", client: guest.peer, guest: true, user: "tea" }, expect.any(String), "again"],
  ]);
  // Each call is a message of its own, also with the same words.
  expect(first).not.toBe(second);
});

test("an answer without words says why; one that cannot come says that", async () => {
  const answers: (Answer | Error)[] = [
    { ...answered, text: "" },
    { ...answered, text: "", outcome: "stopped", reason: "somebody said /stop" },
    new Fault("conflict", "the agent waits for an approval"),
  ];
  const rows: string[] = [];
  const { use } = await world({
    answer: async (id) => {
      rows.push(id);
      const next = answers.shift();
      if (next === undefined || next instanceof Error) throw next ?? new Error("no answer is left");
      return next;
    },
  });
  const send = () => use("messages_send", { message: "hi" });
  expect([await send(), await send(), await send()]).toEqual([
    ["said", ["the agent said nothing"]],
    ["said", ["the agent said nothing (somebody said /stop)"]],
    ["error", ["the agent waits for an approval"]],
  ]);
  expect(rows).toEqual(["row 1", "row 2", "row 3"]);
});

test("what is no message of the protocol is refused with its reason, and a notification has no answer", async () => {
  const { post, says } = await world();
  const failed = (code: number, message: string, id: number | string | null = null) => ({
    jsonrpc: "2.0",
    id,
    error: { code, message },
  });
  const told = async (body: string, token?: string | null) => {
    const { status, body: said } = await post(body, token);
    return [status, said];
  };
  expect([
    await told("{"),
    await told("x".repeat(1_048_577)),
    await told('{"jsonrpc":"2.0","id":2,"method":"ping"}'.padEnd(1_048_576)),
    await told('{"id":1,"method":"ping"}'),
    await told('{"jsonrpc":"2.0","id":null,"method":"ping"}'),
    await told('[{"jsonrpc":"2.0","id":1,"method":"ping"}]'),
    await told('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    await told('{"jsonrpc":"2.0","id":"a","method":"ping"}'),
  ]).toEqual([
    [400, failed(-32_700, "no JSON")],
    [400, failed(-32_700, expect.stringContaining("1048576"))],
    [200, { jsonrpc: "2.0", id: 2, result: {} }],
    [400, failed(-32_600, "no message of JSON-RPC")],
    [400, failed(-32_600, "no message of JSON-RPC")],
    [400, failed(-32_600, "no message of JSON-RPC")],
    [202, null],
    [200, { jsonrpc: "2.0", id: "a", result: {} }],
  ]);
  expect(await says("resources/list")).toEqual(failed(-32_601, "there is no method resources/list", 7));
});

test("without a token it says which kind is needed; without the scope it forbids", async () => {
  const { post, device } = await world();
  const { token } = await device("write");
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const told = async (with_: string | null) => {
    const { status, headers, body } = await post(ping, with_);
    return [
      status,
      (headers as { readonly [name: string]: string })["www-authenticate"],
      (body as { readonly error: { readonly code: number } }).error.code,
    ];
  };
  expect([await told(null), await told("wrong"), await told(token)]).toEqual([
    [401, "Bearer", -32_600],
    [401, "Bearer", -32_600],
    [403, undefined, -32_600],
  ]);
});

test("a store that is away is told as trouble of the gateway, not of the request", async () => {
  const { post, device, store } = await world();
  const { token } = await device("read");
  await store.close();
  const { status, body } = await post('{"jsonrpc":"2.0","id":1,"method":"ping"}', token);
  expect([status, body]).toEqual([
    503,
    { jsonrpc: "2.0", id: null, error: { code: -32_600, message: expect.any(String) as string } },
  ]);
});

test("64 calls run at once, and each that ends makes room for one", async () => {
  const open: ((answer: Answer) => void)[] = [];
  const { use } = await world({ answer: () => new Promise((resolve) => open.push(resolve)) });
  const send = () => use("messages_send", { message: "hi" });
  const waiting = Array.from({ length: 64 }, send);
  await until(() => open.length === 64);
  expect(await send()).toEqual(["error", ["too many calls run at once; try again"]]);
  open[0]?.(answered);
  await Promise.race(waiting);
  const next = send();
  await until(() => open.length === 65);
  for (const finish of open) finish(answered);
  expect(new Set((await Promise.all([...waiting, next])).map(String))).toEqual(new Set(["said,yes"]));
});

test("a token has 600 messages a minute, and is told when the next may come", async () => {
  const { post, device, clock } = await world();
  const { token } = await device("read");
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const statuses: number[] = [];
  for (let n = 0; n < 600; n += 1) statuses.push((await post(ping, token)).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(await post(ping, token)).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
  expect((await post(ping)).status).toBe(200);
  await clock.advance(100);
  expect((await post(ping, token)).status).toBe(200);
});

test("each tool is described to the client by what it does, what it takes and how much of it", async () => {
  const { says } = await world();
  const { result } = (await says("tools/list")) as { readonly result: object };
  await expect(`${JSON.stringify(result, null, 2)}\n`).toMatchFileSnapshot("../tables/mcp-tools.txt");
});

test("an id and a method have their longest form, and what a client sends along is an object", async () => {
  const { post } = await world();
  const code = async (more: object) => {
    const { status, body } = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", ...more }));
    const { id, error } = body as { readonly id: unknown; readonly error?: { readonly code: number } };
    return [status, id, error?.code];
  };
  const [long, longer] = ["x".repeat(256), "x".repeat(257)];
  expect([
    await code({ id: long }),
    await code({ id: longer }),
    await code({ id: 1.5 }),
    await code({ id: 0 }),
    await code({ id: "" }),
    await code({ id: true }),
    await code({ method: "m".repeat(128) }),
    await code({ method: "m".repeat(129) }),
    await code({ params: [] }),
    await code({ params: { any: 1 } }),
    await code({ jsonrpc: "1.0" }),
  ]).toEqual([
    [200, long, undefined],
    [400, null, -32_600],
    [200, 1.5, undefined],
    [200, 0, undefined],
    [200, "", undefined],
    [400, null, -32_600],
    [200, 1, -32_601],
    [400, null, -32_600],
    [400, null, -32_600],
    [200, 1, undefined],
    [400, null, -32_600],
  ]);
});

test("a device that is put out gets no answer that it still waits for", async () => {
  let signal: AbortSignal | undefined;
  const { use, device, clients } = await world({
    answer: (_id, until) => {
      signal = until;
      return new Promise((_resolve, reject) =>
        until.addEventListener("abort", () => reject(new Fault("aborted", "nobody waits"))),
      );
    },
  });
  const { id, token } = await device("read", "write");
  const answer = use("messages_send", { message: "hi" }, token);
  await until(() => signal !== undefined);
  expect(clients.close(id)).toBe(1);
  expect(await answer).toEqual(["error", ["nobody waits"]]);
  expect(clients.count(id)).toBe(0);
});

test("a client that leaves waits for no answer, and a gateway without agents asks for main", async () => {
  const signals: AbortSignal[] = [];
  const { server, asked, use } = await world(
    {
      answer: (_id, signal) => {
        signals.push(signal);
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Fault("aborted", "nobody waits"))),
        );
      },
    },
    { agents: () => [] },
  );
  const sent = httpRequest({
    port: server.port,
    host: "127.0.0.1",
    method: "POST",
    path: "/mcp",
    headers: { authorization: `Bearer ${gatewayToken}` },
    agent: false,
  });
  sent.on("error", () => {});
  const params = { name: "messages_send", arguments: { message: "hi" } };
  sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  await until(() => signals.length === 1);
  expect(signals[0]?.aborted).toBe(false);
  sent.destroy();
  await until(() => signals[0]?.aborted === true);
  expect(asked).toMatchObject([[{ agent: "main", user: "mcp" }, expect.any(String), "hi"]]);
  expect(await use("messages_send", { message: "hi", agent: "main" })).toEqual([
    "error",
    ['there is no agent "main"; there are: '],
  ]);
});
