// A real Chromium over egress's proxy against a site on 127.0.0.1, and a canary beside it that nothing may reach.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forwardProxy, rulesOf } from "@parley/egress";
import { systemClock, systemIds } from "@parley/protocol";
import { lacks, program, programPath } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browsers, type BrowserRequest, type Browsers } from "../src/index.ts";

const chromium = program("chromium");
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
      rules: () => rulesOf({ allow: [`127.0.0.1:${open.port}`], deny: [] }),
    });
    made = browsers({
      executablePath: programPath(chromium),
      headless: true,
      noSandbox: true,
      path: "/usr/bin:/bin",
      profileOf: (agent) => join(home, agent),
      proxy: async () => proxy,
      mayEvaluate: false,
      idleMs: 60_000,
      clock: systemClock(),
    });
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
