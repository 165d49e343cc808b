// Who may call from where, what is counted against whom, and what of a call is recorded: both sides of each
// limit.
import type { Refusals } from "@parley/access";
import { Fault, methods, type ConnectParams, type MethodName, type Scope } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { originTrouble, type HostRules } from "../src/auth/allowed-hosts.ts";
import { authenticator, type Caller } from "../src/auth/authenticate.ts";
import { bearerCaller, bearerToken, pathOf, Unauthorized } from "../src/auth/bearer.ts";
import { whileKnown } from "../src/auth/while-known.ts";
import { wrongAttempts, type Attempts } from "../src/auth/login-attempts.ts";
import { auditOf, isAudited, looking } from "../src/audited.ts";
import { connectedClients } from "../src/connected-clients.ts";
import { readFrame } from "../src/parse-request.ts";

const home: HostRules = { listenHost: "192.168.1.5", allowedHosts: ["Parley.example", "second.example"] };

test.for([
  ["localhost:1", undefined, home, null],
  ["LOCALHOST", undefined, home, null],
  ["127.0.0.1:80", undefined, home, null],
  ["127.9.9.9", undefined, home, null],
  ["127.evil.example", undefined, home, "host"],
  ["[::1]:80", undefined, home, null],
  ["192.168.1.5:80", undefined, home, null],
  ["192.168.1.6:80", undefined, home, "host"],
  ["parley.example", undefined, home, null],
  ["SECOND.example:443", undefined, home, null],
  ["third.example", undefined, home, "host"],
  ["a.parley.example", undefined, home, "host"],
  ["parley.example:123456", undefined, home, "host"],
  ["parley.example/x", undefined, home, "host"],
  // However an address of IPv6 is written in the config, and in whatever letters.
  ["[2001:db8::5]:80", undefined, { ...home, allowedHosts: ["[2001:DB8::5]"] }, null],
  ["[2001:db8::5]:80", "https://[2001:db8::5]", { ...home, allowedHosts: ["2001:db8::5"] }, null],
  ["[2001:db8::6]", undefined, { ...home, allowedHosts: ["2001:db8::5"] }, "host"],
  ["[2001:db8::7]", undefined, { ...home, listenHost: "2001:DB8::7" }, null],
  ["", undefined, home, "host"],
  [undefined, undefined, home, "host"],
  // On all interfaces an address is accepted and a name is not.
  ["10.0.0.7", undefined, { ...home, listenHost: "0.0.0.0" }, null],
  ["[2001:db8::1]", undefined, { ...home, listenHost: "::" }, null],
  ["10.0.0.7", undefined, { ...home, listenHost: "127.0.0.1" }, "host"],
  ["evil.example", undefined, { ...home, listenHost: "0.0.0.0" }, "host"],
  // A page has to come from here or from a configured name.
  ["localhost:1", "http://localhost:1", home, null],
  ["localhost:1", "HTTP://LOCALHOST:1", home, null],
  ["localhost:1", "http://localhost:2", home, "origin"],
  ["localhost:1", "https://parley.example", home, null],
  ["localhost:1", "https://second.example:8443", home, null],
  ["localhost:1", "https://evil.example", home, "origin"],
  ["localhost:1", "https://parley.example/path", home, "origin"],
  ["localhost:1", "null", home, "origin"],
  ["localhost:1", "file://", home, "origin"],
  ["10.0.0.7", "http://10.0.0.8", { ...home, listenHost: "0.0.0.0" }, "origin"],
] as const)("the host %s with a page of %s", ([host, origin, rules, reason]) => {
  expect(originTrouble({ host, origin }, rules)?.reason ?? null).toBe(reason);
});

function counted() {
  const clock = virtualClock();
  const noted: string[] = [];
  const refusals = { note: (reason: string, source: string) => void noted.push(`${reason} ${source}`) };
  const attempts = wrongAttempts({ refusals, closing: new AbortController().signal, clock });
  /** What the last of so many wrong ones is answered, once everything due in a second is done. */
  const wrong = async (
    count: number,
    address: string,
    origin: string | null = null,
    reason: Parameters<Attempts["wrong"]>[1] = "wrong_token",
  ) => {
    let last: Fault | null = null;
    for (let n = 0; n < count; n += 1) {
      const answer = attempts.wrong({ address, origin }, reason, "it is wrong");
      await clock.advance(1_000);
      last = await answer;
    }
    return last?.code;
  };
  return { clock, noted, attempts, wrong };
}

