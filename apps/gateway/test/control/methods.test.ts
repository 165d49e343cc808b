import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { Fault, methods, scopes, type Log, type MethodSessions, type Scope } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { sessionOwnership, webAddress, webSender } from "@parley/access";
import { gatewayToken, handshake, routeOf, startControl, until, type Client } from "./control-fixture.ts";

const validParams: { readonly [method: string]: unknown } = {
  "chat.send": { text: "hi", idempotencyKey: "k" },
  "pairing.approve": { code: "ABC" },
  "pairing.revoke": { id: "1" },
  "approvals.resolve": { id: "1", decision: "once" },
  "approvals.revoke": { id: "1" },
  "skills.info": { name: "s" },
  "skills.install": { path: "/tmp/s" },
  "hooks.info": { name: "h" },
  "hooks.enable": { name: "h" },
  "hooks.disable": { name: "h" },
  why: { query: "x" },
  "chat.inject": { text: "hi", idempotencyKey: "k" },
  "chat.cancel": { id: "x" },
  "chat.edit": { id: "x", text: "hi", idempotencyKey: "k" },
  "sessions.compact": { key: "agent:main:main" },
  "chat.fork": { id: "x", to: "y", idempotencyKey: "k" },
  "sessions.show": { key: "agent:main:main" },
  "sessions.reset": { key: "agent:main:main" },
  "sessions.forget": { key: "agent:main:main" },
  "sessions.patch": { key: "agent:main:main" },
  "devices.mint": { name: "d", scopes: ["read"] },
  "devices.revoke": { id: "x" },
  "devices.rotate": { id: "x" },
  "devices.pair": { name: "laptop", grants: ["notify"] },
  "device.result": { id: "x", ok: true, text: "" },
  "device.grants": { grants: [] },
  "device.share": { text: "x", files: [], idempotencyKey: "k" },
  "config.patch": { patch: {}, baseHash: "" },
  "config.set": { changes: [{ path: ["a"] }] },
  "config.apply": { config: {}, baseHash: "" },
  "channels.test": { to: "telegram:1", idempotencyKey: "k" },
  "outbox.show": { id: "x" },
  "outbox.retry": { id: "x" },
  "outbox.drop": { id: "x" },
  "dead.retry": { id: "x" },
  "dead.drop": { id: "x" },
  backup: { path: "/x" },
  restore: { path: "/x" },
  "cron.get": { id: "j" },
  "cron.add": { job: {} },
  "cron.update": { id: "j", patch: {} },
  "cron.remove": { id: "j" },
  "cron.run": { id: "j" },
  "cron.runs": { id: "j" },
  wake: { text: "look" },
  "mcp.test": { name: "s" },
  "mcp.login.start": { name: "s", redirectUrl: "http://127.0.0.1:1/callback" },
  "mcp.login.finish": { name: "s", answer: "x" },
  "mcp.logout": { name: "s" },
  "mcp.approve": { name: "s" },
  "mcp.forget": { name: "s" },
  "memory.search": { query: "x" },
  "memory.get": { path: "MEMORY.md" },
  "memory.why": { line: "x" },
  "memory.forget": { query: "x" },
  "memory.decide": { id: "x", decision: "refuse" },
  "turns.replay": { id: "agent:main:main" },
  "people.forget": { person: "telegram:7" },
  "people.export": { person: "telegram:7", path: "/x" },
};

/** Every method with the scope that it needs and whose sessions it reaches: a new one is decided here too. */
const table: { readonly [scope in Scope | "device"]: { readonly [whose in MethodSessions]: string } } = {
  read: {
    none: "agents.list channels.list config.get config.schema cron.explain cron.status health hooks.info hooks.list mcp.list models.list nodes.list pairing.list skills.info skills.list status",
    own: "chat.follow chat.history chat.steps chat.threads",
    key: "canvas.link",
    all: "approvals.list canvas.list channels.places cron.get cron.list cron.runs dead.list lanes.list memory.get memory.history memory.proposals memory.search memory.status memory.why outbox.list outbox.show prompt.diff prompt.explain questions.list sessions.list sessions.show sessions.tree tools.list usage why",
  },
  write: {
    none: "",
    own: "chat.abort chat.cancel chat.edit chat.fork chat.inject chat.send chat.thread",
    key: "sessions.compact sessions.patch sessions.reset",
    all: "",
  },
  approve: {
    none: "mcp.approve mcp.forget pairing.approve pairing.revoke",
    own: "",
    key: "",
    all: "approvals.resolve approvals.revoke",
  },
  admin: {
    none: "audit.list backups.list config.apply config.patch config.set config.text config.validate devices.link devices.list devices.mint devices.pair devices.revoke devices.rotate devices.unlock hooks.disable hooks.enable mcp.login.finish mcp.login.start mcp.logout mcp.test models.test reload restart resume skills.install update.check update.run",
    own: "",
    key: "",
    all: "backup channels.test cron.add cron.remove cron.run cron.update dead.drop dead.retry logs.tail memory.decide memory.forget memory.reindex memory.undo outbox.drop outbox.retry people.export people.forget prompt.show restore retention.run sessions.forget tools.hold tools.resume turns.replay wake",
  },
  device: {
    none: "device.calls device.grants device.leave device.push device.result device.share",
    own: "",
    key: "",
    all: "",
  },
};

