// The service worker of a device, woken while no page is open: what it shows, takes, opens and keeps.
import { expect, test } from "vitest";
import { openShelf } from "../../src/device/shelf.ts";
import { nowMs } from "../pages/show-page.ts";
import { fakeLine, refusal, settle, stub, wholeBrowser, type Shown } from "./browser.ts";

/** What the worker listens to from its first moment on; it is loaded once. */
const hearers = new Map<string, (event: object) => void>();

async function worker(urls: readonly string[] = []) {
  wholeBrowser();
  const line = fakeLine(() => ({}));
  const [shown, told] = [[] as Shown[], [] as string[]];
  stub({
    location: { href: "https://host.example/under/device-worker.js" },
    registration: {
      showNotification: async (title: string, options: Omit<Shown, "title">) =>
        void shown.push({ title, ...options }),
    },
    clients: {
      matchAll: async (of: object) => {
        told.push(JSON.stringify(of));
        return urls.map((url, at) => ({
          url,
          focus: async () => void told.push(`focuses ${at}`),
          postMessage: (message: string) => void told.push(`${at} hears ${message}`),
        }));
      },
      openWindow: async (url: string) => void told.push(`opens ${url}`),
      claim: async () => void told.push("claims"),
    },
    skipWaiting: async () => void told.push("skips"),
    addEventListener: (type: string, hear: (event: object) => void) => void hearers.set(type, hear),
  });
  await import("../../src/device/device-worker.ts");
  const wake = async (type: string, event: object = {}): Promise<void> => {
    let work: Promise<unknown> = Promise.resolve();
    hearers.get(type)?.({ ...event, waitUntil: (of: Promise<unknown>) => (work = of) });
    await work;
    await settle();
  };
  return { line, shown, told, wake, shelf: await openShelf(Date.now()) };
}

const windows = '{"type":"window","includeUncontrolled":true}';
const page = "https://host.example/under/device.html";

test("a message is shown once and told with the token that is kept; a second push shows it alone", async () => {
  const { line, shown, wake, shelf } = await worker();
  await shelf.keepPaired({ token: "mine", name: "n", grants: [], most: [] });
  const push = {
    data: { text: () => JSON.stringify({ id: "c1", command: "notify", title: "T", text: "x" }) },
  };
  await wake("push", push);
  expect(line.asked).toEqual([
    'connect {"auth":{"token":"mine"},"follows":false}',
    'device.result {"id":"c1","ok":true,"text":"Shown as a notification, the page was closed."}',
  ]);
  expect([line.addresses, line.open()]).toEqual([["wss://host.example/under/ws"], 0]);
  await wake("push", push);
  await wake("push", { data: { text: () => '{"id":"c2","command":"notify"}' } });
  expect(line.asked.filter((each) => each.startsWith("device.result"))).toHaveLength(2);
  expect(shown).toEqual([
    { title: "T", body: "x", tag: "c1", data: { id: "c1" } },
    { title: "T", body: "x", tag: "c1", data: { id: "c1" } },
    { title: "Parley", body: "", tag: "c2", data: { id: "c2" } },
  ]);
  expect(await shelf.call("c1")).toMatchObject({ state: "over" });
});

test("what needs its person is announced, and every page of the device looks", async () => {
  const others = ["https://host.example/under/index.html", `${page}#x`, page];
  const { line, shown, told, wake } = await worker(others);
  await wake("push", { data: { text: () => '{"id":"c1","command":"camera"}' } });
  expect(shown).toEqual([
    { title: "Your agent takes a picture", body: "Tap to let it.", tag: "c1", data: { id: "c1" } },
  ]);
  expect([told, line.asked]).toEqual([[windows, "1 hears look", "2 hears look"], []]);
  told.length = 0;
  await wake("pushsubscriptionchange");
  expect(told).toEqual([windows, "1 hears subscribe", "2 hears subscribe"]);
});

