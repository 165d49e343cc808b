// What the control plane refuses: a right credential never because of wrong ones, wrong ones slowly where
// they are many, and each refusal with a line that says why, of which a flood makes few.
import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { secret } from "@parley/config";
import { systemIds, type LogFields } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { refusalLog, type RefusalReason, type Refusals } from "@parley/access";
import {
  gatewayToken,
  handshake,
  hooksConfig,
  startControl,
  until,
  type Fixture,
  type FixtureOptions,
} from "./control-fixture.ts";

const hooks = hooksConfig({
  endpoints: {
    form: { token: secret("the-token-of-the-form"), maxBytes: 1_000 },
    build: {
      secret: secret("the-secret-of-the-build"),
      signatureHeader: "x-hub-signature-256",
      maxBytes: 1_000,
    },
  },
});

const took: NonNullable<FixtureOptions["requests"]> = {
  ask: () => Promise.reject(new Error("no chat is expected")),
  call: async () => ({ id: "1", duplicate: false }) as never,
  tell: async () => ({ id: "1", duplicate: false }),
  answer: () => Promise.reject(new Error("no chat is expected")),
  watch: () => () => {},
};

interface World extends Fixture {
  readonly clock: ReturnType<typeof virtualClock>;
  readonly lines: LogFields[];
  readonly counts: Map<RefusalReason, number>;
  readonly refusals: ReturnType<typeof refusalLog>;
  http(
    method: string,
    path: string,
    headers?: { readonly [name: string]: string },
    body?: string,
  ): Promise<number>;
}

