// A real Chromium over egress's proxy against a site on 127.0.0.1, and a canary beside it that nothing may
// reach.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forwardProxy, rulesOf } from "@parley/egress";
import { systemClock, systemIds } from "@parley/protocol";
import { lacks, program, programPath } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { browsers, type BrowserRequest, type Browsers } from "../src/index.ts";

const chromium = program("chromium");
type BrowsersOptions = Parameters<typeof browsers>[0];
const never = new AbortController().signal;

async function site(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    answer(request, response);
  });
  server.on("upgrade", (request, socket) => {
    seen.push(`upgrade ${request.url}`);
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { seen, port, close };
}

describe.skipIf(lacks(chromium))("a browser", () => {
  let home = "";
  let made: Browsers;
  let makeBrowsers: (more: Partial<BrowsersOptions>) => Browsers;
  let table = "";
  let isOpen = false;
  const refused: string[] = [];
  let at = "";
  let canary: Awaited<ReturnType<typeof site>>;
  const closings: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "parley-browser-"));
    canary = await site((_request, response) => response.end("secret"));
    const closed = `127.0.0.1:${canary.port}`;
    const pages: { readonly [path: string]: string } = {
      "/": `<title>Form</title><h1>Order</h1><form action="/done"><label>Name <input name="n"></label><select name="s" aria-label="Size"><option>S</option><option>L</option></select><button>Send</button></form><a href="/file" download>Get it</a><a href="file:///etc/hostname">local</a>`,
      "/done": "<title>Done</title><p>Thank you</p>",
      "/ask": `<button onclick="document.title = confirm('Sure?') ? 'yes' : 'no'">Ask</button><script>console.log("hello there")</script>`,
      "/large": `<table>${Array.from({ length: 2_000 }, (_each, row) => `<tr><td><a href="/r${row}">row ${row}</a></td></tr>`).join("")}</table>`,
      "/leak": `<title>Leak</title><img src="http://${closed}/img"><iframe src="http://${closed}/frame"></iframe><script>fetch("http://${closed}/fetch").catch(() => {}); new WebSocket("ws://${closed}/socket"); new WebSocket("ws://localhost:${canary.port}/socket2");</script>`,
    };
    const open = await site((request, response) => {
      const path = (request.url ?? "").split("?")[0] ?? "";
      if (path === "/to") return response.writeHead(302, { location: `http://${closed}/redirected` }).end();
      if (path === "/table")
        return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(table);
      if (path === "/file")
        return response
          .writeHead(200, { "content-disposition": 'attachment; filename="../../evil.txt"' })
          .end("bytes");
      return response.writeHead(200, { "content-type": "text/html" }).end(pages[path] ?? "none");
    });
    at = `http://127.0.0.1:${open.port}`;
    const proxy = await forwardProxy({
      clock: systemClock(),
      ids: systemIds(),
      rules: () => ({
        ...rulesOf({ allow: [`127.0.0.1:${open.port}`], deny: [] }),
        allowedPorts: isOpen ? [canary.port] : [],
      }),
      refused: ({ host }) => refused.push(host),
    });
    const standing: BrowsersOptions = {
      executablePath: programPath(chromium),
      headless: true,
      noSandbox: true,
      path: "/usr/bin:/bin",
      profileOf: (agent) => join(home, agent),
      proxy: async () => proxy,
      mayEvaluate: false,
      idleMs: 60_000,
      clock: systemClock(),
    };
    makeBrowsers = (more) => browsers({ ...standing, ...more });
    made = makeBrowsers({});
    closings.push(() => made.close(), proxy.close, open.close, canary.close);
  });
  afterAll(async () => {
    for (const close of closings) await close();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  });

  const run = (request: Partial<BrowserRequest> & Pick<BrowserRequest, "action">) =>
    made.run("main", { textChars: 7_000, ...request }, never);
  const refOf = (text: string, name: string): string =>
    new RegExp(`${name}.*?\\[ref=(\\w+)\\]`).exec(text)?.[1] ?? "none";

  it("starts with the first call, shows a page as a tree, and fills a form by its refs", async () => {
    expect(made.running()).toBe(0);
    expect((await run({ action: "open", url: at })).text).toBe(`Tab t1: ${at}/ "Form"`);
    expect(made.running()).toBe(1);
    const { text } = await run({ action: "snapshot" });
    expect(text).toContain('heading "Order"');
    await run({ action: "type", ref: refOf(text, 'textbox "Name"'), text: "Ada" });
    await run({ action: "select", ref: refOf(text, 'combobox "Size"'), values: ["L"] });
    const sent = await run({ action: "click", ref: refOf(text, 'button "Send"') });
    expect(sent.url).toBe(`${at}/done?n=Ada&s=L`);
    await expect(run({ action: "click", ref: "e999" })).rejects.toThrow(/take a snapshot again/);
  });

  it("keeps downloads under harmless names, and shows pictures", async () => {
    await run({ action: "navigate", url: at });
    const { text } = await run({ action: "snapshot" });
    const clicked = await run({ action: "click", ref: refOf(text, 'link "Get it"') });
    const later = clicked.files.length > 0 ? clicked : await run({ action: "wait" });
    expect(later.files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([
      [expect.stringMatching(/^[\w .]*evil\.txt$/), "bytes"],
    ]);
    const { picture } = await run({ action: "screenshot" });
    expect(Buffer.from(picture ?? []).subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));
  });

  it("answers dialogs, tells the console, and bounds a large page", async () => {
    await run({ action: "navigate", url: `${at}/ask` });
    const { text } = await run({ action: "snapshot" });
    expect((await run({ action: "click", ref: refOf(text, 'button "Ask"') })).text).toContain(
      '[confirm "Sure?" was dismissed]',
    );
    await run({ action: "dialog", accept: true });
    expect((await run({ action: "click", ref: refOf(text, 'button "Ask"') })).text).toContain('"yes"');
    expect((await run({ action: "console" })).text).toContain("log: hello there");
    await run({ action: "navigate", url: `${at}/large` });
    const large = await run({ action: "snapshot", textChars: 3_000 });
    expect(large.text.length).toBeLessThan(3_400);
    expect(large.text).toMatch(/take a snapshot with a ref/);
    await expect(run({ action: "evaluate", text: "1" })).rejects.toThrow(/evaluateEnabled/);
  });

  it("opens no file and none of its own pages", async () => {
    for (const url of [
      "file:///etc/hostname",
      "chrome://version",
      "view-source:http://x/",
      "javascript:alert(1)",
      "data:text/html,x",
    ])
      await expect(run({ action: "navigate", url }), url).rejects.toThrow(/http and https/);
    await run({ action: "navigate", url: at });
    const { text } = await run({ action: "snapshot" });
    const clicked = await run({ action: "click", ref: refOf(text, 'link "local"') });
    expect(clicked.url).toMatch(/^http|^about:blank/);
  });

  it("reaches nothing closed: by address, redirect, picture, frame, script or socket", async () => {
    await expect(run({ action: "open", url: `http://127.0.0.1:${canary.port}/` })).rejects.toThrow(
      /may not be dialled/,
    );
    await expect(run({ action: "navigate", url: `${at}/to` })).rejects.toThrow(/may not be dialled/);
    await expect(run({ action: "navigate", url: "http://169.254.169.254/" })).rejects.toThrow(/link-local/);
    await run({ action: "navigate", url: `${at}/leak` });
    await run({ action: "wait" });
    expect(canary.seen).toEqual([]);
  });

  it("reaches nothing of this machine in any spelling", async () => {
    const spellings =
      `127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 0x7f.0.0.1 0x7f.1 0x7f000001 0177.0.0.1 017700000001 2130706433 00177.1 127.0.0.0x1
0.0.0.0 0 00 0x0 localhost LOCALHOST localhost. a.localhost ①②⑦.⓪.⓪.① 127。0。0。1 [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
[0:0:0:0:0:ffff:7f00:1] [::127.0.0.1] [::7f00:1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [fe80::1] [fc00::1] [fd00:ec2::254]
[fec0::1] [ff02::1] [100::1] 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 0300.0250.0.1 192.168.1 169.254.169.254 0xa9fea9fe
2852039166 169.254.170.2 100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1
255.255.255.255`.split(/\s+/);
    // All of them in one page, as pictures and as sockets: the port of the canary is open to the rules here.
    table = spellings
      .map(
        (host) =>
          `<img src="http://${host}:${canary.port}/${encodeURIComponent(host)}"><script>try { new WebSocket("ws://${host}:${canary.port}/") } catch {}</script>`,
      )
      .join("");
    isOpen = true;
    const before = refused.length;
    await run({ action: "navigate", url: `${at}/table` });
    await vi.waitFor(() => expect(refused.length - before).toBeGreaterThan(spellings.length), 120_000);
    isOpen = false;
    expect(canary.seen).toEqual([]);
  });

  it("that runs elsewhere is reached by its debugging address, in a context of its own behind the same proxy", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-cdp-"));
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"];
    const other = spawn(programPath(chromium), [...flags, `--user-data-dir=${folder}`, "about:blank"], {
      stdio: "ignore",
    });
    closings.unshift(async () => {
      other.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const file = join(folder, "DevToolsActivePort");
    const [port] = await vi.waitFor(async () => {
      const lines = (await readFile(file, "utf8")).split("\n");
      expect(lines[0]).toMatch(/^\d+$/);
      return lines;
    }, 120_000);
    const far = makeBrowsers({ cdpUrl: `http://127.0.0.1:${port}` });
    closings.unshift(() => far.close());
    const act = (request: Partial<BrowserRequest> & Pick<BrowserRequest, "action">) =>
      far.run("main", { textChars: 7_000, ...request }, never);
    expect((await act({ action: "open", url: at })).text).toContain('"Form"');
    expect((await act({ action: "snapshot" })).text).toContain('heading "Order"');
    await expect(act({ action: "open", url: `http://127.0.0.1:${canary.port}/` })).rejects.toThrow(
      /may not be dialled/,
    );
    await act({ action: "navigate", url: `${at}/leak` });
    await act({ action: "wait" });
    expect(canary.seen).toEqual([]);
    other.kill("SIGKILL");
    await once(other, "exit");
    await expect(act({ action: "snapshot" })).rejects.toMatchObject({ code: expect.any(String) });
    await expect(act({ action: "open", url: at })).rejects.toMatchObject({ code: expect.any(String) });
  });

  it("is started anew after it was killed", async () => {
    const pids = execFileSync("pgrep", ["-f", `user-data-dir=${join(home, "main")}`], { encoding: "utf8" });
    const [first] = pids.trim().split("\n");
    process.kill(Number(first), "SIGKILL");
    await run({ action: "snapshot" }).catch((error: unknown) =>
      expect(String(error)).toMatch(/new one|crashed|no tab|open/),
    );
    expect((await run({ action: "open", url: `${at}/done` })).text).toContain('"Done"');
  });
});
