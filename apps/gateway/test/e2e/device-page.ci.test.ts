// A browser as a device, as its person meets it: Chromium with a fake camera, microphone and place follows
// the content of the QR code, a real daemon and a model ask for things, a push wakes it while the page is
// closed, and either side takes it back.
import { execFile } from "node:child_process";
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { lacks, program, programPath } from "@parley/testkit";
import { chromium, type BrowserContext, type CDPSession, type Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome, processEnv, programOf, testToken, type Daemon } from "./daemon.ts";
import { world, type World } from "./world.ts";

const browser = program("chromium");
const owner = 4242;
const run = promisify(execFile);
const withinMs = 20_000;

interface Push {
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: Buffer;
}

/** A push service, and the browser's side of its encryption. */
async function pushService() {
  const pushes: Push[] = [];
  let status = 201;
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      pushes.push({ headers: request.headers, body: Buffer.concat(parts) });
      response.writeHead(status).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = createECDH("prime256v1");
  const p256dh = own.generateKeys("base64url");
  const secret = randomBytes(16);
  const { port } = server.address() as AddressInfo;
  const derived = (from: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer =>
    Buffer.from(hkdfSync("sha256", from, salt, info, bytes));
  return {
    host: `127.0.0.1:${port}`,
    subscription: { endpoint: `http://127.0.0.1:${port}/one`, p256dh, auth: secret.toString("base64url") },
    pushes,
    answer: (next: number) => void (status = next),
    read({ body }: Push): { readonly [name: string]: unknown } {
      const [salt, theirs] = [body.subarray(0, 16), body.subarray(21, 21 + (body[20] ?? 0))];
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), own.getPublicKey(), theirs]);
      const key = derived(own.computeSecret(theirs), secret, info, 32);
      const sealed = body.subarray(21 + theirs.length);
      const decipher = createDecipheriv(
        "aes-128-gcm",
        derived(key, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16),
        derived(key, salt, Buffer.from("Content-Encoding: nonce\0"), 12),
      ).setAuthTag(sealed.subarray(-16));
      const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
      return JSON.parse(plain.subarray(0, plain.lastIndexOf(2)).toString()) as { [name: string]: unknown };
    },
    close: () => new Promise((closed) => server.close(closed)),
  };
}

