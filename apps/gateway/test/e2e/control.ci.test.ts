// The operator's methods against the real daemon: sessions, injected words, the log, the config, a restart.
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

interface Shown {
  readonly key: string;
  readonly epoch: number;
  readonly model: string | null;
  readonly entries: readonly { readonly type: string; readonly text: string }[];
}

test("words are injected in lane order, once by key; they are shown, stand in the session and reach the next prompt", async () => {
  const daemon = await w.start();
  const control = await controlClient(daemon);
  await control.call("chat.send", { text: "hello", idempotencyKey: "a" });
  const injected = (await control.call("chat.inject", {
    text: "I was *told* this.",
    idempotencyKey: "b",
  })) as { sessionKey: string };
  expect(await control.call("chat.inject", { text: "I was *told* this.", idempotencyKey: "b" })).toEqual(
    injected,
  );
  const shown = (): string[] =>
    control
      .events()
      .filter(({ event }) => event === "chat.message")
      .map(({ payload }) => (payload as { text: string }).text);
  await eventually(() => shown().length === 3, 10_000, "the answer and the injected words");
  expect(shown()).toEqual(["hello", "echo: hello", "I was told this."]);
  await control.call("chat.send", { text: "what was it?", idempotencyKey: "c" });
  await eventually(() => w.models.requests().length === 2, 10_000, "the second question");
  expect(JSON.stringify(w.models.requests()[1]?.body["messages"])).toContain("I was *told* this.");
  await eventually(() => shown().length === 5, 10_000, "the second answer, with which its turn is kept");

  const session = (await control.call("sessions.show", { key: injected.sessionKey })) as Shown;
  expect(session.entries.map(({ type, text }) => `${type}: ${text}`)).toContain(
    "assistant: I was *told* this.",
  );
  expect(await control.call("sessions.patch", { key: session.key, model: "m1" })).toMatchObject({
    model: "fake/m1",
  });
  await expect(control.call("sessions.patch", { key: session.key, model: "m2x" })).rejects.toMatchObject({
    code: "invalid",
  });
  expect(await control.call("sessions.reset", { key: session.key })).toMatchObject({
    epoch: session.epoch + 1,
  });
  expect(((await control.call("sessions.show", { key: session.key })) as Shown).entries).toEqual([]);
  const forgotten = await control.call("sessions.forget", { key: session.key });
  expect(forgotten).toMatchObject({ epoch: session.epoch + 2, entries: session.entries.length });
  expect(
    ((await control.call("sessions.show", { key: session.key, epoch: session.epoch })) as Shown).entries,
  ).toEqual([]);
  await expect(control.call("sessions.show", { key: "agent:main:web:dm:nobody" })).rejects.toMatchObject({
    code: "missing",
  });
  await expect(control.call("sessions.show", { key: "nonsense" })).rejects.toMatchObject({ code: "invalid" });
  expect(await control.call("agents.list")).toMatchObject({
    agents: [{ id: "main", isDefault: true, model: "fake/m1" }],
  });
  control.close();
});

test("the log is read from afar and followed, without a secret in it", async () => {
  const daemon = await w.start();
  const control = await controlClient(daemon);
  const { lines } = (await control.call("logs.tail", { lines: 1000, follow: true })) as { lines: string[] };
  expect(lines.some((line) => (JSON.parse(line) as { msg: string }).msg === "ready")).toBe(true);
  w.telegram.as(5).says("hello");
  await w.answered(5, 1);
  const followed = (): string[] =>
    control
      .events()
      .filter(({ event }) => event === "log.line")
      .map(({ payload }) => (payload as { line: string }).line);
  await eventually(
    () => followed().some((line) => line.includes("turn committed")),
    10_000,
    "the turn in the log",
  );
  expect([...lines, ...followed()].join("")).not.toContain(daemon.token);
  control.close();
});

