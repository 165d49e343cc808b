// A browser of which a test sees every call: pages that load what they are told, without a process or time.
import { EventEmitter } from "node:events";
import type { BrowserContext, Page } from "playwright-core";

export interface FakePage extends EventEmitter {
  /** What was asked of it, in order. */
  readonly asked: string[];
  address: string;
  shownTitle: string;
  tree: string;
  /** Of the next address it goes to. */
  status: number | null;
  bodyText: string;
  picture: Uint8Array;
  /** Thrown by the next call that has this name. */
  failure: { readonly call: string; readonly error: Error } | null;
}

export interface FakeContext {
  readonly context: BrowserContext;
  readonly pages: FakePage[];
  newPage(address?: string): Promise<Page>;
}

const words = (args: readonly unknown[]): string =>
  args
    .map((arg) => (Buffer.isBuffer(arg) ? `<${arg.length} bytes>` : JSON.stringify(arg, shortBytes)))
    .join(", ");
const shortBytes = (key: string, value: unknown): unknown =>
  key === "buffer" && typeof value === "object" ? "<bytes>" : value;

export function fakeContext(): FakeContext {
  const events = new EventEmitter();
  const pages: FakePage[] = [];
  const made = (address: string): FakePage => {
    let closed = false;
    const page = Object.assign(new EventEmitter(), {
      asked: [] as string[],
      address,
      shownTitle: "",
      tree: "- main [ref=e1]",
      status: 200 as number | null,
      bodyText: "",
      picture: Uint8Array.of(1, 2, 3),
      failure: null as FakePage["failure"],
    });
    const call =
      (name: string, answer: (...args: readonly unknown[]) => unknown = () => undefined) =>
      async (...args: readonly unknown[]): Promise<unknown> => {
        page.asked.push(`${name}(${words(args)})`);
        if (page.failure?.call === name) throw page.failure.error;
        return answer(...args);
      };
    const locator = (of: string): object => ({
      click: call(`${of}.click`),
      fill: call(`${of}.fill`),
      press: call(`${of}.press`),
      hover: call(`${of}.hover`),
      selectOption: call(`${of}.selectOption`, (values) => values),
      scrollIntoViewIfNeeded: call(`${of}.scrollIntoViewIfNeeded`),
      setInputFiles: call(`${of}.setInputFiles`),
      screenshot: call(`${of}.screenshot`, () => page.picture),
      ariaSnapshot: call(`${of}.ariaSnapshot`, () => page.tree),
      innerText: call(`${of}.innerText`, () => page.bodyText),
      waitFor: call(`${of}.waitFor`),
      first: () => locator(`${of}.first`),
    });
    return Object.assign(page, {
      url: () => page.address,
      title: async () => page.shownTitle,
      isClosed: () => closed,
      close: call("close", () => {
        closed = true;
      }),
      goto: call("goto", (url) => {
        page.address = String(url);
        return page.status === null ? null : { status: () => page.status };
      }),
      goBack: call("goBack"),
      ariaSnapshot: call("ariaSnapshot", () => page.tree),
      screenshot: call("screenshot", () => page.picture),
      pdf: call("pdf", () => Uint8Array.of(7)),
      bringToFront: call("bringToFront"),
      evaluate: call("evaluate", (script) => (script === "undefined" ? undefined : { ran: script })),
      waitForTimeout: call("waitForTimeout"),
      waitForLoadState: call("waitForLoadState"),
      keyboard: { press: call("keyboard.press") },
      mouse: { wheel: call("mouse.wheel") },
      locator,
      getByText: (text: string) => locator(`text ${text}`),
    });
  };
  const newPage = async (address = "about:blank"): Promise<Page> => {
    const page = made(address);
    pages.push(page);
    events.emit("page", page);
    return page as unknown as Page;
  };
  const open = (): readonly FakePage[] => pages.filter((page) => !(page as unknown as Page).isClosed());
  const context = Object.assign(events, { pages: open, newPage }) as unknown as BrowserContext;
  return { context, pages, newPage };
}
