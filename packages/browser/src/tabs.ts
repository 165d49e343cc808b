// Keeps what one agent's browser has open: tabs under short names, what their consoles and dialogs said, what
// they let go down. Bounded in all of it (I9). A tab that comes to an address which is none of the web is led
// away from it.
import { readFile, stat } from "node:fs/promises";
import type { BrowserContext, Dialog, Download, Page } from "playwright-core";

interface Armed {
  readonly accept: boolean;
  readonly text?: string | undefined;
}

export interface Tabs {
  all(): readonly (readonly [name: string, page: Page])[];
  /** The tab of that name, or the one used last; null when there is none. */
  find(name?: string): Page | null;
  nameOf(page: Page): string;
  use(page: Page): void;
  console(page: Page): readonly string[];
  /** Dialogs that were answered since the last look. */
  dialogs(): readonly string[];
  /** Answers the next dialog. */
  arm(answer: Armed): void;
  /** Files that went down since the last look. */
  downloads(): Promise<readonly { readonly name: string; readonly bytes: Uint8Array }[]>;
  /** Why the last download is not among them. */
  refusals(): readonly string[];
}

export const mostTabs = 8;
const most = { lines: 200, lineChars: 500, downloads: 10, downloadBytes: 8_000_000 };

const isOfWeb = (url: string): boolean =>
  /^(?:https?:|about:blank|about:srcdoc|blob:|data:|chrome-error:)/i.test(url) || url === "";

export function tabsOf(context: BrowserContext): Tabs {
  const names = new WeakMap<Page, string>();
  const lines = new WeakMap<Page, string[]>();
  let count = 0;
  let last: Page | null = null;
  let told: string[] = [];
  let refused: string[] = [];
  let armed: Armed | null = null;
  let down: Download[] = [];

  const keep = (page: Page, line: string): void => {
    const kept = lines.get(page) ?? [];
    kept.push(line.slice(0, most.lineChars));
    if (kept.length > most.lines) kept.shift();
    lines.set(page, kept);
  };

  const answer = async (dialog: Dialog): Promise<void> => {
    const { accept, text } = armed ?? { accept: dialog.type() === "beforeunload" };
    armed = null;
    told = [
      ...told,
      `${dialog.type()} "${dialog.message().slice(0, 300)}" was ${accept ? "accepted" : "dismissed"}`,
    ].slice(-10);
    await (accept ? dialog.accept(text) : dialog.dismiss());
  };

  const seen = (page: Page): void => {
    if (context.pages().length > mostTabs) {
      refused.push(`a page wanted another tab; ${mostTabs} are open`);
      void page.close().catch(() => {});
      return;
    }
    count += 1;
    names.set(page, `t${count}`);
    last = page;
    page.on("console", (message) => keep(page, `${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => keep(page, `error: ${error.message}`));
    page.on("dialog", (dialog) => void answer(dialog).catch(() => {}));
    page.on("download", (download) => {
      down = [...down, download].slice(-most.downloads);
    });
    page.on("framenavigated", (frame) => {
      if (!isOfWeb(frame.url())) void page.goto("about:blank").catch(() => {});
    });
  };
  context.pages().forEach(seen);
  context.on("page", seen);

  const open = (): readonly Page[] => context.pages().filter((page) => !page.isClosed());
  return {
    all: () => open().map((page) => [names.get(page) ?? "t0", page] as const),
    find(name) {
      if (name !== undefined) return open().find((page) => names.get(page) === name) ?? null;
      return last !== null && !last.isClosed() ? last : (open().at(-1) ?? null);
    },
    nameOf: (page) => names.get(page) ?? "t0",
    use: (page) => void (last = page),
    console: (page) => lines.get(page) ?? [],
    dialogs: () => told.splice(0),
    arm: (next) => void (armed = next),
    refusals: () => refused.splice(0),
    async downloads() {
      const files: { readonly name: string; readonly bytes: Uint8Array }[] = [];
      for (const download of down.splice(0)) {
        const name =
          download
            .suggestedFilename()
            .replaceAll(/[^\w .()-]+/g, "_")
            .slice(-120) || "download";
        try {
          const path = await download.path();
          const { size } = await stat(path);
          if (size > most.downloadBytes)
            refused.push(`${name} has ${size} bytes; at most ${most.downloadBytes} are kept`);
          else files.push({ name, bytes: await readFile(path) });
        } catch (error) {
          refused.push(
            `${name} did not come: ${error instanceof Error ? error.message.slice(0, 200) : "unknown"}`,
          );
        }
        await download.delete().catch(() => {});
      }
      return files;
    },
  };
}