describe("scopes", () => {
  test("and sessions of every method are those of the table", () => {
    const listed = Object.entries(table).flatMap(([scope, row]) =>
      Object.entries(row).flatMap(([sessions, names]) =>
        names.split(" ").flatMap((name) => (name === "" ? [] : [[name, { scope, sessions }]])),
      ),
    );
    const there = Object.entries(methods).map(([name, { scope, sessions }]) => [name, { scope, sessions }]);
    expect(Object.fromEntries(there)).toEqual(Object.fromEntries(listed));
  });

  const peer = "web-own";
  const own = [
    `agent:main:web:dm:${peer}`,
    `agent:main:web:dm:${peer}:thread:t1`,
    `agent:main:api:${peer}:ada`,
  ];
  const foreign = [
    "agent:main:main",
    "agent:main:web:dm:web-other",
    `agent:other:web:dm:${peer}`,
    `agent:main:telegram:dm:${peer}`,
    `agent:main:dm:${peer}`,
    "agent:main:telegram:group:-1",
    "agent:main:discord:channel:7",
    "agent:main:api:web-other:ada",
    `agent:main:api:web-other:${peer}`,
    "agent:main:hook:build",
    "agent:main:subagent:1",
    "agent:main:cron:daily",
    "",
    peer,
    "nonsense",
  ];

  test.for(scopes)(
    "a token with only %s may do what that allows and nothing else, in its own sessions or in all",
    async (scope) => {
      const { client, calls, devices, store } = await startControl();
      const { token, id } = await devices.mintDevice([scope], "d");
      // Known by name, so that the keys above are its own.
      const [cell] = await store.cells.list(`auth:device:${id.replace(/^\./, "-")}`, 1);
      await store.cells.put(
        cell?.key ?? "",
        JSON.stringify({ ...(JSON.parse(cell?.value ?? "{}") as object), peer }),
        {},
      );
      const device = await client();
      await device.connect({ auth: { token } });
      for (const [method, { scope: needed, sessions }] of Object.entries(methods)) {
        for (const key of sessions === "key" ? [...own, ...foreign] : [null]) {
          calls.length = 0;
          const answer = await device.request(
            method,
            key === null ? validParams[method] : { ...(validParams[method] as object), key },
          );
          const allowed = needed === scope && (key === null || own.includes(key));
          const code = allowed ? undefined : key === "" && needed === scope ? "invalid" : "denied";
          expect([method, key, answer.ok, answer.error?.code]).toEqual([method, key, allowed, code]);
          expect(calls).toHaveLength(allowed ? 1 : 0);
        }
      }
    },
  );

  test("a token that may administer reaches every session", async () => {
    const { client, calls } = await startControl();
    const holder = await client();
    await holder.connect();
    const named = Object.entries(methods).filter(([, { sessions }]) => sessions === "key");
    for (const [method] of named)
      for (const key of [...own, ...foreign.filter((each) => each !== "")])
        await holder.request(method, { key });
    expect(calls).toHaveLength(named.length * (own.length + foreign.length - 1));
  });

  test("where people share the main session, it is not that of a token that may not administer", () => {
    const route = routeOf("main");
    const owns = sessionOwnership(route, "default");
    expect(owns({ peer, scopes: ["read", "write", "approve"] }, "agent:main:main")).toBe(false);
    expect(owns({ peer, scopes: ["write"] }, `agent:main:web:dm:${peer}`)).toBe(true);
    const address = webAddress("default", { peer }, undefined);
    expect(route({ address, sender: webSender({ peer, scopes: ["write"] }) }).session).toBe(
      `agent:main:web:dm:${peer}`,
    );
    expect(route({ address, sender: webSender({ peer, scopes }) }).session).toBe("agent:main:main");
  });
});

