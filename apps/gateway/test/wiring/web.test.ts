// The web as the tools get it: what may be used by the config of this moment, what is fetched and read within
// which limits, and what a search costs.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadConfig, type Config } from "@parley/config";
import { systemClock } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { saidLog } from "../daemon/said-log.ts";
import { idleWeb, wireWeb } from "../../src/wiring/web.ts";

const signal = new AbortController().signal;
const configOf = async (web: object): Promise<Config> =>
  (
    await loadConfig({
      env: {},
      home: "/nowhere",
      readFile: async () => JSON.stringify({ tools: { web } }),
    })
  ).config;

/** A site of this machine, by its path; `seen` are the paths that were asked for. */
async function site(answer: (path: string, key: string) => readonly [status: number, body: string]) {
  const seen: string[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    seen.push(url);
    const [status, body] = answer(url, String(headers.authorization));
    response.writeHead(status, { "content-type": "text/html" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { seen, port, root: `http://site.test:${port}` };
}

async function web(settings: object, port: number) {
  let config = await configOf({ egress: { allow: [`site.test:${port}`] }, ...settings });
  const refused: string[] = [];
  const { log, said } = saidLog();
  const wired = wireWeb({
    configNow: () => config,
    clock: systemClock(),
    log,
    refused: (reason) => void refused.push(reason),
    dialling: { resolve: async () => ["127.0.0.1"], allowedPorts: [port] },
  });
  onTestFinished(wired.close);
  return {
    wired,
    refused,
    said,
    change: async (to: object) => void (config = await configOf(to)),
  };
}

function there<T extends object>(port: T): Exclude<T, { readonly unavailable: string }> {
  if ("unavailable" in port) throw new Error(String(port.unavailable));
  return port as Exclude<T, { readonly unavailable: string }>;
}

test.each<[object, object, object, object]>([
  [
    { fetch: { maxChars: 900 }, search: { provider: "brave", apiKey: "k", maxResults: 3 } },
    { maxChars: 900 },
    {},
    { provider: "brave", maxResults: 3 },
  ],
  [
    { fetch: { enabled: false }, search: { enabled: false } },
    { unavailable: "tools.web.fetch.enabled is false" },
    { unavailable: "tools.web.fetch.enabled is false" },
    { unavailable: "tools.web.search.enabled is false" },
  ],
  [
    { search: { provider: "brave" } },
    {},
    {},
    { unavailable: 'tools.web.search.provider is "brave", which has no apiKey' },
  ],
])(
  "by %j the tools are told the same, whether the daemon runs or not",
  async (settings, pages, files, search) => {
    const { wired } = await web(settings, 1);
    for (const port of [wired.port, idleWeb(await configOf(settings))])
      expect([port.pages(), port.files(), port.search()]).toMatchObject([pages, files, search]);
  },
);

test("where nothing is fetched each call says so", async () => {
  const port = idleWeb(await configOf({ search: { provider: "brave", apiKey: "k" } }));
  for (const call of [
    () => there(port.pages()).read("http://x.test/", signal),
    () => there(port.files()).fetch("http://x.test/", 1, signal),
    () => there(port.search()).search({ query: "x", count: 1 }, signal),
  ])
    await expect(call()).rejects.toThrow("pages are fetched in the daemon only");
});

test("a file is fetched whole up to its limit, and what is no answer is told with its site", async () => {
  const { seen, port, root } = await site((path) => (path === "/here" ? [200, "0123456789"] : [404, "no"]));
  const { wired } = await web({}, port);
  const files = there(wired.port.files());
  const { url, bytes } = await files.fetch(`${root}/here`, 10, signal);
  expect([url, Buffer.from(bytes).toString()]).toEqual([`${root}/here`, "0123456789"]);
  await expect(files.fetch(`${root}/here`, 9, signal)).rejects.toThrow();
  await expect(files.fetch(`${root}/gone`, 10, signal)).rejects.toThrow(`site.test:${port} answered 404`);
  const answer = await wired.dial({ url: `${root}/gone` }, signal);
  expect([answer.status, (await answer.bytes()).bytes.length]).toEqual([404, 2]);
  expect(seen).toEqual(["/here", "/here", "/gone", "/gone"]);
});

test("what an operator closes is closed at once, and counted by its reason", async () => {
  const { seen, port, root } = await site(() => [200, "ok"]);
  const { wired, refused, said, change } = await web({}, port);
  await there(wired.port.files()).fetch(`${root}/a`, 10, signal);
  await change({ egress: { allow: [] } });
  await expect(there(wired.port.files()).fetch(`${root}/b`, 10, signal)).rejects.toMatchObject({
    code: "denied",
  });
  await expect(wired.dial({ url: `${root}/c` }, signal)).rejects.toMatchObject({ code: "denied" });
  expect([seen, refused.length]).toEqual([["/a"], 2]);
  // The log says where to, and why; not which page it was.
  const words = "an address was not dialled: it is closed to agents";
  expect(said).toEqual(refused.map((reason) => ["warn", words, { host: "site.test", reason }]));
  await change({ fetch: { enabled: false } });
  expect(wired.port.pages()).toEqual({ unavailable: "tools.web.fetch.enabled is false" });
});

test("redirects are followed as often as the config says", async () => {
  const server = createServer(({ url = "/0" }, response) => {
    const nth = Number(url.slice(1));
    response.writeHead(nth === 3 ? 200 : 302, { location: `/${nth + 1}` }).end("end");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const fetched = async (maxRedirects: number): Promise<string> => {
    const { wired } = await web({ fetch: { maxRedirects } }, port);
    return (await there(wired.port.files()).fetch(`http://site.test:${port}/0`, 10, signal)).url;
  };
  expect(await fetched(3)).toBe(`http://site.test:${port}/3`);
  await expect(fetched(2)).rejects.toThrow();
});

test("a search goes by the key of its provider, is kept for a while, and costs what its model used", async () => {
  const answer = {
    output: [
      {
        type: "message",
        content: [
          { text: "tea", annotations: [{ url: "https://a.test/", title: "A" }] },
          { text: "milk", annotations: [{ url: "https://b.test/", title: "B" }] },
        ],
      },
    ],
    usage: { input_tokens: 1_000_000, output_tokens: 100_000 },
  };
  const { seen, port } = await site((_path, key) =>
    key === "Bearer k" ? [200, JSON.stringify(answer)] : [401, ""],
  );
  const { wired } = await web(
    { search: { provider: "openai", openai: { apiKey: "k", baseUrl: `http://127.0.0.1:${port}` } } },
    port,
  );
  const found = await there(wired.port.search()).search({ query: "tea", count: 1 }, signal);
  expect(found).toMatchObject({ answer: "tea\nmilk", results: [{ url: "https://a.test/" }], cached: false });
  expect(found.usage).toMatchObject({ inputTokens: 1_000_000, outputTokens: 100_000 });
  expect(found.usage?.costUsd).toBeGreaterThan(0);
  const again = await there(wired.port.search()).search({ query: "tea", count: 1 }, signal);
  expect([again.cached, again.usage, seen]).toEqual([true, undefined, ["/responses"]]);
});
