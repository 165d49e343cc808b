// The parts of a conversation as a person sees them: the list of conversations, the line above one, messages
// in every state with what may be done with them, and the calls of tools.
import type { ChatMessage } from "@parley/protocol";
import { expect, test } from "vitest";
import { chatHead } from "../../src/view/chat/chat-head.ts";
import { messageView, outgoingView, type MessagePlace } from "../../src/view/chat/message.ts";
import { threadMenu } from "../../src/view/chat/thread-menu.ts";
import { threadList, titleOf, together, type Thread } from "../../src/view/chat/thread-list.ts";
import { foldedAtFirst, foldedOutOfSight, toolCards, type ToolCall } from "../../src/view/chat/tool-card.ts";
import { linesOf, nowMs, section } from "./show-page.ts";

const thread = (name: string | null, more: Partial<Thread> = {}): Thread => ({
  thread: name,
  sessionKey: `agent:main:web:dm:1:${name ?? ""}`,
  name: null,
  title: null,
  pinned: false,
  text: `words of ${name ?? "the first"}`,
  seq: 5,
  atMs: nowMs,
  working: false,
  ...more,
});

test("conversations: pinned ones first, then the newest; unread but for the one that is open", async () => {
  const threads = [
    thread(null, { atMs: nowMs - 3_000, seq: 9 }),
    thread("a", { title: "Title of a", atMs: nowMs - 2_000 }),
    thread("b", { name: "Named", title: "Title of b", atMs: nowMs - 1_000, working: true, seq: 9 }),
    thread("c", { pinned: true, atMs: nowMs - 9_000, seq: 7 }),
    thread("d", { pinned: true, atMs: nowMs - 8_000 }),
    thread("e", { atMs: null, seq: 0 }),
  ];
  const acts = { name: () => {}, pin: () => {}, export: () => {}, remove: () => {} };
  const shown = (filter: string, left = 0, mayWrite = true): string =>
    linesOf(
      threadList({
        threads,
        here: "b",
        filter,
        onFilter: () => {},
        readThrough: (of) => (of === null ? 8 : 6),
        left,
        onMore: () => {},
        menuOf: (row) => threadMenu(row, acts, mayWrite),
        fieldOf: () => null,
        nowMs,
      }),
    );
  await expect(
    section("all", shown("")) +
      section("by a title", shown(" TITLE OF A ")) +
      section("by words", shown("words of d")) +
      section("none", shown("nothing of the kind")) +
      section("there are more, and one may only read", shown("words of d", 4, false)),
  ).toMatchFileSnapshot("shown/threads.txt");
  expect(threads.map(titleOf)).toEqual([
    "First conversation",
    "Title of a",
    "Named",
    "New conversation",
    "New conversation",
    "New conversation",
  ]);
});

test("conversations that were found stand behind those that are there, each once and as it is there", () => {
  const there = [thread("a", { text: "there" }), thread(null)];
  const found = [thread("b"), thread("a", { text: "found" }), thread(null, { text: "found" }), thread("c")];
  expect(together(there, found).map((each) => [each.thread, each.text])).toEqual([
    ["a", "there"],
    [null, "words of the first"],
    ["b", "words of b"],
    ["c", "words of c"],
  ]);
});

test("the line above a conversation: its name or the field for one, its sub-agents, and what may be done", async () => {
  const states = ["running", "answered", "silent", "failed", "stopped", "lost"] as const;
  const head = {
    named: "Garden",
    naming: null,
    onNamed: () => {},
    nowMs,
    tree: { isOpen: true, toggle: () => {} },
    hrefOf: () => null,
    menu: "(menu)",
    children: states.map((state, at) => ({
      key: `agent:main:subagent:${at}`,
      parent: "p",
      depth: 1,
      label: at % 2 === 0 ? `label ${at}` : null,
      task: at === 1 ? null : `task\u202e ${at}`,
      state,
      reason: state === "failed" ? "the model refused" : null,
      startedAtMs: nowMs - 90_000,
      endedAtMs: state === "running" ? null : nowMs - 60_000,
      tokens: 1,
    })),
  };
  const toggle = (isOpen: boolean) => ({ isOpen, toggle: () => {} });
  await expect(
    section("may only look", linesOf(chatHead(head))) +
      section(
        "everything",
        linesOf(
          chatHead({
            ...head,
            children: head.children.slice(0, 1),
            naming: "Ga",
            list: toggle(true),
            canvas: toggle(false),
            tree: toggle(false),
            start: () => {},
          }),
        ),
      ),
  ).toMatchFileSnapshot("shown/chat-head.txt");
});

const message = (role: ChatMessage["role"], more: Partial<ChatMessage> = {}): ChatMessage => ({
  seq: 1,
  role,
  text: `words of ${role}`,
  html: role === "assistant" ? "<p>rich <b>words</b></p>" : "",
  atMs: nowMs,
  ...more,
});

