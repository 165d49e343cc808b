// Which Chromium is started, and with what: a script stands in for it, writes down how it was called, and
// ends.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { launch, startAlone, type Launch } from "../src/launch.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "parley-launch-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function program(folder: string, name: string, mode = 0o755): Promise<string> {
  await mkdir(join(root, folder), { recursive: true });
  const file = join(root, folder, name);
  await writeFile(
    file,
    `#!/bin/sh\n{ echo "$0"; echo "PATH=$PATH HOME=$HOME SECRET=$SECRET"; printf '%s\\n' "$@"; } > "${root}/called"\nexit 1\n`,
  );
  await chmod(file, mode);
  return file;
}
const path = (...folders: readonly string[]): string =>
  folders.map((folder) => join(root, folder)).join(delimiter);
const proxy = { url: "http://127.0.0.1:1", username: "u", password: "p" };

async function called(more: Partial<Launch>, alone = true): Promise<readonly string[]> {
  const wanted: Launch = { headless: true, noSandbox: true, path: "", ...more };
  const started = alone ? startAlone(wanted) : launch(wanted, join(root, "profile"), proxy);
  // The script is no browser.
  await expect(started).rejects.toThrow();
  return (await readFile(join(root, "called"), "utf8")).trim().split("\n");
}

test("the best known name is looked for in every folder before the next one, and only what may be run", async () => {
  const expected = [
    await program("b", "chromium"),
    await program("a", "chromium-browser"),
    await program("a", "google-chrome-stable"),
    await program("b", "google-chrome"),
    await program("a", "chrome"),
  ];
  await program("a", "chromium", 0o644);
  for (const each of expected) {
    expect((await called({ path: path("a", "b") }))[0]).toBe(each);
    await rm(each);
  }
  await expect(startAlone({ headless: true, noSandbox: true, path: path("a", "b") })).rejects.toMatchObject({
    code: "missing",
    message: expect.stringContaining("apt install chromium"),
  });
});

test("a folder that is relative is not looked into; what the config names needs no search", async () => {
  const named = await program("a", "chromium");
  const other = await program("b", "my-browser");
  const near = relative(process.cwd(), join(root, "a"));
  await expect(startAlone({ headless: true, noSandbox: true, path: near })).rejects.toMatchObject({
    code: "missing",
  });
  expect((await called({ path: `${near}${delimiter}${join(root, "a")}` }))[0]).toBe(named);
  expect((await called({ path: path("a"), executablePath: other }))[0]).toBe(other);
});

test("all that it dials goes through the proxy, and it sees nothing of the gateway's environment", async () => {
  const executablePath = await program("a", "chromium");
  process.env["SECRET"] = "token";
  const alone = await called({ executablePath, path: "/usr/bin:/bin" });
  const shared = await called({ executablePath, path: "/usr/bin:/bin" }, false);
  delete process.env["SECRET"];
  expect(alone[1]).toBe(`PATH=/usr/bin:/bin HOME=${tmpdir()} SECRET=`);
  expect(shared[1]).toBe(`PATH=/usr/bin:/bin HOME=${join(root, "profile")} SECRET=`);
  for (const args of [alone, shared]) {
    expect(args).toEqual(
      expect.arrayContaining([
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        "--dns-prefetch-disable",
        "--no-first-run",
        "--disable-sync",
        "--disable-gpu",
        "--js-flags=--max-old-space-size=512",
        "--renderer-process-limit=8",
        "--no-sandbox",
      ]),
    );
    expect(args.some((arg) => arg.startsWith("--proxy-bypass-list=<-loopback>"))).toBe(true);
  }
  expect(alone).toContain("--proxy-server=http://127.0.0.1:9");
  expect(shared).toContain("--proxy-server=http://127.0.0.1:1");
  expect(shared).toContain(`--user-data-dir=${join(root, "profile")}`);
});

test("its own sandbox is on unless the config or root's number forbids it", async () => {
  const executablePath = await program("a", "chromium");
  const isRoot = process.getuid?.() === 0;
  for (const alone of [true, false]) {
    expect((await called({ executablePath, noSandbox: false }, alone)).includes("--no-sandbox")).toBe(isRoot);
    expect((await called({ executablePath, noSandbox: true }, alone)).includes("--no-sandbox")).toBe(true);
  }
});

test("it has a window only where that is wanted, and none alone", async () => {
  const executablePath = await program("a", "chromium");
  const isHeadless = async (headless: boolean, alone: boolean): Promise<boolean> =>
    (await called({ executablePath, headless }, alone)).some((arg) => arg.startsWith("--headless"));
  expect([
    await isHeadless(true, false),
    await isHeadless(false, false),
    await isHeadless(false, true),
  ]).toEqual([true, false, true]);
});
