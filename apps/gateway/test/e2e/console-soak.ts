// An hour and more of heavy use of the console, as fast as the machine goes: answers of thousands of pieces,
// every page again and again, lines that break. What the page holds is measured after each round, once its
// garbage is collected.
import type { CDPSession, Page } from "playwright-core";
import { eventually } from "./daemon.ts";

/** What the page holds, by the browser's own count. */
export interface Held {
  readonly heapKb: number;
  readonly nodes: number;
  readonly listeners: number;
  readonly documents: number;
}

const pages = [
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
  "audit",
] as const;

/** Where a row that is there stays there. */
const withRows: ReadonlySet<string> = new Set(["activity", "sessions", "skills", "tools", "models", "logs"]);

export async function heldBy(cdp: CDPSession): Promise<Held> {
  // Twice, since what the first frees may free more.
  for (const _ of [1, 2]) await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const { nodes, jsEventListeners, documents } = await cdp.send("Memory.getDOMCounters");
  return { heapKb: Math.round(usedSize / 1_024), nodes, listeners: jsEventListeners, documents };
}

const newestOf = (page: Page): Promise<unknown> =>
  page.evaluate(`document.querySelector("parley-messages").chat.messages.at(-1)?.seq ?? 0`);

const isQuiet = (page: Page): Promise<unknown> =>
  page.evaluate(`(({ working, outgoing, draft }) => !working && outgoing.length === 0 && draft === null)(
    document.querySelector("parley-messages").chat)`);

/** Not typed: that takes the driver longer than the page. */
const say = (page: Page, messages: number): Promise<unknown> =>
  page.evaluate(`for (let at = 0; at < ${messages}; at += 1)
    document.querySelector("parley-page-chat").console.session.send(
      "!say " + at + " **bold** and \`code\`\\n\\n- one\\n- two\\n\\n\`\`\`\\nnpm start " + at + "\\n\`\`\`")`);

/**
 * Fills what the page keeps up to a limit: as many messages as it holds of a conversation, and the rows of
 * the audit log, which lists each refusal. What grows afterwards grows for ever.
 */
export async function fillUp(page: Page, messages: number): Promise<void> {
  await page.getByRole("textbox").waitFor();
  for (let said = 0; said < messages; said += 100) {
    await say(page, Math.min(100, messages - said));
    await eventually(async () => (await isQuiet(page)) === true, 240_000, "the answers");
  }
  await page.evaluate(`(async () => {
    const { line } = document.querySelector("parley-page-chat").console.session;
    for (let at = 0; at < 500; at += 1) await line.request("dead.drop", { id: "none" }).catch(() => {});
  })()`);
}

/**
 * Says `messages` short things and one long answer of `pieces`, goes through every page, breaks the line
 * once, reads back and comes to the end again.
 */
export async function useHeavily(
  page: Page,
  { messages, pieces }: { readonly messages: number; readonly pieces: number },
): Promise<void> {
  const go = (address: string) => page.evaluate(`location.hash = ${JSON.stringify(`#/${address}`)}`);
  await go("chat");
  const field = page.getByRole("textbox");
  await field.waitFor();
  const before = Number(await newestOf(page));
  await say(page, messages);
  await field.fill(`!stream ${pieces} 2 ${"word and word, ".repeat(pieces / 4)}`);
  await field.press("Enter");
  await eventually(async () => Number(await newestOf(page)) > before + messages, 120_000, "the answers");
  for (const place of pages) {
    await go(place);
    await page.locator(`parley-page-${place.split(/[/?]/)[0] ?? ""} h1`).waitFor({ state: "attached" });
    await page.locator(".skeleton").waitFor({ state: "detached" });
    if (!withRows.has(place)) continue;
    await page.locator("a.row-link").first().click();
    await page.keyboard.press("Escape");
  }
  await go("chat");
  await page.context().setOffline(true);
  await page.evaluate(`document.querySelector("parley-page-chat").console.session.line.renew()`);
  await page.context().setOffline(false);
  await page.getByText("Online").waitFor({ timeout: 30_000 });
  const scroll = `document.querySelector("parley-messages").shadowRoot.querySelector(".scroll")`;
  for (const top of ["0", `${scroll}.scrollHeight / 2`, `${scroll}.scrollHeight`])
    await page.evaluate(`new Promise((resolve) => {
      ${scroll}.scrollTop = ${top};
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    })`);
  await eventually(async () => (await isQuiet(page)) === true, 240_000, "an end of the work");
}