async function world(options: FixtureOptions = {}): Promise<World> {
  const clock = virtualClock();
  const lines: LogFields[] = [];
  const counts = new Map<RefusalReason, number>();
  const refusals = refusalLog({
    say: (fields) => void lines.push(fields),
    count: (reason) => void counts.set(reason, (counts.get(reason) ?? 0) + 1),
    clock,
  });
  const metrics = { text: async () => "", openOnLoopback: () => false };
  const fixture = await startControl({
    clock,
    refusals,
    hooks: () => hooks,
    requests: took,
    metrics,
    ...options,
  });
  const http: World["http"] = (method, path, headers = {}, body = "") =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(
        { port: fixture.server.port, host: "127.0.0.1", method, path, headers },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  return { ...fixture, clock, lines, counts, refusals, http };
}

const signed = (body: string): string =>
  createHmac("sha256", "the-secret-of-the-build").update(body).digest("hex");
const bearer = (token: string): { readonly authorization: string } => ({ authorization: `Bearer ${token}` });

/** Every way to show something wrong. */
const wrongWays: { readonly [what: string]: (w: World, nth: number) => Promise<unknown> } = {
  "a token on the socket": async (w, nth) =>
    (await w.client()).connect({ auth: { token: `wrong${nth}`.padEnd(43, "x") } }),
  "a code": async (w, nth) =>
    (await w.client()).connect({ auth: { code: `WRQNG${nth}`.replaceAll(/[01]/g, "2").padEnd(26, "X") } }),
  "a bearer token": (w, nth) => w.http("GET", "/v1/models", bearer(`wrong-${nth}`)),
  "a scraper's token": (w, nth) => w.http("GET", "/metrics", bearer(`wrong-${nth}`)),
  "a webhook's token": (w, nth) => w.http("POST", "/hooks/form", bearer(`wrong-${nth}`), "{}"),
  "a webhook's signature": (w) =>
    w.http("POST", "/hooks/build", { "x-hub-signature-256": signed("other") }, "{}"),
  "Telegram's secret": (w) =>
    w.http("POST", "/telegram/default", { "x-telegram-bot-api-secret-token": "wrong" }, "{}"),
  "no token for a webhook, from a page": (w) =>
    w.http("POST", "/hooks/form", { origin: "https://evil.example" }, "{}"),
  "a token from a page": (w, nth) =>
    w.http("GET", "/v1/models", { ...bearer(`wrong-${nth}`), origin: `http://127.0.0.1:${w.server.port}` }),
};

describe("a right credential", () => {
  test.for(Object.keys(wrongWays))(
    "is let in at once, whatever its kind, after forty times %s from its own address",
    async (what) => {
      const w = await world({ webhook: () => async () => ({ status: 401 }) });
      const device = await w.devices.mintDevice(["read", "write"], "phone");
      const code = new URL(await w.server.loginUrl()).hash.slice(6);
      const wrong = Array.from({ length: 40 }, async (_, nth) => wrongWays[what]?.(w, nth));
      const of = (): number => [...w.counts.values()].reduce((sum, each) => sum + each, 0);
      await until(() => of() >= 40);

      // The clock stands still, so what is held back stays so meanwhile.
      expect((await (await w.client()).connect()).ok).toBe(true);
      expect((await (await w.client()).connect({ auth: { token: device.token } })).ok).toBe(true);
      expect((await (await w.client()).connect({ auth: { code } })).ok).toBe(true);
      expect(await w.http("GET", "/v1/models", bearer(gatewayToken))).toBe(200);
      expect(await w.http("GET", "/v1/models", bearer(device.token))).toBe(200);
      expect(await w.http("GET", "/metrics", bearer(gatewayToken))).toBe(200);
      expect(await w.http("POST", "/hooks/form", { "x-parley-token": "the-token-of-the-form" }, "{}")).toBe(
        202,
      );
      expect(await w.http("POST", "/hooks/build", { "x-hub-signature-256": signed("{}") }, "{}")).toBe(202);
      await w.clock.advance(1_000);
      await Promise.all(wrong);
    },
  );
});

describe("wrong credentials", () => {
  const guess = async (w: World, headers: { readonly [name: string]: string } = {}): Promise<unknown> => {
    const asked = (await w.client({ headers })).connect({ auth: { token: "wrong" } });
    const noted = w.counts.size === 0 ? 0 : [...w.counts.values()].reduce((sum, each) => sum + each, 0);
    await until(() => [...w.counts.values()].reduce((sum, each) => sum + each, 0) > noted);
    await w.clock.advance(1_000);
    return (await asked).error;
  };

  test("are answered at once ten times a minute, then slowly and with when to come again; a pause of five minutes ends that", async () => {
    const w = await world();
    for (let nth = 0; nth < 10; nth += 1) expect(await guess(w)).toMatchObject({ code: "unauthorized" });
    expect(await guess(w)).toMatchObject({
      code: "rate_limited",
      retryAfterMs: 300_000,
      message: expect.stringContaining("A right one"),
    });
    await w.clock.advance(300_000);
    expect(await guess(w)).toMatchObject({ code: "unauthorized" });
  });

  test("are forgotten at an operator's word", async () => {
    const w = await world();
    for (let nth = 0; nth < 11; nth += 1) await guess(w);
    expect(w.server.unlock()).toBe(1);
    expect(await guess(w)).toMatchObject({ code: "unauthorized" });
  });

  test("of one client behind a proxy slow no other, when the proxy is trusted; else the header says nothing", async () => {
    const trusting = await world({ trustedProxies: ["127.0.0.0/8"] });
    for (let nth = 0; nth < 11; nth += 1) await guess(trusting, { "x-forwarded-for": "203.0.113.5" });
    expect(await guess(trusting, { "x-forwarded-for": "10.9.9.9, 203.0.113.5" })).toMatchObject({
      code: "rate_limited",
    });
    expect(await guess(trusting, { "x-forwarded-for": "203.0.113.6" })).toMatchObject({
      code: "unauthorized",
    });
    const strict = await world();
    for (let nth = 0; nth < 10; nth += 1) await guess(strict, { "x-forwarded-for": `203.0.113.${nth}` });
    expect(await guess(strict, { "x-forwarded-for": "203.0.113.200" })).toMatchObject({
      code: "rate_limited",
    });
  });

  test("hold back few answers at once: the rest of a flood is answered without waiting", async () => {
    const w = await world();
    const answers = Array.from({ length: 100 }, () => w.http("GET", "/v1/models", bearer("wrong")));
    let answered = 0;
    for (const each of answers) void each.then(() => (answered += 1));
    await until(() => answered === 68);
    await w.clock.advance(1_000);
    expect((await Promise.all(answers)).filter((status) => status === 401)).toHaveLength(10);
  });
});

describe("a refusal leaves a line with its reason", () => {
  const large = "x".repeat(2_000);
  const rows: readonly (readonly [
    reason: RefusalReason,
    ask: (w: World) => Promise<unknown>,
    also?: object,
  ])[] = [
    ["host", (w) => w.http("GET", "/healthz", { host: "evil.example" }), { path: "/healthz" }],
    [
      "origin",
      (w) => w.http("GET", "/", { origin: "https://evil.example" }),
      { origin: "https://evil.example" },
    ],
    [
      "origin",
      (w) => w.client({ headers: { origin: "https://evil.example" } }).catch(() => null),
      { path: "/ws" },
    ],
    ["path", (w) => w.http("POST", "/hooks/nothing", bearer("x"), "{}"), { path: "/hooks/nothing" }],
    [
      "path",
      (w) => w.http("GET", "/v2/models?token=a-secret-in-an-address", bearer("x")),
      { path: "/v2/models" },
    ],
    ["no_credential", (w) => w.http("GET", "/v1/models"), { path: "/v1/models" }],
    ["no_credential", (w) => w.http("GET", "/v1/models/main"), { path: "/v1/models/main" }],
    ["no_credential", (w) => w.http("GET", "/metrics")],
    ["no_credential", (w) => w.http("POST", "/hooks/form", {}, "{}"), { webhook: "form" }],
    ["no_credential", async (w) => (await w.client()).request("connect", handshake)],
    ["wrong_token", (w) => w.http("GET", "/v1/models", bearer("wrong"))],
    [
      "wrong_token",
      (w) => w.http("POST", "/telegram/default", { "x-telegram-bot-api-secret-token": "wrong" }, "{}"),
    ],
    ["wrong_code", async (w) => (await w.client()).connect({ auth: { code: "WRONG" } })],
    ["no_credential", (w) => w.http("POST", "/hooks/build", {}, "{}"), { webhook: "build" }],
    ["wrong_token", (w) => w.http("POST", "/hooks/build", bearer("wrong"), "{}")],
    ["wrong_token", (w) => w.http("POST", "/hooks/form", bearer("wrong"), "{}")],
    [
      "wrong_signature",
      (w) =>
        w.http("POST", "/hooks/build", { ...bearer("wrong"), "x-hub-signature-256": signed("other") }, "{}"),
    ],
    [
      "no_credential",
      (w) => w.http("POST", "/hooks/form", { origin: `http://127.0.0.1:${w.server.port}` }, "{}"),
      { webhook: "form", origin: expect.stringContaining("127.0.0.1") },
    ],
    ["wrong_signature", (w) => w.http("POST", "/hooks/build", { "x-hub-signature-256": "00" }, "{}")],
    [
      "body_too_large",
      (w) => w.http("POST", "/hooks/form", { "x-parley-token": "the-token-of-the-form" }, large),
      { webhook: "form" },
    ],
    [
      "body_too_large",
      (w) =>
        w.http("POST", "/v1/chat/completions", bearer(gatewayToken), "x".repeat(5_000_000)).catch(() => null),
      { path: "/v1/chat/completions" },
    ],
    ["bad_frame", async (w) => (await w.client()).request("health").catch(() => null)],
    ["bad_frame", async (w) => (await w.client()).sendText("no frame")],
    [
      "no_handshake",
      async (w) => {
        const silent = await w.client();
        await w.clock.advance(15_000);
        await silent.closed;
      },
    ],
    [
      "scope",
      async (w) => (await device(w)).request("status"),
      { method: "status", device: expect.any(String) },
    ],
    [
      "other_session",
      async (w) => (await device(w)).request("sessions.reset", { key: "agent:main:main" }),
      { method: "sessions.reset" },
    ],
    [
      "other_peer",
      async (w) => (await w.client()).connect({ auth: { token: await minted(w) }, peer: "web-other" }),
    ],
  ];
  const minted = async (w: World): Promise<string> => (await w.devices.mintDevice(["write"], "phone")).token;
  const device = async (w: World) => {
    const client = await w.client();
    await client.connect({ auth: { token: await minted(w) } });
    return client;
  };

  test.for(rows)("%s", async ([reason, ask, also]) => {
    const w = await world({ webhook: () => async () => ({ status: 401 }) });
    await ask(w);
    await until(() => w.lines.length > 0);
    expect(w.lines).toEqual([expect.objectContaining({ reason, address: "127.0.0.1", ...also })]);
    expect([...w.counts]).toEqual([[reason, 1]]);
    expect(JSON.stringify(w.lines)).not.toMatch(/"wrong"|WRONG|a-secret-in-an-address|the-token/);
  });
});

describe("a flood of refusals", () => {
  function book(): {
    readonly lines: LogFields[];
    readonly refusals: Refusals;
    readonly clock: ReturnType<typeof virtualClock>;
  } {
    const clock = virtualClock();
    const lines: LogFields[] = [];
    return {
      lines,
      refusals: refusalLog({ say: (fields) => void lines.push(fields), count: () => {}, clock }),
      clock,
    };
  }

  test("from one source is two lines a minute, and none is uncounted", async () => {
    const { lines, refusals, clock } = book();
    for (let nth = 0; nth < 1_000; nth += 1)
      refusals.note("wrong_token", "10.0.0.1", { address: "10.0.0.1" });
    await clock.advance(60_000);
    expect(lines).toEqual([
      { reason: "wrong_token", source: "10.0.0.1", address: "10.0.0.1" },
      { reason: "wrong_token", source: "10.0.0.1", more: 999 },
    ]);
    // Every later minute is told alike, and one in which nothing came is silent.
    for (let minute = 1; minute < 4; minute += 1) {
      lines.length = 0;
      refusals.note("wrong_token", "10.0.0.1");
      expect(lines).toHaveLength(1);
      for (let nth = 0; nth < minute; nth += 1) refusals.note("wrong_token", "10.0.0.1");
      await clock.advance(60_000);
      expect(lines.slice(1)).toEqual([{ reason: "wrong_token", source: "10.0.0.1", more: minute }]);
      await clock.advance(120_000);
      expect(lines).toHaveLength(2);
    }
  });

  test("from many sources is few lines too, hides no other reason, and is bounded in memory", async () => {
    const { lines, refusals, clock } = book();
    const ids = systemIds();
    for (let nth = 0; nth < 10_000; nth += 1) refusals.note("not_in_allow_from", ids.uuid());
    refusals.note("wrong_token", "10.0.0.1");
    expect(lines).toHaveLength(21);
    await clock.advance(60_000);
    expect(lines.slice(21)).toEqual([{ reason: "not_in_allow_from", more: 9_980 }]);
  });
});