test("the eleventh wrong token of a minute is slowed, for five minutes after the last one", async () => {
  const { clock, attempts, wrong, noted } = counted();
  expect([await wrong(10, "a"), await wrong(1, "a"), await wrong(1, "b")]).toEqual([
    "denied",
    "rate_limited",
    "denied",
  ]);
  expect(noted.slice(9)).toEqual(["wrong_token a", "too_many_wrong a", "wrong_token b"]);
  await clock.advance(290_000);
  // Each further one begins the five minutes again.
  expect(await wrong(1, "a")).toBe("rate_limited");
  await clock.advance(298_000);
  expect(await wrong(1, "a")).toBe("rate_limited");
  await clock.advance(299_000);
  expect(await wrong(1, "a")).toBe("denied");
  expect(attempts.unlock()).toBe(0);
});

test("ten a minute are a person's typing, however long it goes on", async () => {
  const { clock, wrong } = counted();
  for (let minute = 0; minute < 4; minute += 1) {
    expect(await wrong(10, "a")).toBe("denied");
    await clock.advance(50_000);
  }
});

test.for([
  ["one address of IPv4", ["10.0.0.1"], ["10.0.0.2"]],
  ["one network of IPv6", ["2001:db8:1:2::1", "2001:db8:1:2:9:8:7:6"], ["2001:db8:1:3::1"]],
  ["a shortened one", ["2001:db8::1", "2001:db8:0:0:5::"], ["2001:db8:0:1::1"]],
  ["one that begins with zeros", ["::1", "0:0:0:0:9::1"], ["1::1"]],
] as const)("wrong ones are counted by %s", async ([, same, other]) => {
  const { wrong } = counted();
  for (let n = 0; n < 10; n += 1) expect(await wrong(1, same[n % same.length] ?? "")).toBe("denied");
  for (const each of other) expect(await wrong(1, each)).toBe("denied");
  for (const each of same) expect(await wrong(1, each)).toBe("rate_limited");
});

test("a page's origin counts from wherever it calls, and codes count from everywhere together", async () => {
  const { wrong, attempts } = counted();
  for (let n = 0; n < 10; n += 1) expect(await wrong(1, `10.0.0.${n}`, "https://a")).toBe("denied");
  expect(await wrong(1, "10.0.0.99", "https://a")).toBe("rate_limited");
  expect(await wrong(1, "10.0.0.99", "https://b")).toBe("denied");
  for (let n = 0; n < 30; n += 1) expect(await wrong(1, `10.0.1.${n}`, null, "wrong_code")).toBe("denied");
  expect(await wrong(1, "10.0.2.1", null, "wrong_code")).toBe("rate_limited");
  expect(await wrong(1, "10.0.2.2")).toBe("denied");
  // One origin, and the codes.
  expect([attempts.unlock(), attempts.unlock()]).toEqual([2, 0]);
  expect(await wrong(1, "10.0.2.3", "https://a", "wrong_code")).toBe("denied");
});

test("at most 32 answers are held up at once; what comes beyond them is told at once, and how long it lasts", async () => {
  const { clock, attempts, wrong } = counted();
  await wrong(10, "a");
  let answered = 0;
  const asked = Array.from({ length: 34 }, () =>
    attempts.wrong({ address: "a", origin: null }, "wrong_token", "no").then((fault) => {
      answered += 1;
      return fault.retryAfterMs;
    }),
  );
  await clock.advance(999);
  expect(answered).toBe(2);
  await clock.advance(1);
  expect(new Set(await Promise.all(asked))).toEqual(new Set([300_000]));
  // The room is there again.
  const next = attempts
    .wrong({ address: "a", origin: null }, "wrong_token", "no")
    .then(() => (answered += 1));
  await clock.advance(999);
  expect(answered).toBe(34);
  await clock.advance(1);
  await next;
});

