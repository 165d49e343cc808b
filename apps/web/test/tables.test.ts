// Tables of what small parts of the page answer, with both sides of every limit: times, what waits to be
// sent, what is kept of conversations, buttons, palette and links.
import type { ChatMessage } from "@parley/protocol";
import { expect, test } from "vitest";
import { offerIn } from "../src/device/offer.ts";
import { ago, clockOf, duration, timeOf } from "../src/parts/time.ts";
import { plot } from "../src/parts/plot.ts";
import { copyable, revealed } from "../src/parts/text.ts";
import { choicesOf, found, kindOf, withValue, type Schema } from "../src/parts/schema.ts";
import { placeAt } from "../src/parts/json5-place.ts";
import { leftConversations, newestOf } from "../src/session/left-conversations.ts";
import { storedOutbox } from "../src/session/outbox.ts";
import { askedBefore, emptyChat, pressed, withMessages, type ChatState } from "../src/session/state.ts";
import { draftOf, keepDraft, keepRead, readThrough } from "../src/session/storage.ts";
import { Palette } from "../src/shell/palette.ts";
import { readTheme } from "../src/shell/theme.ts";
import { memoryStorage } from "./fake-gateway.ts";
import { partsOf, sectionList } from "../src/view/prompt-sections.ts";
import { browser, draw } from "./drawn.ts";
import { linesOf } from "./pages/show-page.ts";

test("how long ago or how soon, in the largest unit that is full", () => {
  const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];
  const at = [999, second, minute - 1, minute, hour - 1, hour, day - 1, day, 2 * day - 1, 30 * day];
  expect(at.map((ms) => [ago(-ms, 0), ago(ms, 0)])).toEqual([
    ["now", "now"],
    ["1 sec. ago", "in 1 sec."],
    ["59 sec. ago", "in 59 sec."],
    ["1 min. ago", "in 1 min."],
    ["59 min. ago", "in 59 min."],
    ["1 hr. ago", "in 1 hr."],
    ["23 hr. ago", "in 23 hr."],
    ["yesterday", "tomorrow"],
    ["yesterday", "tomorrow"],
    ["30 days ago", "in 30 days"],
  ]);
});

test("a time has its exact one to the second on hover, a clock its hours of twenty-four, and none is never", () => {
  browser();
  const place = document.createElement("div");
  const atMs = Date.UTC(2026, 0, 5, 12, 34, 56, 789);
  const shown = (view: unknown): readonly (string | null | undefined)[] => {
    draw(view, place);
    const time = place.querySelector("time");
    return [time?.textContent, time?.getAttribute("datetime"), time?.getAttribute("title")];
  };
  const exact = expect.stringMatching(/^Jan [456], 2026, 1?\d:\d[46]:56\s[AP]M$/);
  expect([shown(timeOf(atMs, atMs)), shown(clockOf(atMs))]).toEqual([
    ["now", "2026-01-05T12:34:56.789Z", exact],
    [expect.stringMatching(/^[012]\d:\d[46]:56$/), "2026-01-05T12:34:56.789Z", exact],
  ]);
  for (const none of [null, undefined]) {
    draw(timeOf(none, atMs), place);
    expect(place.textContent).toBe("never");
  }
});

test("a duration just before and at each limit", () => {
  const limits = [0, 999, 999.5, 9_949, 9_950, 59_499, 59_500, 119_499, 119_500, 3_599_499, 3_599_500];
  expect(limits.map(duration)).toEqual([
    "0 ms",
    "999 ms",
    "1.0 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1 min",
    "1 min 59 s",
    "2 min",
    "59 min 59 s",
    "1 h",
  ]);
});

test("an id is cut in its middle from one character too many on, and copied whole", () => {
  const shown = (length: number): string => linesOf(copyable("0123456789abcdef".slice(0, length), 10));
  expect([9, 10, 11, 16].map(shown)).toEqual([
    "[copy 012345678]\n",
    "[copy 0123456789]\n",
    "[copy 0123456789a, shown 0123…789a]\n",
    "[copy 0123456789abcdef, shown 0123…cdef]\n",
  ]);
});

