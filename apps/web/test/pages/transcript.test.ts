// The conversation as its reader sees it move: where it stays, what is counted meanwhile, what stands where,
// and calls of tools between the messages that they led to.
import type { ChatMessage } from "@parley/protocol";
import { expect, test, vi } from "vitest";
import { emptyChat, type ChatState } from "../../src/session/state.ts";
import { Messages } from "../../src/view/chat/messages.ts";
import { placedCalls } from "../../src/view/chat/placed-calls.ts";
import type { ToolCall } from "../../src/view/chat/tool-card.ts";
import { browser, fire, mounted, named, settled } from "../drawn.ts";

class DrawnMessages extends Messages {}
customElements.define("drawn-messages", DrawnMessages);

const said = (
  seq: number,
  role: ChatMessage["role"] = "assistant",
  more: Partial<ChatMessage> = {},
): ChatMessage => ({
  seq,
  id: `id${seq}`,
  role,
  text: `words ${seq}`,
  html: "",
  atMs: seq * 1_000,
  ...more,
});
const call = (id: string, startedAtMs: number, more: Partial<ToolCall> = {}): ToolCall => ({
  id,
  turn: "t",
  tool: `tool-${id}`,
  args: "{}",
  state: "ok",
  output: "",
  startedAtMs,
  endedAtMs: startedAtMs + 1,
  ...more,
});

async function transcript(chat: Partial<ChatState>, more: Partial<Messages> = {}) {
  browser();
  const frames: (() => void)[] = [];
  let resized = (): void => {};
  vi.stubGlobal("innerHeight", 500);
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => frames.push(act));
  vi.stubGlobal("cancelAnimationFrame", (at: number) => void (frames[at - 1] = () => {}));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(hear: () => void) {
        resized = hear;
      }
      observe(): void {}
    },
  );
  const state = (next: Partial<ChatState>): ChatState => ({
    ...emptyChat,
    connection: { kind: "online" },
    ...next,
  });
  const made = Object.assign(new DrawnMessages(), { chat: state(chat), ...more });
  const told: string[] = [];
  const scrolledTo: unknown[] = [];
  for (const name of [
    "discard",
    "earlier",
    "forget-earlier",
    "press",
    "rewrite",
    "cancel",
    "look-at",
    "retry",
    "branch",
  ])
    made.addEventListener(
      name,
      (event) => void told.push(`${name} ${JSON.stringify((event as CustomEvent<unknown>).detail)}`),
    );
  const size = { scrollHeight: 3_000, scrollTop: 0, clientHeight: 500 };
  const { place } = mounted(made);
  /** Sizes that a browser knows: each block is 100 pixels high. */
  const dress = (): void => {
    const scroll = place.querySelector(".scroll");
    if (scroll === null) return;
    Object.assign(scroll, { scrollTo: ({ top }: { top: number }) => void scrolledTo.push(top) });
    for (const name of Object.keys(size) as (keyof typeof size)[])
      Object.defineProperty(scroll, name, {
        get: () => size[name],
        set(to: number) {
          size[name] = to;
        },
      });
    Object.assign(scroll, { getBoundingClientRect: () => ({ top: 0, bottom: 500 }) });
    for (const [at, block] of [...place.querySelectorAll(".block, .block article")].entries())
      Object.assign(block, {
        getBoundingClientRect: () => ({
          top: at * 100 - size.scrollTop,
          bottom: at * 100 + 100 - size.scrollTop,
          height: 100,
        }),
      });
  };
  const update = made["update"].bind(made);
  Object.assign(made, {
    update(changed: never) {
      update(changed);
      dress();
    },
  });
  await settled();
  const texts = (): readonly string[] =>
    [
      ...place.querySelectorAll("article .text, .draft .rich, .tools summary b, .tools-earlier > summary"),
    ].map((each) => each.textContent.replaceAll(/\s+/g, " ").trim());
  return {
    made,
    place,
    told,
    scrolledTo,
    size,
    frames,
    texts,
    resize: async () => {
      resized();
      await settled();
    },
    async give(next: Partial<ChatState>, other: Partial<Messages> = {}) {
      Object.assign(made, { chat: { ...made.chat, ...next }, ...other });
      await settled();
    },
    async scroll(scrollTop: number) {
      Object.assign(size, { scrollTop });
      await fire(place.querySelector(".scroll"), "scroll");
    },
  };
}

