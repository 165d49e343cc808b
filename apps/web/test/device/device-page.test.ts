// The page of a device as its person meets it: what it shows before anything is agreed, what it sends, what
// waits for them, and what it says afterwards.
import { ReactiveElement, type PropertyValues, type TemplateResult } from "lit";
import { expect, onTestFinished, test } from "vitest";
import { DevicePage } from "../../src/device/device-page.ts";
import { openShelf } from "../../src/device/shelf.ts";
import { linesOf } from "../pages/show-page.ts";
import { cut, fakeLine, refusal, settle, stub, wholeBrowser, type Shown } from "./browser.ts";

interface Template {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}
const templatesOf = (value: unknown): readonly Template[] => {
  if (Array.isArray(value)) return value.flatMap(templatesOf);
  if (typeof value !== "object" || value === null || !("_$litType$" in value)) return [];
  const own = value as unknown as Template;
  return [own, ...own.values.flatMap(templatesOf)];
};

const code = "c".repeat(20);
class ShownPage extends DevicePage {}
customElements.define("shown-device", ShownPage);
// The page fetches its worker's address; fetched before, it is there at once.
await import("../../src/device/device-worker.ts?worker&url");

async function page(hash = "", paired = false) {
  const browser = wholeBrowser();
  const window = new EventTarget();
  const [document, container] = [new EventTarget(), new EventTarget()];
  const seen = { visibilityState: "visible", hasFocus: () => true };
  const shown: Shown[] = [];
  const worker = {
    showNotification: async (title: string, options: Omit<Shown, "title">) =>
      void shown.push({ title, ...options }),
  };
  Object.assign(container, { register: async () => worker, ready: Promise.resolve(worker) });
  Object.assign(browser.navigator, { serviceWorker: container });
  const location = { host: "h", href: "https://h/device.html", hash, pathname: "/device.html" };
  const replaced: string[] = [];
  stub({
    document: Object.assign(document, seen),
    location,
    history: { replaceState: (...of: unknown[]) => void replaced.push(of.join("|")) },
    addEventListener: window.addEventListener.bind(window),
  });
  let calls: readonly object[] = [];
  let grants: readonly string[] = ["notify"];
  const answers: { [method: string]: (params: never) => unknown } = {
    "device.calls": () => ({ name: "phone", grants, most: ["share", "camera", "notify"], calls }),
    "device.grants": ({ grants: wanted }: { grants: readonly string[] }) => ({
      grants: (grants = wanted),
      most: ["share", "camera", "notify"],
    }),
    "device.result": () => ((calls = []), {}),
  };
  const line = fakeLine((method, params) => answers[method]?.(params) ?? {});
  if (paired)
    await (
      await openShelf(Date.now())
    ).keepPaired({ token: "t", name: "", grants: ["notify"], most: ["notify"] });
  const made = new ShownPage();
  Object.assign(made, {
    update: (changed: PropertyValues) => ReactiveElement.prototype["update"].call(made, changed),
  });
  made.connectedCallback();
  // It ends with its test: else it would come back through the next one's lines.
  onTestFinished(async () => {
    Object.assign(line, { isDown: false, answer: () => refusal("denied", "over") });
    window.dispatchEvent(new Event("online"));
    await settle(12);
  });
  const render = (): TemplateResult => made.render();
  const text = async (): Promise<string> => {
    await settle(24);
    return linesOf(render())
      .replaceAll(/\d\d:\d\d(?: [AP]M)?/g, "(time)")
      .trimEnd();
  };
  const send = async (values: readonly string[]): Promise<string> => {
    const form = templatesOf(render()).find((each) =>
      each.strings.some((part) => part.endsWith("<form @submit=")),
    );
    const at = form?.strings.findIndex((part) => part.endsWith("<form @submit=")) ?? -1;
    stub({
      FormData: class {
        get = () => values[0];
        getAll = () => values;
      },
    });
    (form?.values[at] as ((event: object) => void) | undefined)?.({ preventDefault() {}, target: null });
    return text();
  };
  const press = async (label: string, nth = 0): Promise<string> => {
    const found = templatesOf(render()).flatMap(({ strings, values }) =>
      values.flatMap((value, at) =>
        strings[at]?.endsWith("@click=") === true && values[at + 1] === label ? [value as () => void] : [],
      ),
    );
    found[nth]?.();
    return text();
  };
  const turn = async (grant: string, checked: boolean): Promise<string> => {
    const box = templatesOf(render()).find(
      ({ strings, values }) => values[0] === grant && strings.length > 4,
    );
    (box?.values[3] as ((event: object) => void) | undefined)?.({ target: { checked } });
    return text();
  };
  return {
    ...browser,
    line,
    answers,
    shown,
    replaced,
    location,
    document,
    seen: Object.assign(document, seen),
    window,
    container,
    render,
    text,
    send,
    press,
    turn,
    callsAre: (next: readonly object[]) => void (calls = next.map((call) => ({ forMs: 60_000, ...call }))),
    see: async (state: "visible" | "hidden", focus = true) => {
      Object.assign(document, { visibilityState: state, hasFocus: () => focus });
      document.dispatchEvent(new Event("visibilitychange"));
      return text();
    },
  };
}

