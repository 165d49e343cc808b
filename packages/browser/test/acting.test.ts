// Each act as what the browser is asked and what is told afterwards, over pages that are played; and tabs,
// their limits, dialogs, consoles and downloads.
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { act } from "../src/act.ts";
import type { BrowserRequest } from "../src/browser-request.ts";
import { mostTabs, tabsOf } from "../src/tabs.ts";
import { fakeContext, type FakePage } from "./fake-browser.ts";

function stage({ mayEvaluate = true }: { readonly mayEvaluate?: boolean } = {}) {
  const browser = fakeContext();
  const tabs = tabsOf(browser.context);
  const newPage = async () => browser.newPage();
  return {
    ...browser,
    tabs,
    run: (request: Partial<BrowserRequest> & Pick<BrowserRequest, "action">) =>
      act({ textChars: 1_000, ...request }, { tabs, newPage, mayEvaluate }),
  };
}
async function onPage(options: Parameters<typeof stage>[0] = {}) {
  const at = stage(options);
  await at.newPage("https://a.test/");
  const [page] = at.pages as [FakePage];
  return { ...at, page };
}

const settled = [
  'waitForLoadState("domcontentloaded", {"timeout":1500})',
  'waitForLoadState("networkidle", {"timeout":1500})',
];
const e1 = { ref: "e1" };
const rows: readonly (readonly [
  request: Partial<BrowserRequest> & Pick<BrowserRequest, "action">,
  asked: readonly string[],
  told: string,
])[] = [
  [
    { action: "navigate", url: "b.test/x" },
    ['goto("https://b.test/x", {"timeout":30000,"waitUntil":"domcontentloaded"})', ...settled],
    "",
  ],
  [{ action: "back" }, ['goBack({"timeout":30000,"waitUntil":"domcontentloaded"})'], "Went back."],
  [{ action: "snapshot" }, ['ariaSnapshot({"mode":"ai","timeout":10000})'], "- main [ref=e1]"],
  [
    { action: "snapshot", ref: "f2e1" },
    ['aria-ref=f2e1.ariaSnapshot({"mode":"ai","timeout":10000})'],
    "- main [ref=e1]",
  ],
  [{ action: "click", ...e1 }, ['aria-ref=e1.click({"timeout":3000})', ...settled], "Clicked."],
  [{ action: "type", ...e1, text: "hi" }, ['aria-ref=e1.fill("hi", {"timeout":3000})', ...settled], "Typed."],
  [
    { action: "type", ...e1, submit: false },
    ['aria-ref=e1.fill("", {"timeout":3000})', ...settled],
    "Typed.",
  ],
  [
    { action: "type", ...e1, text: "hi", submit: true },
    ['aria-ref=e1.fill("hi", {"timeout":3000})', 'aria-ref=e1.press("Enter", {"timeout":3000})', ...settled],
    "Typed and sent.",
  ],
  [{ action: "press" }, ['keyboard.press("Enter")', ...settled], "Pressed."],
  [{ action: "press", key: "Control+A" }, ['keyboard.press("Control+A")', ...settled], "Pressed."],
  [{ action: "press", ...e1 }, ['aria-ref=e1.press("Enter", {"timeout":3000})', ...settled], "Pressed."],
  [
    { action: "press", ...e1, key: "Escape" },
    ['aria-ref=e1.press("Escape", {"timeout":3000})', ...settled],
    "Pressed.",
  ],
  [
    { action: "select", ...e1, values: ["a", "b"] },
    ['aria-ref=e1.selectOption(["a","b"], {"timeout":3000})', ...settled],
    "Selected: a, b",
  ],
  [{ action: "select", ...e1 }, ['aria-ref=e1.selectOption([], {"timeout":3000})', ...settled], "Selected: "],
  [{ action: "hover", ...e1 }, ['aria-ref=e1.hover({"timeout":3000})'], "The pointer is there."],
  [{ action: "scroll" }, ["mouse.wheel(0, 700)"], "Scrolled."],
  [{ action: "scroll", text: "down" }, ["mouse.wheel(0, 700)"], "Scrolled."],
  [{ action: "scroll", text: "up" }, ["mouse.wheel(0, -700)"], "Scrolled."],
  [
    { action: "scroll", ...e1, text: "up" },
    ['aria-ref=e1.scrollIntoViewIfNeeded({"timeout":3000})'],
    "Scrolled.",
  ],
  [
    { action: "upload", ...e1, files: [{ name: "a.txt", bytes: Uint8Array.of(1) }] },
    [
      'aria-ref=e1.setInputFiles([{"name":"a.txt","mimeType":"application/octet-stream","buffer":"<bytes>"}], {"timeout":3000})',
      ...settled,
    ],
    "Uploaded.",
  ],
  [{ action: "wait" }, ["waitForTimeout(1500)"], "Waited."],
  [{ action: "wait", text: "Done" }, ['text Done.first.waitFor({"timeout":10000})'], "It is there."],
  [
    { action: "screenshot" },
    ['screenshot({"type":"jpeg","quality":60,"timeout":10000,"scale":"css","fullPage":false})'],
    "",
  ],
  [
    { action: "screenshot", fullPage: true },
    ['screenshot({"type":"jpeg","quality":60,"timeout":10000,"scale":"css","fullPage":true})'],
    "",
  ],
  [
    { action: "screenshot", ...e1, fullPage: true },
    ['aria-ref=e1.screenshot({"type":"jpeg","quality":60,"timeout":10000,"scale":"css"})'],
    "",
  ],
  [{ action: "pdf" }, ["pdf()"], ""],
  [{ action: "focus" }, ["bringToFront()"], ""],
  [{ action: "console" }, [], "The console is empty."],
  [{ action: "dialog" }, [], "The next dialog is answered so."],
  [{ action: "evaluate", text: "1+1" }, ['evaluate("1+1")'], '{"ran":"1+1"}'],
  [{ action: "evaluate", text: "undefined" }, ['evaluate("undefined")'], "undefined"],
  [
    { action: "evaluate", text: "x".repeat(50), textChars: 20 },
    [`evaluate("${"x".repeat(50)}")`],
    '{"ran":"xxxxxxxxxxxx',
  ],
];

