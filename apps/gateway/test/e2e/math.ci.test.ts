// Formulas in the web chat: a real browser, the real daemon, the built page under its policy; TeX is drawn,
// and what is hostile, wrong or a price stays text.
import { lacks, program, programPath } from "@parley/testkit";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { cleanUp, startDaemon } from "./daemon.ts";

const chromium = program("chromium");
const withinMs = 40_000;
const r = String.raw;

describe.skipIf(lacks(chromium))("formulas in the chat", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  async function say(page: Page, text: string): Promise<void> {
    await page.getByRole("textbox").fill(text);
    await page.keyboard.press("Enter");
  }

  test("are drawn under the page's policy, scroll in their own box, and are never more than formulas", async () => {
    const daemon = await startDaemon({ config: {} });
    const context = await browser.newContext({ viewport: { width: 390, height: 800 } });
    const page = await context.newPage();
    const trouble: string[] = [];
    const asked: string[] = [];
    page.on("pageerror", ({ message }) => trouble.push(message));
    page.on("console", (message) => {
      if (message.type() === "error") trouble.push(message.text());
    });
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${daemon.url}/#code=${daemon.code}`);
    await page.getByRole("textbox").waitFor({ timeout: withinMs });
    await say(page, "!say it costs $5 and $6");
    await page.locator("article.assistant", { hasText: "it costs $5 and $6" }).waitFor({ timeout: withinMs });
    const drawsFormulas = (): boolean => asked.some((url) => /\/formula-.*\.js$/.test(url));
    expect(drawsFormulas()).toBe(false);

    const long = Array.from({ length: 60 }, (_, at) => `x_{${at}}`).join(" + ");
    await say(
      page,
      [
        r`!say where $a_1 * b_2$ and \(\cancel{c}\) are`,
        "$$",
        r`\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}`,
        "$$",
        "",
        r`\[ ${long} \]`,
        "",
        "```math",
        r`\sqrt{2}`,
        "```",
        "",
        r`$\href{javascript:document.title=1}{x}$ $\includegraphics{https://evil.example/x.png}$`,
        r`$\def\a{\a\a}\a$ $\color{red;background:url(//evil.example)}x$ $\rule{900em}{900em}$`,
      ].join(r`\n`),
    );
    const answer = page.locator("article.assistant:not(.draft)", { hasText: "where" });
    await answer.locator("math").first().waitFor({ timeout: withinMs });
    expect(drawsFormulas()).toBe(true);
    expect(await answer.locator("math").count()).toBe(6);
    expect(await answer.locator("math mtable mtd").count()).toBe(4);
    expect(await answer.locator("math[display=block]").count()).toBe(3);
    expect(await answer.locator(".math.source").allTextContents()).toEqual([
      r`$\href{javascript:document.title=1}{x}$`,
      r`$\includegraphics{https://evil.example/x.png}$`,
      r`$\def\a{\a\a}\a$`,
      r`$\color{red;background:url(//evil.example)}x$`,
    ]);
    expect(await answer.locator("math :is(a, img, script, [href], [id], [onclick])").count()).toBe(0);

    const boxes = answer.locator(".math.wide");
    expect(
      await boxes.evaluateAll((all) => all.filter((box) => box.scrollWidth > box.clientWidth).length),
    ).toBe(1);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.evaluate(axe.source);
    const found = (await page.evaluate(
      `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })`,
    )) as axe.AxeResults;
    expect(found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
    expect(trouble).toEqual([]);
    expect(asked.filter((url) => !url.startsWith(daemon.url))).toEqual([]);

    // While it is written, a closed formula is drawn, and an open one waits.
    await say(page, r`!stream 20 100 first $x^2$ and then ${"word ".repeat(40)}`);
    await page.locator("article.draft math msup").waitFor({ timeout: withinMs });
    await page.reload();
    await answer.locator("math").first().waitFor({ timeout: withinMs });
  });
});