test("without a link it says how, takes a link or a bare code, and shows what is asked before it agrees", async () => {
  const p = await page();
  const story = [await p.text(), await p.send(["no code"])];
  story.push(await p.send([`https://h/device#pair=${code}&name=phone&grants=camera,notify`]));
  // A browser without a camera.
  Object.assign(p.navigator, { mediaDevices: undefined });
  story.push(await p.text());
  await expect(story.join("\n---\n")).toMatchFileSnapshot("shown/unpaired.txt");
  p.location.hash = `#pair=${code}&name=tablet&grants=share`;
  p.window.dispatchEvent(new Event("hashchange"));
  expect(await p.text()).toContain("“tablet”");
  const bare = await page();
  expect(await bare.send([` ${code} `])).toContain("use this browser as “”");
});

test("pairs with what was chosen and granted, tells what the browser kept back, and why it failed", async () => {
  const p = await page(`#pair=${code}&name=phone&grants=notify,camera,share`);
  Object.assign(p.Notification, { requestPermission: async () => "denied" });
  Object.assign(p.navigator.mediaDevices, { getUserMedia: async () => ({ getTracks: () => [] }) });
  p.answers["connect"] = () => refusal("unauthorized", "the code is used");
  await p.text();
  const story = [await p.send(["share", "notify"])];
  p.answers["connect"] = () => cut;
  story.push(await p.send([]));
  p.answers["connect"] = () => ({});
  story.push(await p.send(["camera", "notify"]));
  await expect(story.join("\n---\n")).toMatchFileSnapshot("shown/pairing.txt");
  const sent = p.line.asked.flatMap((each) => /^connect .*"grants":(\[.*?\])/.exec(each)?.[1] ?? []);
  expect(sent).toEqual(['["share"]', "[]", '["camera"]']);
  expect(p.replaced).toEqual(["||/device.html"]);
});

test("what waits for its person is a card and a notification while the page is hidden, and goes when they come", async () => {
  const p = await page("", true);
  const taken: string[] = [];
  Object.assign(p.navigator.clipboard, { readText: async () => (taken.push("read"), "words") });
  await p.text();
  await p.see("hidden");
  p.callsAre([
    { id: "c1", command: "clipboard_read" },
    { id: "c2", command: "location" },
  ]);
  p.line.tell("device.call", {});
  const story = [await p.text()];
  expect(p.shown).toEqual([
    { title: "Your agent reads the clipboard", body: "Tap to let it.", tag: "c1", data: { id: "c1" } },
    { title: "Your agent reads where this is", body: "Tap to let it.", tag: "c2", data: { id: "c2" } },
  ]);
  story.push(await p.press("Refuse", 1));
  // The clipboard waits for the focus.
  story.push(await p.see("visible", false));
  expect(taken).toEqual([]);
  Object.assign(p.document, { hasFocus: () => true });
  p.window.dispatchEvent(new Event("focus"));
  story.push(await p.text());
  expect(taken).toEqual(["read"]);
  p.callsAre([{ id: "c3", command: "screen_record" }]);
  story.push(await p.see("visible"));
  await expect(story.join("\n---\n")).toMatchFileSnapshot("shown/cards.txt");
  expect(p.line.asked.filter((each) => each.startsWith("device.result"))).toEqual([
    'device.result {"id":"c2","ok":false,"text":"Its person refused."}',
    'device.result {"id":"c1","ok":true,"text":"words"}',
    'device.result {"id":"c3","ok":false,"text":"a page cannot do screen_record"}',
  ]);
});

test("a page that is seen without its notifications shows the card alone", async () => {
  const p = await page("", true);
  p.Notification.permission = "default";
  await p.see("hidden");
  p.callsAre([{ id: "c1", command: "location" }]);
  p.line.tell("device.call", {});
  expect(await p.text()).toContain("Your agent reads where this is");
  expect(p.shown).toEqual([]);
  Object.assign(p.navigator.geolocation, {
    getCurrentPosition: (_found: unknown, refused: (why: object) => void) =>
      refused(new Error("switched off")),
  });
  expect(await p.press("Do it now")).toContain("(time) reads where this is: failed");
});

