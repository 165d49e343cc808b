// The console over the death of its gateway: acts that are on the way are done once or told as unknown, every
// page stays readable and comes back as it was; and a config file that somebody else changes meanwhile is not
// written over.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fakeTelegram, lacks, program, programPath } from "@parley/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";
import { findableGateway } from "./operator.ts";

const chromium = program("chromium");
const withinMs = 40_000;
/** Each has read something from the gateway that died. */
const places = [
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
  "memory",
  "mcp",
  "usage",
  "models",
  "config",
  "logs",
  "devices",
  "nodes",
  "backups",
  "update",
  "audit",
] as const;

describe.skipIf(lacks(chromium))("the console when its gateway dies", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(programPath(chromium));
  });
  afterEach(cleanUp);
  afterAll(() => browser.close());

  const go = (page: Page, address: string): Promise<unknown> =>
    page.evaluate(`location.hash = ${JSON.stringify(`#/${address}`)}`);
  const press = (page: Page, name: string): Promise<void> =>
    page.getByRole("button", { name, exact: true }).click();
  /** The line broke after the act left: it may be done. */
  const unknown = (page: Page): Promise<void> =>
    page.getByText("Nobody knows yet: the connection broke").waitFor({ timeout: withinMs });

  /** Words of the open page, once it has read them. */
  async function read(page: Page, place: string): Promise<string> {
    await go(page, place);
    await page.locator(`parley-page-${place} h1`).waitFor({ timeout: withinMs });
    await page.locator(".skeleton").waitFor({ state: "detached", timeout: withinMs });
    return page.locator(".outlet").innerText();
  }

  test("a send, a decision, a drop, a pairing and a save that are on the way count once, and no page is lost", async () => {
    const telegram = await fakeTelegram();
    try {
      const bot = telegram.bot();
      const account = { botToken: bot.token, apiRoot: telegram.url, dmPolicy: "pairing", pacing: "off" };
      const { gateway } = await findableGateway();
      const daemon = await startDaemon({ config: { gateway, channels: { telegram: account } } });
      const file = join(daemon.home, "parley.json5");
      const context = await browser.newContext();
      const tab = async (place: string, address = daemon.url): Promise<Page> => {
        const page = await context.newPage();
        await page.goto(address);
        await page.getByRole("navigation", { name: "Places" }).waitFor({ timeout: withinMs });
        await go(page, place);
        return page;
      };
      const chat = await tab("chat", `${daemon.url}/#code=${daemon.code}`);
      const say = async (text: string): Promise<void> => {
        await chat.getByRole("textbox", { name: "Message" }).fill(text);
        await chat.keyboard.press("Enter");
      };
      await say('!tool exec {"command":"echo ran >> runs.txt"}');
      await chat.getByRole("button", { name: "Once" }).waitFor({ timeout: withinMs });
      await go(chat, "chat/failing");
      await chat.locator("parley-page-chat .chat-name", { hasText: "New conversation" }).waitFor();
      await say("!fail auth");
      await eventually(async () => (await chat.locator("article").count()) === 2, withinMs, "the failure");
      await go(chat, "chat/later");
      await chat.locator("article").first().waitFor({ state: "detached" });
      telegram.as({ id: 4242, name: "Eve" }).says("may I?");

      const approvals = await tab("approvals");
      await approvals.locator("a.row-link").click({ timeout: withinMs });
      await approvals.getByText("shell: echo ran").last().waitFor();
      const dead = await tab("dead");
      await dead.locator("a.row-link").click({ timeout: withinMs });
      await press(dead, "Drop");
      const channels = await tab("channels");
      await press(channels, "Let in");
      const config = await tab("config/text");
      const text = config.getByLabel("What it says");
      await text.waitFor({ timeout: withinMs });
      await text.fill((await text.innerText()).replace("{", "{\n  session: { dmScope: 'main' },"));
      await config.locator(".diff .added", { hasText: "session" }).waitFor({ timeout: withinMs });
      await press(config, "Save");
      const reader = await tab("overview");
      const before = new Map<string, string>();
      for (const place of places) before.set(place, await read(reader, place));

      // It takes in nothing any more, and then it is gone with all that was on its way to it.
      daemon.kill("SIGSTOP");
      await say("!say once");
      await approvals.keyboard.press("y");
      await press(dead, "Yes: Drop");
      await press(channels, "Yes: Let in");
      await press(config, "Yes: Save");
      daemon.kill("SIGKILL");
      await daemon.exited;
      await chat.getByText("Waits here until the gateway is back.").waitFor({ timeout: withinMs });
      await unknown(channels);
      // All that was read stays, on every page.
      for (const place of places) {
        const words = await read(reader, place);
        expect([place, words.length > 0.8 * (before.get(place)?.length ?? 0)]).toEqual([place, true]);
        expect(await reader.locator(".trouble[role=alert]").count()).toBe(0);
      }
      await go(reader, "overview");
      await reader.evaluate(`{
        window.flashes = 0;
        new MutationObserver(() => {
          if (document.querySelector(".outlet .skeleton, main.login")) window.flashes += 1;
        }).observe(document.body, { subtree: true, childList: true });
      }`);
      const unchanged = await readFile(file, "utf8");
      expect(unchanged).not.toContain("dmScope");
      const again = await startDaemon({ home: daemon.home, config: JSON.parse(unchanged) as object });

      await chat.getByText("once", { exact: true }).last().waitFor({ timeout: withinMs });
      await reader.locator(".offline-line").waitFor({ state: "detached", timeout: withinMs });
      for (const place of places) await read(reader, place);
      expect(await reader.evaluate("window.flashes")).toBe(0);
      // What has a key was asked again by itself, and told as nothing else meanwhile.
      const runs = (): Promise<string> =>
        readFile(join(daemon.home, "workspace", "runs.txt"), "utf8").catch(() => "");
      await eventually(async () => (await runs()) === "ran\n", withinMs, "the run");
      await dead.getByText("This message is not on the list").waitFor({ timeout: withinMs });
      for (const name of ["Let in", "Yes: Let in"]) await press(channels, name);
      await channels.getByText("Nobody asks.").waitFor({ timeout: withinMs });
      await eventually(
        async () => (await readFile(file, "utf8")).includes("dmScope"),
        withinMs,
        "the saved file",
      );
      await config.getByText("Takes a restart").waitFor({ timeout: withinMs });
      expect(await chat.locator("article.user").count()).toBe(1);
      expect(await chat.locator("article.assistant").count()).toBe(1);
      expect(await runs()).toBe("ran\n");

      // Somebody else changes the file while one types: nothing is written over.
      await text.fill((await text.innerText()).replace("{", "{\n  tools: { deny: ['browser'] },"));
      await config.locator(".diff .added", { hasText: "browser" }).waitFor({ timeout: withinMs });
      const theirs = (await readFile(file, "utf8")).replace("{", "{ // theirs\n");
      await writeFile(file, theirs);
      await config.getByText("The file changed since you began").waitFor({ timeout: withinMs });
      for (const name of ["Save", "Yes: Save"]) await press(config, name);
      await config.getByText(/That failed:/).waitFor({ timeout: withinMs });
      expect(await readFile(file, "utf8")).toBe(theirs);
      await config.getByRole("button", { name: "Throw away" }).first().click();
      await press(config, "Yes: Throw away");
      await eventually(async () => (await text.innerText()).includes("// theirs"), withinMs, "their text");
      // Keys and values of the schema are offered where they belong.
      await text.fill("{ gateway: { po");
      await text.press("Control+End");
      await text.press("Control+Space");
      await config.locator(".cm-tooltip-autocomplete", { hasText: "port" }).waitFor({ timeout: withinMs });
      expect(await again.stop()).toBe(0);
    } finally {
      await telegram.close();
    }
  });
});
