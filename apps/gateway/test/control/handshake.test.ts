import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { methods, systemIds } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { gatewayTokenIn, sameToken } from "@parley/config";
import { gatewayToken, handshake, startControl, until } from "./control-fixture.ts";

test("a client that is refused and keeps its half of the connection open does not keep the gateway from stopping", async () => {
  const { server } = await startControl();
  const stranger = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void stranger.destroy());
  stranger.on("error", () => {}); // The gateway may reset it: that is what is wanted.
  stranger.write(
    "GET /ws HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
  );
  const [answer] = (await once(stranger, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 403 /);
  await server.close();
});

describe("the first frame", () => {
  test.for(Object.keys(methods))(
    "%s is refused before the handshake, and the socket is closed",
    async (method) => {
      const { client, calls } = await startControl();
      const stranger = await client();
      const answer = await stranger.request(method, { text: "x", code: "x", idempotencyKey: "k" });
      expect(answer).toMatchObject({ ok: false, error: { code: "unauthorized" } });
      expect(await stranger.closed).toBe(1008);
      expect(calls).toEqual([]);
    },
  );

  test("must come within fifteen seconds", async () => {
    const clock = virtualClock();
    const { client } = await startControl({ clock });
    const silent = await client();
    await clock.advance(15_000);
    expect(await silent.closed).toBe(1008);
  });

  test("must be the only one until it is answered", async () => {
    const { client } = await startControl();
    const eager = await client();
    const first = eager.connect().catch(() => null);
    eager.send({ type: "req", id: "second", method: "health" });
    expect(await eager.closed).toBe(1008);
    await first;
  });

  test("does not make a frame without an id one that can be answered", async () => {
    const { client } = await startControl();
    const known = await client();
    await known.connect();
    known.sendText("no frame");
    expect(await known.closed).toBe(1008);
  });

  test("is at most 16 KiB", async () => {
    const { client } = await startControl();
    const large = await client();
    large.sendText("x".repeat(16_385));
    expect(await large.closed).toBe(1009);
  });

  test("in many small pieces that never end is cut as well", async () => {
    const { client } = await startControl();
    const dripping = await client();
    for (let piece = 0; piece < 40; piece += 1) dripping.socket.send("x".repeat(512), { fin: false });
    expect(await dripping.closed).toBe(1006);
  });

  test("names a protocol that both speak", async () => {
    const { client } = await startControl();
    const future = await client();
    const answer = await future.connect({ protocol: { min: 7, max: 9 } });
    expect(answer).toMatchObject({ ok: false, error: { code: "unsupported" } });
  });

  test.for([
    [{}, "unauthorized"],
    [{ auth: undefined }, "unauthorized"],
    [{ auth: { token: "" } }, "unauthorized"],
    [{ auth: { token: `${gatewayToken}x` } }, "unauthorized"],
    [{ auth: { code: "AAAA" } }, "unauthorized"],
    [{ auth: { token: 7 } }, "invalid"],
    [{ client: "me" }, "invalid"],
    [{ auth: { token: gatewayToken }, peer: "telegram:123" }, "unauthorized"],
  ] as const)("with %j is refused as %s", async ([params, code]) => {
    const { client } = await startControl();
    const stranger = await client();
    expect(await stranger.request("connect", { ...handshake, ...params })).toMatchObject({
      ok: false,
      error: { code },
    });
    await stranger.closed;
  });

  test("scopes that a client asks for are not given", async () => {
    const { server, client } = await startControl();
    const reader = await client();
    const answer = await reader.connect({
      auth: { code: codeOf(await server.loginUrl(["read"])) },
      scopes: ["admin"],
    });
    expect(answer.payload).toMatchObject({ scopes: ["read"] });
    expect(await reader.request("pairing.approve", { code: "x" })).toMatchObject({
      ok: false,
      error: { code: "denied" },
    });
  });
});

test("a store that is away keeps out nobody with the gateway's token who wants no events", async () => {
  const { client, store } = await startControl();
  const { peer } = (await (await client()).connect()).payload as { peer: string };
  await store.close();
  const operator = await client();
  expect(await operator.connect({ follows: false })).toMatchObject({
    ok: true,
    payload: { peer, resync: false },
  });
  expect((await operator.request("status")).ok).toBe(true);
  expect(await (await client()).connect()).toMatchObject({ ok: false, error: { code: "unavailable" } });
});

