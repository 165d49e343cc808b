// Looks at a page of the agent's own in a Chromium that has no network: the page is all there is. Started for
// one look and ended after it, so nothing is left of it.
import { canvasPolicy, Fault, withBridge, type Clock } from "@parley/protocol";
import type { Page } from "playwright-core";
import { startAlone, type Launch } from "./launch.ts";

export interface Rendering {
  readonly html: string;
  /** Run in order; the value of the last one is told. */
  readonly scripts: readonly string[];
}

export interface Rendered {
  /** Of the last script, as JSON or text; "undefined" without one. */
  readonly value: string;
  /** JPEG of 1,280 by 800. */
  readonly picture: Uint8Array;
  /** What the page and its errors wrote. */
  readonly console: readonly string[];
}

const address = "http://canvas.invalid/";
const loadMs = 10_000;
const settleMs = 150;
const mostLines = 50;
const lineChars = 300;
const valueChars = 8_000;

/** Throws Fault. */
export async function renderPage(
  options: Launch & { readonly clock: Clock },
  { html, scripts }: Rendering,
  signal: AbortSignal,
): Promise<Rendered> {
  const { browser, end } = await startAlone(options);
  const stop = (): void => void end().catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) throw new Fault("aborted", "the call was stopped");
    const context = await browser.newContext({
      viewport: { width: 1_280, height: 800 },
      serviceWorkers: "block",
    });
    context.setDefaultTimeout(loadMs);
    await context.route("**", (route) =>
      route.request().url() === address && route.request().isNavigationRequest()
        ? route.fulfill({
            contentType: "text/html; charset=utf-8",
            headers: { "content-security-policy": canvasPolicy },
            body: withBridge(html),
          })
        : route.abort(),
    );
    const page = await context.newPage();
    const console: string[] = [];
    const note = (line: string): void => {
      if (console.length < mostLines) console.push(line.slice(0, lineChars).toWellFormed());
    };
    page.on("console", (message) => note(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => note(`error: ${error.message}`));
    page.on("dialog", (dialog) => void dialog.dismiss().catch(() => {}));
    await page.goto(address, { waitUntil: "load", timeout: loadMs });
    let value = "undefined";
    for (const script of scripts) value = await within(valueOf(page, script), options.clock);
    await page.waitForTimeout(settleMs);
    const picture = await page.screenshot({ type: "jpeg", quality: 80, timeout: loadMs });
    return { value: cut(value), picture, console };
  } catch (error) {
    if (signal.aborted) throw new Fault("aborted", "the call was stopped", { cause: error });
    if (error instanceof Fault) throw error;
    const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new Fault("invalid", `the page failed: ${first.slice(0, lineChars)}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
    await end().catch(() => {});
  }
}

async function within<T>(work: Promise<T>, clock: Clock): Promise<T> {
  const over = Promise.withResolvers<never>();
  const timer = clock.after(loadMs, () =>
    over.reject(new Fault("unavailable", `the script did not end in ${loadMs / 1_000} s`)),
  );
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    timer.cancel();
    work.catch(() => {});
  }
}

/** Cut in the page, so that nothing longer comes over. */
async function valueOf(page: Page, script: string): Promise<string> {
  const made = await page.evaluateHandle(script);
  const value: unknown = await made.evaluate((found: unknown, mostChars) => {
    try {
      return (typeof found === "string" ? found : (JSON.stringify(found) ?? String(found))).slice(
        0,
        mostChars,
      );
    } catch {
      return String(found).slice(0, mostChars); // A window, which has no JSON.
    }
  }, valueChars + 1);
  return String(value);
}

function cut(text: string): string {
  return text.length <= valueChars ? text : `${text.slice(0, valueChars).toWellFormed()}…`;
}