test("an empty conversation says hello once it is known to be empty; one that works or waits does not", async () => {
  const t = await transcript({});
  const isEmpty = (): boolean => t.place.querySelector("p.empty") !== null;
  const story = [isEmpty()];
  const hello = t.place.querySelector("p.empty")?.textContent;
  await t.give({ connection: { kind: "connecting" } });
  story.push(isEmpty());
  await t.give({ connection: { kind: "online" }, draft: { turn: "t", text: "Hel", html: "" } as never });
  story.push(isEmpty());
  await t.give({ draft: null, outgoing: [{ key: "k", text: "mine", thread: null, atMs: 0 }] });
  story.push(isEmpty());
  await t.give({ outgoing: [], messages: [said(1)] });
  story.push(isEmpty());
  const names = ["class", "tabindex", "role", "aria-label"];
  const scroll = t.place.querySelector(".scroll");
  expect([names.map((name) => scroll?.getAttribute(name)), hello]).toEqual([
    ["scroll", "0", "region", "Transcript"],
    "Say hello.",
  ]);
  expect(t.place.querySelector("[role=log]")?.getAttribute("aria-relevant")).toBe("additions");
  expect(story).toEqual([true, false, false, false, false]);
});

test("messages, calls of now, the draft, what is on its way and the dots stand in this order", async () => {
  const out = (key: string, more: object = {}) => ({
    key,
    text: `out ${key}`,
    thread: null,
    atMs: 0,
    ...more,
  });
  const t = await transcript(
    {
      messages: [said(1, "user"), said(2), said(3, "user")],
      draft: { turn: "t", text: "growing", html: "" } as never,
      outgoing: [
        out("a"),
        out("b", { echoed: true }),
        out("c", { thread: "other" }),
        out("d", { refused: "no" }),
      ],
      working: true,
      hasEarlier: true,
    },
    { calls: [call("first", 1_500), call("now", 9_000)] },
  );
  expect(t.texts()).toEqual([
    "words 1",
    "tool-first",
    "words 2",
    "words 3",
    "tool-now",
    "growing",
    "out a",
    "out d",
  ]);
  expect(t.place.querySelector(".working")).toBe(null);
  expect(t.place.querySelector(".draft")?.getAttribute("aria-hidden")).toBe("true");
  await t.give({ draft: null });
  expect(t.place.querySelector(".working")?.textContent).toBe("Parley is working");
  await t.give({ working: false });
  expect(t.place.querySelector(".working")).toBe(null);
  const [cancel] = t.place.querySelectorAll("article.waiting button");
  await fire(cancel ?? null, "click");
  await fire(named(t.place, "Remove"), "click");
  await fire(named(t.place, "Show earlier messages"), "click");
  expect(t.told.filter((each) => !each.startsWith("forget"))).toEqual([
    'discard "a"',
    'discard "d"',
    "earlier null",
  ]);
  await t.give({ hasEarlier: false });
  expect(t.place.querySelector(".earlier")).toBe(null);
});

test("it stays at its end while one reads there, and else where one reads, counting what comes", async () => {
  const t = await transcript({ messages: [said(1), said(2)], hasEarlier: true });
  const isLive = (): string | null | undefined =>
    t.place.querySelector("[role=log]")?.getAttribute("aria-live");
  expect([t.made.following, t.scrolledTo.at(-1), isLive()]).toEqual([true, 3_000, "polite"]);
  // 80 pixels above the end are not the end.
  await t.scroll(2_421);
  expect(t.made.following).toBe(true);
  await t.scroll(2_420);
  expect([t.made.following, isLive(), t.place.querySelector(".newest")?.textContent.trim()]).toEqual([
    false,
    "off",
    "↓",
  ]);
  t.scrolledTo.length = 0;
  t.told.length = 0;
  await t.give({ messages: [said(1), said(2), said(3, "user"), said(4), said(5, "notice")] });
  const counted = t.place.querySelector(".newest")?.textContent.replaceAll(/\s+/g, " ").trim();
  expect([counted, t.place.querySelector(".newest + .sr-only")?.textContent, t.scrolledTo]).toEqual([
    "↓ 2 new",
    "2 new",
    [],
  ]);
  expect(t.told.filter((each) => each.startsWith("forget"))).toEqual([]);
  await fire(named(t.place, "To the newest message"), "click");
  expect([t.made.following, t.scrolledTo[0], t.place.querySelector(".newest")]).toEqual([true, 3_000, null]);
  expect(t.told.filter((each) => each.startsWith("forget")).length).toBeGreaterThan(0);
  // Near the beginning more is asked for, if there is more.
  t.told.length = 0;
  await t.scroll(800);
  await t.scroll(799);
  await t.give({ hasEarlier: false });
  await t.scroll(10);
  expect(t.told.filter((each) => each.startsWith("earlier"))).toEqual(["earlier null"]);
});

