// Draws a page of the agent's own in a browser that has no network: the page is all there is, bounded in what
// it says, how long its scripts run and what they answer.
import { canvasPolicy, Fault, withBridge, type Clock } from "@parley/protocol";
import type { Browser, Page } from "playwright-core";

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

/** Throws Fault for a script that does not end; what fails in the page is the library's error. */
export async function drawnPage(
  browser: Pick<Browser, "newContext">,
  { html, scripts }: Rendering,
  clock: Clock,
): Promise<Rendered> {
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
  for (const script of scripts) value = await within(valueOf(page, script), clock);
  await page.waitForTimeout(settleMs);
  const picture = await page.screenshot({ type: "jpeg", quality: 80, timeout: loadMs });
  return { value: cut(value), picture, console };
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
