// The built page in a real browser against the real control server: its policy, its log-in, and that nothing
// an agent or a person writes can become script.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { MethodResult } from "@parley/protocol";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Caller } from "@parley/control";
import { openBrowser } from "../e2e/browser.ts";
import { gatewayToken, startControl, streamOf, type Fixture } from "./control-fixture.ts";

const webRoot = fileURLToPath(new URL("../../../web/dist", import.meta.url));
const browserPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (path) => existsSync(path),
);
/** Why these tests cannot run here; null when they can. */
const missing =
  browserPath === undefined
    ? "no Chromium on this machine"
    : existsSync(webRoot)
      ? null
      : "apps/web is not built";

/** Echoes each message, as an agent would answer it. */
async function echoing(): Promise<Fixture> {
  let messages = 0;
  const append = async (peer: string, role: string, text: string, html: string): Promise<void> => {
    await control.store.events.append(
      streamOf(peer),
      `m${(messages += 1)}`,
      JSON.stringify({ role, text, html, atMs: 0 }),
    );
    control.hub.appended(streamOf(peer));
  };
  const control: Fixture = await startControl({
    webRoot,
    handlers: {
      "chat.send": async ({ text }, { peer }: Caller): Promise<MethodResult<"chat.send">> => {
        await append(peer, "user", text, "");
        await append(
          peer,
          "assistant",
          `echo: ${text}`,
          `<p>echo of <em>something</em></p><img src=x onerror="document.title='stolen'">`,
        );
        return { id: "x", sessionKey: "s", duplicate: false };
      },
      "chat.history": async (_params, { peer }: Caller): Promise<MethodResult<"chat.history">> => ({
        sessionKey: "s",
        messages: (await control.store.events.newest(streamOf(peer), 100)).map(({ seq, body }) => ({
          ...(JSON.parse(body) as object),
          seq,
        })) as never,
        working: false,
        hasEarlier: false,
      }),
    },
  });
  return control;
}

/** One for all tests: a start costs seconds. */
let browser: Browser;

/** A page of a context of its own, which knows nothing of the other tests' tokens. */
async function openPage(): Promise<{ readonly page: Page; readonly trouble: string[] }> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  const trouble: string[] = [];
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") trouble.push(message.text());
  });
  return { page, trouble };
}

describe.skipIf(missing !== null)(
  `the page in a browser${missing === null ? "" : ` (skipped: ${missing})`}`,
  () => {
    beforeAll(async () => void (browser = await openBrowser(browserPath ?? "")));
    afterAll(() => browser.close());

    test("logs in by the link, hides the code, talks, and is the same conversation after a reload", async () => {
      const control = await echoing();
      const { page, trouble } = await openPage();
      await page.goto(await control.server.loginUrl());
      await page.getByText("Online").waitFor();
      expect(page.url()).toBe(control.server.url);
      expect(trouble).toEqual([]);
      await page.getByLabel("Message").fill("<script>document.title='stolen'</script> hello");
      await page.keyboard.press("Enter");
      await page.getByText("echo of something").waitFor();
      expect(await page.locator("article").count()).toBe(2);
      expect(await page.getByText("<script>document.title='stolen'</script> hello").count()).toBe(1);
      await page.reload();
      await page.getByText("echo of something").waitFor();
      expect(await page.locator("article").count()).toBe(2);
      expect(await page.title()).toBe("Chat · Parley");
      // The handler that the sanitiser should have removed was stopped by the page's policy.
      expect(trouble.join("\n")).toContain("Content Security Policy");
    });

    test("asks for the token when there is none, says what is wrong, and keeps only a device token", async () => {
      const control = await echoing();
      const { page } = await openPage();
      await page.goto(control.server.url);
      await page.getByLabel("Token").fill("wrong");
      await page.getByRole("button", { name: "Log in" }).click();
      expect(await page.getByRole("alert").textContent()).toContain("wrong or was revoked");
      await page.getByLabel("Token").fill(gatewayToken);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByText("Online").waitFor();
      expect(await page.evaluate("JSON.stringify({ ...localStorage })")).not.toContain(gatewayToken);
    });

    test("sends no token to another gateway that a link names", async () => {
      const [control, evil] = [await echoing(), await startControl()];
      const { page } = await openPage();
      await page.goto(
        `${control.server.url}?gatewayUrl=ws://127.0.0.1:${evil.server.port}${new URL(await control.server.loginUrl()).hash}`,
      );
      await page.getByText("Online").waitFor();
      expect(evil.server.connections()).toBe(0);
    });
  },
);
