// The gateway below a path of a real Caddy, set up by the Caddyfile of deploy/.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { lacks, program, programPath } from "@parley/testkit";
import type { Browser } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { cleanUp } from "./daemon.ts";
import { daemonBehind, deployed, freePort, proxyFolder, runProxy, worksBelow } from "./proxies.ts";

const caddy = program("caddy");
const chromium = program("chromium");

describe.skipIf(lacks(caddy, chromium))("below a path of Caddy", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  test("page, sockets, streams and docs work, and the proxy's word says who asks", async () => {
    const [port, folder] = [await freePort(), await proxyFolder()];
    const daemon = await daemonBehind(port);
    const site = (await deployed("caddy/Caddyfile"))
      .replace("parley.example {", `http://127.0.0.1:${port} {`)
      .replace("127.0.0.1:7275", new URL(daemon.url).host);
    const file = join(folder, "Caddyfile");
    await writeFile(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
    await runProxy(programPath(caddy), ["run", "--config", file, "--adapter", "caddyfile"], folder, port);
    await worksBelow(`http://127.0.0.1:${port}`, daemon, browser);
    expect(await daemon.stop()).toBe(0);
  });
});
