// The console as an operator sees it: a real browser, the real daemon, the built pages; both themes, two
// widths, hostile text, and a kill in the middle of an act.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fakeTelegram, lacks, program, programPath } from "@parley/testkit";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, startDaemon, type Daemon } from "./daemon.ts";

const chromium = program("chromium");
const withinMs = 40_000;
/** Runs where markup runs, and closes what it may stand in. */
const evil = `"'></textarea></script><img src=x onerror="document.title='stolen'"><b onclick=1>`;
const places = [
  "chat",
  "chat/plans",
  "overview",
  "activity",
  "sessions",
  "outbox",
  "dead",
  "approvals",
  "schedules",
  "channels",
  "prompt",
  "skills",
  "tools",
  "memory?q=beans",
  "mcp",
  "usage",
  "models",
  "config",
  "config/text",
  "logs",
  "devices",
  "nodes",
  "backups",
  "update",
  "audit",
  "why",
] as const;
const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const seenRules = ["color-contrast", "target-size", "scrollable-region-focusable"];
/** Pages whose first row is opened. */
const withRows: readonly string[] = [
  "activity",
  "sessions",
  "approvals",
  "skills",
  "tools",
  "models",
  "logs",
  "devices",
  "nodes",
];

describe.skipIf(lacks(chromium))("the console in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  /** A fresh visitor who follows the printed link. What the page complains about is collected. */
  async function visit(daemon: Daemon): Promise<{ readonly page: Page; readonly trouble: string[] }> {
    const page = await (await browser.newContext()).newPage();
    const trouble: string[] = [];
    page.on("pageerror", ({ message }) => trouble.push(message));
    page.on("console", (message) => {
      if (message.type() === "error") trouble.push(message.text());
    });
    await page.goto(`${daemon.url}/#code=${daemon.code}`);
    await page.getByRole("textbox").waitFor({ timeout: withinMs });
    return { page, trouble };
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByRole("textbox").fill(text);
    await page.keyboard.press("Enter");
  }

  async function go(page: Page, address: string): Promise<void> {
    await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  }

  const rail = (page: Page, name: string) => page.getByRole("navigation", { name: "Places" }).getByText(name);

  test("every page is clean for everybody, in both themes, two widths and zoomed, without motion where none is wanted, and what people write stays text", async () => {
    const daemon = await startDaemon({ config: {} });
    const { page, trouble } = await visit(daemon);
    await say(page, `!say ${evil}`);
    await eventually(async () => (await page.locator("article").count()) === 2, withinMs, "the answer");
    await say(page, `!tool exec ${JSON.stringify({ command: `echo '${evil}\u202e'` })}`);
    await page.getByRole("button", { name: "Once" }).waitFor({ timeout: withinMs });
    // A conversation of its own, with a message that is taken back before anybody begins to answer it.
    await go(page, "#/chat/plans");
    await say(page, `!stream 20 100 ${"word ".repeat(80)}`);
    await say(page, "take me back");
    const takenBack = page.locator("article", { hasText: "take me back" });
    // The message before it may wait for a moment as well, and one that is still being sent has a Cancel too.
    await takenBack
      .filter({ hasText: "Waits its turn" })
      .getByRole("button", { name: "Cancel" })
      .click({ timeout: withinMs });
    await takenBack.waitFor({ state: "detached", timeout: withinMs });
    const note = {
      name: `${"n".repeat(40)}<b>.txt`,
      mimeType: "text/plain",
      buffer: Buffer.from("beans, peas"),
    };
    await page.locator("input[type=file]").setInputFiles(note);
    await page.getByText(note.name).waitFor();
    await say(page, "what is in it?");
    await page.locator("article.user", { hasText: note.name }).waitFor({ timeout: withinMs });
    await page.getByRole("textbox").fill("a draft");
    await go(page, "#/chat");
    await page.getByRole("button", { name: "Once" }).waitFor({ timeout: withinMs });
    expect(await page.getByRole("textbox").inputValue()).toBe("");
    await go(page, "#/chat/plans");
    await page.reload();
    await eventually(
      async () => (await page.getByRole("textbox").inputValue()) === "a draft",
      withinMs,
      "the draft",
    );
    // Places change without a reload, so once is enough.
    await page.evaluate(axe.source);
    const found: string[] = [];
    const wasWhole = new Set<string>();
    // Each page in both themes and three widths, one of them as somebody sees it who zooms a screen of 1440
    // to 200 %; a theme and a width meet on every other page, as no color hangs on a width.
    for (const [turn, [width, theme]] of (
      [
        [1440, "light"],
        [1440, "dark"],
        [720, "dark"],
        [720, "light"],
        [390, "light"],
        [390, "dark"],
      ] as const
    ).entries()) {
      await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`);
      await page.setViewportSize({ width, height: width === 720 ? 422 : 844 });
      for (const place of places.filter((_, at) => at % 2 === turn % 2)) {
        await go(page, place === "why" ? "#/why/onerror" : `#/${place}`);
        await page.locator(`parley-page-${place.split(/[/?]/)[0] ?? ""} h1`).waitFor({ state: "attached" });
        await page.locator(".skeleton").waitFor({ state: "detached" });
        if (withRows.includes(place)) {
          await page.locator("a.row-link").first().click();
          await page.locator(".drawer").waitFor();
        }
        if (place === "config/text") await page.locator(".cm-content").waitFor();
        if (place === "why") await page.locator(".story li").first().waitFor();
        const violations = (await page.evaluate(`(async () => {
          const { violations } = await axe.run({
            // Names and roles are the same in every theme and width; contrast and sizes are not.
            runOnly: ${JSON.stringify(wasWhole.has(place) ? seenRules : everyRule)},
            resultTypes: ["violations"],
            preload: false,
          });
          return violations.map(({ id, nodes }) =>
            id + ": " + nodes.map((each) => each.html + " " + each.failureSummary).join(" "));
        })()`)) as readonly string[];
        found.push(...violations.map((each) => `${place} ${width} ${theme} ${each}`));
        wasWhole.add(place);
        // Once also as on a phone at 200 % and more: nothing but tables, code and bars of links goes
        // sideways.
        const widths = width === 390 ? [width, 320, 195] : [width];
        for (const each of widths) {
          if (each !== width) await page.setViewportSize({ width: each, height: 844 });
          const wide = await page.evaluate(`Math.max(...[
            document.scrollingElement, ...document.querySelectorAll("main, .page-body, .drawer"),
          ].map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`);
          if (wide !== 0) found.push(`${place} ${each}: ${String(wide)} px too wide`);
        }
        if (widths.length > 1) await page.setViewportSize({ width, height: 844 });
      }
    }
    expect(found).toEqual([]);
    expect(await page.title()).toBe("Why · Parley");
    // Whoever wants no motion has none, in a conversation that waits for its agent too.
    await page.emulateMedia({ reducedMotion: "reduce" });
    await go(page, "#/chat");
    await page.getByRole("button", { name: "Once" }).waitFor();
    expect(
      await page.evaluate(`document.getAnimations()
        .filter(({ effect, playState }) => playState === "running" && Number(effect.getTiming().duration) > 1)
        .map(({ animationName, transitionProperty }) => animationName ?? transitionProperty)`),
    ).toEqual([]);
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(trouble).toEqual([]);

    // A token sees what it may: one that only reads has no buttons that decide.
    const reader = await (await browser.newContext()).newPage();
    await reader.goto(await readersLink(daemon));
    await rail(reader, "Approvals").click({ timeout: withinMs });
    await reader.locator("a.row-link").first().click();
    await reader.getByText("Your token may look but not decide").waitFor();
    expect(await reader.getByRole("button", { name: "Allow once" }).count()).toBe(0);
    expect(await daemon.stop()).toBe(0);
  });

  test("by keys alone: a place, a row, a decision; a kill in mid-act is told, and after it the decision counts once", async () => {
    const daemon = await startDaemon({ config: {} });
    const { page } = await visit(daemon);
    await say(page, '!tool exec {"command":"echo ran >> runs.txt"}');
    await page.getByRole("button", { name: "Once" }).waitFor({ timeout: withinMs });
    await page.getByRole("textbox").press("Escape");
    await page.keyboard.type("gp");
    await page.locator("a.row-link").waitFor({ timeout: withinMs });
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".drawer").getByText("shell: echo ran").waitFor({ timeout: withinMs });
    const address = page.url();
    const port = Number(new URL(daemon.url).port);
    daemon.kill("SIGKILL");
    await daemon.exited;
    await page.getByText("Offline since").waitFor({ timeout: withinMs });
    await page.keyboard.press("y");
    await page.getByText("That failed: the gateway cannot be reached").waitFor({ timeout: withinMs });
    // What was read stays readable.
    expect(await page.getByText("shell: echo ran").count()).toBe(2);
    const again = await startDaemon({
      home: daemon.home,
      config: { gateway: { port, auth: { token: daemon.token } } },
    });
    await rail(page, "Online").waitFor({ timeout: withinMs });
    expect(page.url()).toBe(address);
    await page.keyboard.press("y");
    const runs = (): Promise<string> =>
      readFile(join(daemon.home, "workspace", "runs.txt"), "utf8").catch(() => "");
    await eventually(async () => (await runs()) === "ran\n", withinMs, "the run");
    await page.getByText(/This is decided: allowed|this approval is gone/i).waitFor({ timeout: withinMs });
    // Closing brings the focus back to the list, and going back opens it again.
    await page.keyboard.press("Escape");
    await page.locator(".drawer").waitFor({ state: "detached" });
    await page.goBack();
    await page.locator(".drawer").waitFor();
    // The palette goes anywhere, and the browser remembers where one was.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("overv");
    await page.keyboard.press("Enter");
    await page.getByText("All is well.").waitFor({ timeout: withinMs });
    await page.reload();
    await page.getByText("All is well.").waitFor({ timeout: withinMs });
    // A conversation is renamed and taken off the list from its row; that is undone where it is told.
    await go(page, "#/chat/plans");
    await say(page, '!tool sessions_spawn {"task":"!say dug","label":"digger"}');
    const row = page.locator("[data-thread=plans]");
    await row.locator("a").focus({ timeout: withinMs });
    for (const key of ["Tab", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("menuitem", { name: "Rename" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.type("My garden");
    await page.keyboard.press("Enter");
    await row.getByText("My garden").waitFor({ timeout: withinMs });
    await row.locator(".menu-button:focus").press("ArrowUp");
    await page.keyboard.press("Enter");
    await row.waitFor({ state: "detached", timeout: withinMs });
    await page.getByRole("button", { name: "Put it back" }).press("Enter");
    await row.waitFor({ timeout: withinMs });
    // Its sub-agent stands in the tree above it, and one's own last message is taken up by a key.
    await page.locator(".children summary").press("Enter", { timeout: withinMs });
    await page.getByRole("treeitem", { name: "digger" }).waitFor({ timeout: withinMs });
    await page.keyboard.press("Tab");
    await page.getByRole("treeitem", { name: "digger" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("e");
    await page.getByText("You write an earlier message anew").waitFor();
    await page.getByRole("textbox").press("Escape");
    // A message that failed for good is seen and dropped; it asks first.
    await go(page, "#/chat");
    await say(page, "!fail auth");
    await go(page, "#/dead");
    await page.locator("a.row-link").click({ timeout: withinMs });
    await page.getByRole("button", { name: "Drop" }).click();
    await page.getByRole("button", { name: "Yes: Drop" }).click();
    await page.getByText("This message is not on the list").waitFor({ timeout: withinMs });
    // The config is changed with a look at what changes, and the change is taken back; the secret stays.
    await go(page, "#/config/text");
    const text = page.getByLabel("What it says");
    const whole = await text.innerText();
    // What cannot be read is told at its line; what is written keeps its comments.
    await text.fill(whole.replace("{", "{ // mine\n  sess"));
    await page.getByRole("button", { name: "line 2, column" }).waitFor({ timeout: withinMs });
    await text.fill(whole.replace("{", "{ // mine\n  session: { dmScope: 'main' },"));
    await page.locator(".diff .added", { hasText: "session" }).waitFor();
    const file = (): Promise<string> => readFile(join(daemon.home, "parley.json5"), "utf8");
    for (const [button, isThere] of [
      ["Save", true],
      ["Take it back", false],
    ] as const) {
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.getByRole("button", { name: `Yes: ${button}` }).click();
      await eventually(
        async () => /\/\/ mine\n\s*session: \{ dmScope/.test(await file()) === isThere,
        withinMs,
        button,
      );
    }
    expect(await file()).toContain(daemon.token);
    expect(await again.stop()).toBe(0);
  });

  test("an operator finds a wrong token, mends it, lets a stranger in on a phone, and reads why a cache was lost, all on the page", async () => {
    const telegram = await fakeTelegram();
    try {
      const bot = telegram.bot();
      const wrong = `${bot.token.split(":")[0] ?? ""}:${"w".repeat(35)}`;
      const account = { botToken: wrong, apiRoot: telegram.url, dmPolicy: "pairing", pacing: "off" };
      const daemon = await startDaemon({ config: { channels: { telegram: account } } });
      const { page, trouble } = await visit(daemon);
      // What is wrong is on the first screen, with the place where it is told.
      await go(page, "#/overview");
      await page.locator(".health.warn, .health.danger").waitFor({ timeout: withinMs });
      await go(page, "#/channels/telegram:default");
      await page.locator(".drawer").getByText(/token/i).first().waitFor({ timeout: withinMs });
      // The form has the place; the difference shows no secret of the file.
      await go(page, "#/config");
      await page.getByLabel("Search settings").fill("telegram.botToken");
      const field = page.getByLabel("channels.telegram.botToken", { exact: true });
      expect(await field.inputValue()).toBe("[secret]");
      await field.fill(bot.token);
      await field.press("Tab");
      await page.locator(".diff .added", { hasText: "botToken" }).waitFor();
      for (const name of ["Save", "Yes: Save"]) await page.getByRole("button", { name, exact: true }).click();
      await page.getByText("nothing: all of it holds now").waitFor({ timeout: withinMs });
      await go(page, "#/channels");
      await page.locator("tr", { hasText: "telegram" }).locator(".badge.ok").waitFor({ timeout: withinMs });
      // A stranger knocks while the operator has a phone in hand.
      await page.setViewportSize({ width: 390, height: 844 });
      const stranger = telegram.as({ id: 4242, name: `Eve ${evil}` });
      stranger.says("may I?");
      await page.getByText("4242").first().waitFor({ timeout: withinMs });
      for (const name of ["Let in", "Yes: Let in"])
        await page.getByRole("button", { name, exact: true }).click();
      await page.getByText("Nobody asks.").waitFor({ timeout: withinMs });
      // A message tries the account: its receipt is told, and so is why the platform refuses another one.
      await go(page, "#/channels/telegram:default");
      const test = async (to: string): Promise<void> => {
        await page.getByLabel("To", { exact: true }).fill(to);
        await page.getByRole("button", { name: "Send a test message" }).click();
      };
      await test("4242");
      await page.getByText("It arrived at the platform.").waitFor({ timeout: withinMs });
      expect(telegram.visible(4242).at(-1)?.text).toContain("This is a test message of Parley");
      await test("777");
      await page.getByText("It was not sent.").waitFor({ timeout: withinMs });
      await page
        .locator(".drawer")
        .getByText(/chat not found/)
        .waitFor();
      stranger.says("hello");
      await eventually(
        () => telegram.visible(4242).some(({ byBot, text }) => byBot && text.includes("(rehearsal)")),
        withinMs,
        "the answer to the stranger",
      );
      // The soul changed between two turns: the page says that the cache was lost, and by which file.
      await writeFile(join(daemon.home, "workspace", "SOUL.md"), "You are terse.");
      stranger.says("and now?");
      await eventually(
        () => telegram.visible(4242).filter(({ byBot }) => byBot).length >= 3,
        withinMs,
        "the second answer",
      );
      await page.setViewportSize({ width: 1440, height: 844 });
      await go(page, "#/activity");
      await page.locator("a.row-link", { hasText: "and now?" }).waitFor({ timeout: withinMs });
      await go(page, "#/prompt");
      await page.getByLabel("Prompt of").selectOption({ label: "turn 2" });
      await page.getByText("The kept part is another: the cache was lost.").waitFor({ timeout: withinMs });
      await page.getByText("SOUL.md").first().waitFor();
      expect(trouble).toEqual([]);
      expect(await daemon.stop()).toBe(0);
    } finally {
      await telegram.close();
    }
  });
});

/** A login link for a token that may only read. */
async function readersLink(daemon: Daemon): Promise<string> {
  const client = await controlClient(daemon);
  const { url } = (await client.call("devices.link", { scopes: ["read"] })) as { readonly url: string };
  client.close();
  return url;
}
