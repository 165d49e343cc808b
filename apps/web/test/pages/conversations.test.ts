// The chat page in a document: the line above a conversation and the list beside it as somebody uses them,
// where the focus goes when a conversation is named, pinned or taken off the list, its export, and the
// canvas beside it.
import { expect, onTestFinished, test, vi } from "vitest";
import { Chat } from "../../src/pages/chat.ts";
import { readAddress } from "../../src/parts/address.ts";
import type { Menu } from "../../src/parts/menu.ts";
import { RequestFailure } from "../../src/session/link.ts";
import { emptyChat } from "../../src/session/state.ts";
import { exportMarkdown } from "../../src/view/chat/export.ts";
import { browser, fire, mounted, named, settled } from "../drawn.ts";
import { memoryStorage } from "../fake-gateway.ts";
import { nowMs, stoppedClock } from "./show-page.ts";

class DrawnChat extends Chat {}
customElements.define("drawn-chat", DrawnChat);

const row = (thread: string | null, more: object = {}) => ({
  thread,
  sessionKey: `key-${thread ?? "first"}`,
  name: null,
  title: null,
  pinned: false,
  text: `words of ${thread ?? "first"}`,
  seq: 1,
  atMs: nowMs,
  working: false,
  ...more,
});

async function chat(
  at: string,
  parts: {
    readonly may?: readonly string[];
    readonly threads?: readonly object[];
    readonly left?: number;
  } = {},
) {
  browser();
  Object.assign(document, { visibilityState: "visible" });
  const clock = stoppedClock();
  const [asked, went] = [[] as string[], [] as string[]];
  const refused = new Set<string>();
  let threads = parts.threads ?? [row(null), row("b", { name: "Bee" }), row("c", { title: "Sea" })];
  const answers: { [method: string]: (params: never) => unknown } = {
    "chat.threads": () => ({ threads, left: parts.left ?? 0 }),
    "chat.steps": () => ({ calls: [], waiting: [] }),
    "sessions.tree": ({ key }: { key: string }) => ({
      sessions: [
        { key, depth: 0, state: "idle" },
        ...(key === "key-b"
          ? [1, 2].map((nth) => ({
              key: `agent:main:subagent:${nth}`,
              parent: key,
              depth: 1,
              label: `child ${nth}`,
              task: null,
              state: nth === 1 ? "running" : "answered",
              reason: null,
              startedAtMs: nowMs,
              endedAtMs: nowMs,
              tokens: 0,
            }))
          : []),
      ],
    }),
    "models.list": () => ({ models: [] }),
    "canvas.list": () => ({
      canvases: [
        { session: "key-c", shown: false },
        { session: "key-b", shown: true },
      ],
    }),
    "canvas.link": ({ key }: { key: string }) => ({ path: `/canvas.html#${key}` }),
    "chat.history": () => ({ messages: [], hasEarlier: false }),
  };
  let ids = 0;
  const console = {
    clock,
    ids: { uuid: () => `uuid-${(ids += 1)}`, code: () => "fresh" },
    storage: memoryStorage(),
    session: { open: () => {}, send: () => {} },
    chat: { ...emptyChat, connection: { kind: "online" }, thread: readAddress(at).rest[0] ?? null },
    async call(method: string, params: object) {
      asked.push(`${method} ${JSON.stringify(params)}`);
      if (refused.has(method)) throw new RequestFailure({ code: "conflict", message: `no ${method}` });
      return answers[method]?.(params as never) ?? {};
    },
    on: () => () => {},
    onChange: () => () => {},
    may: (scope: string) => (parts.may ?? ["read", "write"]).includes(scope),
    has: () => true,
    go: (address: string) => void went.push(address),
  };
  const page = new DrawnChat();
  Object.assign(page, { console });
  page.address = readAddress(at);
  const { place } = mounted(page);
  await settled();
  await settled();
  const row_ = (thread: string): Element => {
    const found = place.querySelector(`[data-thread="${thread}"]`);
    if (found === null) throw new Error(`no row is ${thread}`);
    return found;
  };
  return {
    page,
    place,
    asked,
    went,
    refused,
    clock,
    answers,
    row: row_,
    since: () => asked.splice(0),
    threadsAre: (next: readonly object[]) => void (threads = next),
    /** What the menu of a row, or of the line above, offers. */
    async menu(where: Element | null, name: string) {
      const menu = where?.querySelector("parley-menu") as Menu | null;
      const item = menu?.items().find((each) => each.name === name);
      if (item === undefined) throw new Error(`no entry is ${name}`);
      item.run();
      await settled();
    },
    head: () => place.querySelector(".chat-head"),
    field: () => place.querySelector<HTMLInputElement>("input.chat-name"),
    async key(key: string, more: object = {}) {
      const field = place.querySelector("input.chat-name");
      return (await fire(field, "keydown", { key, isComposing: false, ...more })).defaultPrevented;
    },
    async go(address: string) {
      page.address = readAddress(address);
      await settled();
    },
  };
}