test("of conversations that were left, ten are kept with their newest two hundred messages", () => {
  const message = (seq: number): ChatMessage => ({ seq, role: "user", text: "", html: "", atMs: 0 });
  const messages = Array.from({ length: 201 }, (_, at) => message(at + 1));
  const state = (thread: string | null, of = messages): ChatState => ({
    ...emptyChat,
    thread,
    messages: of,
  });
  const left = leftConversations();
  left.leave(state(null), 7);
  left.leave(state("full", messages.slice(1)), undefined);
  expect(left.of(null)).toEqual({ messages: messages.slice(1), hasEarlier: true, lastSeq: 7 });
  expect(left.of("full")).toMatchObject({ hasEarlier: false });
  for (let at = 0; at < 8; at += 1) left.leave(state(`t${at}`), at);
  // Ten are there: one that is left again takes nobody's place.
  left.leave(state("t3"), 33);
  expect([left.of(null)?.lastSeq, left.of("t3")?.lastSeq]).toEqual([7, 33]);
  // Left again, it is the newest; the oldest goes.
  left.leave(state(null, []), 9);
  left.leave(state("eleventh"), 1);
  expect([left.of("full"), left.of(null)]).toEqual([
    undefined,
    { messages: [], hasEarlier: false, lastSeq: 9 },
  ]);
  expect(left.of("t0")).toBeDefined();
  expect(newestOf({ messages, hasEarlier: true }, 500)).toEqual({ messages, hasEarlier: true });
});

test("what waits to be sent: the oldest first, each for its conversation, and nothing of others", () => {
  const storage = memoryStorage();
  const outbox = storedOutbox(storage);
  const file = { name: "a", mediaType: "b", data: "c" };
  outbox.add({ key: "late", text: "2", thread: "t", atMs: 2 });
  outbox.add({ key: "early", text: "1", thread: null, atMs: 1, files: [file] });
  storage.setItem("other.outbox.x", '{"text":"x","atMs":0}');
  const foreign = ["{", "null", '{"text":1,"atMs":1}', '{"text":"x"}', '"x"'];
  for (const [at, value] of foreign.entries()) storage.setItem(`parley.outbox.${at}`, value);
  storage.setItem(
    "parley.outbox.odd",
    JSON.stringify({ text: "3", atMs: 3, thread: 7, files: [file, { ...file, data: 1 }, null] }),
  );
  const list = [
    { key: "early", text: "1", thread: null, atMs: 1, files: [file] },
    { key: "late", text: "2", thread: "t", atMs: 2 },
    { key: "odd", text: "3", thread: null, atMs: 3, files: [file] },
  ];
  expect(outbox.list()).toEqual(list);
  outbox.remove("late");
  expect(outbox.list().map(({ key }) => key)).toEqual(["early", "odd"]);
});

test("a draft stays until it is empty; what was read never goes back", () => {
  const storage = memoryStorage();
  keepDraft(storage, null, "mine");
  keepDraft(storage, "t", "other");
  expect([draftOf(storage, null), draftOf(storage, "t"), draftOf(storage, "u")]).toEqual([
    "mine",
    "other",
    "",
  ]);
  keepDraft(storage, null, "");
  expect([storage.getItem("parley.draft."), draftOf(storage, "t")]).toEqual([null, "other"]);
  keepRead(storage, "t", 5);
  keepRead(storage, "t", 4);
  expect([readThrough(storage, "t"), readThrough(storage, null)]).toEqual([5, 0]);
});