test("a refusal is noted with where it came from and what was wrong; a gateway that stops holds up no answer", async () => {
  const clock = virtualClock();
  const noted: unknown[] = [];
  const ending = new AbortController();
  const attempts = wrongAttempts({
    refusals: { note: (...what: unknown[]) => void noted.push(what) },
    closing: ending.signal,
    clock,
  });
  const from = { address: "a", origin: "https://page" };
  for (let n = 0; n < 10; n += 1) await attempts.wrong(from, "wrong_signature", "no");
  const last = attempts.wrong(from, "wrong_signature", "no");
  ending.abort();
  expect((await last).message).toBe(
    "no; too many wrong ones came from here, so wrong ones are answered slowly. A right one works at once",
  );
  expect(noted.slice(9)).toEqual([
    ["wrong_signature", "a", from],
    ["too_many_wrong", "a", { ...from, wrong: "wrong_signature" }],
  ]);
});

test("the source that was wrong longest ago is forgotten first", async () => {
  const { attempts } = counted();
  const wrong = async (address: string): Promise<string> =>
    (await attempts.wrong({ address, origin: null }, "wrong_token", "no")).code;
  for (let n = 0; n < 10; n += 1) for (const each of ["old", "used"]) await wrong(each);
  for (let n = 0; n < 4_998; n += 1) await wrong(`n${n}`);
  // 5,000 are remembered: the one of them that was used stays, the other goes.
  void attempts.wrong({ address: "used", origin: null }, "wrong_token", "no");
  await wrong("one more");
  expect(await wrong("old")).toBe("denied");
  expect(attempts.unlock()).toBe(1);
});

const device = { id: "d1", peer: "web-d1", scopes: ["read"] as const, rotation: 2, token: "anew" };
function authenticating() {
  const asked: unknown[] = [];
  const authenticate = authenticator({
    tokens: ["first-token", "second-token"],
    attempts: {
      wrong: async (_from, reason, message) => new Fault("denied", `${reason}: ${message}`),
      unlock: () => 0,
    },
    refusals: { note: (reason) => void asked.push(reason) },
    devices: {
      redeemCode: async (...given: unknown[]) => {
        asked.push(given);
        return given[0] === "CODE" ? { ...device, grants: ["notify"] } : null;
      },
      find: async (token: string) => (token === "device-token" ? device : null),
      mintDevice: async (...given: unknown[]) => {
        asked.push(given);
        return { ...device, id: "d2" };
      },
      operatorPeer: async () => "web-operator",
    } as never,
  });
  const call = (given: Partial<ConnectParams>) =>
    authenticate(
      { protocol: { min: 1, max: 1 }, client: { name: "cli", version: "1" }, ...given } as ConnectParams,
      { address: "a", origin: null },
    ).then(
      ({ caller: { client: _client, address: _address, ...caller }, deviceToken }) => ({
        ...caller,
        ...(deviceToken === undefined ? {} : { deviceToken }),
      }),
      (error: Fault) => `${error.code} ${error.message}`,
    );
  return { asked, call };
}

test("a caller is who its credential says, and nobody else", async () => {
  const { asked, call } = authenticating();
  const ofDevice = { peer: "web-d1", scopes: ["read"], device: "d1", rotation: 2 };
  expect(await call({})).toMatch(/^denied a token or a login code/);
  for (const token of ["first-token", "second-token"])
    expect(await call({ auth: { token } })).toMatchObject({ peer: "web-operator", device: null });
  expect(await call({ auth: { token: "first-token" }, peer: "web-own-1" })).toMatchObject({
    peer: "web-own-1",
  });
  for (const peer of ["web-", "web-A", `web-${"a".repeat(65)}`, "telegram", "web-a b"])
    expect(await call({ auth: { token: "first-token" }, peer })).toMatch(
      /^denied .* is not the name of a web/,
    );
  expect(await call({ auth: { token: "first-token" }, peer: `web-${"a".repeat(64)}` })).toHaveProperty(
    "peer",
  );
  expect(await call({ auth: { token: "device-token" } })).toEqual(ofDevice);
  expect(await call({ auth: { token: "device-token" }, peer: "web-d1" })).toEqual(ofDevice);
  expect(await call({ auth: { token: "device-token" }, peer: "web-other" })).toMatch(
    /^denied .*another peer/,
  );
  expect(await call({ auth: { token: "first-toke" } })).toMatch(/^denied wrong_token/);
  expect(await call({ auth: { code: "CODF" } })).toMatch(/^denied wrong_code/);
  const auth = { code: "CODE", deviceToken: "chosen", grants: ["notify"] };
  expect(await call({ auth } as never)).toEqual({ ...ofDevice, grants: ["notify"], deviceToken: "anew" });
  expect(asked.at(-1)).toEqual(["CODE", "cli", "chosen", ["notify"]]);
  expect(await call({ auth: { token: "second-token", remember: true } } as never)).toEqual({
    ...ofDevice,
    device: "d2",
    deviceToken: "anew",
  });
  expect(await call({ auth: { token: "second-token", remember: false } } as never)).toMatchObject({
    device: null,
  });
  expect(asked.filter((each) => typeof each === "string")).toEqual(["no_credential", "other_peer"]);
});

