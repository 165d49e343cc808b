// Does one thing in a browser and says how the page stands then. What a page shows is text of strangers:
// whoever hands it on marks it so.
import { Fault } from "@parley/protocol";
import type { Locator, Page } from "playwright-core";
import type { BrowserAnswer, BrowserRequest } from "./browser-request.ts";
import { shownTree } from "./shown-tree.ts";
import { mostTabs, type Tabs } from "./tabs.ts";

/** A stale ref waits out the whole of it. */
const actMs = 3_000;
const navigateMs = 30_000;
const settleMs = 1_500;
const mostPictureBytes = 4_000_000;

interface ActPorts {
  readonly tabs: Tabs;
  readonly newPage: () => Promise<Page>;
  readonly mayEvaluate: boolean;
}

export async function act(request: BrowserRequest, ports: ActPorts): Promise<BrowserAnswer> {
  const { tabs } = ports;
  const { text, page, picture, made = [] } = await perform(request, ports);
  if (page !== null && !page.isClosed()) tabs.use(page);
  const isOpen = page !== null && !page.isClosed();
  const files = [...made, ...(await tabs.downloads())];
  const beside = [...tabs.dialogs(), ...tabs.refusals()].map((line) => `[${line}]`);
  const at = isOpen ? [await placeOf(page, tabs)] : [];
  return {
    text: [...at, text, ...beside].filter((line) => line !== "").join("\n"),
    url: isOpen ? page.url() : null,
    files,
    ...(picture === undefined ? {} : { picture }),
  };
}

async function placeOf(page: Page, tabs: Tabs): Promise<string> {
  const title = await page.title().catch(() => "");
  return `Tab ${tabs.nameOf(page)}: ${page.url().slice(0, 2_000)}${title === "" ? "" : ` "${title.slice(0, 200)}"`}`;
}

interface Performed {
  readonly text: string;
  readonly page: Page | null;
  readonly picture?: Uint8Array;
  readonly made?: BrowserAnswer["files"];
}

