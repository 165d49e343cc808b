import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { noUsage, type Log } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import type { ApiRoutesOptions } from "../../src/api/routes.ts";
import { gatewayToken, startControl, until } from "./control-fixture.ts";

const requests: ApiRoutesOptions["requests"] = {
  ask: async () => ({ id: "1", duplicate: false }),
  call: async () => ({ id: "1", duplicate: false }),
  tell: async () => ({ id: "1", duplicate: false }),
  answer: async () => ({ text: "hello", outcome: "answered", reason: null, usage: noUsage }),
  watch: () => () => {},
};

/**
 * Writes bytes to the port as they are and reads an answer, to its end or the connection's. With
 * `giveUpAfterMs` there may be none.
 */
async function exchange(
  port: number,
  pieces: readonly (string | Buffer)[],
  giveUpAfterMs?: number,
): Promise<string> {
  const socket: Socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}); // A reset is an answer too.
  let heard = "";
  let quiet: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    const wait = (quietMs: number): void => {
      clearTimeout(quiet);
      quiet = setTimeout(resolve, quietMs);
    };
    socket.on("data", (chunk) => {
      heard += chunk.toString("latin1");
      wait(giveUpAfterMs ?? 100);
    });
    socket.once("close", resolve);
    if (giveUpAfterMs !== undefined) wait(giveUpAfterMs);
    for (const piece of pieces) socket.write(piece);
  });
  clearTimeout(quiet);
  socket.destroy();
  return heard;
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

describe("a request that", () => {
  test.for([
    [
      "offers HTTP/2 is answered as it is",
      (host: string) =>
        `GET /healthz HTTP/1.1\r\n${host}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
      200,
    ],
    [
      "names two hosts is refused",
      (host: string) => `GET /healthz HTTP/1.1\r\n${host}Host: attacker.test\r\n\r\n`,
      403,
    ],
    [
      "has a length and chunks is refused",
      (host: string) =>
        `POST /v1/chat/completions HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      "has a chunk without a size is refused",
      (host: string) =>
        `POST /hooks/build HTTP/1.1\r\n${host}Authorization: Bearer hook-token-of-this-test\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
    ],
    [
      "has an endless address is refused",
      (host: string) => `GET /${"a".repeat(100_000)} HTTP/1.1\r\n${host}\r\n`,
      431,
    ],
    [
      "has an endless header is refused",
      (host: string) => `GET / HTTP/1.1\r\n${host}X: ${"a".repeat(100_000)}\r\n\r\n`,
      431,
    ],
    [
      "is a tunnel's is cut",
      (host: string) => `CONNECT evil.example:443 HTTP/1.1\r\n${host}\r\n`,
      Number.NaN,
    ],
    [
      "has a token in the address is not let in",
      (host: string) => `GET /metrics?token=${gatewayToken} HTTP/1.1\r\n${host}\r\n`,
      401,
    ],
    [
      "shows a wrong token before the right one is not let in",
      (host: string) =>
        `GET /v1/models HTTP/1.1\r\n${host}Authorization: Bearer x\r\nAuthorization: Bearer ${gatewayToken}\r\n\r\n`,
      401,
    ],
  ] as const)("%s", async ([, text, status]) => {
    const metrics = { openOnLoopback: () => false, text: async () => "" };
    const { server } = await startControl({ requests, metrics, hooks: () => hooks });
    expect(statusOf(await exchange(server.port, [text(`Host: 127.0.0.1:${server.port}\r\n`)]))).toBe(status);
  });

  test("is cut off in its body fills no log", async () => {
    const noted: unknown[] = [];
    const { server } = await startControl({ requests, hooks: () => hooks, log: noting(noted) });
    for (const path of ["/v1/chat/completions", "/hooks/build"]) {
      const token = path.startsWith("/v1") ? gatewayToken : "hook-token-of-this-test";
      const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Length: 1000\r\n\r\n{`;
      await exchange(server.port, [head], 20);
    }
    await exchange(server.port, ["GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"]);
    expect(noted).toEqual([]);
  });
});