const changes = (asked: readonly string[]): readonly string[] =>
  asked.filter((each) => each.startsWith("chat.thread "));

test("a conversation is named in its row: Enter takes it, Escape leaves it, an unchanged one asks nothing", async () => {
  const c = await chat("#/chat/b");
  await c.menu(c.row("b"), "Rename");
  expect(document.activeElement).toBe(c.field());
  expect([
    c.field()?.value,
    c.field()?.getAttribute("placeholder"),
    c.row("b").querySelector("a.row-link"),
  ]).toEqual(["Bee", "Bee", null]);
  expect([await c.key("a"), await c.key("Enter", { isComposing: true })]).toEqual([false, false]);
  Object.assign(c.field() ?? {}, { value: " New name " });
  c.since();
  expect(await c.key("Enter")).toBe(true);
  expect([changes(c.since()), c.field()]).toEqual([['chat.thread {"thread":"b","name":"New name"}'], null]);
  await c.menu(c.row("b"), "Rename");
  Object.assign(c.field() ?? {}, { value: "Other" });
  expect([await c.key("Escape"), c.field(), changes(c.since())]).toEqual([true, null, []]);
  await c.menu(c.row("b"), "Rename");
  await c.key("Enter");
  expect([c.field(), changes(c.since())]).toEqual([null, []]);
  // Leaving the field takes what was written; an empty name is one, too.
  await c.menu(c.row("b"), "Rename");
  Object.assign(c.field() ?? {}, { value: "" });
  await fire(c.field(), "blur");
  expect([c.field(), changes(c.since())]).toEqual([null, ['chat.thread {"thread":"b","name":""}']]);
  // Of a conversation that its owner did not name the field is empty.
  await c.menu(c.row("c"), "Rename");
  expect([c.field()?.value, c.field()?.getAttribute("placeholder")]).toEqual(["", "Sea"]);
  await c.go("#/chat/c");
  expect(c.field()).toBe(null);
});

test("one is named in the line above it alone where its own menu was used", async () => {
  const c = await chat("#/chat/b");
  expect(c.place.querySelector("h1.chat-name")?.textContent).toBe("Bee");
  await c.menu(c.head(), "Rename");
  expect([c.head()?.querySelector("input.chat-name") !== null, c.row("b").querySelector("input")]).toEqual([
    true,
    null,
  ]);
  Object.assign(c.field() ?? {}, { value: "Named" });
  c.since();
  await c.key("Enter");
  expect(changes(c.since())).toEqual(['chat.thread {"thread":"b","name":"Named"}']);
  const first = await chat("#/chat", { threads: [] });
  expect(first.place.querySelector("h1.chat-name")?.textContent).toBe("New conversation");
  const unwritten = await chat("#/chat/new");
  expect(unwritten.place.querySelector("h1.chat-name")?.textContent).toBe("New conversation");
});