async function perform(
  request: BrowserRequest,
  { tabs, newPage, mayEvaluate }: ActPorts,
): Promise<Performed> {
  const { action, text = "" } = request;
  if (action === "open") {
    const url = webAddress(request.url);
    const blank = tabs.all().find(([, each]) => each.url() === "about:blank")?.[1];
    if (blank === undefined && tabs.all().length >= mostTabs)
      throw new Fault("denied", `${mostTabs} tabs are open: close one first`);
    const page = blank ?? (await newPage());
    return { text: await gone(page, url), page };
  }
  if (action === "tabs") {
    const list = await Promise.all(tabs.all().map(([, each]) => placeOf(each, tabs)));
    return { text: list.length === 0 ? "No tab is open." : list.join("\n"), page: null };
  }
  if (action === "dialog") {
    tabs.arm({ accept: request.accept ?? true, text: request.text });
    return { text: "The next dialog is answered so.", page: null };
  }
  const page = tabs.find(request.tab);
  if (page === null)
    throw new Fault(
      "missing",
      request.tab === undefined ? "no tab is open: open an address first" : `there is no tab ${request.tab}`,
    );
  const element = (): Locator => {
    if (request.ref === undefined || !/^(?:f\d+)?e\d+$/.test(request.ref))
      throw new Fault("invalid", "this needs a ref of the last snapshot, as e12");
    return page.locator(`aria-ref=${request.ref}`);
  };
  switch (action) {
    case "navigate":
      return { text: await gone(page, webAddress(request.url)), page };
    case "back":
      await page.goBack({ timeout: navigateMs, waitUntil: "domcontentloaded" });
      return { text: "Went back.", page };
    case "snapshot":
      return { text: await snapshot(page, request), page };
    case "click":
      await element().click({ timeout: actMs });
      return { text: await settled(page, "Clicked."), page };
    case "type":
      await element().fill(text, { timeout: actMs });
      if (request.submit === true) await element().press("Enter", { timeout: actMs });
      return { text: await settled(page, request.submit === true ? "Typed and sent." : "Typed."), page };
    case "press":
      if (request.ref === undefined) await page.keyboard.press(request.key ?? "Enter");
      else await element().press(request.key ?? "Enter", { timeout: actMs });
      return { text: await settled(page, "Pressed."), page };
    case "select": {
      const chosen = await element().selectOption([...(request.values ?? [])], { timeout: actMs });
      return { text: await settled(page, `Selected: ${chosen.join(", ")}`), page };
    }
    case "hover":
      await element().hover({ timeout: actMs });
      return { text: "The pointer is there.", page };
    case "scroll":
      if (request.ref === undefined) await page.mouse.wheel(0, text === "up" ? -700 : 700);
      else await element().scrollIntoViewIfNeeded({ timeout: actMs });
      return { text: "Scrolled.", page };
    case "upload":
      await element().setInputFiles(
        (request.files ?? []).map(({ name, bytes }) => ({
          name,
          mimeType: "application/octet-stream",
          buffer: Buffer.from(bytes),
        })),
        { timeout: actMs },
      );
      return { text: await settled(page, "Uploaded."), page };
    case "wait":
      if (text === "") await page.waitForTimeout(settleMs);
      else await page.getByText(text).first().waitFor({ timeout: 10_000 });
      return { text: text === "" ? "Waited." : "It is there.", page };
    case "screenshot": {
      const target = request.ref === undefined ? page : element();
      const how = { type: "jpeg", quality: 60, timeout: 10_000, scale: "css" } as const;
      const picture =
        target === page
          ? await page.screenshot({ ...how, fullPage: request.fullPage === true })
          : await element().screenshot(how);
      if (picture.byteLength > mostPictureBytes)
        throw new Fault("unsupported", "the picture is too large: take one without fullPage, or of one ref");
      return { text: "", page, picture };
    }
    case "pdf": {
      const bytes = await page.pdf();
      return { text: "", page, made: [{ name: "page.pdf", bytes }] };
    }
    case "focus":
      await page.bringToFront();
      return { text: "", page };
    case "close":
      await page.close();
      return { text: "Closed.", page };
    case "console":
      return {
        text: tabs.console(page).slice(-50).join("\n").slice(-request.textChars) || "The console is empty.",
        page,
      };
    case "evaluate": {
      if (!mayEvaluate) throw new Fault("denied", "scripts of yours are off here (browser.evaluateEnabled)");
      const value: unknown = await page.evaluate(text);
      return { text: (JSON.stringify(value) ?? "undefined").slice(0, request.textChars), page };
    }
  }
}

function webAddress(url = ""): string {
  const parsed = URL.parse(url) ?? URL.parse(`https://${url}`);
  if (parsed === null || (parsed.protocol !== "http:" && parsed.protocol !== "https:"))
    throw new Fault("denied", "only addresses of http and https are opened");
  return parsed.href;
}

async function gone(page: Page, url: string): Promise<string> {
  const response = await page.goto(url, { timeout: navigateMs, waitUntil: "domcontentloaded" });
  const status = response?.status() ?? 200;
  // The proxy says in the page itself why it did not dial.
  if (status === 403 || status === 502) {
    const says = await page
      .locator("body")
      .innerText({ timeout: actMs })
      .catch(() => "");
    if (says.startsWith("Parley: ")) throw new Fault("denied", `not opened: ${says.slice(8, 300).trim()}`);
  }
  return settled(page, status >= 400 ? `It answered ${status}.` : "");
}

/** Gives a page a moment to become what the act made of it; a page that never rests is none the worse. */
async function settled(page: Page, text: string): Promise<string> {
  await page.waitForLoadState("domcontentloaded", { timeout: settleMs }).catch(() => {});
  await page.waitForLoadState("networkidle", { timeout: settleMs }).catch(() => {});
  return text;
}

/** The page as its accessibility tree, which is made once: a large page takes a second for each. */
async function snapshot(page: Page, { ref, textChars }: BrowserRequest): Promise<string> {
  const how = { mode: "ai", timeout: 10_000 } as const;
  const tree =
    ref === undefined
      ? await page.ariaSnapshot(how)
      : await page.locator(`aria-ref=${ref}`).ariaSnapshot(how);
  return shownTree(tree, textChars);
}