describe.skipIf(lacks(browser))("a page as a device", () => {
  let w: World;
  let daemon: Daemon;
  let service: Awaited<ReturnType<typeof pushService>>;
  let context: BrowserContext | null = null;
  let answered = 0;

  beforeEach(async () => {
    [w, service] = await Promise.all([world(), pushService()]);
    answered = 0;
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as AddressInfo;
    await new Promise((closed) => probe.close(closed));
    const config = {
      gateway: { port, auth: { token: testToken } },
      commands: { ownerAllowFrom: [`telegram:${owner}`] },
      tools: { taint: "off", web: { egress: { allow: [service.host] } } },
    };
    daemon = await w.start({ config });
  });
  afterEach(async () => {
    await context?.close();
    context = null;
    await cleanUp();
    await Promise.all([w.close(), service.close()]);
  });

  async function parley(...words: string[]) {
    const { stdout } = await run(process.execPath, [programOf("cli"), "--json", ...words], {
      env: processEnv(daemon.home),
    });
    return JSON.parse(stdout);
  }

  /** Says it, and returns what the tool told. */
  async function invoke(args: object): Promise<string> {
    let [asked, told] = [false, ""];
    w.models.reply(({ lastToolResult }) => {
      if (asked && lastToolResult !== null) {
        told = lastToolResult;
        return { text: "done" };
      }
      asked = true;
      const call = { action: "invoke", node: "phone", timeoutSeconds: 60, ...args };
      return { toolCalls: [{ name: "nodes", args: call }] };
    });
    w.telegram.as(owner).says(`do ${JSON.stringify(args)}`);
    await eventually(() => w.answers(owner).length > answered, withinMs, "an answer");
    answered = w.answers(owner).length;
    return told;
  }

  test("is paired by the code's content, notified, pictured, heard, placed, shared from, woken and put out", async () => {
    const pairing = parley(
      "devices",
      "pair",
      "--name",
      "phone",
      "--grant",
      "notify,camera,microphone,location,clipboard,share",
    );
    context = await chromium.launchPersistentContext(await freshHome(), {
      executablePath: programPath(browser),
      args: ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
      permissions: [
        "camera",
        "microphone",
        "geolocation",
        "notifications",
        "clipboard-read",
        "clipboard-write",
      ],
      geolocation: { latitude: 52.52, longitude: 13.405, accuracy: 12 },
    });
    const { link } = await pairing;
    const page = context.pages()[0] ?? (await context.newPage());
    await page.goto(link as string);
    // Its person keeps the microphone back at first.
    await page.getByLabel(/Record/).uncheck();
    await page.getByRole("button", { name: "Pair this device" }).click();
    await page.getByText("Connected", { exact: true }).waitFor({ timeout: withinMs });
    expect(page.url()).not.toContain("pair=");

    expect(await invoke({ command: "notify", title: "Tea", text: "is ready" })).toMatch(
      /Shown as a notification/,
    );
    const shown = () =>
      page.evaluate(
        `navigator.serviceWorker.ready.then(async (worker) =>
          (await worker.getNotifications()).map(({ title, body }) => title + ": " + body))`,
      );
    expect(await shown()).toEqual(["Tea: is ready"]);
    expect(await invoke({ command: "camera" })).toMatch(/picture/);
    expect(await invoke({ command: "location" })).toMatch(/52\.520000, longitude 13\.405000, within 12 m/);
    expect(await invoke({ command: "microphone", seconds: 1 })).toMatch(/without the grant "microphone"/);
    await page.getByLabel(/Record/).check();
    await eventually(
      async () => /Kept as media\/\w+\.ogg/.test(await invoke({ command: "microphone", seconds: 1 })),
      withinMs,
    );
    expect(await invoke({ command: "clipboard_write", text: "from the agent" })).toMatch(/on its clipboard/);
    expect(await invoke({ command: "clipboard_read" })).toMatch(/from the agent/);

    // Another app shares a page with it; the words are a stranger's.
    w.models.reply({ text: "seen" });
    await page.evaluate(`(async () => {
      const form = new FormData();
      form.set("title", "A page");
      form.set("url", "https://example.org/shared");
      await fetch("device-share", { method: "POST", body: form });
    })()`);
    await page.getByText(/shared with the agent/).waitFor({ timeout: withinMs });
    await eventually(
      () => JSON.stringify(w.models.requests().at(-1)).includes("example.org/shared"),
      withinMs,
    );

    // The page is closed; its subscription is one that this test can read, since no real service is reached.
    const other = await context.newPage();
    await other.goto(`${daemon.url}/icon.svg`);
    const worker = await workerOf(context, other);
    await subscribe(page, service.subscription);
    await page.close();
    const later = invoke({ command: "notify", title: "Tea", text: "gets cold" });
    await eventually(() => service.pushes.length > 0, withinMs, "a push");
    const [push] = service.pushes;
    if (push === undefined) throw new Error("no push");
    expect(push.headers).toMatchObject({ "content-encoding": "aes128gcm", urgency: "high" });
    expect(Number(push.headers["ttl"])).toBeGreaterThan(30);
    expect(push.headers["authorization"]).toMatch(/^vapid t=[\w-]+\.[\w-]+\.[\w-]+, k=[\w-]{87}$/);
    expect(service.read(push)).toMatchObject({ v: 1, command: "notify", title: "Tea", text: "gets cold" });
    await worker.deliver(JSON.stringify(service.read(push)));
    expect(await later).toMatch(/the page was closed/);

    // What needs its person waits until they open the page.
    const seen = invoke({ command: "location" });
    await eventually(() => service.pushes.length > 1, withinMs, "another push");
    const again = await context.newPage();
    await again.goto(`${daemon.url}/device.html`);
    expect(await seen).toMatch(/52\.520000/);

    // The operator makes its token anew on the console, takes one grant back, then the device.
    const operator = await controlClient(daemon);
    const { devices } = (await operator.call("devices.list")) as {
      readonly devices: readonly { readonly id: string; readonly name: string }[];
    };
    const id = devices.find(({ name }) => name === "phone")?.id ?? "";
    const desk = await context.newPage();
    await desk.goto(`${daemon.url}/#code=${daemon.code}`);
    await desk.getByRole("textbox").waitFor({ timeout: withinMs });
    await desk.evaluate(`location.hash = "#/devices/${id}"`);
    await desk.getByRole("button", { name: "New token", exact: true }).click();
    await desk.getByRole("button", { name: "Yes" }).click();
    // The open page takes another by itself.
    await desk.getByText(/takes a new token by itself/).waitFor({ timeout: withinMs });
    await desk.close();
    expect(await invoke({ command: "location" })).toMatch(/52\.520000/);
    await operator.call("devices.revoke", { id, grants: ["location"] });
    expect(await invoke({ command: "location" })).toMatch(/without the grant "location"/);
    await operator.call("devices.revoke", { id });
    await again.getByText(/was revoked/).waitFor({ timeout: withinMs });
  });

  async function subscribe(page: Page, subscription: object): Promise<void> {
    // Runs in the page: the device's own token says where its pushes go.
    await page.evaluate(`(async () => {
      const answered = (request, event) => new Promise((done) => request.addEventListener(event, done));
      const open = indexedDB.open("parley-device", 1);
      await answered(open, "success");
      const kept = open.result.transaction("paired").objectStore("paired").get("as");
      await answered(kept, "success");
      const socket = new WebSocket("ws://" + location.host + "/ws");
      await answered(socket, "open");
      const ask = (id, method, params) =>
        new Promise((done, fail) => {
          socket.addEventListener("message", ({ data }) => {
            const frame = JSON.parse(data);
            if (frame.id === id) (frame.ok ? done : fail)(new Error(frame.error?.message));
          });
          socket.send(JSON.stringify({ type: "req", id, method, params }));
        });
      const client = { name: "test", version: "1" };
      const auth = { token: kept.result.token };
      await ask("1", "connect", { protocol: { min: 1, max: 1 }, client, auth, follows: false });
      await ask("2", "device.push", { subscription: ${JSON.stringify(subscription)} });
      socket.close();
    })()`);
  }

  /** The service worker, to which DevTools hand a push as the browser would. */
  async function workerOf(of: BrowserContext, page: Page): Promise<{ deliver(data: string): Promise<void> }> {
    const session: CDPSession = await of.newCDPSession(page);
    const registered = new Promise<string>((found) =>
      session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
        const own = registrations.find(({ scopeURL }) => scopeURL.endsWith("/device"));
        if (own !== undefined) found(own.registrationId);
      }),
    );
    await session.send("ServiceWorker.enable");
    const registrationId = await registered;
    return {
      deliver: async (data) =>
        void (await session.send("ServiceWorker.deliverPushMessage", {
          origin: daemon.url,
          registrationId,
          data,
        })),
    };
  }
});