test("the config is changed on what was read, keeps its comments, and is refused with every problem by line", async () => {
  const daemon = await w.start();
  const path = join(daemon.home, "parley.json5");
  await writeFile(path, (await readFile(path, "utf8")).replace("{", "{ // mine\n"));
  const control = await controlClient(daemon);
  const { hash, config } = (await control.call("config.get")) as { hash: string; config: object };
  expect(JSON.stringify(config)).not.toContain(daemon.token);
  const wrong = control.call("config.patch", {
    patch: { gateway: { prot: 1 }, session: { dmScope: "x" } },
    baseHash: hash,
  });
  await expect(wrong).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(/gateway\.prot[\s\S]*session\.dmScope/),
    details: { problems: [{ path: "gateway.prot", line: expect.any(Number) }, { path: "session.dmScope" }] },
  });
  const written = await control.call("config.patch", {
    patch: { messages: { queue: { cap: 7 } } },
    baseHash: hash,
    idempotencyKey: "k",
  });
  expect(written).toMatchObject({ changed: ["messages"], backup: `${path}.bak` });
  expect(
    await control.call("config.patch", {
      patch: { messages: { queue: { cap: 7 } } },
      baseHash: hash,
      idempotencyKey: "k",
    }),
  ).toEqual(written);
  await expect(control.call("config.patch", { patch: {}, baseHash: hash })).rejects.toMatchObject({
    code: "conflict",
  });
  expect(await readFile(path, "utf8")).toMatch(/^\{ \/\/ mine\n/);
  expect(await control.call("config.get")).toMatchObject({
    problems: [],
    config: { messages: { queue: { cap: 7 } } },
  });
  control.close();
});

test("a restart over the control plane comes back on the same database", async () => {
  const daemon = await w.start();
  const before = await controlClient(daemon);
  const { bootId } = (await before.call("status")) as { bootId: string };
  expect(await before.call("restart", { reason: "test" })).toMatchObject({ pid: daemon.pid });
  await before.closed;
  await eventually(() => daemon.log().split('"msg":"ready"').length === 3, 30_000, "the second start");
  const url = [...daemon.log().matchAll(/"url":"(http[^"]+)\/"/g)].at(-1)?.[1] ?? "";
  const after = await controlClient({ ...daemon, url });
  expect(((await after.call("status")) as { bootId: string; pid: number }).bootId).not.toBe(bootId);
  after.close();
  expect(await daemon.stop()).toBe(0);
});

test("a device that may only write has no owner's rights in the chat either", async () => {
  const daemon = await w.start();
  const operator = await controlClient(daemon);
  const { token } = (await operator.call("devices.mint", { name: "phone", scopes: ["read", "write"] })) as {
    token: string;
  };
  const phone = await controlClient(daemon, { auth: { token } });
  for (const [client, expected] of [
    [phone, /^You are web:web-\w+\.$/m],
    [operator, /^You are web:web-\w+, an owner\.$/m],
  ] as const) {
    await client.call("chat.send", { text: "/estop", idempotencyKey: "a" });
    await client.call("chat.send", { text: "/whoami", idempotencyKey: "b" });
    const said = (): string[] =>
      client
        .events()
        .filter(
          ({ event, payload }) =>
            event === "chat.message" && (payload as { role: string }).role === "assistant",
        )
        .map(({ payload }) => (payload as { text: string }).text);
    await eventually(() => said().some((text) => text.startsWith("You are")), 10_000, "who it is");
    expect(said().find((text) => text.startsWith("You are"))).toMatch(expected);
    expect(said().some((text) => text.startsWith("🛑"))).toBe(client === operator);
    client.close();
  }
});

test.for(["per-channel-peer", "main"])(
  "a device that may only write begins nobody else's session anew, where people share %s",
  async (dmScope) => {
    const daemon = await w.start({ config: { session: { dmScope } } });
    const operator = await controlClient(daemon);
    const { token } = (await operator.call("devices.mint", { name: "phone", scopes: ["read", "write"] })) as {
      token: string;
    };
    const phone = await controlClient(daemon, { auth: { token } });
    const said = async (client: typeof phone): Promise<readonly string[]> => {
      const { messages } = (await client.call("chat.history")) as {
        messages: readonly { role: string; text: string }[];
      };
      return messages.filter(({ role }) => role !== "user").map(({ text }) => text);
    };
    const { sessionKey: theirs } = (await operator.call("chat.send", {
      text: "hello",
      idempotencyKey: "a",
    })) as { sessionKey: string };
    await eventually(async () => (await said(operator)).length === 1, 10_000, "the operator's answer");
    const before = (await operator.call("sessions.show", { key: theirs })) as Shown;

    for (const [method, params] of [
      ["sessions.reset", { key: theirs }],
      ["sessions.patch", { key: theirs, model: "m1" }],
      ["sessions.forget", { key: theirs }],
    ] as const)
      await expect(phone.call(method, params)).rejects.toMatchObject({ code: "denied" });
    const { sessionKey: own } = (await phone.call("chat.send", { text: "/new", idempotencyKey: "b" })) as {
      sessionKey: string;
    };
    expect(own).not.toBe(theirs);
    await phone.call("chat.send", { text: "/model m1", idempotencyKey: "c" });
    await phone.call("chat.abort");
    await phone.call("chat.send", { text: "and I?", idempotencyKey: "d" });
    await eventually(async () => (await said(phone)).includes("echo: and I?"), 10_000, "the device's answer");
    expect(await phone.call("sessions.patch", { key: own, model: "m1" })).toMatchObject({
      key: own,
      model: "fake/m1",
    });
    expect(await operator.call("sessions.show", { key: theirs })).toEqual(before);
    phone.close();
    operator.close();
  },
);