test("pinned ones stand first, and what was taken off is put back to where it is open, or its line is closed", async () => {
  const c = await chat("#/chat/b");
  const listed = (): readonly (string | null)[] =>
    [...c.place.querySelectorAll(".thread-row")].map((each) => each.getAttribute("data-thread"));
  c.threadsAre([row(null), row("b", { name: "Bee" }), row("c", { title: "Sea", pinned: true })]);
  c.since();
  await c.menu(c.row("c"), "Pin");
  expect([changes(c.asked), listed()[0]]).toEqual([['chat.thread {"thread":"c","pinned":true}'], "c"]);
  await c.menu(c.row("c"), "Unpin");
  await c.menu(c.row("c"), "Take off the list");
  const told = (): string | undefined => c.place.querySelector(".told-line bdi")?.textContent;
  // Another one than the open one was taken off: nobody is sent away.
  expect([told(), c.went]).toEqual(["“Sea” is off the list. Nothing of it was deleted.", []]);
  await fire(named(c.place.querySelector(".told-line") as Element, "Put it back"), "click");
  await settled();
  expect([told(), c.went]).toEqual([undefined, ["#/chat/c"]]);
  await c.menu(c.row("b"), "Take off the list");
  expect([told(), c.went.at(-1)]).toEqual(["“Bee” is off the list. Nothing of it was deleted.", "#/chat"]);
  await fire(named(c.place.querySelector(".told-line") as Element, "Close"), "click");
  expect(told()).toBe(undefined);
  await c.menu(c.row("b"), "Take off the list");
  c.refused.add("chat.thread");
  await fire(named(c.place.querySelector(".told-line") as Element, "Put it back"), "click");
  await settled();
  expect([told(), c.went.length, c.place.querySelector(".trouble")?.textContent]).toEqual([
    undefined,
    3,
    "That failed: no chat.thread",
  ]);
  await c.go("#/chat/c");
  expect(c.place.querySelector(".trouble")).toBe(null);
  expect(changes(c.since()).slice(1)).toEqual([
    'chat.thread {"thread":"c","pinned":false}',
    'chat.thread {"thread":"c","listed":false}',
    'chat.thread {"thread":"c","listed":true}',
    'chat.thread {"thread":"b","listed":false}',
    'chat.thread {"thread":"b","listed":false}',
    'chat.thread {"thread":"b","listed":true}',
  ]);
});

test("the list is beside two conversations, covers them on a phone until one is chosen, and shows more when asked", async () => {
  const alone = await chat("#/chat", { threads: [row(null)] });
  const classes = (c: { place: Element }): string =>
    (c.place.querySelector(".chat-page")?.getAttribute("class") ?? "").trim();
  expect([classes(alone), alone.place.querySelector("nav.threads")]).toEqual(["chat-page alone", null]);
  const c = await chat("#/chat/b", { left: 250 });
  expect(classes(c)).toBe("chat-page");
  const list = (): HTMLElement => named(c.head() as Element, "Conversations");
  expect(list().getAttribute("aria-expanded")).toBe("false");
  await fire(list(), "click");
  expect([classes(c), list().getAttribute("aria-expanded")]).toEqual(["chat-page list-open", "true"]);
  await c.go("#/chat/c");
  expect(classes(c)).toBe("chat-page");
  c.since();
  await fire(named(c.place.querySelector("nav.threads") as Element, "Show 200 more"), "click");
  expect(c.since()).toContain('chat.threads {"thread":"c","limit":400}');
  for (let times = 0; times < 5; times += 1)
    await fire(named(c.place.querySelector("nav.threads") as Element, "Show 200 more"), "click");
  expect(c.since().at(-1)).toBe('chat.threads {"thread":"c","limit":1000}');
});

test("sub-agents of the open conversation alone are counted above it, and their tree is there while it is open", async () => {
  const c = await chat("#/chat/b");
  const details = (): HTMLDetailsElement | null => c.place.querySelector("details.children");
  expect(details()?.querySelector("summary")?.textContent.trim()).toBe("2 sub-agents · 1 at work");
  expect(c.place.querySelector("parley-child-tree")).toBe(null);
  const opened = details();
  if (opened !== null) opened.open = true;
  await fire(opened, "toggle");
  expect(c.place.querySelector("parley-child-tree")).toMatchObject({
    nowMs,
    tree: [{ label: "child 1" }, { label: "child 2" }],
  });
  const escape = await fire(details(), "keydown", { key: "Escape" });
  expect([escape.defaultPrevented, details()?.open, document.activeElement?.localName]).toEqual([
    true,
    false,
    "summary",
  ]);
  expect((await fire(details(), "keydown", { key: "a" })).defaultPrevented).toBe(false);
  await c.go("#/chat/c");
  expect([details(), c.page.isTreeOpen]).toEqual([null, false]);
});