test("what this page sent is shown once: as soon as it is read back, by its key and not by its words", () => {
  const out = (key: string) => ({ key, text: "hi", thread: null, atMs: 0 });
  const back = (seq: number, id: string): ChatMessage => ({
    seq,
    id,
    role: "user",
    text: "hi",
    html: "",
    atMs: seq,
  });
  const before = { ...emptyChat, outgoing: [out("k-1"), out("k-2"), out("k-3")] };
  const echoed = (state: ChatState): readonly string[] =>
    state.outgoing.filter((each) => each.echoed === true).map(({ key }) => key);
  const once = withMessages(before, [back(7, "web:main:owner:k-2"), back(8, "web:main:owner:another")]);
  expect(echoed(once)).toEqual(["k-2"]);
  expect(echoed(withMessages(once, [back(9, "web:main:owner:k-1")]))).toEqual(["k-1", "k-2"]);
});

test("messages stand by their numbers, none twice; an answer ends the draft, a person's words do not", () => {
  const message = (seq: number, role: ChatMessage["role"] = "user"): ChatMessage => ({
    seq,
    id: `id${seq}`,
    role,
    text: `${seq}`,
    html: "",
    atMs: 0,
  });
  const draft = { text: "…", html: "" } as never;
  const state = { ...emptyChat, draft, messages: [message(3)] };
  const more = withMessages(state, [message(4), message(1), message(3)]);
  expect([more.messages.map(({ seq }) => seq), more.draft]).toEqual([[1, 3, 4], draft]);
  expect(withMessages(state, [message(3, "assistant")])).toBe(state);
  expect(withMessages(state, [message(5, "notice")]).draft).toBe(null);
  const all = [message(1), message(2, "assistant"), message(3), message(4), message(5, "assistant")];
  expect(["id5", "id2", "id1"].map((id) => askedBefore(all, id))).toEqual(["id4", "id1", undefined]);
});

test("a button counts as pressed by what was said after it, here or on its way, but not by what was refused", () => {
  const at = { html: "", atMs: 0 };
  const card: ChatMessage = {
    seq: 5,
    id: "card",
    role: "assistant",
    text: "?",
    buttons: [
      [
        { label: "Yes", value: "yes" },
        { label: "Page", url: "x" },
      ],
      [{ label: "No", value: "no" }],
    ],
    ...at,
  };
  const said = (seq: number, text: string): ChatMessage => ({ seq, role: "user", text, ...at });
  const out = (text: string, more: object = {}) => ({ key: "k", text, thread: null, atMs: 0, ...more });
  const answer = (messages: readonly ChatMessage[], outgoing: readonly object[] = []): string | null =>
    pressed({ ...emptyChat, messages, outgoing } as ChatState, card);
  expect([
    answer([said(4, "yes"), card]),
    answer([card, said(6, "maybe"), said(7, "no"), said(8, "yes")]),
    answer([card], [out("yes")]),
    answer([card], [out("yes", { refused: "too long" })]),
    answer([card, { ...said(6, "yes"), role: "assistant" }]),
  ]).toEqual([null, "no", "yes", null, null]);
});

test("the palette finds letters in their order, what begins with them first", () => {
  const palette = new Palette();
  palette.choices = ["Go to Chat", "Chat", "Catalogue", "Log out", "chart"].map((name) => ({
    name,
    run: () => {},
  }));
  const names = (wanted: string): readonly string[] => {
    palette.wanted = wanted;
    const template = palette.render() as { readonly values: readonly unknown[] };
    return linesOf(template).split("\n").slice(2, -1);
  };
  expect(["", " CHA", "ct", "lo", "zz"].map(names)).toEqual([
    ["Go to Chat", "Chat", "Catalogue", "Log out", "chart"],
    ["Chat", "chart", "Go to Chat"],
    ["Go to Chat", "Chat", "Catalogue", "chart"],
    ["Log out", "Catalogue"],
    ["Nothing by that name."],
  ]);
});

test("a pairing link's code has 16 to 64 letters and digits; it asks for grants that a page can have", () => {
  const code = (length: number): string => "aZ0".repeat(30).slice(0, length);
  const all = ["notify", "camera", "microphone", "location", "clipboard", "share"];
  expect([15, 16, 64, 65].map((length) => offerIn(`#pair=${code(length)}`)?.grants ?? null)).toEqual([
    null,
    all,
    all,
    null,
  ]);
  expect(offerIn(`#pair=${code(16)}&name=${"n".repeat(41)}&grants=share,run,notify`)).toEqual({
    code: code(16),
    name: "n".repeat(40),
    grants: ["notify", "share"],
  });
  expect([offerIn(`#pair=${code(16)}&grants=`)?.grants, offerIn("#pair=a-b")]).toEqual([[], null]);
});

