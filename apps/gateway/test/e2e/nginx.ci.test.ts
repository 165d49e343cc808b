// The gateway below a path of a real nginx, set up by the files of deploy/nginx.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { lacks, program, programPath } from "@parley/testkit";
import type { Browser } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { cleanUp } from "./daemon.ts";
import { daemonBehind, freePort, nginxConfig, proxyFolder, runProxy, worksBelow } from "./proxies.ts";

const nginx = program("nginx");
const chromium = program("chromium");

describe.skipIf(lacks(nginx, chromium))("below a path of nginx", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  test("page, sockets, streams and docs work, and the proxy's word says who asks", async () => {
    const [port, folder] = [await freePort(), await proxyFolder()];
    const daemon = await daemonBehind(port);
    const config = await nginxConfig(folder, port, daemon);
    await runProxy(programPath(nginx), ["-c", config, "-p", folder, "-e", "stderr"], folder, port);
    await worksBelow(`http://127.0.0.1:${port}`, daemon, browser);
    expect(await daemon.stop()).toBe(0);
  });
});
