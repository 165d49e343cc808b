// What the web costs agents: to fetch and read a page of 1 MB over the guarded dialler, to see a page of
// 5,000 nodes in the browser (beside Playwright's own snapshots of it), and to have all of this and not use
// it. `node bench/web.ts [--json <file>] [--chromium <program>]`
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { browsers, type BrowserRequest } from "@parley/browser";
import { dialler, forwardProxy, pageFetcher, rulesOf } from "@parley/egress";
import { systemClock, systemIds } from "@parley/protocol";
import { chromium } from "playwright-core";

const { values } = parseArgs({
  options: { json: { type: "string" }, chromium: { type: "string", default: "/usr/bin/chromium" } },
});
const clock = systemClock();
const never = new AbortController().signal;
const rounds = 7;

const words = "The lane runner takes the longest waiting lane first, and a flooded lane goes to the back. ";
const article = (chars: number): string => {
  let body = "";
  for (let at = 0; body.length < chars; at += 1)
    body += `<h2>Part ${at}</h2><p>${words.repeat(4)} See <a href="/part/${at}">part ${at}</a>.</p><ul><li>${words}</li></ul>`;
  return `<!doctype html><title>Lanes</title><main><article><h1>Lanes</h1>${body}</article></main>`;
};
/** Rows of a list as shops have them: five elements each, two of them to click. */
const rows = (count: number): string =>
  `<!doctype html><title>Parts</title><h1>Parts</h1><ul>${Array.from(
    { length: count },
    (_each, at) =>
      `<li><a href="/p/${at}">Part ${at}</a><span>${at} pieces</span><b>${at},50</b><button>Buy ${at}</button></li>`,
  ).join("")}</ul>`;
const pages: { readonly [path: string]: string } = { "/article": article(1_000_000), "/rows": rows(1_000) };

const server = createServer((request, response) => {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(pages[request.url ?? ""] ?? "");
}).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
const host = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
const rules = rulesOf({ allow: [host], deny: [] });

const median = (times: readonly number[]): number =>
  Math.round(times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN);

/** The first round starts what is started once. */
async function timed(work: () => Promise<unknown>): Promise<{ readonly first: number; readonly ms: number }> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const begun = clock.mono();
    await work();
    times.push(clock.mono() - begun);
  }
  return { first: Math.round(times[0] ?? 0), ms: median(times.slice(1)) };
}

async function fetching() {
  const dial = dialler({ clock, rules });
  const { fetchPage, close } = pageFetcher({ dialler: dial, clock });
  const url = `http://${host}/article`;
  let text = "";
  const own = await timed(async () => {
    ({ text } = await fetchPage(url, { fresh: true, textChars: 1_000_000 }, never));
  });
  const plain = await timed(async () => (await fetch(url)).text());
  await close();
  await dial.close();
  return {
    what: "fetch and read 1 MB of HTML",
    ...own,
    plainFetchMs: plain.ms,
    markdownKB: Math.round(text.length / 1_000),
  };
}

async function looking() {
  const home = await mkdtemp(join(tmpdir(), "parley-bench-"));
  const proxy = await forwardProxy({ clock, ids: systemIds(), rules: () => rules });
  const made = browsers({
    executablePath: values.chromium,
    headless: true,
    noSandbox: true,
    path: "/usr/bin:/bin",
    profileOf: (agent) => join(home, agent),
    proxy: async () => proxy,
    mayEvaluate: false,
    idleMs: 60_000,
    clock,
  });
  const run = (request: Partial<BrowserRequest> & Pick<BrowserRequest, "action">) =>
    made.run("main", { textChars: 7_000, ...request }, never);
  const url = `http://${host}/rows`;
  const begun = clock.mono();
  await run({ action: "open", url });
  const startMs = Math.round(clock.mono() - begun);
  const seen: object[] = [];
  const measure = async (what: string, look: () => Promise<string>): Promise<void> => {
    let text = "";
    const { ms } = await timed(async () => {
      text = await look();
    });
    seen.push({ what, ms, chars: text.length, tokens: Math.round(text.length / 4) });
  };
  await measure(
    "snapshot, as a tool's result has room",
    async () => (await run({ action: "snapshot" })).text,
  );
  await measure(
    "snapshot, all of it",
    async () => (await run({ action: "snapshot", textChars: 10_000_000 })).text,
  );
  await made.close();
  await proxy.close();
  const other = await chromium.launch({ executablePath: values.chromium, chromiumSandbox: false });
  const page = await other.newPage();
  await page.goto(url);
  await measure('Playwright: ariaSnapshot({ mode: "ai" })', () => page.ariaSnapshot({ mode: "ai" }));
  await measure("Playwright: ariaSnapshot()", () => page.locator("body").ariaSnapshot());
  const nodes = await page.locator("*").count();
  await other.close();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
  return { startMs, nodes, seen };
}

/** In a process of its own: what the daemon loads of it, after everything that it has anyway. */
function idle() {
  const wiring = ["web", "browser", "way-out", "mcp"].map(
    (name) => new URL(`../apps/gateway/src/wiring/${name}.ts`, import.meta.url).href,
  );
  const script = `
    for (const name of ["protocol", "config", "tools", "delivery", "runner", "store"]) await import("@parley/" + name);
    const kB = () => { gc(); gc(); return process.memoryUsage().heapUsed / 1024; };
    const before = kB();
    for (const url of ${JSON.stringify(wiring)}) await import(url);
    const after = kB();
    const processes = process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
    console.log(JSON.stringify({ heapKB: Math.round(after - before), processes }));`;
  const from = new URL("../apps/gateway/", import.meta.url);
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--expose-gc", "--input-type=module", "-e", script],
    { cwd: from, encoding: "utf8" },
  );
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as object;
}

const told = { fetch: await fetching(), browser: await looking(), idle: idle() };
console.table([told.fetch]);
console.table(told.browser.seen);
console.table([{ startMs: told.browser.startMs, nodes: told.browser.nodes, ...told.idle }]);
if (values.json !== undefined) await writeFile(values.json, JSON.stringify(told, null, 2));
server.close();