test("connections that say nothing leave room for others, and give theirs back", async () => {
  const { server } = await startControl();
  const silent = await Promise.all(
    Array.from({ length: 520 }, async () => {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      await new Promise((resolve) => socket.once("connect", resolve));
      return socket;
    }),
  );
  await until(() => silent.filter(({ closed }) => closed).length === 8);
  for (const socket of silent) socket.destroy();
  await until(() => silent.every(({ closed }) => closed));
  const ask = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
  let answer = "";
  // The other side learns of a close a moment later.
  while (answer === "") answer = await exchange(server.port, [ask]);
  expect(statusOf(answer)).toBe(200);
});

const hooks = {
  endpoints: {
    build: {
      token: { reveal: () => "hook-token-of-this-test" },
      maxBytes: 1_000,
      signatureHeader: "x-hub-signature-256",
    },
  },
} as unknown as ReturnType<ApiRoutesOptions["hooks"]>;

/** Keeps what only a bug or trouble of our own would write. */
function noting(noted: unknown[]): Log {
  const note = (fields: object, message: string): void => void noted.push({ ...fields, message });
  const log: Log = { debug() {}, info() {}, warn: note, error: note, child: () => log };
  return log;
}

test("whatever comes over HTTP, nothing is let in that should not be, no bug is met, and others are served", async () => {
  const noted: unknown[] = [];
  const { server, calls } = await startControl({ requests, hooks: () => hooks, log: noting(noted) });
  const method = fc.constantFrom(
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "get",
    "BREW",
  );
  const path = fc.oneof(
    fc.constantFrom(
      "/",
      "/ws",
      "/healthz",
      "/readyz",
      "/metrics",
      "/v1/models",
      "/v1/models/__proto__",
      "/v1/chat/completions",
      "/v1",
    ),
    fc.constantFrom(
      "/hooks/build",
      "/hooks/__proto__",
      "/hooks/%zz",
      "/telegram/default",
      "/telegram/constructor",
      "*",
      "//evil",
      "/%00",
    ),
    fc.webPath(),
    fc.string({ maxLength: 30 }).map((text) => `/${text.replace(/[\r\n]/g, "")}`),
  );
  const header = fc.oneof(
    fc.constantFrom(
      "Authorization: Bearer guess",
      "Authorization: Basic eDp5",
      "Authorization:",
      "Upgrade: websocket",
      "Connection: Upgrade",
    ),
    fc.constantFrom(
      "Origin: null",
      "Origin: https://evil.example",
      "X-Forwarded-Host: localhost",
      "Content-Length: -1",
      "Expect: 100-continue",
    ),
    fc.constantFrom(
      "Transfer-Encoding: chunked",
      "Content-Length: 5",
      "Content-Length: 99999999999",
      "X-Parley-Session: agent:main:main",
    ),
    fc
      .tuple(fc.stringMatching(/^[A-Za-z-]{1,12}$/), fc.string({ maxLength: 40 }))
      .map(([name, value]) => `${name}: ${value}`),
  );
  const body = fc.oneof(
    fc.constant(""),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.constantFrom(
      "[".repeat(50_000),
      '{"__proto__":{"model":"main"},"messages":[]}',
      "0\r\n\r\n",
      "5\r\nhello\r\n0\r\n\r\n",
    ),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );
  const host = fc.constantFrom(
    "Host: 127.0.0.1",
    "Host: 127.0.0.1",
    "Host: attacker.test",
    "Host: localhost@evil",
    "",
  );
  const request = fc.record({ method, path, host, headers: fc.array(header, { maxLength: 4 }), body });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async (requests) => {
      const pieces = requests.flatMap((each) => [
        `${each.method} ${each.path} HTTP/1.1\r\n${[each.host, ...each.headers].filter((line) => line !== "").join("\r\n")}\r\n\r\n`,
        each.body,
      ]);
      const heard = await exchange(server.port, pieces, 15);
      const statuses = [...heard.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code));
      expect(statuses.filter((code) => code >= 500 && code !== 503)).toEqual([]);
      expect(heard).not.toMatch(/hook-token|gateway-token|node:internal|\.ts:\d/);
      const alive = await exchange(server.port, [
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
      ]);
      expect(statusOf(alive)).toBe(200);
    }),
    { numRuns: 100, seed: 10 },
  );
  expect(calls).toEqual([]);
  expect(noted).toEqual([]);
});
