// The viewer of a canvas: how a link is traded, what of the canvas is shown and run, how a press goes out
// once, and when it ends; and the frame that draws one diagram.
import { canvasRuns, canvasSends } from "@parley/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { view } from "../src/canvas/viewer.ts";
import { browser, settled } from "./drawn.ts";
import { memoryStorage } from "./fake-gateway.ts";

type Answer = { readonly status?: number; readonly body?: object } | "away";

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: { readonly [name: string]: string };
}

function viewer(hash: string, kept: object | null = null) {
  browser();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: string[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  const page = new EventTarget();
  const storage = memoryStorage();
  const replaced: unknown[] = [];
  if (kept !== null) storage.setItem("parley.canvas", JSON.stringify(kept));
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("location", { hash, pathname: "/canvas.html" });
  vi.stubGlobal("history", { replaceState: (...of: unknown[]) => void replaced.push(of) });
  vi.stubGlobal("fetch", (path: string, init: Asked) => {
    const { method = "GET", body = "", headers = {} } = init;
    asked.push(`${method} ${path} ${body} ${headers["authorization"] ?? "-"} ${headers["content-type"]}`);
    return new Promise((resolve, reject) => {
      waiting.push((answer) => {
        if (answer === "away") return reject(new TypeError("failed to fetch"));
        const { status = 200, body: told = {} } = answer;
        return resolve({ status, ok: status < 300, json: async () => told });
      });
    });
  });
  const [stage, status] = [document.createElement("div"), document.createElement("p")];
  document.body.append(stage, status);
  let ended = false;
  const running = view(stage, status).then(() => (ended = true));
  onTestFinished(async () => {
    // A loop that waits for the gateway ends with its link.
    for (let at = 0; at < 20 && !ended; at += 1) {
      waiting.splice(0).forEach((answer) => answer({ status: 401, body: { error: "over" } }));
      await vi.advanceTimersByTimeAsync(2_000);
      await settled();
    }
    await running;
  });
  const posted: unknown[] = [];
  const windowOf = new Map<Element, object>();
  const frame = (): HTMLIFrameElement | null => stage.querySelector("iframe");
  return {
    asked,
    stage,
    storage,
    replaced,
    posted,
    status: () => status.textContent,
    isOver: () => ended,
    since: () => asked.splice(0),
    async answer(answer: Answer) {
      await settled();
      const next = waiting.shift();
      if (next === undefined) throw new Error("nothing is asked");
      next(answer);
      await settled();
    },
    async answerLast(answer: Answer) {
      const next = waiting.pop();
      if (next === undefined) throw new Error("nothing is asked");
      next(answer);
      await settled();
    },
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
    frame,
    async load() {
      const made = frame();
      if (made === null) throw new Error("no frame is there");
      const window = { postMessage: (...of: unknown[]) => void posted.push(of) };
      windowOf.set(made, window);
      Object.defineProperty(made, "contentWindow", { value: window, configurable: true });
      made.dispatchEvent(new (document.defaultView as never as { Event: typeof Event }).Event("load"));
      await settled();
      return window;
    },
    says: (data: unknown, source: unknown) =>
      page.dispatchEvent(Object.assign(new Event("message"), { data, source })),
  };
}

const state = (mark: string, more: object = {}): Answer => ({
  body: { shown: true, mark, presses: true, title: "Plan", version: 1, scripts: [], ...more },
});
const access = { token: "tok", page: "p1" };
const json = "application/json";

test("a link's code is traded once, leaves the address, and its access stays with the tab", async () => {
  const v = viewer("#code1");
  expect(v.since()).toEqual([`POST canvas/open {"code":"code1"} - ${json}`]);
  await v.answer({ body: access });
  expect([v.replaced, v.storage.getItem("parley.canvas")]).toEqual([
    [[null, "", "/canvas.html"]],
    JSON.stringify(access),
  ]);
  expect(v.since()).toEqual([`GET canvas/state?seen=  Bearer tok ${json}`]);
});

test("a tab that was reloaded has its access still", async () => {
  const again = viewer("", access);
  await settled();
  expect(again.since()).toEqual([`GET canvas/state?seen=  Bearer tok ${json}`]);
});

test("a code that is refused says why; without a code or an access it says what to do", async () => {
  const refused = viewer("#used", access);
  await refused.answer({ status: 403, body: { error: "The link was used." } });
  expect([refused.status(), refused.isOver(), refused.storage.getItem("parley.canvas")]).toEqual([
    "The link was used.",
    true,
    JSON.stringify(access),
  ]);
  const none = viewer("");
  await settled();
  expect([none.status(), none.asked, none.isOver()]).toEqual([
    "Open the link that the agent sent you.",
    [],
    true,
  ]);
});

test("each version stands in a frame of its own, and each script runs once in it", async () => {
  const v = viewer("", access);
  await settled();
  v.since();
  await v.answer(state("m 1", { scripts: ["a"] }));
  const frame = v.frame();
  expect(["sandbox", "referrerpolicy", "src", "title"].map((name) => frame?.getAttribute(name))).toEqual([
    "allow-scripts",
    "no-referrer",
    "canvas/page/p1?v=1",
    "Plan",
  ]);
  expect([document.title, v.posted]).toEqual(["Plan", []]);
  await v.load();
  const runs = (script: string): unknown => [{ type: canvasRuns, script }, "*"];
  expect([v.posted, v.since()]).toEqual([[runs("a")], [`GET canvas/state?seen=m%201  Bearer tok ${json}`]]);
  await v.answer(state("m2", { scripts: ["a", "b", "c"] }));
  expect([v.posted.splice(0), v.frame() === frame]).toEqual([["a", "b", "c"].map(runs), true]);
  // What is told again is not run again.
  await v.answer(state("m2", { scripts: ["a", "b", "c", "d"] }));
  expect(v.posted).toEqual([]);
  await v.answer(state("m3", { version: 2, scripts: ["z"] }));
  expect([v.frame() === frame, v.frame()?.getAttribute("src"), v.stage.children.length]).toEqual([
    false,
    "canvas/page/p1?v=2",
    1,
  ]);
  await v.load();
  expect(v.posted.splice(0)).toEqual([runs("z")]);
  await v.answer({ body: { shown: false, mark: "m4", presses: false } });
  expect([v.frame(), v.status(), document.title]).toEqual([null, "Nothing is shown now.", "Canvas"]);
  // The same version again is a new frame.
  await v.answer(state("m5", { version: 2, scripts: ["z"] }));
  await v.load();
  expect([v.posted, v.status()]).toEqual([[runs("z")], ""]);
});

test("a gateway that is away or refuses is asked again after two seconds; a link that ended is told", async () => {
  const v = viewer("", access);
  await settled();
  v.since();
  for (const trouble of ["away", { status: 503 }] as const) {
    await v.answer(trouble);
    await v.pass(1_999);
    expect(v.since()).toEqual([]);
    await v.pass(1);
    await settled();
    expect(v.since()).toHaveLength(1);
  }
  await v.answer({ status: 401 });
  expect([v.status(), v.isOver()]).toEqual(["This link is no longer good: ask for another.", true]);
});

test("a press in the frame goes out under one key, again while the gateway restarts, and says when it could not", async () => {
  const v = viewer("", access);
  await v.answer(state("m1"));
  const window = await v.load();
  v.since();
  const press = (value: unknown, source: unknown = window, type: string = canvasSends): boolean =>
    v.says({ type, value }, source);
  press("x", {});
  press("x", window, "other");
  v.says(null, window);
  expect(v.asked).toEqual([]);
  press({ pick: 1 });
  const [first = ""] = v.since();
  const key = /"key":"([^"]+)"/.exec(first)?.[1];
  expect(first).toBe(`POST canvas/event {"key":"${key}","value":{"pick":1}} Bearer tok ${json}`);
  // The state is asked for all the while, and waits first.
  const answerPress = async (answer: Answer): Promise<void> => {
    await settled();
    await v.answerLast(answer);
  };
  await answerPress({ status: 503 });
  expect(v.status()).toBe("Sending…");
  await v.pass(2_000);
  expect(v.since()).toEqual([first]);
  await answerPress("away");
  await v.pass(2_000);
  expect(v.since()).toEqual([first]);
  await answerPress({});
  expect(v.status()).toBe("");
  press(undefined);
  const [second = ""] = v.since();
  expect([second.includes('"value":null'), second.includes(`"${key}"`)]).toEqual([true, false]);
  await answerPress({ status: 409, body: { error: "Nobody waits for it." } });
  expect(v.status()).toBe("Nobody waits for it.");
  press(1);
  for (let tries = 0; tries < 5; tries += 1) {
    expect(v.since()).toHaveLength(1);
    await answerPress({ status: 503 });
    await v.pass(2_000);
    await settled();
  }
  expect([v.since(), v.status()]).toEqual([[], "It could not be sent. Press again."]);
});

