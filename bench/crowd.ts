// What the console costs a browser beside ten thousand sessions, 1,500 of them this browser's own
// conversations and 600 sub-agents of one, and while a turn makes three hundred calls of tools; in Chromium
// with a real daemon. Times of the renderer's main thread are its processor time, which other work on the
// machine does not change. `node bench/crowd.ts [--before <checkout>] [--rounds 3] [--calls 300] [--only
// sidebar|sessionsPage|calls] [--json <file>] [--chromium <program>]`; with a checkout both take turns.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { fakeModels, type ModelAnswer, type ModelCall } from "@parley/testkit";
import { chromium, type BrowserContext, type CDPSession, type Page } from "playwright-core";
import { frames, freePort, median, spent, startGateway, type Gateway } from "./daemon/console.ts";
import { percentile } from "./daemon/converse.ts";
import { here } from "./daemon/daemon.ts";

const { values } = parseArgs({
  options: {
    before: { type: "string" },
    rounds: { type: "string", default: "3" },
    calls: { type: "string", default: "300" },
    json: { type: "string" },
    only: { type: "string" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
  },
});
const rounds = Number(values.rounds);
const [people, threads, parts] = [7_900, 1_500, 100];
/** Each part has five below it, on two levels. */
const belowEach = 5;
const callsEach = 10;
const words = "The lane runner takes the longest waiting lane first, and a flooded lane goes to the back. ";

const models = await fakeModels();
models.reply((call: ModelCall): ModelAnswer => {
  const said = call.body["messages"] as readonly { readonly role: string }[];
  const since = said.slice(said.findLastIndex(({ role }) => role === "user"));
  const done = since.filter(({ role }) => role === "tool").length;
  if (!JSON.stringify(since[0]).includes("make calls") || done >= Number(values.calls)) return "all is read";
  const toolCalls = Array.from({ length: callsEach }, (_, at) => ({
    name: "read",
    args: { path: "notes.md", offset: done + at + 1 },
  }));
  return { toolCalls, delayMs: 50 };
});

interface World {
  readonly name: string;
  readonly gateway: Gateway;
  readonly context: BrowserContext;
  readonly home: string;
}

/** Writes what months of use leave, after one conversation with a thread named `about`. */
function fill(home: string): void {
  const db = new DatabaseSync(join(home, "state.db"));
  const one = (sql: string): { readonly [column: string]: string } =>
    db.prepare(sql).get() as { readonly [column: string]: string };
  const { stream = "", body = "" } = one("select stream, body from events where stream like '%about%'");
  const { key = "" } = one("select key from sessions where key like '%about%'");
  const cell = one("select key, value from cells where key like 'web-thread:%about'");
  const session = db.prepare("insert into sessions values (?, 1, 2, ?, ?, ?)");
  const event = db.prepare("insert into events (id, stream, at, body) values (?, ?, ?, ?)");
  const put = db.prepare("insert into cells (key, value, version, expires) values (?, ?, ?, null)");
  const fields = JSON.stringify({ usage: { inputTokens: 12_000, outputTokens: 900 } });
  const now = Date.now();
  let version = 1_000_000;
  db.exec("begin");
  for (let at = 0; at < people; at += 1)
    session.run(`agent:main:telegram:dm:${10_000 + at}`, fields, now - at * 60_000, now - at * 60_000);
  for (let at = 0; at < threads; at += 1) {
    const name = `part${at}`;
    const atMs = now - at * 90_000;
    const message = { ...(JSON.parse(body) as object), atMs, text: `${words} Part ${at}` };
    session.run(key.replace("about", name), fields, atMs, atMs);
    event.run(`bench ${at}`, stream.replace("about", name), atMs, JSON.stringify(message));
    const note = { ...(JSON.parse(cell["value"] ?? "{}") as object), title: `About part ${at}` };
    put.run((cell["key"] ?? "").replace(/about$/, name), JSON.stringify(note), (version += 1));
  }
  const spawn = (parent: string, depth: number, label: string, atMs: number): string => {
    const id = `${(version += 1).toString(16).padStart(12, "0")}-${depth}`;
    const child = `agent:main:subagent:${id}`;
    const asker = { session: parent, pool: "main", epoch: 1, reply: "push", hops: 0 };
    const end = { state: "answered", reason: null, tokens: 99, atMs: now };
    const known = {
      v: 1,
      id,
      session: child,
      parent,
      turn: "t",
      label,
      task: words,
      mode: "run",
      model: null,
    };
    const cell_ = { ...known, startedAtMs: atMs, asker, runs: 1, killed: false, end };
    put.run(`child:${id}`, JSON.stringify(cell_), version);
    session.run(child, fields, atMs - 1e9, atMs - 1e9);
    return child;
  };
  for (let at = 0; at < parts; at += 1) {
    const atMs = now - (parts - at) * 1_000;
    const first = spawn(key, 1, `part ${at}`, atMs);
    const second = spawn(first, 2, `part ${at}.0`, atMs + 1);
    for (let below = 1; below < belowEach; below += 1)
      spawn(second, 3, `part ${at}.0.${below}`, atMs + 1 + below);
  }
  db.exec("commit");
  db.close();
}

const browser = await chromium.launch({
  executablePath: values.chromium,
  args: ["--no-sandbox", "--disable-gpu"],
});

async function worldOf(name: string, checkout: string): Promise<World> {
  const home = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const port = await freePort();
  const provider = {
    api: "openai-completions",
    baseUrl: `${models.url}/v1`,
    apiKey: "bench",
    models: [{ id: "m1", contextWindow: 2_000_000 }],
  };
  const config = {
    gateway: { port },
    models: { providers: { fake: provider } },
    agents: { defaults: { model: { primary: "fake/m1" } } },
  };
  writeFileSync(join(home, "parley.json5"), JSON.stringify(config));
  const first = await startGateway(checkout, home);
  writeFileSync(join(home, "workspace", "notes.md"), words.repeat(30).replaceAll(". ", ".\n").repeat(20));
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${first.url}/#code=${first.code}`);
  for (const address of ["#/chat", "#/chat/about"]) {
    await page.evaluate(`location.hash = "${address}"`);
    await page.locator("parley-composer textarea").fill("hello");
    await page.keyboard.press("Enter");
    await page.locator("article.assistant:not(.draft)").waitFor();
  }
  await page.close();
  await first.stop();
  fill(home);
  return { name, gateway: await startGateway(checkout, home), context, home };
}

async function freshPage({ context }: World): Promise<{ readonly page: Page; readonly cdp: CDPSession }> {
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  return { page, cdp };
}

/** Resolves when it holds, with the milliseconds since it was asked. */
const when = (holds: string): string => `new Promise((resolve) => {
  const from = performance.now();
  const look = setInterval(() => {
    if (!(${holds})) return;
    clearInterval(look);
    requestAnimationFrame(() => resolve(performance.now() - from));
  }, 2);
})`;

/** Of `count` frames: the longest, and the processor time of each. */
async function framesOf(page: Page, cdp: CDPSession, count: number, each: string) {
  let times: number[] = [];
  const busy = await spent(cdp, async () => {
    times = (await page.evaluate(frames(count, each))) as number[];
  });
  return {
    p95: percentile(times, 0.95),
    max: Math.max(...times),
    cpu: (busy["task"] ?? 0) / times.length,
  };
}

async function heapMb(cdp: CDPSession): Promise<number> {
  await cdp.send("HeapProfiler.collectGarbage");
  return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6;
}

/** Sets a field as somebody who types does. */
const typed = (field: string, text: string): string => `(() => {
  const field = document.querySelector(${JSON.stringify(field)});
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event("input", { bubbles: true }));
})()`;

const rows = (selector: string): string => `document.querySelectorAll(${JSON.stringify(selector)}).length`;

async function sidebar(world: World): Promise<{ readonly [what: string]: number }> {
  const { page, cdp } = await freshPage(world);
  const daemonBefore = world.gateway.cpuMs();
  let paintMs = 0;
  const busy = await spent(cdp, async () => {
    await page.goto(`${world.gateway.url}/#/chat/about`);
    await page.evaluate(when(`${rows(".threads a")} > 10`));
    paintMs = (await page.evaluate("performance.now()")) as number;
  });
  await page.waitForTimeout(500);
  const daemonMs = world.gateway.cpuMs() - daemonBefore;
  const drawn = (await page.evaluate(rows(".threads a"))) as number;
  const idleFrom = world.gateway.cpuMs();
  const idle = await spent(cdp, () => page.waitForTimeout(10_000));
  const idleMs = world.gateway.cpuMs() - idleFrom;
  let foundMs = 0;
  const search = await spent(cdp, async () => {
    await page.evaluate(typed(".threads input", "part 1234"));
    foundMs = (await page.evaluate(when(`${rows(".threads a")} === 1`))) as number;
  });
  const found = (await page.evaluate(rows(".threads a"))) as number;
  await page.evaluate(typed(".threads input", ""));
  const scroll = await framesOf(page, cdp, 200, `document.querySelector(".threads-list").scrollTop += 80`);
  await page.locator(".children summary").click();
  await page.waitForTimeout(300);
  const tree = (await page.evaluate(rows("[role=treeitem], .children li"))) as number;
  const heap = await heapMb(cdp);
  await page.close();
  return {
    "chat: rows are there ms": paintMs,
    "chat: page cpu until then": busy["task"] ?? 0,
    "chat: daemon cpu": daemonMs,
    "chat: rows drawn": drawn,
    "chat: idle page cpu a second": (idle["task"] ?? 0) / 10,
    "chat: idle daemon cpu a second": idleMs / 10,
    "chat: search ms": foundMs,
    "chat: search cpu": search["task"] ?? 0,
    "chat: found": found,
    "chat: scroll p95 ms": scroll.p95,
    "chat: scroll cpu a frame": scroll.cpu,
    "chat: sub-agents drawn": tree,
    "chat: heap MB": heap,
  };
}

async function sessionsPage(world: World): Promise<{ readonly [what: string]: number }> {
  const { page, cdp } = await freshPage(world);
  await page.goto(`${world.gateway.url}/#/approvals`);
  await page.locator("parley-page-approvals h1").waitFor({ state: "attached" });
  const daemonBefore = world.gateway.cpuMs();
  let paintMs = 0;
  const busy = await spent(cdp, async () => {
    await page.evaluate(`location.hash = "#/sessions"`);
    paintMs = (await page.evaluate(when(`${rows("tbody tr")} > 10`))) as number;
  });
  await page.waitForTimeout(500);
  const daemonMs = world.gateway.cpuMs() - daemonBefore;
  const idleFrom = world.gateway.cpuMs();
  const idle = await spent(cdp, () => page.waitForTimeout(10_000));
  const idleMs = world.gateway.cpuMs() - idleFrom;
  const scroll = await framesOf(page, cdp, 200, `document.querySelector(".page-body").scrollTop += 80`);
  // The last of the people: it changed long ago.
  let foundMs = 0;
  const search = await spent(cdp, async () => {
    await page.evaluate(typed(".list-tools input", String(10_000 + people - 1)));
    foundMs = (await page.evaluate(when(`${rows("tbody tr")} === 1`))) as number;
  });
  await page.waitForTimeout(1_000);
  const found = (await page.evaluate(rows("tbody tr"))) as number;
  const heap = await heapMb(cdp);
  await page.close();
  return {
    "sessions: rows are there ms": paintMs,
    "sessions: page cpu until then": busy["task"] ?? 0,
    "sessions: daemon cpu": daemonMs,
    "sessions: idle page cpu a second": (idle["task"] ?? 0) / 10,
    "sessions: idle daemon cpu a second": idleMs / 10,
    "sessions: scroll p95 ms": scroll.p95,
    "sessions: scroll cpu a frame": scroll.cpu,
    "sessions: search ms": foundMs,
    "sessions: search cpu": search["task"] ?? 0,
    "sessions: the oldest found": found,
    "sessions: heap MB": heap,
  };
}

const shifts = `{
  globalThis.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifted += value;
  }).observe({ type: "layout-shift", buffered: true });
}`;

async function calls(world: World, round: number): Promise<{ readonly [what: string]: number }> {
  const { page, cdp } = await freshPage(world);
  await cdp.send("Network.enable");
  let bytes = 0;
  cdp.on("Network.webSocketFrameReceived", ({ response }) => (bytes += response.payloadData.length));
  await page.goto(`${world.gateway.url}/#/chat/calls${round}`);
  await page.locator("parley-composer textarea").fill("make calls");
  await page.waitForTimeout(1_000);
  await page.evaluate(shifts);
  bytes = 0;
  const [daemonBefore, fromMs] = [world.gateway.cpuMs(), Date.now()];
  const times: number[] = [];
  const busy = await spent(cdp, async () => {
    await page.keyboard.press("Enter");
    const done = page.locator("article.assistant:not(.draft)").waitFor({ timeout: 300_000 });
    let isOver = false;
    void done.then(() => (isOver = true));
    while (!isOver) times.push(...((await page.evaluate(frames(60, ""))) as number[]));
    await done;
  });
  const daemonMs = world.gateway.cpuMs() - daemonBefore;
  const tookMs = Date.now() - fromMs;
  await page.waitForTimeout(1_000);
  const shifted = (await page.evaluate("shifted")) as number;
  const cards = (await page.evaluate(
    `document.querySelector("parley-messages").shadowRoot.querySelectorAll(".tools > li").length`,
  )) as number;
  const known = (await page.evaluate(`document.querySelector("parley-messages").calls.length`)) as number;
  const heap = await heapMb(cdp);
  await page.close();
  return {
    "calls: turn s": tookMs / 1_000,
    "calls: frame p95 ms": percentile(times, 0.95),
    "calls: longest frame ms": Math.max(...times),
    "calls: frames over 50 ms": times.filter((each) => each > 50).length,
    "calls: page cpu": busy["task"] ?? 0,
    "calls: daemon cpu": daemonMs,
    "calls: MB over the line": bytes / 1e6,
    "calls: layout shift x 1000": 1_000 * shifted,
    "calls: known": known,
    "calls: cards drawn": cards,
    "calls: heap MB": heap,
  };
}

const worlds = [
  ...(values.before === undefined ? [] : [await worldOf("before", values.before)]),
  await worldOf("now", here),
];
const told: { readonly [world: string]: { [what: string]: number } } = Object.fromEntries(
  worlds.map(({ name }) => [name, {}]),
);
for (const measure of [sidebar, sessionsPage, calls]) {
  if (values.only !== undefined && values.only !== measure.name) continue;
  const found = new Map(worlds.map(({ name }) => [name, [] as { readonly [what: string]: number }[]]));
  // The first round warms both.
  for (let round = 0; round <= rounds; round += 1)
    for (const world of worlds) {
      const one = await measure(world, round);
      if (round > 0 || rounds === 0) found.get(world.name)?.push(one);
    }
  for (const { name } of worlds) Object.assign(told[name] ?? {}, median(found.get(name) ?? []));
}
console.table(
  Object.keys(told["now"] ?? {}).map((what) => ({
    what,
    ...Object.fromEntries(Object.entries(told).map(([name, all]) => [name, all[what]])),
  })),
);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(told, null, 2));
await browser.close();
await models.close();
for (const { gateway, home } of worlds) {
  await gateway.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