test("the canvas of a conversation opens beside it and closes, also when one turns to another", async () => {
  const c = await chat("#/chat/b");
  const button = (): HTMLElement => named(c.head() as Element, "What the agent shows");
  const frame = (): string | null | undefined => c.place.querySelector("iframe")?.getAttribute("src");
  expect([button().getAttribute("aria-expanded"), frame()]).toEqual(["false", undefined]);
  c.since();
  await fire(button(), "click");
  await settled();
  expect([button().getAttribute("aria-expanded"), frame(), c.since()]).toEqual([
    "true",
    "./canvas.html#key-b",
    ['canvas.link {"key":"key-b"}'],
  ]);
  expect(c.place.querySelector(".chat-page")?.getAttribute("class")).toContain("beside");
  await fire(button(), "click");
  expect([frame(), c.since()]).toEqual([undefined, []]);
  await fire(button(), "click");
  await settled();
  await c.go("#/chat/c");
  expect(frame()).toBe(undefined);
  // A canvas that shows nothing now is offered nobody.
  expect(c.head()?.textContent).not.toContain("What the agent shows");
  expect(c.head()?.querySelector('[aria-label="What the agent shows"]')).toBe(null);
  c.refused.add("canvas.link");
  await c.go("#/chat/b");
  await fire(button(), "click");
  await settled();
  expect(c.place.querySelector(".trouble")?.textContent).toBe("That failed: no canvas.link");
});

test("a new conversation is begun from the line above, and not by who may only read", async () => {
  const c = await chat("#/chat/b");
  await fire(named(c.head() as Element, "New conversation"), "click");
  expect([c.went, document.activeElement?.localName]).toEqual([["#/chat/fresh"], "parley-composer"]);
  const looker = await chat("#/chat/b", { may: ["read"] });
  expect(looker.head()?.textContent).not.toContain("New conversation");
  const menu = looker.head()?.querySelector("parley-menu") as Menu | null;
  expect([menu?.label, menu?.items().map(({ name }) => name)]).toEqual([
    "More about Bee",
    ["Export as Markdown"],
  ]);
});

test("what one reads is read through, but not in a page that nobody sees nor before it is there", async () => {
  const c = await chat("#/chat/b");
  const seen = async (thread: string | null, seq: number, visibilityState = "visible"): Promise<unknown> => {
    Object.assign(document, { visibilityState });
    const messages = [{ seq, role: "user", text: "", html: "", atMs: 0 }];
    Object.assign(c.page.console, { chat: { ...c.page.console.chat, thread, messages } });
    c.page.requestUpdate();
    await settled();
    return c.page.console.storage.getItem("parley.read.b");
  };
  expect([await seen("c", 3), await seen("b", 4, "hidden"), await seen("b", 5)]).toEqual([null, null, "5"]);
});