test("a press on what was shown closes it and brings the page, the one that is there before a new one", async () => {
  for (const [urls, brought] of [
    [["https://host.example/under/", page, page], "focuses 1"],
    [["https://other.example/device.html"], `opens ${page}`],
  ] as const) {
    const { told, wake } = await worker(urls);
    await wake("notificationclick", { notification: { close: () => void told.push("closed") } });
    expect(told).toEqual(["closed", windows, brought]);
  }
});

test("a new worker does not wait for the old one, and takes the pages", async () => {
  const { told, wake } = await worker();
  await wake("install");
  await wake("activate");
  expect(told).toEqual(["skips", "claims"]);
});

test("what other apps share is kept for the page: words once, ten files, none that is too large", async () => {
  const { told, shelf } = await worker([page]);
  const send = async (method: string, url: string, body?: FormData) => {
    let answer: Promise<Response> | null = null;
    const request = { method, url, formData: async () => body };
    hearers.get("fetch")?.({ request, respondWith: (of: Promise<Response>) => (answer = of) });
    return answer as Promise<Response> | null;
  };
  expect(await send("GET", "https://host.example/under/device-share")).toBe(null);
  expect(await send("POST", "https://host.example/device-share")).toBe(null);
  const form = new FormData();
  form.set("title", " Garden ");
  form.set("text", "Garden");
  form.set("url", "https://example.org");
  form.append("files", "no file");
  form.append("files", new File([new Uint8Array(1_400_001)], "large.bin"));
  form.append("files", new File([new Uint8Array(1_400_000)], "fits.bin"));
  form.append("files", new File(["a"], "n".repeat(201), { type: `t/${"y".repeat(100)}` }));
  for (let at = 3; at < 12; at += 1)
    form.append("files", new File([String(at)], `${at}`, { type: "text/plain" }));
  const answer = await send("POST", "https://host.example/under/device-share", form);
  expect([answer?.status, answer?.headers.get("location")]).toEqual([303, page]);
  const [kept, ...more] = await shelf.shared();
  expect(more).toEqual([]);
  expect([kept?.text, kept?.key.length]).toEqual([
    "Garden\nhttps://example.org\n[large.bin is too large to be shared]",
    36,
  ]);
  const [fits, ...files] = kept?.files ?? [];
  expect([fits?.name, fits?.mediaType, fits?.data.length]).toEqual(["fits.bin", "", 1_866_668]);
  expect(files).toEqual([
    { name: "n".repeat(200), mediaType: `t/${"y".repeat(98)}`, data: "YQ==" },
    ...[3, 4, 5, 6, 7, 8].map((at) => ({
      name: `${at}`,
      mediaType: "text/plain",
      data: btoa(String(at)),
    })),
  ]);
  expect(told).toEqual([windows, "0 hears look"]);
});

test("a message that could not be told is told at the next push, and the line is closed each time", async () => {
  const { line, shown, wake, shelf } = await worker();
  await shelf.keepPaired({ token: "mine", name: "n", grants: [], most: [] });
  const push = { data: { text: () => '{"id":"c9","command":"notify","title":"T","text":"x"}' } };
  line.answer = (method) => (method === "device.result" ? refusal("unavailable", "later") : {});
  await expect(wake("push", push)).rejects.toMatchObject({ code: "unavailable" });
  await settle();
  expect([line.open(), (await shelf.call("c9"))?.state]).toEqual([0, "done"]);
  line.answer = () => ({});
  await wake("push", push);
  expect([line.open(), (await shelf.call("c9"))?.state, shown.length]).toEqual([0, "over", 2]);
  const told = 'device.result {"id":"c9","ok":true,"text":"Shown as a notification, the page was closed."}';
  expect(line.asked.filter((each) => each.startsWith("device.result"))).toEqual([told, told]);
});

test("nothing is told for a device that was put out meanwhile", async () => {
  const { line, shown, wake, shelf } = await worker();
  await shelf.keepCall("far", { state: "over", atMs: nowMs });
  await wake("push", { data: { text: () => '{"id":"c1","command":"notify","text":"x"}' } });
  expect([shown.length, line.asked]).toEqual([1, []]);
});