test("a theme that is none counts as the system's", () => {
  const storage = memoryStorage();
  const read = ["dark", "light", "system", "odd"].map((kept) => {
    storage.setItem("parley.theme", kept);
    return readTheme(storage);
  });
  expect([...read, readTheme(memoryStorage())]).toEqual(["dark", "light", "system", "system", "system"]);
});

test("kinds of fields, by schema and by the value that is there", () => {
  const text: Schema = { type: "string" };
  const rows: readonly (readonly [Schema, unknown?])[] = [
    [{ anyOf: [{ const: "a" }, { enum: ["b"] }] }],
    [{ anyOf: [{ const: "a" }, { type: "number" }] }],
    [{ anyOf: [{ type: "number" }, text] }, 3],
    [{ anyOf: [{ type: "number" }, text] }, "x"],
    [{ anyOf: [{ type: "number" }] }],
    [{ const: 1 }],
    [{ type: "boolean" }],
    [{ type: "number" }],
    [{ properties: {} }],
    [{ properties: {}, additionalProperties: text }],
    [{ additionalProperties: true }],
    [{ type: "array" }],
    [{ type: "array", items: { type: ["string", "number"] } }],
    [{ type: "array", items: { type: "string", anyOf: [text] } }],
    [{ type: "array", items: { type: "number" } }],
    [{}],
  ];
  expect(rows.map(([schema, value]) => kindOf(schema, value))).toEqual([
    "choice",
    "json",
    "json",
    "text",
    "json",
    "choice",
    "switch",
    "number",
    "json",
    "named",
    "json",
    "json",
    "lines",
    "json",
    "json",
    "json",
  ]);
  expect(choicesOf({ anyOf: [{ const: "a" }, { enum: [1, true] }, {}] })).toEqual(["a", "1", "true"]);
  const many: Schema = { properties: { a: text, b: text, c: text } };
  expect([1, 3, 4].map((most) => found(many, {}, "", most).length)).toEqual([1, 3, 3]);
  expect(withValue({ a: { b: {} } }, ["a", "b", "c"], undefined)).toBe(undefined);
});

test("places in a config that is being typed: words that are begun, behind lists, comments and other quotes", () => {
  const texts = [
    "{ a: [{ b: 1 }, |",
    "{ a: [1 |",
    "{ a: 1 |",
    "{ 'a': { \"b\": tr|",
    "{ a: { b: 1 }, |",
    "{ a: /* x */ |",
    "{ a: 1, // x\n |",
    "{ a: '\\'x|",
    "{ a: [[|",
    "}} { a: |",
  ];
  const at = (text: string) => placeAt(text.replace("|", ""), text.indexOf("|"));
  expect(texts.map(at)).toEqual([
    { path: ["a", 1], expects: "value", from: 16, isQuoted: false },
    null,
    null,
    { path: ["a", "b"], expects: "value", from: 14, isQuoted: false },
    { path: [], expects: "key", from: 15, isQuoted: false },
    { path: ["a"], expects: "value", from: 13, isQuoted: false },
    { path: [], expects: "key", from: 14, isQuoted: false },
    { path: ["a"], expects: "value", from: 6, isQuoted: true },
    { path: ["a", 0, 0], expects: "value", from: 7, isQuoted: false },
    { path: ["a"], expects: "value", from: 8, isQuoted: false },
  ]);
});

