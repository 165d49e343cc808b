// Diagrams in the web chat: a real browser, the real daemon, the built page under its policy; one is drawn
// when somebody presses, and what is hostile in its source does nothing outside of its frame.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { lacks, program, programPath } from "@parley/testkit";
import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";

const chromium = program("chromium");
const withinMs = 60_000;

const flow = ["graph LR", "A[Ask] --> B{Allowed?}", "B -->|yes| C[Run]", "B -->|no| D[Say so]"];
/** Each would act on the page that it stands in, where nothing kept it. */
const hostile = (elsewhere: string): readonly (readonly string[])[] => [
  ["graph LR", `A["<script>top.hit=1</script><img src=${elsewhere}/img onerror=top.hit=1>"] --> B`],
  ["graph LR", "A --> B", `click A href "javascript:top.hit=1" "x"`, "click B call top.hit()"],
  ["graph LR", "A --> B", `click A href "${elsewhere}/link" _top`],
  [
    `%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "@import url(${elsewhere}/css); * { background: url(${elsewhere}/bg) }"}}%%`,
    "graph LR",
    `A["<iframe src=${elsewhere}/frame>"] --> B`,
  ],
  [`%%{init: {"__proto__": {"hit": 1}, "constructor": {"prototype": {"hit": 1}}}}%%`, "graph LR", "A --> B"],
  ["graph LR", "__proto__ --> constructor", "constructor --> toString", "classDef __proto__ fill:red"],
  ["graph LR", "A --> B", `style A fill:url(${elsewhere}/fill),background:url(${elsewhere}/style)`],
];

describe.skipIf(lacks(chromium))("diagrams in the chat", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  async function say(page: Page, lines: readonly string[]): Promise<void> {
    await page.getByRole("textbox").fill(`!say ${lines.join(String.raw`\n`)}`);
    await page.keyboard.press("Enter");
  }
  const block = (lines: readonly string[]): readonly string[] => ["```mermaid", ...lines, "```"];

  /** Null where the page says at once why it cannot be drawn: then its frame is gone. */
  async function drawn(page: Page, at: number): Promise<Frame | null> {
    const place = page
      .locator("article:not(.draft) .code")
      .filter({ has: page.locator("button.show-diagram") })
      .nth(at);
    await place.locator("button.show-diagram").click({ timeout: withinMs });
    await place.locator(".diagram :is(iframe, .alarm)").first().waitFor({ timeout: withinMs });
    const found = await eventually(async () => {
      if (await place.locator(".alarm").isVisible()) return { frame: null };
      const handle = await place
        .locator("iframe")
        .elementHandle({ timeout: 1_000 })
        .catch(() => null);
      const frame = (await handle?.contentFrame()) ?? null;
      return frame === null ? false : { frame };
    }, withinMs);
    return found.frame;
  }

  test("one is drawn when it is asked for, follows the theme, and tells why it cannot be drawn", async () => {
    const daemon = await startDaemon({ config: {} });
    const page = await (await browser.newContext()).newPage();
    const trouble: string[] = [];
    const asked: string[] = [];
    page.on("pageerror", ({ message }) => trouble.push(message));
    page.on(
      "console",
      (message) =>
        void (
          message.type() === "error" &&
          !message.text().includes("'webrtc'") &&
          trouble.push(message.text())
        ),
    );
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${daemon.url}/#code=${daemon.code}`);
    await page.getByRole("textbox").waitFor({ timeout: withinMs });
    await say(page, block(flow));
    await page.locator("button.show-diagram").waitFor({ timeout: withinMs });
    expect(asked.filter((url) => /mermaid|diagram/.test(url))).toEqual([]);

    const frame = (await drawn(page, 0)) ?? expect.fail("it was not drawn");
    await frame.locator("svg").getByText("Allowed?").waitFor({ timeout: withinMs });
    const box = page.locator(".diagram iframe");
    await expect.poll(() => box.evaluate((each) => each.style.height)).toMatch(/^\d+px$/);
    expect(await frame.evaluate("origin")).toBe("null");
    expect(await frame.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("light");
    await page.evaluate(`document.documentElement.dataset.theme = "dark"`);
    await expect
      .poll(() => frame.evaluate("getComputedStyle(document.documentElement).colorScheme"))
      .toBe("dark");
    // What would leave the frame is refused by its policy.
    const fetched = `fetch(${JSON.stringify(`${daemon.url}/healthz`)}).then(() => "sent", () => "refused")`;
    expect(await frame.evaluate(fetched)).toBe("refused");
    // Its source is there all the time, and the drawing goes again.
    await page.locator("article:not(.draft) .code pre", { hasText: "B{Allowed?}" }).waitFor();
    trouble.length = 0;
    await page.getByRole("button", { name: "Hide the diagram" }).click();
    await box.waitFor({ state: "detached" });

    await say(page, block(["graph LR", "A --"]));
    await page.locator("article:not(.draft) button.show-diagram").nth(1).click({ timeout: withinMs });
    await page.getByText("The diagram cannot be drawn").waitFor({ timeout: withinMs });
    await say(page, block(["graph LR", `A[${"x".repeat(21_000)}]`]));
    await page.locator("article:not(.draft) button.show-diagram").nth(2).click({ timeout: withinMs });
    await page.getByText("The diagram is too long").waitFor({ timeout: withinMs });
    expect(trouble).toEqual([]);
    expect(asked.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
  });

  test("whatever its source says, nothing leaves the frame", async () => {
    const reached: (string | undefined)[] = [];
    const elsewhere = createServer(({ url }, response) => void (reached.push(url), response.end()));
    elsewhere.listen(0, "127.0.0.1");
    await once(elsewhere, "listening");
    const daemon = await startDaemon({ config: {} });
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${daemon.url}/#code=${daemon.code}`);
    await page.getByRole("textbox").waitFor({ timeout: withinMs });
    const sources = hostile(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`);
    await say(
      page,
      sources.flatMap((each) => [...block(each), ""]),
    );
    await page
      .locator("button.show-diagram")
      .nth(sources.length - 1)
      .waitFor({ timeout: withinMs });
    const href = page.url();
    for (const at of sources.keys()) {
      const frame = await drawn(page, at);
      const place = page.locator("article:not(.draft) .code").nth(at);
      await Promise.any([
        ...(frame === null ? [] : [frame.locator("svg").waitFor({ timeout: withinMs })]),
        place.locator(".alarm").waitFor({ timeout: withinMs }),
      ]);
      // A drawing's links lead nowhere, its own scripts do not run.
      const links =
        (await frame
          ?.locator("svg a")
          .all()
          .catch(() => [])) ?? [];
      for (const link of links) await link.click({ timeout: 1_000, noWaitAfter: true }).catch(() => {});
    }
    expect(await page.evaluate("[typeof globalThis.hit, typeof ({}).hit]")).toEqual([
      "undefined",
      "undefined",
    ]);
    expect(page.url()).toBe(href);
    expect(page.context().pages()).toHaveLength(1);
    expect(reached).toEqual([]);
    elsewhere.close();
  });
});