test("a diagram is drawn as the page wants it, and the frame tells its height or why there is none", async () => {
  browser();
  const frame = new EventTarget();
  const told: unknown[] = [];
  const configs: { [name: string]: unknown }[] = [];
  let fails: string | null = null;
  const parent = { postMessage: (...of: unknown[]) => void told.push(of) };
  vi.stubGlobal("parent", parent);
  vi.stubGlobal("addEventListener", frame.addEventListener.bind(frame));
  vi.stubGlobal("mermaid", {
    initialize: (config: { [name: string]: unknown }) => void configs.push(config),
    async render(id: string, source: string) {
      if (fails !== null) throw new Error(fails);
      return { svg: `<svg id="${id}">${source}</svg>` };
    },
  });
  const real = document.querySelector.bind(document);
  Object.assign(document, {
    querySelector: (selector: string) =>
      Object.assign(real(selector) ?? {}, { getBoundingClientRect: () => ({ height: 99.2 }) }),
  });
  await import("../src/diagram/frame.ts");
  const order = async (more: object = {}, source: unknown = parent): Promise<void> => {
    const data = { type: "parley-diagram-draw", source: "graph LR", isDark: false, ...more };
    frame.dispatchEvent(Object.assign(new Event("message"), { data, source }));
    await settled();
  };
  await order({}, {});
  await order({ type: "other" });
  expect([configs, told]).toEqual([[], []]);
  await order();
  expect(told.splice(0)).toEqual([[{ type: "parley-diagram-drawn", heightPx: 100 }, "*"]]);
  expect([document.body.innerHTML, document.documentElement.style.colorScheme]).toEqual([
    '<svg id="diagram">graph LR</svg>',
    "light",
  ]);
  await order({ isDark: true });
  expect([document.documentElement.style.colorScheme, configs[0]?.["theme"], configs[1]?.["theme"]]).toEqual([
    "dark",
    "default",
    "dark",
  ]);
  const { secure, ...config } = configs[0] ?? {};
  expect(config).toEqual({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    theme: "default",
    fontFamily: "system-ui, sans-serif",
    maxEdges: 400,
    maxTextSize: 8,
  });
  // No directive of a source changes any of it.
  expect(secure).toEqual(["secure", ...Object.keys(config)]);
  told.length = 0;
  frame.dispatchEvent(new Event("resize"));
  expect(told.splice(0)).toEqual([[{ type: "parley-diagram-drawn", heightPx: 100 }, "*"]]);
  fails = "y".repeat(600);
  await order();
  expect(told).toEqual([[{ type: "parley-diagram-failed", why: `Error: ${"y".repeat(493)}` }, "*"]]);
});