describe("login codes", () => {
  test("log in once, and the device token works from then on as the same peer", async () => {
    const { server, client } = await startControl();
    const auth = { code: codeOf(await server.loginUrl()) };
    const first = await (await client()).connect({ auth });
    const { deviceToken, peer } = first.payload as { deviceToken: string; peer: string };
    expect(peer).toMatch(/^web-[a-z0-9]{20}$/);
    expect(await (await client()).connect({ auth })).toMatchObject({
      ok: false,
      error: { code: "unauthorized" },
    });
    expect((await (await client()).connect({ auth: { token: deviceToken } })).payload).toMatchObject({
      peer,
    });
    expect(
      await (await client()).connect({ auth: { token: deviceToken }, peer: "web-someoneelse" }),
    ).toMatchObject({ ok: false });
  });

  test("several may be open, each for a peer of its own", async () => {
    const { server, client } = await startControl();
    const codes = [codeOf(await server.loginUrl()), codeOf(await server.loginUrl())];
    const answers = await Promise.all(
      codes.map(async (code) => (await client()).connect({ auth: { code } })),
    );
    expect(new Set(answers.map((answer) => (answer.payload as { peer: string }).peer)).size).toBe(2);
  });

  test("used by many at the same instant let one in", async () => {
    const { server, client } = await startControl();
    const code = codeOf(await server.loginUrl());
    const clients = await Promise.all(Array.from({ length: 8 }, () => client()));
    const answers = await Promise.all(clients.map((each) => each.connect({ auth: { code } })));
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
  });

  test("end after ten minutes", async () => {
    const clock = virtualClock();
    const { server, client } = await startControl({ clock });
    const code = codeOf(await server.loginUrl());
    await clock.advance(600_001);
    expect((await (await client()).connect({ auth: { code } })).ok).toBe(false);
  });

  test("and tokens are nowhere in the store as they are", async () => {
    const { server, client, store } = await startControl();
    const code = codeOf(await server.loginUrl());
    const unused = codeOf(await server.loginUrl());
    const { deviceToken } = (await (await client()).connect({ auth: { code } })).payload as {
      deviceToken: string;
    };
    const cells = JSON.stringify(await store.cells.list("", 1000));
    expect(cells).toContain("auth:device:");
    for (const secret of [code, unused, deviceToken]) expect(cells).not.toContain(secret);
  });
});

test("a page may trade the gateway's token for a device token", async () => {
  const { client } = await startControl();
  const { deviceToken } = (await (await client()).connect({ auth: { token: gatewayToken, remember: true } }))
    .payload as {
    deviceToken: string;
  };
  expect(deviceToken).not.toBe(gatewayToken);
  expect((await (await client()).connect({ auth: { token: deviceToken } })).ok).toBe(true);
});

test("the operator keeps one peer over connections", async () => {
  const { client } = await startControl();
  const peers = [await (await client()).connect(), await (await client()).connect()].map(
    (answer) => (answer.payload as { peer: string }).peer,
  );
  expect(peers[0]).toBe(peers[1]);
});

test("a client that answers no ping is cut, one that does is kept", async () => {
  const clock = virtualClock();
  const { client, server } = await startControl({ clock });
  const deaf = await client({ autoPong: false });
  const alive = await client();
  await Promise.all([deaf.connect(), alive.connect()]);
  let pings = 0;
  alive.socket.on("ping", () => (pings += 1));
  await clock.advance(30_000);
  await until(() => pings === 1);
  // A request after the pong on the same socket: once it is answered, the pong was read too.
  await alive.request("health");
  await clock.advance(30_000);
  expect(await deaf.closed).toBe(1006);
  expect((await alive.request("health")).ok).toBe(true);
  expect(server.connections()).toBe(1);
});

describe("the token file", () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), "parley-token-"));
    onTestFinished(() => rmSync(path, { recursive: true }));
    return path;
  }

  test("is made once, for its owner only, and read ever after", async () => {
    const path = join(folder(), "state", "gateway-token");
    const tokens = await Promise.all([gatewayTokenIn(path, systemIds()), gatewayTokenIn(path, systemIds())]);
    expect(
      new Set([...tokens, await gatewayTokenIn(path, systemIds()), readFileSync(path, "utf8").trim()]).size,
    ).toBe(1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(tokens[0]?.length).toBeGreaterThanOrEqual(43);
  });

  test("is whole for every process that starts at once, and no draft stays beside it", async () => {
    const home = folder();
    const path = join(home, "gateway-token");
    const starts = Array.from({ length: 40 }, () => gatewayTokenIn(path, systemIds()));
    expect(new Set(await Promise.all(starts)).size).toBe(1);
    expect(readdirSync(home)).toEqual(["gateway-token"]);
  });

  test("is narrowed when somebody widened it, and refused when it is too short", async () => {
    const path = join(folder(), "gateway-token");
    writeFileSync(path, "short\n");
    chmodSync(path, 0o644);
    await expect(gatewayTokenIn(path, systemIds())).rejects.toThrow(/too short/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

test("tokens are compared whole", () => {
  expect(sameToken("abc", "abc")).toBe(true);
  for (const other of ["", "ab", "abcd", "abd", "ABC"]) expect(sameToken("abc", other)).toBe(false);
});

function codeOf(loginUrl: string): string {
  return new URL(loginUrl).hash.slice("#code=".length);
}