async function operator(start = startControl()): Promise<Client> {
  const client = await (await start).client();
  await client.connect();
  return client;
}

describe("a request that cannot be served", () => {
  test.for([
    ["no.such.method", {}, "unsupported"],
    ["constructor", {}, "unsupported"],
    ["__proto__", {}, "unsupported"],
    ["chat.send", {}, "invalid"],
    ["chat.send", { text: 7, idempotencyKey: "k" }, "invalid"],
    ["chat.send", { text: "", idempotencyKey: "k" }, "invalid"],
    ["chat.send", { text: "x" }, "invalid"],
    ["chat.history", { limit: 0 }, "invalid"],
    ["chat.history", "text", "invalid"],
    ["connect", {}, "unsupported"],
  ] as const)("%s with %j is answered with %s", async ([method, params, code]) => {
    const client = await operator();
    expect(await client.request(method, params)).toMatchObject({ ok: false, error: { code } });
    expect((await client.request("health")).ok).toBe(true);
  });

  test("because of a Fault says what the fault says", async () => {
    const fault = new Fault("rate_limited", "slow down", { retryAfterMs: 1500 });
    const client = await operator(startControl({ handlers: { health: () => Promise.reject(fault) } }));
    expect((await client.request("health")).error).toEqual({
      code: "rate_limited",
      message: "slow down",
      retryAfterMs: 1500,
    });
  });

  test("because of a bug shows nothing of it, and the log has it under the reference", async () => {
    const logged: unknown[] = [];
    const log: Log = {
      debug() {},
      info() {},
      warn() {},
      error: (fields) => logged.push(fields),
      child: () => log,
    };
    const bug = new Error("secret path /root/x");
    const client = await operator(startControl({ log, handlers: { health: () => Promise.reject(bug) } }));
    const { error } = await client.request("health");
    expect(error?.code).toBe("internal");
    expect(error?.message).not.toContain("secret");
    expect(logged).toMatchObject([
      { error: bug, method: "health", reference: error?.message.split(" ").at(-1) },
    ]);
  });

  test("because another at work has its id ends the connection", async () => {
    const client = await operator(startControl({ handlers: { health: () => new Promise(() => {}) } }));
    client.send({ type: "req", id: "same", method: "health" });
    client.send({ type: "req", id: "same", method: "status" });
    expect(await client.closed).toBe(1008);
  });

  test("because too many are at work is told to wait", async () => {
    const client = await operator(startControl({ handlers: { health: () => new Promise(() => {}) } }));
    for (let n = 0; n < 64; n += 1) client.send({ type: "req", id: `h${n}`, method: "health" });
    expect(await client.request("status")).toMatchObject({ ok: false, error: { code: "rate_limited" } });
  });
});

describe("idempotency", () => {
  test("same key and params: one effect, one answer; other params: conflict; another method or peer: no relation", async () => {
    const control = await startControl();
    const client = await operator(Promise.resolve(control));
    const again = await operator(Promise.resolve(control));
    const stranger = await control.client();
    await stranger.connect({ auth: { token: gatewayToken, remember: true } });
    const first = await client.request("chat.send", { text: "a", idempotencyKey: "k" });
    expect((await again.request("chat.send", { text: "a", idempotencyKey: "k" })).payload).toEqual(
      first.payload,
    );
    expect(control.calls).toHaveLength(1);
    expect(await again.request("chat.send", { text: "b", idempotencyKey: "k" })).toMatchObject({
      error: { code: "conflict" },
    });
    expect((await stranger.request("chat.send", { text: "b", idempotencyKey: "k" })).ok).toBe(true);
    expect(control.calls).toHaveLength(2);
  });

  test("many at the same instant have one effect", async () => {
    let effects = 0;
    const send = async (): Promise<{ id: string; sessionKey: string; duplicate: boolean }> => {
      effects += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return { id: `n${effects}`, sessionKey: "s", duplicate: false };
    };
    const client = await operator(startControl({ handlers: { "chat.send": send } }));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.request("chat.send", { text: "a", idempotencyKey: "k" })),
    );
    expect(effects).toBe(1);
    expect(new Set(answers.map((answer) => JSON.stringify(answer.payload))).size).toBe(1);
  });

  test("a failed request may be repeated under its key", async () => {
    let failing = true;
    const send = (): Promise<{ id: string; sessionKey: string; duplicate: boolean }> =>
      failing
        ? Promise.reject(new Fault("unavailable", "later"))
        : Promise.resolve({ id: "1", sessionKey: "s", duplicate: false });
    const client = await operator(startControl({ handlers: { "chat.send": send } }));
    expect((await client.request("chat.send", { text: "a", idempotencyKey: "k" })).ok).toBe(false);
    failing = false;
    expect((await client.request("chat.send", { text: "a", idempotencyKey: "k" })).ok).toBe(true);
  });
});

