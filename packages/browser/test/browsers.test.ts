// One browser for each agent: started, kept, rested, lost and stopped, over a debugging address that a test
// plays; and what is told of each way in which a call fails.
import { isFault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { browsers, type BrowsersOptions } from "../src/browsers.ts";
import type { BrowserRequest } from "../src/browser-request.ts";
import { fakeDebugger } from "./fake-debugger.ts";

type Request = Partial<BrowserRequest> & Pick<BrowserRequest, "action">;

async function stage(more: Partial<BrowsersOptions> = {}) {
  const far = await fakeDebugger();
  const clock = virtualClock();
  const made = browsers({
    cdpUrl: far.url,
    headless: true,
    noSandbox: true,
    path: "",
    profileOf: (agent) => agent,
    proxy: async () => ({ url: "http://127.0.0.1:1", username: "u", password: "p" }),
    mayEvaluate: false,
    idleMs: 300_000,
    clock,
    ...more,
  });
  onTestFinished(async () => {
    await made.close();
    far.close();
  });
  const { signal } = new AbortController();
  return {
    far,
    clock,
    made,
    /** What the agent is told: the text, or the fault's code and words. */
    told: (request: Request, agent = "main", by = signal): Promise<string> =>
      made.run(agent, { textChars: 1_000, ...request }, by).then(
        ({ text }) => text,
        (error: unknown) =>
          isFault(error) ? `${error.code}: ${error.message}` : `not a fault: ${String(error)}`,
      ),
  };
}
const none = "No tab is open.";
const page: Request = { action: "open", url: "https://a.test" };

test("each agent has a browser of its own, in a context of its own, behind the proxy", async () => {
  const { far, made, told } = await stage();
  expect([made.running(), far.connections(), made.urlOf("main")]).toEqual([0, 0, null]);
  expect([await told({ action: "tabs" }), await told({ action: "tabs" })]).toEqual([none, none]);
  expect([made.running(), far.connections()]).toEqual([1, 1]);
  expect(await told({ action: "tabs" }, "other")).toBe(none);
  expect([made.running(), far.connections()]).toEqual([2, 2]);
  expect([made.urlOf("main"), made.urlOf("main", "t1"), made.urlOf("nobody")]).toEqual([null, null, null]);
  const contexts = far.asked.filter(({ method }) => method === "Target.createBrowserContext");
  expect(contexts.map(({ params }) => params)).toEqual(
    Array(2).fill(
      expect.objectContaining({ proxyServer: "http://127.0.0.1:1", proxyBypassList: "<-loopback>" }),
    ),
  );
});

test("a browser rests after its last call and ends; the next call starts another", async () => {
  const { far, clock, made, told } = await stage();
  await told({ action: "tabs" });
  await clock.advance(200_000);
  await told({ action: "tabs" }, "other");
  await told({ action: "tabs" });
  await clock.advance(299_999);
  expect(made.running()).toBe(2);
  await clock.advance(1);
  expect(made.running()).toBe(0);
  await expect.poll(() => far.connections()).toBe(0);
  expect(await told({ action: "tabs" })).toBe(none);
  expect(made.running()).toBe(1);
});

test("a call that does not end is left after a minute, and it rests from then on", async () => {
  const { far, clock, made, told } = await stage({ idleMs: 100_000 });
  await told({ action: "tabs" });
  await clock.advance(99_000);
  let first = "";
  void told(page).then((text) => (first = text));
  await far.wished(1);
  await clock.advance(59_999);
  expect([first, made.running()]).toEqual(["", 1]);
  await clock.advance(1);
  await expect.poll(() => first).toBe("unavailable: the page did not let go in 60 s");
  await clock.advance(99_999);
  expect(made.running()).toBe(1);
  await clock.advance(1);
  expect(made.running()).toBe(0);
});

test("calls of an agent wait for each other, also for one that fails; other agents do not wait", async () => {
  const { far, told } = await stage();
  const stop = new AbortController();
  const done: string[] = [];
  const note = (name: string, said: Promise<string>): Promise<void> =>
    said.then((text) => void done.push(`${name} ${text}`));
  const first = note("first", told(page, "main", stop.signal));
  const second = note("second", told({ action: "tabs" }));
  await far.wished(1);
  await note("other", told({ action: "tabs" }, "other"));
  expect(done).toEqual([`other ${none}`]);
  stop.abort();
  await Promise.all([first, second]);
  expect(done.slice(1)).toEqual(["first aborted: the call was stopped", `second ${none}`]);
  // Who does not want it any more starts no browser.
  expect(await told({ action: "tabs" }, "third", stop.signal)).toBe("aborted: the call was stopped");
  expect(far.connections()).toBe(2);
});

test("a browser that ends takes its call along, and the next one starts another", async () => {
  const { far, made, told } = await stage();
  const open = told(page);
  await far.wished(1);
  far.die();
  expect(await open).toBe(
    "unavailable: the browser ended; the next call starts a new one, with its tabs closed",
  );
  expect([made.running(), made.urlOf("main")]).toEqual([0, null]);
  expect(await told({ action: "tabs" })).toBe(none);
  expect(made.running()).toBe(1);
  far.die();
  await expect.poll(() => made.running()).toBe(0);
});

test("once it is closed nothing runs and nothing starts", async () => {
  const { far, clock, made, told } = await stage();
  await told({ action: "tabs" }, "other");
  const last = told(page);
  await far.wished(1);
  let isClosed = false;
  const closing = made.close().then(() => (isClosed = true));
  expect(await told({ action: "tabs" }, "other")).toBe("unavailable: the gateway stops");
  // What runs is let end.
  expect(isClosed).toBe(false);
  await clock.advance(60_000);
  expect(await last).toMatch(/^unavailable: the page did not let go/);
  await closing;
  await expect.poll(() => far.connections()).toBe(0);
  expect(await told({ action: "tabs" })).toBe("unavailable: the gateway stops");
  expect(far.connections()).toBe(0);
});

test("each failure is told in words that say how to go on, without the browser's own pages of them", async () => {
  const { far, told } = await stage();
  const said = async (refusal: string, more: Partial<Request> = {}): Promise<string> => {
    far.refusal = refusal;
    return told({ ...page, ...more });
  };
  const crashed = "unavailable: the page crashed or was closed: open it again";
  expect([
    await said("Target page was lost"),
    await said("it has been closed"),
    await said("Page CRASHED!"),
    await said("Timeout 3000ms exceeded"),
    await said("a TimeoutError", { ref: "e7" }),
    await said("net::ERR_TUNNEL_CONNECTION_FAILED at https://a.test"),
    await said("a \u001b[31mred\u001b[0m word\nand its log"),
    await said("x".repeat(400)),
    await told({ action: "snapshot" }),
  ]).toEqual([
    crashed,
    crashed,
    crashed,
    "unavailable: open took too long",
    "unavailable: e7 is not there any more, or something covers it: take a snapshot again",
    "denied: not opened: the address is closed to agents, or nobody answers there (the gateway's log says which)",
    expect.stringMatching(/^invalid: open failed: .*: a red word$/),
    expect.stringMatching(/^invalid: open failed: .{299,301}$/),
    "missing: no tab is open: open an address first",
  ]);
});