test.each(rows)("%j asks the page and says what it did", async (request, asked, told) => {
  const { run, page } = await onPage();
  page.shownTitle = "A page";
  const answer = await run(request);
  const at = request.action === "navigate" ? "https://b.test/x" : "https://a.test/";
  const hasPlace = request.action !== "dialog";
  expect([page.asked, answer]).toEqual([
    asked,
    {
      text: [...(hasPlace ? [`Tab t1: ${at} "A page"`] : []), ...(told === "" ? [] : [told])].join("\n"),
      url: hasPlace ? at : null,
      files: request.action === "pdf" ? [{ name: "page.pdf", bytes: Uint8Array.of(7) }] : [],
      ...(request.action === "screenshot" ? { picture: Uint8Array.of(1, 2, 3) } : {}),
    },
  ]);
});

test.each([
  [{ action: "click" }, "invalid", "this needs a ref of the last snapshot, as e12"],
  [{ action: "hover", ref: "12" }, "invalid", "this needs a ref of the last snapshot, as e12"],
  [{ action: "type", ref: "e1 >> a" }, "invalid", "this needs a ref of the last snapshot, as e12"],
  [{ action: "snapshot", tab: "t2" }, "missing", "there is no tab t2"],
  [
    { action: "navigate", url: "file:///etc/passwd" },
    "denied",
    "only addresses of http and https are opened",
  ],
  [{ action: "open", url: "javascript:alert(1)" }, "denied", "only addresses of http and https are opened"],
  [{ action: "navigate" }, "denied", "only addresses of http and https are opened"],
] as const)("%j is refused before anything is asked of a page", async (request, code, message) => {
  const { run, page, pages } = await onPage();
  await expect(run(request)).rejects.toMatchObject({ code, message });
  expect([page.asked, pages.length]).toEqual([[], 1]);
});

test("without a tab, and where scripts are off, it is said how to go on", async () => {
  await expect(stage().run({ action: "snapshot" })).rejects.toMatchObject({
    code: "missing",
    message: "no tab is open: open an address first",
  });
  expect((await stage().run({ action: "tabs" })).text).toBe("No tab is open.");
  const { run, page } = await onPage({ mayEvaluate: false });
  await expect(run({ action: "evaluate", text: "1" })).rejects.toMatchObject({
    code: "denied",
    message: "scripts of yours are off here (browser.evaluateEnabled)",
  });
  expect(page.asked).toEqual([]);
});

test("a status is told from 400, and the proxy's own refusal is an error in its words", async () => {
  const { run, page } = await onPage();
  const go = async (status: number | null, bodyText = "") => {
    Object.assign(page, { status, bodyText });
    return (await run({ action: "navigate", url: "https://b.test/" })).text;
  };
  const place = "Tab t1: https://b.test/";
  expect([await go(200), await go(399), await go(400), await go(404), await go(null)]).toEqual([
    place,
    place,
    `${place}\nIt answered 400.`,
    `${place}\nIt answered 404.`,
    place,
  ]);
  expect(await go(403, "Forbidden")).toBe(`${place}\nIt answered 403.`);
  expect(await go(500, "Parley: not by us")).toBe(`${place}\nIt answered 500.`);
  for (const status of [403, 502])
    await expect(go(status, "Parley: the address is private \n")).rejects.toMatchObject({
      code: "denied",
      message: "not opened: the address is private",
    });
});

