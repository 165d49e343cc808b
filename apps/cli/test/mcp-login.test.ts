// Logging in to an MCP server: the browser that comes back to this command, an address that is pasted, and
// the two halves of it by themselves.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { fakeGateway, parley } from "./fake-gateway.ts";
import { pass, stopTime } from "./passing-time.ts";

const server = {
  name: "maps",
  enabled: true,
  transport: "http",
  target: "https://maps.example",
  state: "running",
  reason: null,
  tools: [{ name: "find", tool: "maps__find", description: "Finds a place.\nMore." }],
  waiting: [],
  code: "",
  leftOut: [],
  listedAtMs: 1,
};
const told = "maps  running  http  https://maps.example\n  1 tools\n  maps__find  Finds a place.\n";

/** A gateway that hears where the browser is to come back to. */
async function gateway(onStart: (redirectUrl: string) => void = () => {}) {
  return fakeGateway(({ method, params }) => {
    if (method === "mcp.login.finish") return server;
    onStart((params as { readonly redirectUrl: string }).redirectUrl);
    return { url: "https://login.example/?x=1" };
  });
}

test("the browser's answer is taken where it ends, and nothing else that it asks for", async () => {
  const answers: (readonly [number, string | null, boolean])[] = [];
  const fake = await gateway((redirectUrl) => {
    void (async () => {
      for (const path of ["/favicon.ico", "/callback", "/callback?code=c&state=s"]) {
        const answer = await fetch(new URL(path, redirectUrl));
        answers.push([
          answer.status,
          answer.headers.get("content-type"),
          (await answer.text()).includes("Done."),
        ]);
      }
    })();
  });
  const run = await parley(fake.home, ["mcp", "login", "maps"], { input: new PassThrough() });
  const [start, finish] = fake.requests.filter(({ method }) => method !== "connect");
  const { redirectUrl } = (start?.params ?? {}) as { readonly redirectUrl: string };
  expect(redirectUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  expect(start?.params).toEqual({ name: "maps", redirectUrl });
  expect(finish?.params).toEqual({ name: "maps", answer: `${redirectUrl}?code=c&state=s` });
  expect(run).toEqual({
    exitCode: 0,
    out: told,
    err: "Open this address in a browser, and say yes there:\n\nhttps://login.example/?x=1\n\nWhere that browser runs on another machine, paste the address that it ends at:\n",
  });
  const html = "text/html; charset=utf-8";
  expect(answers.slice(0, 2)).toEqual([
    [404, html, false],
    [404, html, false],
  ]);
  // Nothing listens there any more.
  await expect(fetch(redirectUrl)).rejects.toThrow();
});

test("the first line that is pasted and not empty is the answer", async () => {
  const fake = await gateway();
  const input = new PassThrough();
  input.end("\n  \nhttp://127.0.0.1:1/callback?code=p\nanother\n");
  const { exitCode } = await parley(fake.home, ["mcp", "login", "maps", "--json"], { input });
  expect(exitCode).toBe(0);
  expect(fake.requests.at(-1)?.params).toEqual({
    name: "maps",
    answer: "http://127.0.0.1:1/callback?code=p",
  });
});

test("--print tells the address and how it goes on, --answer goes on", async () => {
  const fake = await gateway();
  const url = "https://login.example/?x=1";
  expect(await parley(fake.home, ["mcp", "login", "maps", "--print"])).toEqual({
    exitCode: 0,
    out: `${url}\n`,
    err: "Then: parley mcp login maps --answer ADDRESS\n",
  });
  expect(await parley(fake.home, ["mcp", "login", "maps", "--print", "--json"])).toEqual({
    exitCode: 0,
    out: `${JSON.stringify({ name: "maps", url })}\n`,
    err: "",
  });
  fake.requests.length = 0;
  expect((await parley(fake.home, ["mcp", "login", "maps", "--answer", "http://a/?c=1"])).out).toBe(told);
  expect(fake.requests.slice(1).map(({ method, params }) => [method, params])).toEqual([
    ["mcp.login.finish", { name: "maps", answer: "http://a/?c=1" }],
  ]);
});

test("nobody has longer than ten minutes to log in", async () => {
  const fake = await gateway();
  stopTime();
  const input = new PassThrough();
  const asked = Promise.withResolvers<void>();
  let end: unknown = null;
  const running = parley(fake.home, ["mcp", "login", "maps", "--json"], {
    input,
    onErr: (soFar) => void (soFar.includes("paste the address") && asked.resolve()),
  }).then((run) => (end = run));
  await asked.promise;
  await pass(599_999);
  expect(end).toBeNull();
  await pass(1);
  const { exitCode, out } = await running;
  expect([exitCode, JSON.parse(out)]).toEqual([
    1,
    { ok: false, error: { code: "unavailable", message: "Nobody logged in within ten minutes." } },
  ]);
  expect(fake.requests.map(({ method }) => method)).toEqual(["connect", "mcp.login.start"]);
});
