// The web chat as a person sees it: a real browser, the real daemon, the built page.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { lacks, program, programPath } from "@parley/testkit";
import type { Browser, Page } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { cleanUp, eventually, startDaemon, type Daemon } from "./daemon.ts";

const chromium = program("chromium");
/** A page that found no gateway looks again after up to fifteen seconds. */
const shownWithinMs = 40_000;

describe.skipIf(lacks(chromium))("the web chat in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  /** A fresh visitor who follows the printed link. */
  async function visit(daemon: Daemon): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${daemon.url}/#code=${daemon.code}`);
    await page.getByRole("textbox").waitFor({ timeout: shownWithinMs });
    return page;
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByRole("textbox").fill(text);
    await page.keyboard.press("Enter");
  }

  /** When it fails, it says what the page shows instead. */
  async function sees(page: Page, text: string | RegExp, times = 1): Promise<void> {
    const found = page.getByText(text);
    await eventually(
      async () => (await found.count()) >= times,
      shownWithinMs,
      `"${text}" on the page`,
    ).catch(async (cause: unknown) => {
      throw new Error(`the page shows: ${await page.locator("body").ariaSnapshot()}`, { cause });
    });
  }

  test("a link logs in once, an answer streams in, and a reload shows it again", async () => {
    const daemon = await startDaemon({ config: {} });
    const page = await visit(daemon);
    expect(page.url()).not.toContain("code");
    await say(page, "!stream 3 60 one two three four five six seven");
    await sees(page, "seven");
    await page.reload();
    await sees(page, "seven");
    await sees(page, "!stream 3 60");

    await say(page, "!say ```\\nnpm start\\n```\\nThe murderer is ||the gardener||.");
    const spoiler = page.locator(".rich .spoiler");
    await spoiler.waitFor({ timeout: shownWithinMs });
    // The growing answer gives way to the kept one meanwhile, and takes what was pressed along.
    const copies = page.getByRole("button", { name: "Copy" });
    await eventually(async () => (await copies.count()) === 1, shownWithinMs, "one button that copies");
    const opened = async (): Promise<boolean> =>
      (await spoiler.getAttribute("class"))?.includes("shown") === true;
    await eventually(
      async () => (await opened()) || (await spoiler.press("Enter"), await opened()),
      shownWithinMs,
      "an opened spoiler",
    );

    const second = await (await browser.newContext()).newPage();
    await second.goto(`${daemon.url}/#code=${daemon.code}`);
    await eventually(
      async () => (await second.getByText(/token|code|log in/i).count()) > 0,
      shownWithinMs,
      "the refusal of a used code",
    );
  });

  test("what is typed while the daemon is down is sent when it is back, and answered once", async () => {
    const daemon = await startDaemon({ config: {} });
    const page = await visit(daemon);
    await say(page, "!say first");
    // Its answer too: a page whose log-in was cut off half-way needs another link.
    await sees(page, "first", 2);
    const port = Number(new URL(daemon.url).port);
    daemon.kill("SIGKILL");
    await daemon.exited;
    await say(page, "!say second answer");
    await startDaemon({ home: daemon.home, config: { gateway: { port, auth: { token: daemon.token } } } });
    await sees(page, "second answer", 2);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await page.getByText("second answer").count()).toBe(2);
  });

  test("a request for approval has buttons in both colour schemes; a press runs the command once, and no button can be pressed again", async () => {
    const daemon = await startDaemon({ config: {} });
    const page = await visit(daemon);
    await page.emulateMedia({ colorScheme: "dark" });
    await say(page, '!tool exec {"command":"echo ran >> runs.txt"}');
    const once = page.getByRole("button", { name: "Once" });
    await once.waitFor({ timeout: shownWithinMs });
    type Drawn = {
      readonly ownerDocument: {
        readonly defaultView: { getComputedStyle(of: unknown): { readonly color: string } };
      };
    };
    const coloured = (): Promise<string> =>
      once.evaluate(
        (button) => (button as unknown as Drawn).ownerDocument.defaultView.getComputedStyle(button).color,
      );
    const dark = await coloured();
    await page.emulateMedia({ colorScheme: "light" });
    expect(await coloured()).not.toBe(dark);
    const runs = async (): Promise<string> =>
      readFile(join(daemon.home, "workspace", "runs.txt"), "utf8").catch(() => "");
    expect(await runs()).toBe("");
    await once.dblclick();
    await sees(page, /Allowed once by/);
    await eventually(async () => (await runs()) === "ran\n", shownWithinMs, "the run");
    expect(await page.getByRole("button", { name: "Deny" }).isDisabled()).toBe(true);
    await page.reload();
    await once.waitFor({ timeout: shownWithinMs });
    expect(await once.isDisabled()).toBe(true);
    expect(await runs()).toBe("ran\n");
  });
});