test("a picture of more than 4 MB is refused with what to do instead", async () => {
  const { run, page } = await onPage();
  page.picture = new Uint8Array(4_000_000);
  expect((await run({ action: "screenshot" })).picture).toHaveLength(4_000_000);
  page.picture = new Uint8Array(4_000_001);
  await expect(run({ action: "screenshot" })).rejects.toMatchObject({
    code: "unsupported",
    message: "the picture is too large: take one without fullPage, or of one ref",
  });
});

test("an open page that never rests is told all the same", async () => {
  const { run, page } = await onPage();
  page.failure = { call: "waitForLoadState", error: new Error("Timeout 1500ms exceeded") };
  expect((await run({ action: "click", ref: "e1" })).text).toBe("Tab t1: https://a.test/\nClicked.");
});

test("tabs: a blank one is used first, eight are the most, names are not used again", async () => {
  const { run, pages } = stage();
  expect((await run({ action: "open", url: "https://one.test" })).text).toBe("Tab t1: https://one.test/");
  (pages[0] as FakePage).address = "about:blank";
  expect((await run({ action: "open", url: "https://again.test" })).text).toBe("Tab t1: https://again.test/");
  for (let at = 2; at <= mostTabs; at += 1)
    expect((await run({ action: "open", url: `https://${at}.test` })).text).toBe(
      `Tab t${at}: https://${at}.test/`,
    );
  await expect(run({ action: "open", url: "https://more.test" })).rejects.toMatchObject({
    code: "denied",
    message: "8 tabs are open: close one first",
  });
  expect((await run({ action: "tabs" })).text.split("\n")).toEqual(
    ["again", 2, 3, 4, 5, 6, 7, 8].map((name, at) => `Tab t${at + 1}: https://${name}.test/`),
  );
  expect(await run({ action: "close", tab: "t3" })).toEqual({ text: "Closed.", url: null, files: [] });
  expect((await run({ action: "open", url: "https://nine.test" })).text).toBe("Tab t9: https://nine.test/");
  expect(
    (await run({ action: "snapshot", tab: "t3" }).catch((error: Error) => error)) as Error,
  ).toMatchObject({
    message: "there is no tab t3",
  });
});

test("the tab that was used last is meant; one that a page opens itself becomes it", async () => {
  const { run, newPage, tabs } = stage();
  await run({ action: "open", url: "https://one.test" });
  await run({ action: "open", url: "https://two.test" });
  const at = async () => (await run({ action: "focus" })).url;
  expect(await at()).toBe("https://two.test/");
  expect((await run({ action: "focus", tab: "t1" })).url).toBe("https://one.test/");
  expect(await at()).toBe("https://one.test/");
  await newPage("https://popup.test/");
  expect(await at()).toBe("https://popup.test/");
  await run({ action: "close" });
  expect(await at()).toBe("https://two.test/");
  expect(tabs.all().map(([name]) => name)).toEqual(["t1", "t2"]);
});

test("pages that are open before it is looked at are tabs as well, with what they say from then on", async () => {
  const browser = fakeContext();
  await browser.newPage("https://one.test/");
  await browser.newPage("about:blank");
  const tabs = tabsOf(browser.context);
  const [one, two] = browser.pages as [FakePage, FakePage];
  one.emit("console", { type: () => "log", text: () => "hello" });
  expect(tabs.all().map(([name, page]) => [name, page.url()])).toEqual([
    ["t1", "https://one.test/"],
    ["t2", "about:blank"],
  ]);
  expect([tabs.find()?.url(), tabs.console(one as never), tabs.console(two as never)]).toEqual([
    "about:blank",
    ["log: hello"],
    [],
  ]);
  // Another page of the same browser is found by its own name, and one that closed by none.
  expect([tabs.find("t1")?.url(), tabs.find("t3"), tabs.nameOf(two as never)]).toEqual([
    "https://one.test/",
    null,
    "t2",
  ]);
});

test("a page may open no ninth tab, which is said once", async () => {
  const { run, newPage, pages } = stage();
  for (let at = 1; at <= mostTabs; at += 1) await newPage(`https://${at}.test/`);
  await newPage("https://ninth.test/");
  expect(pages[8]?.asked).toEqual(["close()"]);
  expect((await run({ action: "focus" })).text).toBe(
    "Tab t8: https://8.test/\n[a page wanted another tab; 8 are open]",
  );
  expect((await run({ action: "focus" })).text).toBe("Tab t8: https://8.test/");
});