test("a device decides about a command in the chat only if its token may approve", async () => {
  w.models.reply(({ lastToolResult }) =>
    lastToolResult === null
      ? { toolCalls: [{ name: "exec", args: { command: ["touch", "made"] } }] }
      : `so: ${lastToolResult}`,
  );
  const daemon = await w.start();
  const operator = await controlClient(daemon);
  for (const [scopes, answer] of [
    [["read", "write"], /^⚠️ You may not decide about this$/],
    [["read", "write", "approve"], /^✅ Allowed once by operator/],
  ] as const) {
    const { token } = (await operator.call("devices.mint", { name: scopes.join(), scopes })) as {
      token: string;
    };
    const phone = await controlClient(daemon, { auth: { token } });
    const said = async (): Promise<string[]> =>
      ((await phone.call("chat.history")) as { messages: { text: string }[] }).messages.map(
        ({ text }) => text,
      );
    await phone.call("chat.send", { text: "do it", idempotencyKey: "a" });
    const card = await eventually(
      async () => (await said()).find((text) => text.startsWith("🔐")),
      10_000,
      "the card",
    );
    await phone.call("chat.send", {
      text: `/approve ${/Approval (\w+)/.exec(card)?.[1]} once`,
      idempotencyKey: "b",
    });
    await eventually(async () => (await said()).some((text) => answer.test(text)), 10_000, "the answer");
    if (scopes.length === 2) expect(existsSync(join(daemon.home, "workspace", "made"))).toBe(false);
    else await eventually(() => existsSync(join(daemon.home, "workspace", "made")), 10_000, "the run");
    phone.close();
  }
  operator.close();
});

test("whoever is refused stands in the log and in the metrics by reason, and an operator lets up on the slowed", async () => {
  const daemon = await w.start({
    config: {
      channels: {
        telegram: {
          ...(w.config["channels"] as { readonly telegram: object }).telegram,
          dmPolicy: "allowlist",
          allowFrom: ["1"],
        },
      },
    },
  });
  w.telegram.as(4242).says("let me in");
  const asked = async (token: string): Promise<number> =>
    (await fetch(new URL("/v1/models", daemon.url), { headers: { authorization: `Bearer ${token}` } }))
      .status;
  const statuses = await Promise.all(Array.from({ length: 15 }, () => asked("wrong")));
  expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  expect(await asked(daemon.token)).toBe(200);
  const lines = (): readonly { readonly [field: string]: unknown }[] =>
    daemon
      .log()
      .split("\n")
      .filter((line) => line.includes('"refused"'))
      .map((line) => JSON.parse(line) as { readonly [field: string]: unknown });
  await eventually(() => lines().length === 3, 10_000, "the lines");
  expect(lines()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        part: "admission",
        reason: "not_in_allow_from",
        account: "telegram:default",
        sender: "4242",
      }),
      expect.objectContaining({ part: "control", reason: "wrong_token", address: "127.0.0.1" }),
      expect.objectContaining({ part: "control", reason: "too_many_wrong", address: "127.0.0.1" }),
    ]),
  );
  const metrics = await (
    await fetch(new URL("/metrics", daemon.url), { headers: { authorization: `Bearer ${daemon.token}` } })
  ).text();
  expect(metrics).toContain('parley_refusals_total{reason="wrong_token"} 10');
  expect(metrics).toContain('parley_refusals_total{reason="not_in_allow_from"} 1');
  const operator = await controlClient(daemon);
  expect(await operator.call("devices.unlock")).toEqual({ lifted: 1 });
  operator.close();
  expect(await asked("wrong")).toBe(401);
  // What was counted and not told yet is told before the end.
  expect(await daemon.stop()).toBe(0);
  expect(daemon.log()).toContain('"reason":"wrong_token","source":"127.0.0.1","more":10');
});