test("a prompt's text is cut into its sections where it comes out even, the stable ones up to the boundary", () => {
  const section = (id: string, zone: "stable" | "volatile", chars: number, included = true) =>
    ({ id, zone, chars, included, tokens: 0, hash: "", reason: "" }) as never;
  const sections = [
    section("now", "volatile", 2),
    section("who", "stable", 4),
    section("out", "stable", 9, false),
    section("how", "stable", 3),
  ];
  const text = "who!\n\nhow\n\nno";
  const cut = (of: string, boundary: number): unknown =>
    partsOf(sections, of, boundary)?.map(({ section: { id }, part }) => `${id}: ${part}`) ?? null;
  expect([cut(text, 9), cut(text, 8), cut(text, 10), cut(`${text}.`, 9), cut(text.slice(0, -1), 9)]).toEqual([
    ["who: who!", "how: how", "now: no"],
    null,
    null,
    null,
    null,
  ]);
});

test("a plot's bars stand side by side on its ground: none is a line, the least is seen, the most is as high as it", () => {
  browser();
  const place = document.createElement("div");
  const values = [0, 1, 500, 1_000];
  draw(plot({ label: "L", points: values.map((value) => ({ name: `n${value}`, value })) }), place);
  const of = (kind: string, ...names: readonly string[]): readonly string[] =>
    [...place.querySelectorAll(`rect.${kind}`)].map((each) =>
      names.map((name) => each.getAttribute(name)).join(" "),
    );
  expect(of("bar", "x", "y", "width", "height")).toEqual(["1 39 6 1", "9 38 6 2", "17 20 6 20", "25 0 6 40"]);
  expect(of("hit", "x", "y", "width", "height")).toEqual(["0 0 8 40", "8 0 8 40", "16 0 8 40", "24 0 8 40"]);
  expect(place.querySelector("svg")?.getAttribute("viewBox")).toBe("0 0 32 40");
  draw(plot({ label: "L", points: [] }), place);
  expect([
    place.querySelector("figcaption")?.textContent.trim(),
    place.querySelector("svg")?.getAttribute("viewBox"),
  ]).toEqual(["L", "0 0 8 40"]);
});

test("a browser that is full keeps nothing more, and what was written goes out all the same", () => {
  let why: Error = new DOMException("full", "QuotaExceededError");
  const storage = Object.assign(memoryStorage(), {
    setItem() {
      throw why;
    },
  });
  const outbox = storedOutbox(storage);
  const message = { key: "k", text: "t", thread: null, atMs: 1 };
  expect(() => outbox.add(message)).not.toThrow();
  why = new TypeError("a fault of the page");
  expect(() => outbox.add(message)).toThrow("a fault of the page");
});

test("signs that were written out are marked wherever they stand, and nothing else is", () => {
  browser();
  const place = document.createElement("div");
  const marked = (text: string): string => {
    draw(revealed(text), place);
    return place.innerHTML.replaceAll(/<\/?mark[^>]*>/g, (tag) => (tag.startsWith("</") ? "]" : "["));
  };
  expect(["a", "\\u{202e}", "a\\u{202E}b\\u{0}c", "\\u{xyz} \\u202e {202e}"].map(marked)).toEqual([
    "a",
    "[\\u{202e}]",
    "a[\\u{202E}]b[\\u{0}]c",
    "\\u{xyz} \\u202e {202e}",
  ]);
});

test("a section of a prompt that is pressed is brought into sight, whatever it is called", () => {
  browser();
  const place = document.createElement("div");
  place.className = "prompt";
  document.body.append(place);
  const section = (id: string) =>
    ({ id, zone: "stable", chars: 1, included: true, tokens: 1, hash: "", reason: "" }) as never;
  draw(sectionList([section("who"), section("odd id.2")]), place);
  const shown: unknown[] = [];
  for (const id of ["part-who", "part-odd id.2"]) {
    const part = document.createElement("div");
    part.id = id;
    Object.assign(part, { scrollIntoView: (how: object) => void shown.push([id, how]) });
    place.append(part);
  }
  for (const button of place.querySelectorAll("button")) {
    button.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
  }
  expect(shown).toEqual([
    ["part-who", { block: "start" }],
    ["part-odd id.2", { block: "start" }],
  ]);
});