test("a tab that comes to what is none of the web is led away from it", async () => {
  const { page } = await onPage();
  const went = (url: string): readonly string[] => {
    page.asked.length = 0;
    page.emit("framenavigated", { url: () => url });
    return [...page.asked];
  };
  for (const url of [
    "",
    "https://a.test/",
    "HTTP://a.test/",
    "about:blank",
    "about:srcdoc",
    "blob:x",
    "data:x",
    "chrome-error://x",
  ])
    expect([url, went(url)]).toEqual([url, []]);
  for (const url of ["file:///etc/passwd", "chrome://settings", "about:config", "view-source:https://a.test"])
    expect([url, went(url)]).toEqual([url, ['goto("about:blank")']]);
});

test("dialogs: dismissed unless one answer was armed, which counts once; leaving a page is let", async () => {
  const { run, page } = await onPage();
  const did: string[] = [];
  const dialog = (type: string, message: string): void =>
    void page.emit("dialog", {
      type: () => type,
      message: () => message,
      accept: async (text?: string) => void did.push(`accept ${text ?? "-"}`),
      dismiss: async () => void did.push("dismiss"),
    });
  const toldBy = async (request: Partial<BrowserRequest> & Pick<BrowserRequest, "action">) =>
    (await run(request)).text.split("\n").slice(1);
  dialog("alert", "one");
  dialog("beforeunload", "leave?");
  expect(await toldBy({ action: "dialog", text: "my name" })).toEqual([
    '[alert "one" was dismissed]',
    '[beforeunload "leave?" was accepted]',
  ]);
  dialog("prompt", "who?");
  dialog("confirm", "x".repeat(301));
  expect(await toldBy({ action: "dialog", accept: false })).toEqual([
    '[prompt "who?" was accepted]',
    `[confirm "${"x".repeat(300)}" was dismissed]`,
  ]);
  dialog("beforeunload", "stay");
  for (let at = 1; at <= 10; at += 1) dialog("alert", `${at}`);
  expect(await toldBy({ action: "focus" })).toEqual(
    Array.from({ length: 10 }, (_, at) => `[alert "${at + 1}" was dismissed]`),
  );
  expect(did.slice(0, 6)).toEqual(["dismiss", "accept -", "accept my name", "dismiss", "dismiss", "dismiss"]);
});

test("a console keeps its last 200 lines of 500 signs and shows the last 50, cut at the front", async () => {
  const { run, page, tabs, newPage } = await onPage();
  for (let at = 1; at <= 201; at += 1)
    page.emit("console", { type: () => (at % 2 === 0 ? "log" : "warning"), text: () => `line ${at}` });
  page.emit("pageerror", new Error("y".repeat(600)));
  const kept = tabs.console(page as never);
  expect([kept.length, kept[0], kept.at(-2), kept.at(-1)]).toEqual([
    200,
    "warning: line 3",
    "warning: line 201",
    `error: ${"y".repeat(493)}`,
  ]);
  const shown = (await run({ action: "console", textChars: 2_000 })).text.split("\n").slice(1);
  expect([shown.length, shown[0], shown.at(-1)]).toEqual([50, "warning: line 153", kept.at(-1)]);
  expect((await run({ action: "console", textChars: 5 })).text).toBe("Tab t1: https://a.test/\nyyyyy");
  expect(tabs.console((await newPage()) as never)).toEqual([]);
});

test("downloads: the last ten by plain names, up to 8 MB each; what did not come is told", async () => {
  const folder = mkdtempSync(join(tmpdir(), "downloads-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { run, page } = await onPage();
  let removed = 0;
  const download = (name: string, path: () => Promise<string>): void =>
    void page.emit("download", {
      suggestedFilename: () => name,
      path,
      delete: async () => void (removed += 1),
    });
  const file = (bytes: number): (() => Promise<string>) => {
    const path = join(folder, `${bytes}`);
    writeFileSync(path, "a");
    truncateSync(path, bytes);
    return async () => path;
  };
  download("left out", file(1));
  for (let at = 1; at <= 5; at += 1) download(`${at}.txt`, file(1));
  download("../../etc/pass wd(1).txt", file(2));
  download(`${"n".repeat(130)}.txt`, file(3));
  download("", file(0));
  download("large.bin", file(8_000_001));
  download("gone.bin", async () => {
    throw new Error(`canceled ${"z".repeat(300)}`);
  });
  const { files, text } = await run({ action: "focus" });
  expect(files.map(({ name, bytes }) => [name, bytes.length])).toEqual([
    ...["1.txt", "2.txt", "3.txt", "4.txt", "5.txt"].map((name) => [name, 1]),
    [".._.._etc_pass wd(1).txt", 2],
    [`${"n".repeat(116)}.txt`, 3],
    ["download", 0],
  ]);
  expect(text.split("\n").slice(1)).toEqual([
    "[large.bin has 8000001 bytes; at most 8000000 are kept]",
    `[gone.bin did not come: ${`canceled ${"z".repeat(300)}`.slice(0, 200)}]`,
  ]);
  expect(removed).toBe(10);
  expect((await run({ action: "focus" })).files).toEqual([]);
});
