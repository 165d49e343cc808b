// Shows what the agent sends while no page is open: it is woken by a push, which only this browser can read,
// shows it, and tells the gateway that it did. What needs its person opens the page. It also takes what other
// apps share.
import { systemClock, systemIds, type DeviceRequest } from "@parley/protocol";
import { openLink } from "../session/link.ts";
import { base64 } from "./base64.ts";
import { openShelf } from "./shelf.ts";
import { takeCall } from "./take-call.ts";
import { words } from "./words.ts";

/** What TypeScript's library of pages does not know of a worker. */
interface Waiting extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Pushed extends Waiting {
  readonly data: { text(): string } | null;
}
interface Clicked extends Waiting {
  readonly notification: Notification;
}
interface Fetched extends Waiting {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface Page {
  readonly url: string;
  focus(): Promise<unknown>;
  postMessage(message: unknown): void;
}
interface WorkerScope {
  readonly registration: ServiceWorkerRegistration;
  readonly location: Location;
  readonly clients: {
    matchAll(options: { readonly type: "window"; readonly includeUncontrolled: boolean }): Promise<Page[]>;
    openWindow(url: string): Promise<unknown>;
    claim(): Promise<void>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(
    type: "install" | "activate" | "pushsubscriptionchange",
    act: (event: Waiting) => void,
  ): void;
  addEventListener(type: "push", act: (event: Pushed) => void): void;
  addEventListener(type: "notificationclick", act: (event: Clicked) => void): void;
  addEventListener(type: "fetch", act: (event: Fetched) => void): void;
}

const own = globalThis as unknown as WorkerScope;
const clock = systemClock();
const base = new URL(".", own.location.href).href.replace(/\/$/, "");
const pageUrl = `${base}/device.html`;
const mostFiles = 10;
const mostFileBytes = 1_400_000;

interface Told {
  readonly id: string;
  readonly command: DeviceRequest["command"];
  readonly title?: string;
  readonly text?: string;
}

own.addEventListener("install", (event) => event.waitUntil(own.skipWaiting()));
own.addEventListener("activate", (event) => event.waitUntil(own.clients.claim()));
own.addEventListener("push", (event) => event.waitUntil(pushed(event.data?.text() ?? "")));
own.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(opened());
});
// The page subscribes anew when it is opened next; until then calls wait.
own.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(toPages("subscribe")));
own.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "POST" && url === `${base}/device-share`) event.respondWith(shared(event.request));
});

async function pushed(text: string): Promise<void> {
  const told = JSON.parse(text) as Told;
  const shelf = await openShelf(clock.now());
  if (told.command !== "notify") {
    await own.registration.showNotification(words.asks(told.command), {
      body: words.tap,
      tag: told.id,
      data: { id: told.id },
    });
    return toPages("look");
  }
  // Browsers want to see something for each push; the same tag replaces what a page has shown.
  const { title = "Parley", text: body = "", id } = told;
  await own.registration.showNotification(title, { body, tag: id, data: { id } });
  await takeCall(id, {
    shelf,
    now: () => clock.now(),
    run: async () => ({ ok: true, text: "Shown as a notification, the page was closed." }),
    async deliver(result) {
      const paired = await shelf.paired();
      if (paired === null) return;
      const { link } = await openLink({
        base,
        hello: { auth: { token: paired.token }, follows: false },
        clock,
        onEvent: () => {},
        onClose: () => {},
      });
      await link.request("device.result", { id, ...result }).finally(() => link.close());
    },
  });
}

const pages = (): Promise<Page[]> =>
  own.clients
    .matchAll({ type: "window", includeUncontrolled: true })
    .then((all) => all.filter(({ url }) => url.startsWith(pageUrl)));

async function toPages(message: string): Promise<void> {
  for (const page of await pages()) page.postMessage(message);
}

async function opened(): Promise<void> {
  const [page] = await pages();
  if (page === undefined) await own.clients.openWindow(pageUrl);
  else await page.focus();
}

/** Kept before the page opens, which sends it when there is a line. */
async function shared(request: Request): Promise<Response> {
  const form = await request.formData();
  const said = ["title", "text", "url"].flatMap((name) => {
    const value = form.get(name);
    return typeof value === "string" && value.trim() !== "" ? [value.trim()] : [];
  });
  const files = [];
  for (const file of form.getAll("files").slice(0, mostFiles)) {
    if (typeof file === "string") continue;
    if (file.size > mostFileBytes) said.push(words.tooLarge(file.name));
    else
      files.push({
        name: file.name.slice(0, 200),
        mediaType: file.type.slice(0, 100),
        data: await base64(file),
      });
  }
  const shelf = await openShelf(clock.now());
  await shelf.keepShared({ key: systemIds().uuid(), text: [...new Set(said)].join("\n"), files });
  await toPages("look");
  return Response.redirect(pageUrl, 303);
}
