// What the console costs a browser: to open it again, to show an answer that grows, and to scroll through ten
// thousand messages; in Chromium with a real daemon. Times of the renderer's main thread are its processor
// time, which other work on the machine does not change. `node bench/console.ts [--before <checkout>]
// [--rounds 7] [--json <file>] [--chromium <program>]`; with a checkout both take turns.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { chromium, type BrowserContext, type CDPSession, type Page } from "playwright-core";
import { percentile } from "./daemon/converse.ts";
import { frames, freePort, median, spent, startGateway, type Gateway } from "./daemon/console.ts";
import { here } from "./daemon/daemon.ts";

const { values } = parseArgs({
  options: {
    before: { type: "string" },
    rounds: { type: "string", default: "7" },
    json: { type: "string" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
  },
});
const rounds = Number(values.rounds);
const messageCount = 9_900;

/** Answers as agents give them: prose, a list, code, now and then a table. */
const answer = (at: number): { readonly text: string; readonly html: string } => {
  const prose = "The lane runner takes the longest waiting lane first, and a flooded lane goes to the back. ";
  const html = [
    `<p>${prose.repeat(1 + (at % 4))}</p>`,
    ...(at % 3 === 0 ? [`<ul><li>${prose}</li><li><b>Part ${at}</b></li></ul>`] : []),
    ...(at % 4 === 0
      ? [`<pre><code>const lane = await store.take({ holder, at: ${at} });\n</code></pre>`]
      : []),
  ].join("");
  return { text: prose.repeat(1 + (at % 4)), html };
};

/** Puts messages before the ones that the conversation has, as if they had been said. */
function fill(home: string): void {
  const db = new DatabaseSync(join(home, "state.db"));
  const said = db.prepare("select stream, body from events where stream like 'web:%'").all() as {
    readonly stream: string;
    readonly body: string;
  }[];
  const stream = said[0]?.stream;
  if (stream === undefined) throw new Error("the conversation has no events");
  const insert = db.prepare("insert into events (id, stream, at, body) values (?, ?, ?, ?)");
  db.exec("begin");
  for (let at = 0; at < messageCount; at += 1) {
    const atMs = Date.now() - (messageCount - at) * 60_000;
    const message =
      at % 2 === 0
        ? { role: "user", id: `u${at}`, text: `What about part ${at}?`, html: "", atMs }
        : { role: "assistant", id: `a${at}`, ...answer(at), atMs };
    insert.run(`bench ${at}`, stream, atMs, JSON.stringify(message));
  }
  db.exec("commit");
  db.close();
}

interface World {
  readonly name: string;
  readonly gateway: Gateway;
  readonly context: BrowserContext;
  readonly home: string;
}

const browser = await chromium.launch({
  executablePath: values.chromium,
  args: ["--no-sandbox", "--disable-gpu"],
});

async function worldOf(name: string, checkout: string): Promise<World> {
  const home = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const port = await freePort();
  writeFileSync(join(home, "parley.json5"), JSON.stringify({ gateway: { port } }));
  const first = await startGateway(checkout, home);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${first.url}/#code=${first.code}`);
  await page.getByRole("textbox").fill("!say ready");
  await page.keyboard.press("Enter");
  await page.locator("article.assistant:not(.draft)").waitFor();
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

/** Notes when one can write, and when the conversation is there. */
const watching = `{
  globalThis.seen = {};
  seen.done = new Promise((resolve) => { seen.end = resolve; });
  const look = setInterval(() => {
    const now = performance.now();
    if (document.querySelector("parley-composer")?.shadowRoot?.querySelector("textarea")) seen.write ??= now;
    if (document.querySelector("parley-messages")?.shadowRoot?.querySelector("article")) seen.messages ??= now;
    if (!seen.write || !seen.messages) return;
    clearInterval(look);
    seen.end();
  }, 4);
}`;

async function opening(world: World): Promise<{ readonly [what: string]: number }> {
  const { page, cdp } = await freshPage(world);
  await page.addInitScript(watching);
  const busy = await spent(cdp, async () => {
    await page.goto(world.gateway.url);
    await page.evaluate("seen.done");
  });
  const times = (await page.evaluate(`({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    document: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd,
    write: seen.write, messages: seen.messages })`)) as { readonly [what: string]: number };
  await page.close();
  return { ...times, "cpu to open": busy["task"] ?? 0, "of it script": busy["script"] ?? 0 };
}

const scroller = `document.querySelector("parley-messages").shadowRoot.querySelector(".scroll")`;

async function streaming(world: World): Promise<{ readonly [what: string]: number }> {
  const { page, cdp } = await freshPage(world);
  await page.goto(world.gateway.url);
  await page.getByRole("textbox").fill(`!stream 1000 5 ${"word and word, ".repeat(400)}`);
  await page.keyboard.press("Enter");
  await page.locator("article.draft").waitFor();
  let times: number[] = [];
  const busy = await spent(cdp, async () => {
    times = (await page.evaluate(frames(200, ""))) as number[];
  });
  await page.locator("article.draft").waitFor({ state: "detached", timeout: 120_000 });
  await page.close();
  return {
    "stream: frame p50": percentile(times, 0.5),
    "stream: frame p95": percentile(times, 0.95),
    "stream: cpu a frame": (busy["task"] ?? 0) / times.length,
  };
}

async function scrolling(world: World): Promise<{ readonly [what: string]: number }> {
  const { page, cdp } = await freshPage(world);
  await page.goto(world.gateway.url);
  await page.locator("article").first().waitFor();
  const reading = await spent(cdp, async () => {
    await page.evaluate(`new Promise((resolve) => {
      const scroll = ${scroller};
      const chat = document.querySelector("parley-messages");
      const look = () => {
        if (!chat.chat.hasEarlier) return resolve();
        scroll.scrollTop = 400;
        setTimeout(look, 10);
      };
      look();
    })`);
  });
  const count = (await page.evaluate(
    `document.querySelector("parley-messages").chat.messages.length`,
  )) as number;
  const way = async (by: number, from: string) => {
    await page.evaluate(`${scroller}.scrollTop = ${from}`);
    await page.waitForTimeout(300);
    let times: number[] = [];
    const busy = await spent(cdp, async () => {
      times = (await page.evaluate(frames(300, `${scroller}.scrollTop += ${by}`))) as number[];
    });
    return { times, busy };
  };
  const down = await way(120, `${scroller}.scrollHeight * 0.3`);
  const up = await way(-120, `${scroller}.scrollHeight * 0.6`);
  const times = [...down.times, ...up.times];
  const sum = (what: string): number => ((down.busy[what] ?? 0) + (up.busy[what] ?? 0)) / times.length;
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const drawn = (await page.evaluate(`${scroller}.querySelectorAll("article").length`)) as number;
  await page.close();
  return {
    "messages on the page": count,
    drawn,
    "read all: cpu": reading["task"] ?? 0,
    "scroll: frame p50": percentile(times, 0.5),
    "scroll: frame p95": percentile(times, 0.95),
    "scroll: frame max": Math.max(...times),
    "scroll: cpu a frame": sum("task"),
    "scroll: script a frame": sum("script"),
    "scroll: layout a frame": sum("layout"),
    "scroll: style a frame": sum("style"),
    "heap MB": usedSize / 1e6,
  };
}

const worlds = [
  ...(values.before === undefined ? [] : [await worldOf("before", values.before)]),
  await worldOf("now", here),
];
const told: { readonly [world: string]: { [what: string]: number } } = Object.fromEntries(
  worlds.map(({ name }) => [name, {}]),
);
for (const [measure, times] of [
  [opening, rounds],
  [streaming, Math.ceil(rounds / 3)],
  [scrolling, Math.ceil(rounds / 3)],
] as const) {
  const found = new Map(worlds.map(({ name }) => [name, [] as { readonly [what: string]: number }[]]));
  // The first round warms both.
  for (let round = 0; round <= times; round += 1)
    for (const world of worlds) {
      const one = await measure(world);
      if (round > 0 || times === 1) found.get(world.name)?.push(one);
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
for (const { gateway, home } of worlds) {
  await gateway.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