describe("whatever a client sends", () => {
  const nested = (depth: number): string =>
    `{"type":"req","id":"deep","method":"health","params":${"[".repeat(depth)}${"]".repeat(depth)}}`;

  test.for([
    ["no JSON", "{", 1008],
    ["JSON that is no frame", "[]", 1008],
    ["null", "null", 1008],
    ["bytes", Buffer.from([1, 2, 3]), 1003],
    ["100,000 levels without an id", "[".repeat(100_000) + "]".repeat(100_000), 1008],
    ["more than two mebibytes", "x".repeat(2_097_153), 1009],
  ] as const)("%s closes its connection with a reason", async ([, message, code]) => {
    const client = await operator();
    client.sendText(message);
    expect(await client.closed).toBe(code);
  });

  test("bytes that are not UTF-8 close it with 1007", async () => {
    const client = await operator();
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await client.closed).toBe(1007);
  });

  test.for([33, 10_000])("%i levels of nesting are refused", async (depth) => {
    const client = await operator();
    client.sendText(nested(depth));
    expect(
      await Promise.race([client.answer("deep").catch(() => "closed"), client.closed]),
    ).not.toMatchObject({ ok: true });
  });

  test("a lone surrogate becomes a replacement character, and odd keys are just keys", async () => {
    const control = await startControl();
    const client = await operator(Promise.resolve(control));
    client.sendText(
      '{"type":"req","id":"s","method":"chat.send","params":{"text":"\\ud800","idempotencyKey":"k","__proto__":{"admin":true}}}',
    );
    expect((await client.answer("s")).ok).toBe(true);
    expect(control.calls[0]?.params).toEqual({ text: "\ufffd", idempotencyKey: "k" });
  });

  test("the gateway goes on serving others", async () => {
    const control = await startControl();
    const steady = await operator(Promise.resolve(control));
    const frameLike = fc.record(
      {
        type: fc.constantFrom<unknown>("req", "res", "event", 1),
        id: fc.oneof(fc.string(), fc.integer()),
        method: fc.oneof(fc.constantFrom(...Object.keys(methods)), fc.string()),
        params: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const message = fc.oneof(
      fc.string(),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      frameLike.map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (messages, asOperator) => {
          const rude = await control.client();
          if (asOperator) await rude.connect();
          for (const each of messages) if (rude.socket.readyState === rude.socket.OPEN) rude.sendText(each);
          expect((await steady.request("health")).ok).toBe(true);
          rude.socket.terminate();
          await rude.closed;
        },
      ),
      { numRuns: 150 },
    );
  });

  test("nothing of it stays in memory", async () => {
    const control = await startControl();
    /** Sockets of its own: those of the fixture are kept until the test ends. */
    const rude = async (messages: readonly string[]): Promise<void> => {
      const socket = new WebSocket(`ws://127.0.0.1:${control.server.port}/ws`);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => {});
      socket.once("open", () => {
        for (const message of messages) socket.send(message);
        socket.send("x".repeat(1_000_000), { fin: false });
        socket.send("not a beginning", { fin: true });
      });
      await closed;
    };
    const greeting = JSON.stringify({
      type: "req",
      id: "c",
      method: "connect",
      params: { ...handshake, auth: { token: gatewayToken } },
    });
    const large = Array.from({ length: 32 }, (_, n) =>
      JSON.stringify({ type: "req", id: `${n}`, method: "x".repeat(60_000) }),
    );
    const round = (): Promise<unknown> =>
      Promise.all([rude(["x".repeat(20_000)]), rude([greeting]), rude([greeting, ...large])]);
    const heldAfter = async (rounds: number): Promise<number> => {
      for (let n = 0; n < rounds; n += 1) await round();
      await until(() => control.server.connections() === 0);
      return heldBytes();
    };
    const before = await heldAfter(2);
    // Some thirty megabytes are sent in six rounds.
    expect((await heldAfter(6)) - before).toBeLessThan(4_000_000);
  });
});

async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // What lies outside of the heap is freed after the object that holds it is.
  for (let n = 0; n < 3; n += 1) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
