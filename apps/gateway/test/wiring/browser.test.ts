// What the tools are told of the browser: whether there may be one, and what is missing for it.
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { silentLog, systemClock, systemIds } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { idleBrowser, wireBrowser, type BrowserWiring } from "../../src/wiring/browser.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-browser-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

type Settings = ReturnType<BrowserWiring["configNow"]>["browser"];
const settings = (more: object): Settings =>
  ({ enabled: true, evaluateEnabled: false, idleMinutes: 1, ...more }) as Settings;
const idle = (more: object, path: string) => idleBrowser({ browser: settings(more) }, path);
const said = (port: object | undefined): string =>
  port !== undefined && "unavailable" in port ? String(port.unavailable) : "there";
const none = "there is no Chromium on this machine (browser.executablePath)";
const off = "browser.enabled is false";

test.each([
  [{}, none, none],
  [{ executablePath: "/opt/chrome" }, "there", "there"],
  [{ cdpUrl: "http://127.0.0.1:9222" }, "there", "there"],
  [{ enabled: false, executablePath: "/opt/chrome" }, off, "there"],
  [{ enabled: false }, off, none],
])("by %j the browser is %s, and the pages of agents' own are %s", (more, browser, renderer) => {
  const ports = idle(more, "/nowhere");
  expect([said(ports.browser?.port()), said(ports.renderer?.port())]).toEqual([browser, renderer]);
});

test.each(["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"])(
  "a program %s on the search path is one, in any of its folders but a relative one",
  (name) => {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, name), "", { mode: 0o644 });
    expect(said(idle({}, `/nowhere:${bin}`).browser?.port())).toBe(none);
    writeFileSync(join(bin, `${name}-other`), "", { mode: 0o755 });
    expect(said(idle({}, bin).browser?.port())).toBe(none);
    rmSync(join(bin, name));
    writeFileSync(join(bin, name), "", { mode: 0o755 });
    expect(said(idle({}, `/nowhere:${bin}`).browser?.port())).toBe("there");
    expect(said(idle({}, relative(process.cwd(), bin)).browser?.port())).toBe(none);
  },
);

test("settings count as they are at each call, and what is idle starts nothing", async () => {
  let browser = settings({ enabled: false, executablePath: "/opt/chrome" });
  const wired = wireBrowser({
    configNow: () => ({ browser }) as ReturnType<BrowserWiring["configNow"]>,
    home: folder,
    path: "/nowhere",
    ids: systemIds(),
    clock: systemClock(),
    log: silentLog,
    refused: () => undefined,
  });
  expect(said(wired.port.port())).toBe(off);
  browser = settings({ executablePath: "/opt/chrome" });
  const port = wired.port.port();
  expect([said(port), said(wired.renderer.port())]).toEqual(["there", "there"]);
  expect("urlOf" in port && port.urlOf("p" as never, "t" as never)).toBeNull();
  await wired.close();
  const ports = idle({ executablePath: "/opt/chrome" }, "/nowhere");
  const [page, own] = [ports.browser?.port(), ports.renderer?.port()];
  const stopped = new AbortController().signal;
  if (page === undefined || !("run" in page) || own === undefined || !("render" in own))
    throw new Error("none");
  await expect(page.run({} as never, {} as never, stopped)).rejects.toThrow(
    "a browser is started in the daemon only",
  );
  await expect(own.render({} as never, stopped)).rejects.toThrow("a browser is started in the daemon only");
});

test("a browser is started with its agent's own profile, behind a proxy that ends with the gateway; its program is the config's of the moment", async () => {
  const program = (name: string): string => {
    const path = join(folder, name);
    writeFileSync(
      path,
      `#!/bin/sh\nprintf '%s\\n' "$0" "HOME=$HOME" "$@" > "${folder}/${name}.started"\nexit 1\n`,
      {
        mode: 0o755,
      },
    );
    return path;
  };
  const started = (name: string): readonly string[] =>
    readFileSync(join(folder, `${name}.started`), "utf8")
      .trim()
      .split("\n");
  let browser = settings({ headless: true, noSandbox: true, executablePath: program("one") });
  const wired = wireBrowser({
    configNow: () =>
      ({ browser, tools: { web: { egress: {} } } }) as unknown as ReturnType<BrowserWiring["configNow"]>,
    home: folder,
    path: "/usr/bin:/bin",
    ids: systemIds(),
    clock: systemClock(),
    log: silentLog,
    refused: () => undefined,
  });
  const run = async (profile: string): Promise<void> => {
    const port = wired.port.port();
    if (!("run" in port)) throw new Error("there is one");
    const open = { action: "open", url: "http://a.test/", textChars: 100 } as const;
    await expect(port.run(profile as never, open as never, new AbortController().signal)).rejects.toThrow();
  };
  await run("main");
  expect(started("one")).toEqual(
    expect.arrayContaining([
      join(folder, "one"),
      `HOME=${join(folder, "browser/main")}`,
      `--user-data-dir=${join(folder, "browser/main")}`,
    ]),
  );
  const proxyOf = (name: string): string =>
    started(name).find((each) => each.startsWith("--proxy-server=")) ?? "none";
  const first = proxyOf("one");
  expect(first).toMatch(/^--proxy-server=http:\/\/127\.0\.0\.1:\d+$/);
  browser = { ...browser, executablePath: program("other") };
  await run("helper");
  expect(started("other")).toContain(`--user-data-dir=${join(folder, "browser/helper")}`);
  // One proxy serves them all.
  expect(proxyOf("other")).toBe(first);
  const isThere = async (): Promise<boolean> => {
    const socket = connect(Number(first.split(":").at(-1)), "127.0.0.1");
    const found = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(
        () => false,
        () => false,
      ),
    ]).catch(() => false);
    socket.destroy();
    return found;
  };
  expect(await isThere()).toBe(true);
  await wired.close();
  expect(await isThere()).toBe(false);
});
