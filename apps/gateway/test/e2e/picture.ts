// `npm run picture`: takes the README's picture of the web chat from a real daemon in a real browser.
import { fileURLToPath } from "node:url";
import { program, programPath } from "@parley/testkit";
import { openBrowser } from "./browser.ts";
import { cleanUp, startDaemon } from "./daemon.ts";

const target = fileURLToPath(new URL("../../../../docs/web-chat.png", import.meta.url));

const daemon = await startDaemon({ config: {} });
const browser = await openBrowser(programPath(program("chromium")));
try {
  const page = await browser.newPage({ viewport: { width: 900, height: 700 }, deviceScaleFactor: 2 });
  await page.goto(`${daemon.url}/#code=${daemon.code}`);
  const box = page.getByRole("textbox");
  const ask = async (text: string, answer: string): Promise<void> => {
    await box.fill(text);
    await page.keyboard.press("Enter");
    await page.getByText(answer).last().waitFor();
    await page.waitForTimeout(400);
  };
  await ask("hello", "rehearsal");
  await ask(
    "!say Three things that I never do:\\n\\n1. lose a **message**,\\n2. double a *reply*,\\n3. mind a `kill -9`.",
    "kill -9",
  );
  await page.screenshot({ path: target });
  console.log(`wrote ${target}`);
} finally {
  await browser.close();
  await daemon.stop();
  await cleanUp();
}