test("over HTTP a token counts for the scopes that it has; without one, and with a wrong one, nobody is let in", async () => {
  const noted: unknown[] = [];
  const callerOf = bearerCaller({
    authenticate: async ({ auth }) => {
      const { token } = auth as { readonly token: string };
      if (token === "away") throw new Fault("unavailable", "the store is away");
      if (token !== "right") throw new Fault("denied", "wrong");
      return { caller: { peer: "web-1", scopes: ["read"], device: "d1" } } as never;
    },
    remoteOf: () => ({ address: "10.0.0.1", origin: null }),
    refusals: { note: (...what) => void noted.push(what) } as Refusals,
  });
  const asked = (authorization: string | undefined, scope: Scope) =>
    callerOf({ headers: { authorization }, url: "/v1/models?key=x" } as never, scope).then(
      ({ peer }) => peer,
      (error: Fault) => `${error instanceof Unauthorized ? "unauthorized" : error.code} ${error.message}`,
    );
  expect(await asked("Bearer right", "read")).toBe("web-1");
  expect(noted).toEqual([]);
  expect(await asked("Bearer right", "write")).toBe(
    'denied this needs the scope "write", which this token does not have',
  );
  expect(await asked("Bearer left", "read")).toBe("unauthorized wrong");
  expect(await asked("Bearer away", "read")).toBe("unavailable the store is away");
  expect(await asked(undefined, "read")).toMatch(/^unauthorized send the gateway's token/);
  const at = { address: "10.0.0.1", path: "/v1/models" };
  expect(noted).toEqual([
    ["scope", "10.0.0.1", { ...at, device: "d1", scope: "write" }],
    ["no_credential", "10.0.0.1", at],
  ]);
});

test.for([
  ["Bearer abc", "abc"],
  ["bearer   abc  ", "abc"],
  ["Bearer a b", null],
  ["Bearer", null],
  ["Basic abc", null],
  ["xBearer abc", null],
  [`Bearer ${"a".repeat(512)}`, "a".repeat(512)],
  [`Bearer ${"a".repeat(513)}`, null],
  [undefined, null],
] as const)("the token of %s", ([header, token]) => {
  expect(bearerToken(header)).toBe(token);
});

test("a path goes to the log without its query, and no longer than 200 characters", () => {
  expect([pathOf({ url: "/a?token=b?c" }), pathOf({}), pathOf({ url: "/x".repeat(150) }).length]).toEqual([
    "/a",
    "",
    200,
  ]);
});

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const frame = (more: object): string => JSON.stringify({ type: "req", id: "1", method: "status", ...more });
test.for([
  [frame({ params: nested(31) }), true],
  [frame({ params: nested(32) }), "nested"],
  [frame({ id: "x".repeat(128) }), true],
  [frame({ id: "x".repeat(129) }), "a frame is"],
  [frame({ id: "" }), "a frame is"],
  [frame({ method: "m".repeat(64) }), true],
  [frame({ method: "m".repeat(65) }), "a frame is"],
  [frame({ type: "res" }), "a frame is"],
  ["null", "a frame is"],
  ["{", "not JSON"],
] as const)("a frame %#", ([text, expected]) => {
  const read = readFrame(text);
  expect(read.ok ? true : read.reason).toEqual(expected === true ? true : expect.stringContaining(expected));
});

test("a refused frame is answered under its id, where that is one", () => {
  const idOf = (text: string) => {
    const read = readFrame(text);
    return read.ok ? "ok" : read.id;
  };
  expect(idOf(frame({ type: "x", id: "i".repeat(128) }))).toBe("i".repeat(128));
  for (const id of ["i".repeat(129), 7, null]) expect(idOf(frame({ type: "x", id }))).toBeNull();
});

test("half a character, as a cut text ends with, becomes a replacement character, and whole ones stay", () => {
  const read = readFrame(
    String.raw`{"type":"req","id":"1","method":"chat.send","params":{"text":"a\ud83d","list":["\ud83d\ude42\udc00"]}}`,
  );
  expect(read.ok && read.request.params).toEqual({ text: "a\ufffd", list: ["🙂\ufffd"] });
});

const caller: Caller = {
  peer: "web-d1",
  scopes: ["admin"],
  client: { name: "c".repeat(201), version: "1" },
  device: null,
  address: "10.0.0.1",
};
test("the audit log names who, about what and the end, and picks no value, code or person", () => {
  const about = (method: MethodName, params: unknown) => auditOf(method, params, caller, undefined).about;
  expect(auditOf("jobs.remove" as MethodName, { id: "j" }, caller, undefined)).toEqual({
    method: "jobs.remove",
    by: "gateway-token",
    client: "c".repeat(200),
    address: "10.0.0.1",
    about: { id: "j" },
    ok: true,
  });
  const by = (more: Partial<Caller>) =>
    auditOf("config.set" as MethodName, {}, { ...caller, ...more }, null).by;
  expect(by({ device: "d1", client: { name: "once", version: "" } })).toBe("device:d1");
  expect(by({ client: { name: "once", version: "" } })).toBe("once");
  expect(auditOf("config.set" as MethodName, {}, caller, new Fault("denied", "no"))).toMatchObject({
    ok: false,
    code: "denied",
  });
  expect(auditOf("config.set" as MethodName, {}, caller, new Error("boom")).code).toBe("internal");
  expect(about("pairing.approve", { code: "C", id: "x" })).toEqual({});
  for (const method of ["people.forget", "people.export"])
    expect(about(method as MethodName, { id: "x", name: "a person" })).toEqual({});
  for (const params of [null, "id", undefined]) expect(about("config.set" as MethodName, params)).toEqual({});
  const texts = (count: number, chars: number) => Array.from({ length: count }, () => "s".repeat(chars));
  expect(
    about("config.set" as MethodName, {
      token: "secret",
      value: "secret",
      text: "words",
      key: "k".repeat(201),
      enabled: false,
      confirm: 0,
      scopes: texts(51, 201),
      grants: ["notify", 7],
      changes: [
        { path: ["a", 0, "b"], value: "secret" },
        ...Array.from({ length: 50 }, () => ({ path: "p" })),
        null,
      ],
    }),
  ).toEqual({
    key: "k".repeat(200),
    enabled: false,
    confirm: 0,
    scopes: texts(50, 200),
    changes: ["a.0.b", ...Array.from({ length: 49 }, () => "")],
  });
});

test("of a call the log shows which thing, where and how, and no other field", () => {
  const shown = {
    id: "i",
    key: "k",
    name: "n",
    path: "p",
    decision: "allow",
    agent: "a",
    session: "s",
    turn: 3,
    scopes: ["read"],
    lane: "l",
    reason: "r",
    config: "c",
    model: "m",
    enabled: true,
    confirm: false,
    grants: ["run"],
  };
  const hidden = {
    text: "t",
    value: "v",
    token: "t",
    code: "c",
    passphrase: "p",
    files: ["f"],
    person: "x",
    to: "y",
  };
  const { about } = auditOf("config.set" as MethodName, { ...hidden, ...shown }, caller, undefined);
  expect(about).toEqual(shown);
  expect(auditOf("config.set" as MethodName, { id: { a: 1 }, key: null }, caller, undefined).about).toEqual(
    {},
  );
});

test("of one caller a hundred looks are remembered, the one not asked for the longest is recorded anew", () => {
  const clock = virtualClock();
  const goesOn = looking(clock);
  const by = { ...caller };
  const look = (name: string, who = by): boolean =>
    goesOn({ ...auditOf("logs.tail", {}, who, undefined), about: { name } }, who);
  const names = Array.from({ length: 100 }, (_, n) => `n${n}`);
  expect(names.map((name) => look(name))).toEqual(names.map(() => false));
  expect([look("n0"), look("n1", { ...caller })]).toEqual([true, false]);
  // The first was asked for again, so the second is the oldest.
  expect([look("one more"), look("n0"), look("n2"), look("n1")]).toEqual([false, true, true, false]);
});

test("everything is recorded but what only reads, what people say in their chats and what devices answer", () => {
  for (const method of Object.keys(methods) as MethodName[]) {
    const { scope, sessions }: { readonly scope: string; readonly sessions: string } = methods[method];
    expect([method, isAudited(method)]).toEqual([
      method,
      !(scope === "read" || scope === "device" || sessions === "own"),
    ]);
  }
});

test("a device's connections end with it, with its older tokens, and one alone is told", () => {
  const clients = connectedClients();
  const log: string[] = [];
  const joins = (name: string, rotation: number, device = "d1") =>
    clients.join(device, (why) => log.push(`${name} leaves: ${why}`), {
      rotation,
      tell: (text) => log.push(`${name} hears ${text}`),
    });
  const leaveA = joins("a", 0);
  expect(clients.rotated("d1", 1, undefined, "new")).toEqual({ closed: 1, isTold: true });
  expect(log).toEqual(["a hears new", "a leaves: this device's token was made anew"]);
  expect([joins("late", 0), clients.count("d1")]).toEqual([null, 0]);
  leaveA?.();
  log.length = 0;
  const spared = (): void => {};
  clients.join("d1", spared, { rotation: 1 });
  joins("b", 1);
  joins("c", 2);
  // Two had the older token, so neither is told; the one that asked stays.
  expect(clients.rotated("d1", 2, spared, "new")).toEqual({ closed: 1, isTold: false });
  expect([log, clients.count("d1")]).toEqual([["b leaves: this device's token was made anew"], 2]);
  joins("other", 0, "d2");
  expect(clients.close("d1")).toBe(2);
  expect([joins("after", 99), clients.close("d2"), clients.count("d3")]).toEqual([null, 1, 0]);
});

test("one that signs off leaves the others counted, twice or late", () => {
  const clients = connectedClients();
  const first = clients.join("d", () => {});
  const second = clients.join("d", () => {});
  first?.();
  first?.();
  expect(clients.count("d")).toBe(1);
  second?.();
  expect(clients.count("d")).toBe(0);
  clients.join("d", () => {});
  second?.();
  expect(clients.count("d")).toBe(1);
});

test("an answer under way ends with its caller's token: here at once, by another node within half a minute", async () => {
  const clock = virtualClock();
  const clients = connectedClients();
  const asked: unknown[] = [];
  let says = (): Promise<boolean> => Promise.resolve(true);
  const devices = { isKnown: (...what: readonly unknown[]) => (asked.push(what), says()) };
  const begin = whileKnown({ clients, devices, clock });
  const here = begin({ device: "d1", rotation: 2 });
  clients.close("d1");
  expect(here.signal.aborted).toBe(true);
  here.leave();
  expect(() => begin({ device: "d1", rotation: 2 })).toThrow(Unauthorized);

  const elsewhere = begin({ device: "d2", rotation: 3 });
  const young = begin({ device: "d3" });
  young.leave();
  await clock.advance(30_000);
  // A store that is away says nothing of the device.
  says = () => Promise.reject(new Fault("unavailable", "away"));
  await clock.advance(30_000);
  says = () => Promise.resolve(false);
  await clock.advance(29_999);
  expect([elsewhere.signal.aborted, asked]).toEqual([
    false,
    [
      ["d2", 3],
      ["d2", 3],
    ],
  ]);
  await clock.advance(1);
  expect(elsewhere.signal.aborted).toBe(true);
  elsewhere.leave();
  expect([clients.count("d2"), clients.count("d3"), clock.armed(), asked.length]).toEqual([0, 0, 0, 3]);

  // The gateway's own token is no device's, and has nothing to look up.
  const own = begin({ device: null });
  await clock.advance(60_000);
  own.leave();
  expect([own.signal.aborted, asked.length]).toEqual([false, 3]);
});

test("a thousand devices that were put out are remembered, and the one that was longest ago may join again first", () => {
  const clients = connectedClients();
  const isOut = (device: string): boolean => {
    const leave = clients.join(device, () => {});
    leave?.();
    return leave === null;
  };
  for (let n = 0; n < 1_000; n += 1) clients.close(`d${n}`);
  expect([isOut("d0"), isOut("d999"), isOut("other")]).toEqual([true, true, false]);
  clients.close("d0");
  clients.close("one more");
  expect([isOut("d0"), isOut("d1"), isOut("d2"), isOut("one more")]).toEqual([true, false, true, true]);
});
