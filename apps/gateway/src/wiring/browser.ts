// Wires the agents' browser: Chromium behind egress's proxy, both started at the first call. Unused, nothing
// of it is loaded and nothing runs.
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Browsers } from "@parley/browser";
import type { Config } from "@parley/config";
import type { ForwardProxy } from "@parley/egress";
import { Fault, type Ids } from "@parley/protocol";
import type { MachinePorts } from "@parley/tools";
import { remade } from "./remade.ts";
import type { WebWiring } from "./web.ts";

export interface BrowserWiring extends Pick<WebWiring, "clock" | "log" | "refused"> {
  readonly configNow: () => Pick<Config, "browser" | "tools">;
  readonly home: string;
  readonly ids: Ids;
  /** Where programs are looked for. */
  readonly path: string;
}

interface WiredBrowser {
  readonly port: NonNullable<MachinePorts["browser"]>;
  readonly renderer: NonNullable<MachinePorts["renderer"]>;
  close(): Promise<void>;
}

export function wireBrowser({
  configNow,
  home,
  path,
  ids,
  clock,
  log,
  refused,
}: BrowserWiring): WiredBrowser {
  let proxy: Promise<ForwardProxy> | null = null;
  let made: Browsers | null = null;

  async function openProxy(): Promise<ForwardProxy> {
    const { forwardProxy, rulesOf } = await import("@parley/egress");
    return forwardProxy({
      clock,
      ids,
      rules: () => rulesOf(configNow().tools.web.egress),
      refused({ host, reason }) {
        refused(reason);
        log.warn({ host, reason }, "an address was not dialled for a page: it is closed to agents");
      },
    });
  }

  const browsersOf = remade(
    async ({ enabled: _enabled, evaluateEnabled, idleMinutes, ...launch }: Config["browser"]) => {
      const { browsers } = await import("@parley/browser");
      made = browsers({
        ...launch,
        path,
        profileOf: (profile) => join(home, "browser", profile),
        proxy: () =>
          (proxy ??= openProxy().catch((error: unknown) => {
            proxy = null;
            throw error;
          })),
        mayEvaluate: evaluateEnabled,
        idleMs: idleMinutes * 60_000,
        clock,
      });
      return made;
    },
    (old) => old.close(),
  );
  const run: Run = async (profile, call, signal) =>
    (await browsersOf(configNow().browser)).run(profile, call, signal);
  return {
    port: browserPort(configNow, path, {
      run,
      urlOf: (profile, tab) => made?.urlOf(profile, tab) ?? null,
    }),
    renderer: rendererPort(configNow, path, async (page, signal) => {
      const { renderPage } = await import("@parley/browser");
      return renderPage({ ...configNow().browser, path, clock }, page, signal);
    }),
    async close() {
      await browsersOf.close();
      await (await proxy)?.close();
    },
  };
}

/** What the tools are told of the browser where none is started: the same words (I12). */
export function idleBrowser(
  config: Pick<Config, "browser">,
  path: string,
): Pick<MachinePorts, "browser" | "renderer"> {
  const refuse = async (): Promise<never> => {
    throw new Fault("unavailable", "a browser is started in the daemon only");
  };
  return {
    browser: browserPort(() => config, path, { run: refuse, urlOf: () => null }),
    renderer: rendererPort(() => config, path, refuse),
  };
}

type Port = Extract<ReturnType<WiredBrowser["port"]["port"]>, { readonly run: unknown }>;
type Run = Port["run"];
type Render = Extract<ReturnType<WiredBrowser["renderer"]["port"]>, { readonly render: unknown }>["render"];

function browserPort(
  configNow: () => Pick<Config, "browser">,
  path: string,
  port: Port,
): WiredBrowser["port"] {
  const missing = missingChromium(path);
  return {
    port() {
      const { enabled } = configNow().browser;
      const why = enabled ? missing(configNow().browser) : "browser.enabled is false";
      return why === null ? port : { unavailable: why };
    },
  };
}

/** A page of the agent's own needs a Chromium, and no way to the web. */
function rendererPort(
  configNow: () => Pick<Config, "browser">,
  path: string,
  render: Render,
): WiredBrowser["renderer"] {
  const missing = missingChromium(path);
  return {
    port() {
      const why = missing(configNow().browser);
      return why === null ? { render } : { unavailable: why };
    },
  };
}

/** Says why no browser can be started; null when one can. */
function missingChromium(path: string): (config: Config["browser"]) => string | null {
  let isFound: boolean | null = null;
  return ({ executablePath, cdpUrl }) => {
    if (executablePath !== undefined || cdpUrl !== undefined) return null;
    // Looked for once: a Chromium that is installed later is found by the next start.
    isFound ??= hasChromium(path);
    return isFound ? null : "there is no Chromium on this machine (browser.executablePath)";
  };
}

function hasChromium(path: string): boolean {
  return path
    .split(delimiter)
    .some((folder) => isAbsolute(folder) && names.some((name) => isProgram(join(folder, name))));
}

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Not there.
    return false;
  }
}