test("one's own message and another conversation bring one to the end again", async () => {
  const t = await transcript({ messages: [said(1), said(2)] });
  await t.scroll(1_500);
  expect(t.made.following).toBe(false);
  await t.give({ outgoing: [{ key: "k", text: "mine", thread: null, atMs: 0 }] });
  expect(t.made.following).toBe(true);
  await t.scroll(1_500);
  await t.give({ outgoing: [] });
  expect(t.made.following).toBe(false);
  await t.give({ thread: "b", messages: [said(7)] });
  expect([t.made.following, t.texts()]).toEqual([true, ["words 7"]]);
});

test("what comes in above does not push away what is being read", async () => {
  const t = await transcript({ messages: [said(11), said(12), said(13)] });
  await t.scroll(150);
  const before = t.size.scrollTop;
  const article = t.place.querySelectorAll(".block article")[0];
  // Where it stands before the others are drawn above it, and afterwards.
  const top = (): number => (article !== undefined && t.place.contains(article) ? -50 : 50);
  const rect = (height: number) => () => ({ top: top(), bottom: top() + height, height });
  Object.assign(article ?? {}, { getBoundingClientRect: rect(100) });
  Object.assign(t.place.querySelector(".block") ?? {}, { getBoundingClientRect: rect(300) });
  Object.defineProperty(article, "isConnected", { get: () => true });
  await t.give({ messages: [said(10), said(11), said(12), said(13)] });
  expect(t.size.scrollTop - before).toBe(100);
});

test("another width makes what was known of heights worthless, and the end stays in sight", async () => {
  const t = await transcript({ messages: [said(1)] });
  t.scrolledTo.length = 0;
  Object.assign(t.made, { clientWidth: 300 });
  await t.resize();
  expect(t.scrolledTo).toEqual([3_000]);
  await t.scroll(100);
  t.scrolledTo.length = 0;
  await t.resize();
  expect(t.scrolledTo).toEqual([]);
});

test("one menu is open at a time, buttons and menus tell what was pressed, and queued words say so", async () => {
  const buttons = [
    [
      { label: "Yes", value: "/yes" },
      { label: "No", value: "/no" },
    ],
  ];
  const t = await transcript(
    { messages: [said(1, "user"), said(2, "assistant", { buttons }), said(3, "user")] },
    { mayWrite: true, models: ["m1", "m2"], queued: new Set(["id3", "id2"]) },
  );
  const menus = (): readonly boolean[] =>
    [...t.place.querySelectorAll("details.menu")].map((each) => each.hasAttribute("open"));
  const toggle = (at: number, open: boolean): Promise<Event> => {
    const menu = t.place.querySelectorAll("details.menu")[at] as HTMLDetailsElement;
    menu.open = open;
    return fire(menu, "toggle");
  };
  await toggle(0, true);
  await toggle(1, true);
  expect(menus()).toEqual([false, true, false]);
  // The one that was left tells so late.
  await toggle(0, false);
  expect(menus()).toEqual([false, true, false]);
  await fire(named(t.place, "Try again beside"), "click");
  const select = t.place.querySelector("select") as HTMLSelectElement;
  Object.defineProperty(select, "value", { value: "m2", writable: true });
  await fire(select, "change");
  expect(select.value).toBe("");
  await fire(named(t.place, "Go on from here beside"), "click");
  await toggle(1, false);
  await toggle(0, true);
  await fire(named(t.place, "Edit and send again"), "click");
  await fire(named(t.place, "Edit in a conversation of its own"), "click");
  await fire(named(t.place, "Yes"), "click");
  expect(
    [...t.place.querySelectorAll(".queued")].map((each) =>
      each.closest("article")?.textContent.includes("words 3"),
    ),
  ).toEqual([true]);
  await fire(named(t.place, "Edit"), "click");
  await fire(named(t.place, "Cancel"), "click");
  expect(t.told.filter((each) => !each.startsWith("forget"))).toEqual([
    'retry {"id":"id2"}',
    'retry {"id":"id2","model":"m2"}',
    'branch "id2"',
    'rewrite {"id":null,"text":"words 1"}',
    'rewrite {"id":null,"text":"words 1","branch":"id1"}',
    'press "/yes"',
    'rewrite {"id":"id3","text":"words 3"}',
    'cancel "id3"',
  ]);
  await t.give({ messages: [...t.made.chat.messages, said(4, "user", { text: "/no" })] });
  expect(
    [...t.place.querySelectorAll(".buttons button")].map((each) => [
      each.textContent.trim(),
      each.hasAttribute("disabled"),
      each.getAttribute("aria-pressed"),
    ]),
  ).toEqual([
    ["Yes", true, "false"],
    ["No", true, "true"],
  ]);
});

