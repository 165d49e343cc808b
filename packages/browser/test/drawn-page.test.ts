// How a page of the agent's own is drawn, over a browser that is played: what it may load, what is kept of
// what it says, what its scripts answer and how long they may take; and how each failure of a look is told.
import { EventEmitter } from "node:events";
import { canvasPolicy, isFault, withBridge } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import type { Browser } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { drawnPage } from "../src/drawn-page.ts";
import { renderPage } from "../src/render.ts";
import { fakeDebugger } from "./fake-debugger.ts";

type Route = (route: object) => unknown;

/** `scripts`: what each comes to in the page. */
function stage(
  scripts: { readonly [script: string]: unknown } = {},
  onLoad: (page: EventEmitter) => void = () => {},
) {
  const asked: string[] = [];
  const note = (name: string, ...words: readonly unknown[]): void =>
    void asked.push(`${name} ${JSON.stringify(words)}`);
  let route: Route = () => expect.unreachable();
  const page = Object.assign(new EventEmitter(), {
    async goto(...words: readonly unknown[]) {
      note("goto", ...words);
      onLoad(page);
    },
    async evaluateHandle(script: string) {
      note("script", script);
      const found = await scripts[script];
      return {
        // As the browser does it: the function runs on what the script came to.
        evaluate: async (run: (value: unknown, most: number) => unknown, most: number) => run(found, most),
      };
    },
    waitForTimeout: async (ms: number) => note("waits", ms),
    async screenshot(how: object) {
      note("screenshot", how);
      return Buffer.from("jpeg");
    },
  });
  const browser = {
    async newContext(how: object) {
      note("context", how);
      return {
        setDefaultTimeout: (ms: number) => note("timeout", ms),
        async route(pattern: string, run: Route) {
          note("route", pattern);
          route = run;
        },
        newPage: async () => page,
      };
    },
  } as unknown as Browser;
  return { asked, browser, page, route: (given: object) => route(given) };
}

test("a page is all there is: its address alone is answered, with its policy, and everything else is stopped", async () => {
  const { asked, browser, route } = stage({ one: 1, two: 2 });
  const drawn = await drawnPage(browser, { html: "<p>hi", scripts: ["one", "two"] }, virtualClock());
  expect(drawn).toEqual({ value: "2", picture: Buffer.from("jpeg"), console: [] });
  expect(asked).toEqual([
    'context [{"viewport":{"width":1280,"height":800},"serviceWorkers":"block"}]',
    "timeout [10000]",
    'route ["**"]',
    'goto ["http://canvas.invalid/",{"waitUntil":"load","timeout":10000}]',
    'script ["one"]',
    'script ["two"]',
    "waits [150]",
    'screenshot [{"type":"jpeg","quality":80,"timeout":10000}]',
  ]);
  const answered = (url: string, isNavigation: boolean): unknown =>
    route({
      request: () => ({ url: () => url, isNavigationRequest: () => isNavigation }),
      fulfill: (how: object) => how,
      abort: () => "stopped",
    });
  expect([
    answered("http://canvas.invalid/", true),
    answered("http://canvas.invalid/", false),
    answered("http://canvas.invalid/x", true),
    answered("https://a.test/", true),
  ]).toEqual([
    {
      contentType: "text/html; charset=utf-8",
      headers: { "content-security-policy": canvasPolicy },
      body: withBridge("<p>hi"),
    },
    "stopped",
    "stopped",
    "stopped",
  ]);
});

test("what a page says is kept, fifty lines of three hundred characters; its dialogs are dismissed", async () => {
  let dismissed = 0;
  const { browser } = stage({}, (page) => {
    page.emit("console", { type: () => "log", text: () => "one" });
    page.emit("pageerror", new Error("two"));
    page.emit("console", { type: () => "warning", text: () => `${"x".repeat(290)}\u{1f600}` });
    for (let nth = 4; nth <= 51; nth += 1) page.emit("console", { type: () => "log", text: () => `${nth}` });
    page.emit("dialog", { dismiss: async () => void (dismissed += 1) });
  });
  const { console, value } = await drawnPage(browser, { html: "", scripts: [] }, virtualClock());
  expect([value, dismissed, console.length, console.slice(0, 4), console.at(-1)]).toEqual([
    "undefined",
    1,
    50,
    ["log: one", "error: two", `warning: ${"x".repeat(290)}\ufffd`, "log: 4"],
    "log: 50",
  ]);
});

test("a value is told as text or as JSON, up to eight thousand characters, and cut where it is longer", async () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  const rows: readonly (readonly [unknown, string])[] = [
    ["words", "words"],
    [{ a: [1, null] }, '{"a":[1,null]}'],
    [undefined, "undefined"],
    [null, "null"],
    [circle, "[object Object]"],
    ["x".repeat(8_000), "x".repeat(8_000)],
    ["x".repeat(8_001), `${"x".repeat(8_000)}…`],
    ["x".repeat(9_000), `${"x".repeat(8_000)}…`],
    [`${"x".repeat(7_999)}\u{1f600}`, `${"x".repeat(7_999)}\ufffd…`],
  ];
  for (const [found, told] of rows) {
    const { browser } = stage({ s: found });
    expect((await drawnPage(browser, { html: "", scripts: ["s"] }, virtualClock())).value).toBe(told);
  }
});

test("a script has ten seconds, each of its own, and leaves no timer", async () => {
  const clock = virtualClock();
  const slow = Promise.withResolvers<unknown>();
  const never = new Promise(() => {});
  const { browser } = stage({ slow: slow.promise, never });
  let said = "";
  const drawing = drawnPage(browser, { html: "", scripts: ["slow", "never"] }, clock).catch(
    (error: unknown) => void (said = isFault(error) ? `${error.code}: ${error.message}` : String(error)),
  );
  await clock.advance(9_999);
  slow.resolve(1);
  await clock.advance(9_999);
  expect([said, clock.armed()]).toEqual(["", 1]);
  await clock.advance(1);
  await drawing;
  expect([said, clock.armed()]).toEqual(["unavailable: the script did not end in 10 s", 0]);
});

test("a look that fails or is stopped says so, and leaves no browser behind", async () => {
  const far = await fakeDebugger();
  onTestFinished(() => far.close());
  const look = (signal: AbortSignal): Promise<string> =>
    renderPage(
      { cdpUrl: far.url, headless: true, noSandbox: true, path: "", clock: virtualClock() },
      { html: "<p>", scripts: [] },
      signal,
    ).then(
      () => "drawn",
      (error: unknown) =>
        isFault(error) ? `${error.code}: ${error.message}` : `not a fault: ${String(error)}`,
    );
  const { signal } = new AbortController();
  far.refusal = "no page\nand its log";
  expect(await look(signal)).toMatch(/^invalid: the page failed: \S.*no page$/);
  await expect.poll(() => far.connections()).toBe(0);
  far.refusal = "y".repeat(400);
  expect(await look(signal)).toMatch(/^invalid: the page failed: .{300}$/);
  far.refusal = null;
  const stop = new AbortController();
  const stopped = look(stop.signal);
  await far.wished(3);
  stop.abort();
  expect(await stopped).toBe("aborted: the call was stopped");
  await expect.poll(() => far.connections()).toBe(0);
  expect(await look(stop.signal)).toBe("aborted: the call was stopped");
  await expect.poll(() => far.connections()).toBe(0);
  expect(far.asked.filter(({ method }) => method === "Target.createTarget")).toHaveLength(3);
});