test("a grant is switched with the browser's word, and what cannot be told is said; leaving ends it", async () => {
  const p = await page("", true);
  Object.assign(p.navigator.mediaDevices, { getUserMedia: () => Promise.reject(new Error("no camera")) });
  Object.assign(p.Notification, { requestPermission: async () => "granted" });
  const story = [await p.text(), await p.turn("camera", true), await p.turn("share", true)];
  story.push(await p.turn("notify", false), await p.turn("notify", true));
  expect(p.line.asked.filter((each) => each.startsWith("device.grants"))).toEqual([
    'device.grants {"grants":["notify","share"]}',
    'device.grants {"grants":["share"]}',
    'device.grants {"grants":["share","notify"]}',
  ]);
  p.answers["device.leave"] = () => refusal("unavailable", "later");
  story.push(await p.press("Forget this device"));
  p.answers["device.leave"] = () => ({});
  story.push(await p.press("Forget this device"));
  await expect(story.join("\n---\n")).toMatchFileSnapshot("shown/grants.txt");
});

test("the newest twenty of what was done are shown, and a device that was revoked says so", async () => {
  const p = await page("", true);
  await p.text();
  for (let at = 1; at <= 21; at += 1) {
    p.callsAre([{ id: `c${at}`, command: at === 1 ? "microphone" : "screen_record" }]);
    p.line.tell("device.call", {});
    await settle(12);
  }
  const log = (await p.text()).split("\n").filter((each) => each.includes("(time)"));
  expect([log.length, log.some((each) => each.includes("records sound"))]).toEqual([20, false]);
  p.answers["device.calls"] = () => refusal("denied", "gone");
  p.container.dispatchEvent(new MessageEvent("message", { data: "look" }));
  expect(await p.text()).toContain("This device was revoked. Pair it again with a new code.");
});

test("a browser that keeps nothing for pages cannot be a device, and says so", async () => {
  const p = await page();
  stub({
    indexedDB: {
      open() {
        const request = Object.assign(new EventTarget(), { error: new Error("private window") });
        setImmediate(() => request.dispatchEvent(new Event("error")));
        return request;
      },
    },
  });
  const other = new ShownPage();
  Object.assign(other, {
    update: (changed: PropertyValues) => ReactiveElement.prototype["update"].call(other, changed),
  });
  other.connectedCallback();
  await settle(12);
  expect(linesOf(other.render())).toContain(
    "This browser keeps nothing for pages (a private window?), so it cannot be a device.",
  );
  expect(await p.text()).not.toContain("keeps nothing");
});

test("its worker and the network have it look, or subscribe anew; what was shared is told", async () => {
  const p = await page("", true);
  Object.assign(p.container, { ready: Promise.resolve({ pushManager: undefined }) });
  await p.text();
  const since = (): readonly string[] => p.line.asked.splice(0).map((each) => each.split(" ")[0] ?? "");
  since();
  const shelf = await openShelf(Date.now());
  await shelf.keepShared({ key: "k1", text: "one", files: [] });
  p.window.dispatchEvent(new Event("online"));
  expect(await p.text()).toContain("(time) shared with the agent");
  expect(since()).toEqual(["device.calls", "device.share"]);
  await shelf.keepShared({ key: "k2", text: "two", files: [] });
  p.answers["device.share"] = () => refusal("invalid", "too long");
  p.container.dispatchEvent(new MessageEvent("message", { data: "look" }));
  expect(await p.text()).toContain("(time) not shared: too long\n- (time) shared with the agent");
  expect(since()).toEqual(["device.calls", "device.share"]);
  p.container.dispatchEvent(new MessageEvent("message", { data: "subscribe" }));
  await p.text();
  expect(since()).not.toContain("device.calls");
});

test("a call whose time is over is a card no more, and nothing is told of it", async () => {
  const p = await page("", true);
  await p.text();
  await p.see("hidden");
  p.callsAre([
    { id: "c1", command: "location", forMs: 0 },
    { id: "c2", command: "camera", forMs: 60_000 },
  ]);
  p.line.tell("device.call", {});
  await expect.poll(p.text).not.toContain("reads where this is");
  expect(await p.text()).toContain("takes a picture");
  expect(p.line.asked.filter((each) => each.startsWith("device.result"))).toEqual([]);
});

test("while it pairs its button says so and waits", async () => {
  const p = await page(`#pair=${code}&name=phone&grants=share`);
  await p.text();
  p.answers["connect"] = () => refusal("unauthorized", "used");
  const form = templatesOf(p.render()).find((each) =>
    each.strings.some((part) => part.endsWith("<form @submit=")),
  );
  const at = form?.strings.findIndex((part) => part.endsWith("<form @submit=")) ?? -1;
  stub({
    FormData: class {
      getAll = () => [];
    },
  });
  (form?.values[at] as ((event: object) => void) | undefined)?.({ preventDefault() {}, target: null });
  expect(linesOf(p.render())).toContain("[off: Pairing…]");
  expect(await p.text()).toContain("[Pair this device]");
});