test("the menu of a message closes when the focus goes elsewhere", async () => {
  const t = await transcript({ messages: [said(1, "user")] });
  const menu = t.place.querySelector("details.menu") as HTMLDetailsElement;
  menu.open = true;
  const leave = async (relatedTarget: unknown): Promise<boolean> => {
    await fire(menu, "focusout", { relatedTarget });
    return menu.open;
  };
  expect([await leave(menu.querySelector("summary")), await leave(document.body)]).toEqual([true, false]);
  menu.open = true;
  expect(await leave(null)).toBe(false);
});

test("calls that come while somebody is at the end are folded two frames later, and not where they read above", async () => {
  const many = (count: number): readonly ToolCall[] =>
    Array.from({ length: count }, (_, at) => call(`${at}`, 5_000 + at));
  const t = await transcript({ messages: [said(1, "user")] }, { calls: many(10) });
  const folded = (): string | undefined => t.texts().find((each) => each.includes("earlier call"));
  expect(folded()).toBe(undefined);
  await t.give({}, { calls: many(40) });
  const run = async (): Promise<void> => {
    for (const act of t.frames.splice(0)) act();
    await settled();
  };
  expect(folded()).toBe(undefined);
  await run();
  expect(folded()).toBe(undefined);
  await run();
  expect(folded()).toBe("16 earlier calls");
  await t.give({}, { calls: many(60) });
  await run();
  await t.scroll(100);
  await run();
  expect(folded()).toBe("16 earlier calls");
  const details = t.place.querySelectorAll<HTMLDetailsElement>(".tools details")[0];
  if (details !== undefined) details.open = false;
  await fire(details ?? null, "toggle");
  expect(t.told.at(-1)).toBe('look-at {"call":"0","isOpen":false}');
});

test("calls stand before the first word that came after them, those of before what is shown nowhere", () => {
  const { place, before, last } = placedCalls();
  const messages = [said(2, "user"), said(3, "user"), said(4), said(5, "notice"), said(6, "user")];
  const calls = [
    call("e", 6_000),
    call("a", 1_999),
    call("b", 2_000),
    call("d", 4_001),
    call("c", 4_000),
    call("f", 5_000),
  ];
  place(calls, messages);
  const ids = (of: readonly ToolCall[]): string => of.map(({ id }) => id).join(" ");
  expect([...messages.map(({ seq }) => ids(before(seq))), ids(last())]).toEqual([
    "",
    "",
    "b c",
    "d f",
    "",
    "e",
  ]);
  place(calls, []);
  expect([ids(before(4)), ids(last())]).toEqual(["", "a b c d f e"]);
});

test("calls in which nothing changed are the same objects; how many are folded stays until it is said", () => {
  const { place, before, last, foldedOf, fold, unfold } = placedCalls();
  const messages = [said(1, "user"), said(3)];
  const [one, two] = [call("1", 2_000), call("2", 9_000, { state: "running" })];
  place([one, two], messages);
  const [was, now] = [before(3), last()];
  place([{ ...one }, { ...two }], messages);
  expect([before(3) === was, last() === now]).toEqual([true, true]);
  for (const other of [{ state: "ok" }, { turn: "u" }, { id: "3" }] as const) {
    place([one, { ...two, ...other }], messages);
    expect(last()).toEqual([{ ...two, ...other }]);
    expect(before(3)).toBe(was);
  }
  place([one, two, call("4", 9_001)], messages);
  expect(last()).toHaveLength(2);
  const many = Array.from({ length: 20 }, (_, at) => call(`m${at}`, at));
  expect([foldedOf([]), foldedOf(many.slice(0, 10)), foldedOf(many)]).toEqual([0, 0, 0]);
  fold(call("m0", 0), 8);
  expect([foldedOf(many), foldedOf(many.slice(1))]).toEqual([8, 8]);
  unfold();
  expect([foldedOf(many.slice(0, 15)), foldedOf(many)]).toEqual([0, 0]);
});