test("an export is all that was said, read page by page, under a name that files may have", async () => {
  browser();
  const asked: string[] = [];
  const told: unknown[] = [];
  const said = (seq: number): object => ({ seq, role: "user", text: `t${seq}`, html: "", atMs: 0 });
  vi.stubGlobal(
    "URL",
    class {
      static createObjectURL = (blob: Blob): string => (told.push(blob), "blob:1");
      static revokeObjectURL = (url: string): void => void told.push(url);
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const create = document.createElement.bind(document);
  Object.assign(document, {
    createElement: (tag: string) =>
      Object.assign(create(tag), {
        click(this: HTMLAnchorElement) {
          told.push([this.href, decodeURI(this.download)]);
        },
      }),
  });
  const call = (async (_method: string, params: { beforeSeq?: number }) => {
    asked.push(JSON.stringify(params));
    return params.beforeSeq === undefined
      ? { messages: [said(5), said(6)], hasEarlier: true }
      : { messages: params.beforeSeq === 5 ? [said(3), said(4)] : [], hasEarlier: params.beforeSeq === 5 };
  }) as never;
  await exportMarkdown({ call }, "b", `Über: Käse & Brot! ${"x".repeat(80)}`);
  expect(asked).toEqual([
    '{"thread":"b","limit":1000}',
    '{"thread":"b","limit":1000,"beforeSeq":5}',
    '{"thread":"b","limit":1000,"beforeSeq":3}',
  ]);
  const [blob, link, revoked] = told;
  expect([(blob as Blob).type, link, revoked]).toEqual([
    "text/markdown",
    ["blob:1", `Über-Käse-Brot-${"x".repeat(45)}.md`],
    "blob:1",
  ]);
  expect([...(await (blob as Blob).text()).matchAll(/^t\d$/gm)].map(([text]) => text)).toEqual([
    "t3",
    "t4",
    "t5",
    "t6",
  ]);
  asked.length = 0;
  await exportMarkdown(
    {
      call: (async (_: string, params: object) => (
        asked.push(JSON.stringify(params)),
        { messages: [], hasEarlier: false }
      )) as never,
    },
    null,
    "x",
  );
  expect(asked).toEqual(['{"limit":1000}']);
});

test("times in the list go on while nothing of it is read anew, and what one looks for is marked at once", async () => {
  const c = await chat("#/chat/b");
  c.refused.add("chat.threads");
  const times = (): readonly string[] =>
    [...c.place.querySelectorAll(".thread-time")].map((each) => each.textContent.trim());
  const pass = async (ms: number): Promise<readonly string[]> => {
    c.clock.pass(ms);
    c.page.requestUpdate();
    await settled();
    return times();
  };
  expect([times()[0], (await pass(9_999))[0], (await pass(1))[0], (await pass(50_000))[0]]).toEqual([
    "now",
    "now",
    "10 sec. ago",
    "1 min. ago",
  ]);
  const search = c.place.querySelector<HTMLInputElement>("nav.threads input");
  if (search !== null) search.value = "sea";
  await fire(search, "input");
  expect([...c.place.querySelectorAll(".thread-name")].map((each) => each.textContent)).toEqual(["Sea"]);
  await c.go("#/chat/c");
  expect(c.place.querySelector(".row-link[aria-current=page]")?.getAttribute("href")).toBe("#/chat/c");
});

test("the focus stays with a conversation that is named or pinned, wherever its row goes, and goes to what can be taken back", async () => {
  const c = await chat("#/chat/b");
  const looked: string[] = [];
  Object.assign(c.page, {
    querySelector: (selector: string) => (looked.push(selector), c.place.querySelector(selector)),
  });
  const menus = (): readonly string[] => looked.splice(0).filter((each) => each.endsWith(".menu-button"));
  const other = document.createElement("button");
  document.body.append(other);
  await c.menu(c.row("b"), "Rename");
  expect(document.activeElement?.className).toBe("chat-name");
  await c.key("Escape");
  expect(menus()).toEqual(['[data-thread="b"] .menu-button']);
  await c.menu(c.head(), "Rename");
  Object.assign(c.field() ?? {}, { value: "Named" });
  await c.key("Enter");
  await settled();
  expect(menus()).toEqual([".chat-head .menu-button"]);
  // Whoever went elsewhere stays there.
  await c.menu(c.row("c"), "Rename");
  other.focus();
  await settled();
  expect([c.field(), menus(), document.activeElement === other]).toEqual([null, [], true]);
  await c.menu(c.row("c"), "Pin");
  expect(menus()).toEqual([]);
  document.body.focus();
  await c.menu(c.row("c"), "Pin");
  await c.menu(c.head(), "Pin");
  await c.menu(c.place.querySelector('[data-thread=""]'), "Pin");
  expect(menus()).toEqual([
    '[data-thread="c"] .menu-button',
    ".chat-head .menu-button",
    '[data-thread=""] .menu-button',
  ]);
  await c.menu(c.row("c"), "Take off the list");
  expect(document.activeElement?.textContent).toBe("Put it back");
  await fire(named(c.head() as Element, "New conversation"), "click");
  expect(looked).toContain("parley-composer");
});
