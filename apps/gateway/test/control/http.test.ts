import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { originTrouble } from "@parley/control";
import { startControl, until } from "./control-fixture.ts";

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** `fetch` would set Host and clean the path. */
function get(
  port: number,
  path: string,
  headers: { readonly [name: string]: string } = {},
  method = "GET",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      { host: "127.0.0.1", port, path, method, headers: { host: `127.0.0.1:${port}`, ...headers } },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        );
      },
    );
    call.on("error", reject).end();
  });
}

function webFolder(): string {
  const root = mkdtempSync(join(tmpdir(), "parley-web-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "web", "assets"), { recursive: true });
  writeFileSync(join(root, "web", "index.html"), "<p>page</p>");
  writeFileSync(join(root, "web", "assets", "app-1a2b.js"), "run()");
  writeFileSync(join(root, "web", "assets", "long-1a2b.js"), "run();".repeat(1_000));
  writeFileSync(join(root, "web", "canvas.html"), "<p>viewer</p>");
  writeFileSync(join(root, "web", "diagram.html"), "<p>diagram</p>");
  for (const name of ["diagram.js", "mermaid.js"]) writeFileSync(join(root, "web", name), "draw()");
  writeFileSync(join(root, "secret.html"), "secret");
  return join(root, "web");
}

describe("the page", () => {
  test("comes with a strict policy; assets may be kept, the page itself is asked for again", async () => {
    const { server } = await startControl({ webRoot: webFolder() });
    const page = await get(server.port, "/");
    expect(page).toMatchObject({ status: 200, body: "<p>page</p>" });
    expect(page.headers).toMatchObject({
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
    expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(page.headers["content-security-policy"]).not.toMatch(/unsafe|https?:|\*/);
    // Neither a frame around it, nor a form or a base that leads elsewhere: these do not follow from
    // default-src.
    for (const directive of ["frame-ancestors", "form-action", "base-uri"])
      expect(page.headers["content-security-policy"]).toContain(`; ${directive} 'none'`);
    const asset = await get(server.port, "/assets/app-1a2b.js");
    expect(asset).toMatchObject({
      status: 200,
      body: "run()",
      headers: { "cache-control": "public, max-age=31536000, immutable" },
    });
    expect(asset.headers["content-type"]).toBe("text/javascript; charset=utf-8");
  });

  test.for([
    "/../secret.html",
    "/..%2fsecret.html",
    "/%2e%2e/secret.html",
    "/assets/../../secret.html",
    "/.env",
    "/secret.html",
    "/x",
    "/assets/",
    "//etc/passwd.html",
    "/index.html%00.js",
  ])("%s is not found", async (path) => {
    const { server } = await startControl({ webRoot: webFolder() });
    const answer = await get(server.port, path);
    expect(answer.status).toBe(404);
    expect(answer.body).not.toContain("secret");
  });

  test("is compressed as the browser takes it, and costs one short answer once it is known", async () => {
    const { server } = await startControl({ webRoot: webFolder() });
    const ask = async (accepted: string, path = "assets/long-1a2b.js", more: object = {}) => {
      const answer = await fetch(`${server.url}${path}`, {
        headers: { "accept-encoding": accepted, ...more },
      });
      const [encoding, etag] = ["content-encoding", "etag"].map((name) => answer.headers.get(name));
      return { status: answer.status, encoding, etag: etag ?? "", body: await answer.text() };
    };
    const whole = "run();".repeat(1_000);
    for (const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip, br;q=0", "gzip"],
      ["identity", null],
    ] as const)
      expect(await ask(accepted)).toMatchObject({ status: 200, encoding, body: whole });
    expect((await ask("br", "assets/app-1a2b.js")).encoding).toBeNull();
    const { etag } = await ask("br");
    expect(await ask("br", undefined, { "if-none-match": `W/"x", ${etag}` })).toMatchObject({
      status: 304,
      body: "",
    });
    expect(await ask("gzip", undefined, { "if-none-match": etag })).toMatchObject({
      status: 200,
      body: whole,
    });
  });

  test("that a release brought compressed comes whole to every browser", async () => {
    const folder = webFolder();
    const whole = "packed();".repeat(1_000);
    writeFileSync(join(folder, "assets/packed-1a2b.js.br"), brotliCompressSync(whole));
    const { server } = await startControl({ webRoot: folder });
    for (const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip", "gzip"],
      ["identity", null],
    ] as const) {
      const headers = { "accept-encoding": accepted };
      const answer = await fetch(`${server.url}assets/packed-1a2b.js`, { headers });
      expect([answer.status, answer.headers.get("content-encoding")]).toEqual([200, encoding]);
      expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
      expect(await answer.text()).toBe(whole);
    }
    expect((await get(server.port, "/assets/packed-1a2b.js.br")).status).toBe(404);
  });

  test("may be held in a frame by nobody, but the canvas's viewer by the page itself", async () => {
    const { server } = await startControl({ webRoot: webFolder() });
    const policyOf = async (path: string) =>
      (await get(server.port, path)).headers["content-security-policy"];
    const page = await policyOf("/");
    expect(await policyOf("/canvas.html")).toBe(
      String(page).replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
    );
  });

  test("draws diagrams in a frame that may send nothing, to which alone its two scripts are open", async () => {
    const { server } = await startControl({ webRoot: webFolder() });
    const policy = String((await get(server.port, "/diagram.html")).headers["content-security-policy"]);
    expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none'; script-src 'self'; /);
    expect(policy).not.toMatch(/allow-same-origin|allow-top|https?:|\*|data:|blob:/);
    for (const directive of ["connect-src", "form-action", "base-uri", "frame-src"])
      expect(policy).toContain(`; ${directive} 'none'`);
    const fromFrame = { origin: "null" };
    for (const path of ["/diagram.js", "/mermaid.js"]) {
      const { status, headers } = await get(server.port, path, fromFrame);
      expect([status, headers["cross-origin-resource-policy"]]).toEqual([200, "cross-origin"]);
      expect((await get(server.port, path, { ...fromFrame, host: "evil.example" })).status).toBe(403);
    }
    for (const path of ["/", "/diagram.html", "/assets/app-1a2b.js"])
      expect((await get(server.port, path, fromFrame)).status).toBe(403);
  });

  test("that was never built says how to build it", async () => {
    const { server } = await startControl({ webRoot: join(webFolder(), "nothing") });
    expect(await get(server.port, "/")).toMatchObject({
      status: 503,
      body: expect.stringContaining("build") as string,
    });
  });

  test("is not changed by anybody", async () => {
    const { server } = await startControl({ webRoot: webFolder() });
    for (const method of ["POST", "PUT", "DELETE"])
      expect((await get(server.port, "/", {}, method)).status).toBe(404);
  });
});

test("/healthz says that the daemon lives, /readyz whether it takes work, and neither says more", async () => {
  let ok = true;
  const { server } = await startControl({ health: () => ({ ok }) });
  expect(await get(server.port, "/healthz")).toMatchObject({ status: 200, body: '{"ok":true}' });
  expect(await get(server.port, "/readyz")).toMatchObject({ status: 200, body: '{"ok":true}' });
  ok = false;
  expect(await get(server.port, "/readyz")).toMatchObject({ status: 503, body: '{"ok":false}' });
  expect((await get(server.port, "/healthz")).status).toBe(200);
});

describe("strange hosts and pages of other sites", () => {
  const rules = { listenHost: "127.0.0.1", allowedHosts: ["parley.example.org"] };
  const anywhere = { listenHost: "0.0.0.0", allowedHosts: [] };

  test.for([
    ["127.0.0.1:7275", undefined, rules, true],
    ["localhost:7275", "http://localhost:7275", rules, true],
    ["[::1]:7275", "http://[::1]:7275", rules, true],
    ["parley.example.org", "https://parley.example.org", rules, true],
    ["127.0.0.1:7275", "https://parley.example.org", rules, true],
    ["attacker.test:7275", "http://attacker.test:7275", rules, false],
    ["attacker.test:7275", undefined, rules, false],
    ["127.0.0.1.attacker.test", undefined, rules, false],
    ["localhost.attacker.test", undefined, rules, false],
    ["127.0.0.1:7275", "https://evil.example", rules, false],
    ["127.0.0.1:7275", "http://127.0.0.1:3000", rules, false],
    ["localhost:7275", "http://127.0.0.1:7275", rules, false],
    ["127.0.0.1:7275", "null", rules, false],
    ["127.0.0.1:7275", "", rules, false],
    ["192.168.1.5:7275", undefined, rules, false],
    ["", undefined, rules, false],
    [undefined, undefined, rules, false],
    ["127.0.0.1:7275@evil", undefined, rules, false],
    ["192.168.1.5:7275", "http://192.168.1.5:7275", anywhere, true],
    ["attacker.test", undefined, anywhere, false],
  ] as const)("Host %s with Origin %s", ([host, origin, hosts, fine]) => {
    expect(originTrouble({ host, origin }, hosts) === null).toBe(fine);
  });

  test("are refused over HTTP and before the WebSocket upgrade, whatever headers claim to be near", async () => {
    const { server, client } = await startControl({ webRoot: webFolder() });
    expect((await get(server.port, "/", { host: "attacker.test" })).status).toBe(403);
    expect(
      (await get(server.port, "/", { origin: "https://evil.example", "x-forwarded-for": "127.0.0.1" }))
        .status,
    ).toBe(403);
    await expect(client({ origin: "https://evil.example" })).rejects.toThrow("403");
    await expect(
      client({ headers: { host: "attacker.test", "x-forwarded-host": "localhost" } }),
    ).rejects.toThrow("403");
    await expect(client({ origin: `http://127.0.0.1:${server.port}` })).resolves.toBeDefined();
  });

  test("one that is refused and cut off at that moment harms nobody", async () => {
    const { server } = await startControl();
    for (let nth = 0; nth < 20; nth += 1) {
      const socket = connect(server.port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(
        "GET /ws HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        () => socket.resetAndDestroy(),
      );
      await once(socket, "close");
    }
    // What the cut does would end the process by now.
    await new Promise((resolve) => setImmediate(resolve));
    expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
  });

  test("other upgrade paths do not exist", async () => {
    const { server } = await startControl();
    const answer = await get(server.port, "/cdp", { connection: "Upgrade", upgrade: "websocket" });
    expect(answer.status).toBe(404);
  });
});

test("an address may hold 256 connections, and gets room again when it leaves some", async () => {
  const { client, server } = await startControl();
  const clients = await Promise.all(Array.from({ length: 256 }, () => client()));
  await expect(client()).rejects.toThrow("503");
  clients[0]?.socket.terminate();
  await until(() => server.connections() < 256);
  await expect(client()).resolves.toBeDefined();
});

describe("closing", () => {
  test("tells the clients, answers what is at work, and closes with 1012", async () => {
    let finish = (): void => {};
    const health = (): Promise<{ ok: boolean; reasons: string[] }> =>
      new Promise((resolve) => (finish = () => resolve({ ok: true, reasons: [] })));
    const { client, server } = await startControl({ handlers: { health } });
    const busy = await client();
    await busy.connect();
    const answer = busy.request("health");
    await busy.request("status");
    const closed = server.close();
    await until(() => busy.events.some(({ event }) => event === "shutdown"));
    await expect(client()).rejects.toThrow();
    finish();
    expect((await answer).ok).toBe(true);
    expect(await busy.closed).toBe(1012);
    await closed;
    await expect(get(server.port, "/healthz")).rejects.toThrow("ECONNREFUSED");
  });

  test("a port that is taken is told with the fix", async () => {
    const { server } = await startControl();
    await expect(startControl({ port: server.port })).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1 port \d+: another (?:program|Parley).* listens there.*gateway\.port/,
    );
  });
});