test("a day is named before its first message alone, and each message says who spoke, when, and where its page leads", async () => {
  const noon = Date.UTC(2026, 0, 5, 12);
  const buttons = [[{ label: "Page", url: "https://example.org/x" }]];
  const t = await transcript({
    messages: [
      said(1, "user", { atMs: noon }),
      said(2, "assistant", { atMs: noon + 1, html: "<p>rich</p>", buttons }),
      said(3, "notice", { atMs: noon + 36 * 3_600_000 }),
      // Before midnight and after it, wherever the reader is.
      said(4, "user", { atMs: noon + 36 * 3_600_000 + 1 }),
    ],
  });
  const seen = [...t.place.querySelectorAll(".day, article")].map((each) =>
    each.className === "day"
      ? "day"
      : `${each.className}: ${each.querySelector(".sr-only")?.textContent ?? ""}`,
  );
  expect(seen).toEqual(["day", "user: You:", "assistant: Parley:", "day", "notice: Notice:", "user: You:"]);
  expect(t.place.querySelector(".day")?.textContent).toMatch(/2026/);
  const link = t.place.querySelector(".buttons a");
  expect(["href", "target", "rel"].map((name) => link?.getAttribute(name))).toEqual([
    "https://example.org/x",
    "_blank",
    "noopener noreferrer",
  ]);
  const time = t.place.querySelectorAll("article time")[1];
  expect([time?.getAttribute("datetime"), time?.getAttribute("title")]).toEqual([
    "2026-01-05T12:00:00.001Z",
    expect.stringMatching(/2026.*\d:00:00/),
  ]);
  expect(
    [...t.place.querySelectorAll("article > .text, article > .rich")].map((each) => each.className),
  ).toEqual(["text", "rich", "text", "text"]);
});

test("what belongs to a block of messages is drawn with the message that stands before it", async () => {
  const noon = Date.UTC(2026, 0, 5, 12);
  const t = await transcript({
    messages: Array.from({ length: 7 }, (_, at) => said(at + 1, "user", { atMs: noon + at })),
  });
  // Seven messages are two blocks, of one day.
  expect([t.place.querySelectorAll(".block").length, t.place.querySelectorAll(".day").length]).toEqual([
    2, 1,
  ]);
});

test("a call that somebody looks at is drawn whole, now and before an answer, until it has another state", async () => {
  const calls = [
    call("old", 1_500, { output: "begins" }),
    call("now", 9_000, { output: "begins", state: "running", endedAtMs: null }),
  ];
  const t = await transcript({ messages: [said(1, "user"), said(2)] }, { calls });
  const outputs = (): readonly string[] =>
    [...t.place.querySelectorAll(".tools .whole")].map(
      (each) => [...each.querySelectorAll("pre")].at(-1)?.textContent ?? "",
    );
  expect(outputs()).toEqual(["begins", "begins"]);
  const whole = new Map(calls.map((each) => [each.id, { ...each, output: `${each.output} and ends` }]));
  await t.give({}, { wholeCalls: whole });
  expect(outputs()).toEqual(["begins and ends", "begins and ends"]);
  // What was read while it ran is not all of what it gave back.
  await t.give({}, { calls: [calls[0] as ToolCall, call("now", 9_000, { output: "begins anew" })] });
  expect(outputs()).toEqual(["begins and ends", "begins anew"]);
  await t.give({}, { wholeCalls: new Map() });
  expect(outputs()).toEqual(["begins", "begins anew"]);
});

test("what changes of a message is drawn: who may write, which models there are, whether it waits", async () => {
  const t = await transcript({ messages: [said(1, "user"), said(2)] }, { mayWrite: false });
  const menu = t.place.querySelectorAll("details.menu")[1] as HTMLDetailsElement;
  menu.open = true;
  await fire(menu, "toggle");
  const offered = (): readonly string[] =>
    [...t.place.querySelectorAll("details.menu button, details.menu select")].map((each) =>
      each.localName === "select"
        ? `${each.querySelectorAll("option").length} options`
        : each.textContent.trim(),
    );
  const story = [offered()];
  await t.give({}, { mayWrite: true });
  story.push(offered());
  await t.give({}, { models: ["a", "b"] });
  story.push(offered());
  expect(story).toEqual([
    ["Copy"],
    ["Copy", "Try again beside", "Go on from here beside"],
    ["Copy", "Try again beside", "3 options", "Go on from here beside"],
  ]);
  const queued = (): number => t.place.querySelectorAll(".queued").length;
  expect(queued()).toBe(0);
  await t.give({}, { queued: new Set(["id1"]) });
  expect(queued()).toBe(1);
  await t.give({}, { queued: new Set() });
  expect(queued()).toBe(0);
});