test("messages: what each shows, and what its menu offers to whoever may write", async () => {
  const told: string[] = [];
  const place: MessagePlace = {
    before: message("user", { atMs: nowMs - 1 }),
    calls: [],
    wholeCalls: new Map(),
    isQueued: false,
    said: null,
    mayWrite: true,
    models: ["a", "b"],
    isOpen: true,
    onToggle: () => {},
    tell: (name, detail) => void told.push(`${name} ${JSON.stringify(detail)}`),
  };
  const buttons = [
    [
      { label: "Once", value: "/approve x once", style: "primary" as const },
      { label: "Deny", value: "/approve x deny", style: "danger" as const },
    ],
    [{ label: "More", url: "https://example.org" }],
  ];
  const user = message("user", { id: "row-1", files: [{ name: "a.png", bytes: 1 }] });
  const answer = message("assistant", { id: "delivery/0/3" });
  const view = (of: ChatMessage, more: Partial<MessagePlace> = {}): string =>
    linesOf(messageView(of, { ...place, ...more }));
  await expect(
    section("what a person said", view(user)) +
      section("an answer", view(answer)) +
      section("an answer, one model", view(answer, { models: ["a"] })) +
      section("may only look", view(answer, { mayWrite: false })) +
      section("queued", view(user, { isQueued: true })) +
      section("without an id", view(message("user"))) +
      section("a notice, its menu closed", view(message("notice", { id: "n/0" }), { isOpen: false })) +
      section("buttons", view(message("assistant", { buttons }), { isOpen: false })) +
      section(
        "buttons, one pressed",
        view(message("assistant", { buttons }), { isOpen: false, said: "/approve x deny" }),
      ),
  ).toMatchFileSnapshot("shown/messages.txt");
});

test("what is on its way: sent, waiting for the line, or refused with the reason", () => {
  const out = { key: "k", text: "hello", thread: null, atMs: nowMs };
  const files = [{ name: "a.png", mediaType: "image/png", data: "" }];
  const lines = [
    outgoingView({ ...out, files }, true, () => {}),
    outgoingView(out, false, () => {}),
    outgoingView({ ...out, refused: "it is too long" }, true, () => {}),
  ].map(linesOf);
  expect(lines).toEqual([
    "hello\n«Files»\n- a.png\nSending… [Cancel]\n",
    "hello\nWaits here until the gateway is back. [Cancel]\n",
    "hello\nNot sent: it is too long [Remove]\n",
  ]);
});

test("calls of tools: the value that tells most, hidden signs written out, and how long it took", () => {
  const call = (args: string, more: object = {}) => ({
    id: "1",
    turn: "t",
    tool: "exec",
    args,
    state: "ok" as const,
    output: "",
    startedAtMs: nowMs,
    endedAtMs: nowMs + 1_500,
    ...more,
  });
  const cards = (calls: readonly ToolCall[], whole: readonly ToolCall[] = []) =>
    toolCards(calls, new Map(whole.map((each) => [each.id, each])), () => {});
  const head = (args: string): string | undefined => linesOf(cards([call(args)])).split("\n")[2];
  expect(
    [
      '{"count":2,"command":"ls","path":"x"}',
      '{"count":2,"more":3}',
      "{}",
      "[]",
      '{"command":"a\u202eb"}',
      "{cut",
      `{${"x".repeat(300)}`,
    ].map(head),
  ).toEqual([
    "exec ls done · 1.5 s",
    "exec 2 done · 1.5 s",
    "exec done · 1.5 s",
    "exec done · 1.5 s",
    "exec a\\u{202e}b done · 1.5 s",
    "exec {cut done · 1.5 s",
    `exec {${"x".repeat(199)} done · 1.5 s`,
  ]);
  expect(
    linesOf(
      cards([
        call("{}", { state: "running", endedAtMs: null }),
        call("{}", { state: "failed", output: "no such file" }),
      ]),
    ),
  ).toBe(
    [
      ["«Tools that it used»", "-", "exec runs", "### Asked", "{}"],
      ["-", "exec failed · 1.5 s", "### Asked", "{}", "### Gave back", "no such file", ""],
    ]
      .flat()
      .join("\n"),
  );
  // Of many the earlier ones are one line, and none is folded that somebody looks at.
  const many = Array.from({ length: 30 }, (_, at) =>
    call("{}", { id: `${at}`, turn: "t", ...(at === 3 ? { state: "failed" } : {}) }),
  );
  const first = (calls: readonly ToolCall[], whole: readonly ToolCall[] = []): string | undefined =>
    linesOf(cards(calls, whole)).split("\n")[0];
  const tools = "«Tools that it used»";
  expect([
    first(many),
    first(many.slice(0, 15)),
    first(many, many.slice(10, 11)),
    first(many, many.slice(0, 1)),
  ]).toEqual(["16 earlier calls · 1 failed", tools, "10 earlier calls · 1 failed", tools]);
  const whole = call("{}", { id: "29", turn: "t", output: "all of it" });
  expect(linesOf(cards(many.slice(-1), [whole]))).toContain("all of it");
});

test("calls that come in view are folded only above what is seen, and as many at once as at first", () => {
  const heightPx = 640;
  for (let count = 1; count <= 300; count += 1) {
    const folded = foldedOutOfSight(count, heightPx);
    expect(folded === 0 || (count - folded) * 36 >= heightPx).toBe(true);
    expect(folded).toBeLessThanOrEqual(foldedAtFirst(count));
  }
  expect([foldedAtFirst(15), foldedAtFirst(16), foldedAtFirst(300)]).toEqual([0, 8, 288]);
  expect([
    foldedOutOfSight(33, heightPx),
    foldedOutOfSight(34, heightPx),
    foldedOutOfSight(300, heightPx),
  ]).toEqual([0, 8, 272]);
});
