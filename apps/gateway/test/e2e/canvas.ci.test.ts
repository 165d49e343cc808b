// The canvas as people and agents meet it: a real daemon, a real Chromium that follows the link of a chat,
// pages that try to break out of their frame.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as tcpServer } from "node:net";
import { lacks, program, programPath } from "@parley/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

const chromium = program("chromium");
const withinMs = 60_000;

describe.skipIf(lacks(chromium))("a canvas", () => {
  let browser: Browser;
  let w: World;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  beforeEach(async () => {
    w = await world();
  });
  afterEach(async () => {
    await cleanUp();
    await w.close();
  });
  afterAll(() => browser.close());

  const config = { browser: { executablePath: programPath(chromium), noSandbox: true } };

  /** The gateway must know its own address for links, so the port is chosen before it starts. */
  async function begin() {
    const probe = tcpServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const at = probe.address();
    const port = typeof at === "object" ? (at?.port ?? 0) : 0;
    await new Promise((resolve) => probe.close(resolve));
    const gateway = { port, publicUrl: `http://127.0.0.1:${port}/` };
    return { daemon: await w.start({ config: { ...config, gateway } }), gateway };
  }

  function acts(...steps: Record<string, unknown>[]): void {
    w.models.reply(() => {
      const args = steps.shift();
      return args === undefined ? { text: "done" } : { toolCalls: [{ name: "canvas", args }] };
    });
  }

  /** A fresh link, as the chat gets it. */
  async function link(): Promise<string> {
    const links = (): readonly string[] =>
      w
        .answers(4242)
        .flatMap(({ entities = [] }) =>
          entities.flatMap((entity) => ("url" in entity ? [String(entity.url)] : [])),
        );
    const before = links().length;
    w.telegram.as(4242).says("/canvas");
    await eventually(() => links().length > before, withinMs, "the link");
    return links().at(-1) ?? "";
  }

  async function look(): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    await page.goto(await link());
    await page.locator("iframe").waitFor({ state: "attached", timeout: withinMs });
    return page;
  }

  test("is seen by the link, pressed, changed while one looks, and outlives a killed daemon", async () => {
    const { daemon, gateway } = await begin();
    acts(
      {
        action: "present",
        title: "Order",
        html: "<h1>Engines</h1><form><input name=n value=2></form><button data-event=buy>Buy</button><p id=p>none</p>",
      },
      { action: "eval", script: "document.getElementById('p').textContent = 'ready'; 6 * 7" },
      { action: "snapshot" },
    );
    w.telegram.as(4242).says("show me");
    await eventually(() => w.answers(4242).some(({ text }) => text === "done"), withinMs, "the answer");
    const told = w.models
      .requests()
      .flatMap(({ lastToolResult }) => (lastToolResult === null ? [] : [lastToolResult]));
    expect(told[0]).toMatch(/a picture and a link goes out here/);
    expect(told[1]).toBe("42");
    expect(w.answers(4242).map(({ kind }) => kind)).toContain("photo");
    expect(w.answers(4242).flatMap(({ buttons }) => buttons.flat())).toContain("Open");

    const page = await look();
    const inside = page.frameLocator("iframe");
    // The agent's script ran in this one too.
    await inside.getByText("ready").waitFor({ timeout: withinMs });
    expect(page.url()).not.toContain("#");
    await inside.getByText("Buy").click();
    await eventually(
      () =>
        w.models
          .requests()
          .some(({ lastUserText }) =>
            lastUserText.includes(`Pressed in the canvas "Order": {"event":"buy"}`),
          ),
      withinMs,
      "the press",
    );

    daemon.kill("SIGKILL");
    await daemon.exited;
    const again = await w.start({ home: daemon.home, config: { ...config, gateway } });
    acts({ action: "update", html: "<h1>Turbines</h1>" });
    w.telegram.as(4242).says("other goods");
    await inside.getByText("Turbines").waitFor({ timeout: withinMs });
    await again.stop();
  });

  test("cannot reach the network, the viewer, storage or another address", async () => {
    const reached: string[] = [];
    const canary: Server = createServer((request, response) => {
      reached.push(request.url ?? "");
      response.end("x");
    }).listen(0, "127.0.0.1");
    await once(canary, "listening");
    const at = canary.address();
    const host = `http://127.0.0.1:${typeof at === "object" ? at?.port : 0}`;
    const tries = [
      `fetch("${host}/fetch")`,
      `new Image().src = "${host}/img"`,
      `navigator.sendBeacon("${host}/beacon", "x")`,
      `new WebSocket("${host.replace("http", "ws")}/ws")`,
      `new EventSource("${host}/events")`,
      `location = "${host}/self"`,
      `top.location = "${host}/top"`,
      `parent.location.href = "${host}/parent"`,
      `open("${host}/popup")`,
      `const f = document.createElement("form"); f.action = "${host}/form"; f.method = "post"; document.body.append(f); f.submit()`,
      `const i = document.createElement("iframe"); i.src = "${host}/frame"; document.body.append(i)`,
      `const l = document.createElement("link"); l.rel = "stylesheet"; l.href = "${host}/css"; document.head.append(l)`,
      `const s = document.createElement("script"); s.src = "${host}/js"; document.head.append(s)`,
      `const p = document.createElement("link"); p.rel = "prefetch"; p.href = "${host}/prefetch"; document.head.append(p)`,
      `new Worker("${host}/worker")`,
      `import("${host}/module.js")`,
      `const m = document.createElement("meta"); m.httpEquiv = "refresh"; m.content = "0;url=${host}/meta"; document.head.append(m)`,
      `const a = document.createElement("a"); a.href = "${host}/ping"; a.ping = "${host}/ping"; document.body.append(a); a.click()`,
      `parent.document.body.textContent = "broken out"`,
      `localStorage.setItem("a", "b"); document.cookie = "a=b"`,
      `parent.sessionStorage.getItem("parley.canvas") && (document.title = "stolen")`,
      `const o = document.createElement("object"); o.data = "${host}/object"; document.body.append(o)`,
    ];
    const html = `<h1>Nice</h1>${tries.map((each) => `<script>try { ${each} } catch {}</script>`).join("\n")}`;
    await begin();
    acts({ action: "present", html }, { action: "snapshot" });
    w.telegram.as(4242).says("show me");
    await eventually(() => w.answers(4242).some(({ text }) => text === "done"), withinMs, "the answer");
    const page = await look();
    await page.waitForTimeout(2_000);
    expect(reached).toEqual([]);
    expect(new URL(page.url()).pathname).toBe("/canvas.html");
    expect(await page.locator("body").textContent()).not.toContain("broken out");
    expect(page.context().pages()).toHaveLength(1);
    canary.close();
  });
});
