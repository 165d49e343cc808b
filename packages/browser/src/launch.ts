// Starts a Chromium, or connects to one by its debugging address. All that it dials goes through the proxy,
// which judges every address; what could go around it is switched off: WebRTC's own sockets, QUIC, DNS.
import { access, constants } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { Fault } from "@parley/protocol";
import type { Browser, BrowserContext } from "playwright-core";

export interface Launch {
  /** Absent: the first that is found on the path. */
  readonly executablePath?: string | undefined;
  /** A browser that runs elsewhere; it dials by itself, past the proxy. */
  readonly cdpUrl?: string | undefined;
  readonly headless: boolean;
  readonly noSandbox: boolean;
  /** Where programs are looked for. */
  readonly path: string;
}

interface Started {
  readonly context: BrowserContext;
  end(): Promise<void>;
}

export interface ProxyAccess {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
const startMs = 60_000;

const flags = [
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--disable-quic",
  "--dns-prefetch-disable",
  "--no-first-run",
  "--disable-sync",
  "--disable-gpu",
  "--js-flags=--max-old-space-size=512",
  "--renderer-process-limit=8",
];

export async function launch(
  { executablePath, cdpUrl, headless, noSandbox, path }: Launch,
  profile: string,
  proxy: ProxyAccess,
): Promise<Started> {
  const { chromium } = await import("playwright-core");
  if (cdpUrl !== undefined) {
    const browser = await chromium.connectOverCDP(cdpUrl, { timeout: startMs });
    // A context of our own: the other's cookies and pages are its owner's.
    const context = await browser.newContext({ acceptDownloads: true, proxy: proxyOf(proxy) });
    return {
      context,
      async end() {
        await context.close();
        await browser.close();
      },
    };
  }
  const program = await programOf({ executablePath, path });
  // A root user's Chromium refuses to start with its own sandbox.
  const isRoot = process.getuid?.() === 0;
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: program,
    headless,
    chromiumSandbox: !noSandbox && !isRoot,
    args: flags,
    proxy: proxyOf(proxy),
    env: { PATH: path, HOME: profile },
    acceptDownloads: true,
    viewport: { width: 1_280, height: 800 },
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    timeout: startMs,
  });
  return { context, end: () => context.close() };
}

/** A browser without a profile and without a way out: what it shows must be given to it. */
export async function startAlone({
  executablePath,
  cdpUrl,
  noSandbox,
  path,
}: Launch): Promise<{ readonly browser: Browser; end(): Promise<void> }> {
  const { chromium } = await import("playwright-core");
  if (cdpUrl !== undefined) {
    const browser = await chromium.connectOverCDP(cdpUrl, { timeout: startMs });
    return { browser, end: () => browser.close() };
  }
  const browser = await chromium.launch({
    executablePath: await programOf({ executablePath, path }),
    headless: true,
    chromiumSandbox: !noSandbox && process.getuid?.() !== 0,
    args: flags,
    // Nobody listens on the port "discard", so a request that nothing else stopped ends there.
    proxy: { server: "http://127.0.0.1:9", bypass: "<-loopback>" },
    env: { PATH: path, HOME: tmpdir() },
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    timeout: startMs,
  });
  return { browser, end: () => browser.close() };
}

async function programOf({ executablePath, path }: Pick<Launch, "executablePath" | "path">): Promise<string> {
  const program = executablePath ?? (await found(path));
  if (program === null)
    throw new Fault(
      "missing",
      "there is no Chromium on this machine: install one (apt install chromium) or set browser.executablePath",
    );
  return program;
}

/** By default Chromium goes around a proxy to loopback. */
const proxyOf = ({ url, username, password }: ProxyAccess) => ({
  server: url,
  username,
  password,
  bypass: "<-loopback>",
});

async function found(path: string): Promise<string | null> {
  for (const name of names)
    for (const folder of path.split(delimiter)) {
      if (!isAbsolute(folder)) continue;
      const program = join(folder, name);
      const isThere = await access(program, constants.X_OK).then(
        () => true,
        // Not in this folder.
        () => false,
      );
      if (isThere) return program;
    }
  return null;
}
