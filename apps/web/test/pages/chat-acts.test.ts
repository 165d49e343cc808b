// What a person does in the chat and what it asks of the gateway: writing, asking again, naming, pinning,
// taking off the list and back; and what is read anew when the gateway tells that something changed.
import { ReactiveElement, type PropertyValues, type TemplateResult } from "lit";
import { expect, onTestFinished, test, vi } from "vitest";
import { Chat } from "../../src/pages/chat.ts";
import { readAddress } from "../../src/parts/address.ts";
import { RequestFailure } from "../../src/session/link.ts";
import { emptyChat, type ChatState } from "../../src/session/state.ts";
import { memoryStorage } from "../fake-gateway.ts";
import { linesOf, nowMs, stoppedClock } from "./show-page.ts";

interface Template {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}
function templatesOf(value: unknown): readonly Template[] {
  if (Array.isArray(value)) return value.flatMap(templatesOf);
  if (typeof value !== "object" || value === null) return [];
  // A directive of lit: what it draws is its last value.
  if ("_$litDirective$" in value) {
    const last = (value as { readonly values?: readonly unknown[] }).values?.at(-1);
    return typeof last === "function" && last.length === 0 ? templatesOf((last as () => unknown)()) : [];
  }
  if (!("_$litType$" in value)) return [];
  const own = value as unknown as Template;
  return [own, ...own.values.flatMap(templatesOf)];
}

const row = (thread: string | null, more: object = {}): object => ({
  thread,
  sessionKey: `key-${thread ?? "first"}`,
  name: null,
  title: null,
  pinned: false,
  text: "words",
  seq: 1,
  atMs: nowMs,
  working: false,
  ...more,
});
const said = (seq: number, role: string, more: object = {}): object => ({
  seq,
  role,
  text: `text ${seq}`,
  html: "",
  atMs: nowMs,
  ...more,
});
const messages = [
  said(1, "user", { id: "u1" }),
  said(2, "assistant", { id: "a2" }),
  said(3, "user", { id: "u3" }),
  said(4, "assistant", { id: "a4" }),
  said(5, "user", { id: "u5" }),
];

class ActingChat extends Chat {}
customElements.define("acting-chat", ActingChat);

async function chat(at: string, more: { readonly may?: readonly string[]; readonly chat?: object } = {}) {
  const clock = stoppedClock();
  const [asked, did, went] = [[] as string[], [] as string[], [] as string[]];
  const hearers = new Map<string, Set<(payload: object) => void>>();
  const body = {};
  vi.stubGlobal("document", { visibilityState: "visible", body, activeElement: null });
  const refused = new Set<string>();
  let threads: object[] = [row(null), row("b", { name: "Bee" }), row("c", { title: "Sea" })];
  const answers: { [method: string]: (params: never) => unknown } = {
    "chat.threads": ({ find }: { readonly find?: string }) =>
      find === undefined
        ? { threads, left: 5 }
        : { threads: [row("old", { name: `with ${find}` })], left: find === "many" ? 1_300 : 0 },
    "chat.steps": ({ call }: { readonly call?: string }) => ({
      calls:
        call === undefined
          ? []
          : ["other", call].map((id) => ({
              id,
              turn: "t",
              tool: "exec",
              args: "{}",
              state: "ok",
              output: "whole",
              startedAtMs: nowMs,
              endedAtMs: nowMs,
            })),
      waiting: ["u5"],
    }),
    "sessions.tree": () => ({ sessions: [] }),
    "models.list": () => ({
      models: [
        { id: "good", trouble: null },
        { id: "bad", trouble: "no key" },
      ],
    }),
    "canvas.list": () => ({ canvases: [] }),
  };
  let ids = 0;
  const told =
    (name: string) =>
    (...of: unknown[]): void =>
      void did.push(`${name} ${JSON.stringify(of)}`);
  const storage = memoryStorage();
  const console = {
    clock,
    ids: {
      uuid: () => `uuid-${(ids += 1)}`,
      code: (letters: string, length: number) => `fresh-${letters.length}-${length}`,
    },
    storage,
    session: Object.fromEntries(
      ["open", "send", "discard", "earlier", "forgetEarlier", "stop"].map((name) => [name, told(name)]),
    ),
    chat: {
      ...emptyChat,
      connection: { kind: "online" },
      messages,
      thread: "b",
      ...more.chat,
    } as never as ChatState,
    async call(method: string, params: object) {
      asked.push(`${method} ${JSON.stringify(params)}`);
      if (refused.has(method)) throw new RequestFailure({ code: "conflict", message: `no ${method}` });
      return answers[method]?.(params as never) ?? {};
    },
    on(event: string, hear: (payload: object) => void) {
      const all = hearers.get(event) ?? new Set();
      hearers.set(event, all.add(hear));
      return () => void all.delete(hear);
    },
    onChange: () => () => void did.push("quits"),
    may: (scope: string) => (more.may ?? ["read", "write"]).includes(scope),
    has: () => true,
    go: (address: string) => void went.push(address),
  };
  const page = new ActingChat();
  Object.assign(page, {
    console,
    querySelector: () => null,
    update: (changed: PropertyValues) => ReactiveElement.prototype["update"].call(page, changed),
  });
  page.address = readAddress(at);
  page.connectedCallback();
  onTestFinished(() => {
    page.disconnectedCallback();
    vi.unstubAllGlobals();
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const render = (): TemplateResult => page.render();
  await settle();
  const valueOf = (tag: string, name: string): unknown => {
    const found = templatesOf(render()).find(({ strings }) =>
      strings.some((part) => part.includes(`<${tag}`)),
    );
    const from = found?.strings.findIndex((part) => part.includes(`<${tag}`)) ?? 0;
    const at_ =
      found?.strings.findIndex((part, nth) => nth >= from && part.trimEnd().endsWith(`${name}=`)) ?? -1;
    return found?.values[at_];
  };
  return {
    page,
    asked,
    did,
    went,
    refused,
    clock,
    hearers,
    settle,
    storage,
    answers,
    threadsAre: (next: object[]) => void (threads = next),
    valueOf,
    /** What an element of the page tells it. */
    async hear(tag: "parley-messages" | "parley-composer", event: string, detail?: unknown) {
      (valueOf(tag, `@${event}`) as (event: object) => void)({ detail });
      await settle();
    },
    async run(name: string) {
      const found = page.commands().filter((each) => each.name === name);
      if (found.length !== 1)
        throw new Error(
          `${found.length} commands are ${name}: ${page
            .commands()
            .map((each) => each.name)
            .join(", ")}`,
        );
      found[0]?.run();
      await settle();
    },
    async tell(event: string) {
      for (const hear of hearers.get(event) ?? []) hear({});
      await settle();
    },
    text: () => linesOf(render()),
    /** What was asked since the last time. */
    since: () => asked.splice(0),
  };
}

test("what it reads when it opens, of the conversation that is open", async () => {
  const c = await chat("#/chat/b");
  expect(c.since().toSorted()).toEqual([
    "canvas.list {}",
    'chat.steps {"thread":"b","limit":400,"chars":400}',
    'chat.threads {"thread":"b","limit":200}',
    "models.list {}",
    'sessions.tree {"key":"key-b"}',
  ]);
  expect([c.valueOf("parley-messages", ".models"), c.valueOf("parley-messages", ".queued")]).toEqual([
    ["good"],
    new Set(["u5"]),
  ]);
  expect(c.storage.getItem("parley.read.b")).toBe("5");
});

test("what is written goes to the session, an edit and a branch to the gateway, and each ends the rewriting", async () => {
  const c = await chat("#/chat/b");
  c.since();
  const files = [{ name: "a", mediaType: "t", data: "" }];
  await c.hear("parley-composer", "send", { text: "hello", files, rewrite: null });
  await c.hear("parley-messages", "rewrite", { id: null, text: "old" });
  expect(c.valueOf("parley-composer", ".rewrite")).toEqual({ id: null, text: "old" });
  await c.hear("parley-composer", "send", { text: "anew", files: [], rewrite: { id: null, text: "old" } });
  expect(c.valueOf("parley-composer", ".rewrite")).toBe(null);
  expect([c.did, c.since()]).toEqual([[`send ${JSON.stringify(["hello", files])}`, 'send ["anew",[]]'], []]);
  const edit = { id: "u5", text: "old" };
  await c.hear("parley-messages", "rewrite", edit);
  c.refused.add("chat.edit");
  await c.hear("parley-composer", "send", { text: "other", files: [], rewrite: edit });
  expect(c.valueOf("parley-composer", ".rewrite")).toEqual(edit);
  expect(c.text()).toContain("no chat.edit");
  c.refused.clear();
  await c.hear("parley-composer", "send", { text: "other", files: [], rewrite: edit });
  expect([c.valueOf("parley-composer", ".rewrite"), c.text().includes("no chat.edit")]).toEqual([
    null,
    false,
  ]);
  await c.hear("parley-composer", "send", {
    text: "branched",
    files: [],
    rewrite: { id: "x", text: "o", branch: "u3" },
  });
  expect(c.since()).toEqual([
    'chat.edit {"thread":"b","id":"u5","text":"other","idempotencyKey":"uuid-1"}',
    'chat.edit {"thread":"b","id":"u5","text":"other","idempotencyKey":"uuid-2"}',
    'chat.fork {"thread":"b","id":"u3","again":true,"text":"branched","to":"fresh-32-10","idempotencyKey":"uuid-3"}',
    'chat.threads {"thread":"b","limit":200}',
  ]);
  expect(c.went).toEqual(["#/chat/fresh-32-10"]);
});

test("an answer is asked for again by what came before it, with another model or as it was, and a message taken back", async () => {
  const c = await chat("#/chat", { chat: { thread: null } });
  c.since();
  await c.hear("parley-messages", "retry", { id: "a4", model: "good" });
  await c.hear("parley-messages", "retry", { id: "a2" });
  await c.hear("parley-messages", "branch", "u3");
  await c.hear("parley-messages", "cancel", "u5");
  expect(c.since().filter((each) => !each.startsWith("chat.threads"))).toEqual([
    'chat.fork {"id":"u3","again":true,"model":"good","to":"fresh-32-10","idempotencyKey":"uuid-1"}',
    'chat.fork {"id":"u1","again":true,"to":"fresh-32-10","idempotencyKey":"uuid-2"}',
    'chat.fork {"id":"u3","to":"fresh-32-10","idempotencyKey":"uuid-3"}',
    'chat.cancel {"id":"u5"}',
    'chat.steps {"limit":400,"chars":400}',
  ]);
  await c.hear("parley-messages", "retry", { id: "gone" });
  expect([c.since(), c.text().includes("! Nothing was asked before this answer.")]).toEqual([[], true]);
  for (const [event, detail] of [
    ["discard", "k"],
    ["press", "/yes"],
    ["earlier"],
    ["forget-earlier"],
  ] as const)
    await c.hear("parley-messages", event, detail);
  await c.hear("parley-composer", "stop");
  expect(c.did).toEqual(['discard ["k"]', 'send ["/yes"]', "earlier []", "forgetEarlier []", "stop []"]);
});

test("the last message is written anew: as the one that waits, or as another where it was answered", async () => {
  const c = await chat("#/chat/b");
  expect(c.page.onKey("x")).toBe(false);
  expect(c.page.onKey("e")).toBe(true);
  expect(c.valueOf("parley-composer", ".rewrite")).toEqual({ id: "u5", text: "text 5" });
  await c.hear("parley-composer", "rewritten");
  expect(c.valueOf("parley-composer", ".rewrite")).toBe(null);
  const answered = await chat("#/chat/b", { chat: { messages: messages.slice(0, 4) } });
  await answered.hear("parley-composer", "rewrite-last");
  expect(answered.valueOf("parley-composer", ".rewrite")).toEqual({ id: null, text: "text 3" });
  const looker = await chat("#/chat/b", { may: ["read"] });
  expect([looker.page.onKey("e"), looker.text().includes("parley-composer")]).toEqual([false, false]);
});

test("a conversation is pinned, named, taken off the list and put back; the first one is not taken off", async () => {
  const c = await chat("#/chat/b");
  const sent = (): readonly string[] => c.since().filter((each) => each.startsWith("chat.thread "));
  const names = (of: typeof c): readonly string[] => of.page.commands().map(({ name }) => name);
  expect(names(c)).toEqual([
    "New conversation",
    "Name this conversation",
    "Pin this conversation",
    "Take this conversation off the list",
    "Export this conversation as Markdown",
  ]);
  await c.run("Pin this conversation");
  c.threadsAre([row(null), row("b", { name: "Bee", pinned: true })]);
  await c.tell("chat.message");
  await c.run("Unpin this conversation");
  c.refused.add("chat.thread");
  await c.run("Take this conversation off the list");
  expect([c.went, c.text().includes("is off the list")]).toEqual([[], false]);
  c.refused.clear();
  await c.run("Take this conversation off the list");
  expect(c.went).toEqual(["#/chat"]);
  expect(c.text()).toContain("“Bee” is off the list. Nothing of it was deleted.");
  expect(sent()).toEqual([
    'chat.thread {"thread":"b","pinned":true}',
    'chat.thread {"thread":"b","pinned":false}',
    'chat.thread {"thread":"b","listed":false}',
    'chat.thread {"thread":"b","listed":false}',
  ]);
  const first = await chat("#/chat", { chat: { thread: null } });
  expect(names(first)).toEqual([
    "New conversation",
    "Name this conversation",
    "Pin this conversation",
    "Export this conversation as Markdown",
  ]);
  first.since();
  await first.run("Pin this conversation");
  expect(first.since()[0]).toBe('chat.thread {"pinned":true}');
  const looker = await chat("#/chat/b", { may: ["read"] });
  expect(names(looker)).toEqual(["Export this conversation as Markdown"]);
});

test("another conversation forgets what belonged to the one before, and is read", async () => {
  const c = await chat("#/chat/b");
  await c.hear("parley-messages", "rewrite", { id: "u5", text: "old" });
  await c.hear("parley-messages", "look-at", { call: "x", isOpen: true });
  await c.hear("parley-messages", "look-at", { call: "y", isOpen: true });
  const open = (): readonly string[] => [
    ...(c.valueOf("parley-messages", ".wholeCalls") as Map<string, object>).keys(),
  ];
  expect(open()).toEqual(["x", "y"]);
  const whole = c.valueOf("parley-messages", ".wholeCalls") as Map<string, { readonly id: string }>;
  expect([...whole.values()].map(({ id }) => id)).toEqual(["x", "y"]);
  // One that the gateway knows no more changes nothing.
  const steps = c.answers["chat.steps"];
  c.answers["chat.steps"] = () => ({ calls: [], waiting: [] });
  await c.hear("parley-messages", "look-at", { call: "gone", isOpen: true });
  expect(open()).toEqual(["x", "y"]);
  if (steps !== undefined) c.answers["chat.steps"] = steps;
  await c.hear("parley-messages", "look-at", { call: "x", isOpen: false });
  expect(open()).toEqual(["y"]);
  expect(c.since().filter((each) => each.includes('"call"'))).toEqual([
    'chat.steps {"thread":"b","call":"x","limit":1}',
    'chat.steps {"thread":"b","call":"y","limit":1}',
    'chat.steps {"thread":"b","call":"gone","limit":1}',
  ]);
  c.page.address = readAddress("#/chat/unlisted");
  await c.settle();
  expect([open(), c.valueOf("parley-composer", ".rewrite"), c.did]).toEqual([
    [],
    null,
    ['open ["unlisted"]'],
  ]);
  expect(c.since()).toEqual([
    'chat.threads {"thread":"unlisted","limit":200}',
    'chat.steps {"thread":"unlisted","limit":400,"chars":400}',
  ]);
  c.page.address = readAddress("#/chat/c");
  await c.settle();
  expect(c.since()).toEqual([
    'chat.steps {"thread":"c","limit":400,"chars":400}',
    'sessions.tree {"key":"key-c"}',
  ]);
});

test("events say what is read anew: tools the calls, a message the list too; a flood of them one after the other", async () => {
  const c = await chat("#/chat/b");
  c.since();
  const of = async (event: string): Promise<readonly string[]> => {
    await c.tell(event);
    const asked = c.since().map((each) => each.split(" ")[0] ?? "");
    return asked;
  };
  expect([await of("chat.tool"), await of("chat.typing"), await of("chat.message")]).toEqual([
    ["chat.steps"],
    ["chat.steps", "sessions.tree", "canvas.list"],
    ["chat.steps", "chat.threads"],
  ]);
  for (let times = 0; times < 5; times += 1) for (const hear of c.hearers.get("chat.tool") ?? []) hear({});
  await c.settle();
  expect(c.since()).toHaveLength(1);
  c.clock.pass(249);
  await c.settle();
  expect(c.since()).toEqual([]);
  c.clock.pass(1);
  await c.settle();
  expect(c.since()).toHaveLength(1);
  c.page.disconnectedCallback();
  expect([...c.hearers.values()].map((each) => each.size)).toEqual([0, 0, 0]);
});

test("what is looked for among those that are not listed is asked for when one pauses", async () => {
  const c = await chat("#/chat/b");
  c.since();
  const filter = (words: string): void => {
    const field = templatesOf(c.page.render()).find(({ strings }) =>
      strings.some((part) => part.includes('type="search"')),
    );
    const at = field?.strings.findIndex((part) => part.trimEnd().endsWith("@input=")) ?? -1;
    (field?.values[at] as ((event: object) => void) | undefined)?.({ target: { value: words } });
  };
  const press = (words: string): void => {
    const button = templatesOf(c.page.render()).find(
      ({ strings, values }) => strings[0]?.startsWith("<button") === true && values.includes(words),
    );
    (button?.values.find((value) => typeof value === "function") as (() => void) | undefined)?.();
  };
  const more = (): string | undefined => /\[Show .*? more\]/.exec(c.text())?.[0];
  expect(more()).toBe("[Show 5 more]");
  filter(" ro");
  // How many of those that are looked for there are is not known yet.
  expect(more()).toBe(undefined);
  c.clock.pass(199);
  filter(" rome ");
  c.clock.pass(199);
  await c.settle();
  expect(c.since()).toEqual([]);
  c.clock.pass(1);
  await c.settle();
  expect(c.since()).toEqual(['chat.threads {"find":"rome","limit":200}']);
  expect([c.text().includes("with rome"), more()]).toEqual([true, undefined]);
  filter(" ");
  expect([c.text().includes("with rome"), more()]).toEqual([false, "[Show 5 more]"]);
  c.clock.pass(200);
  await c.settle();
  expect([c.since(), c.text().includes("with rome")]).toEqual([[], false]);
  filter("many");
  c.clock.pass(200);
  await c.settle();
  expect([c.since(), more()]).toEqual([['chat.threads {"find":"many","limit":200}'], "[Show 200 more]"]);
  for (let times = 0; times < 5; times += 1) {
    press("Show 200 more");
    await c.settle();
  }
  expect(c.since().filter((each) => each.includes("find"))).toEqual(
    [400, 600, 800, 1_000, 1_000].map((limit) => `chat.threads {"find":"many","limit":${limit}}`),
  );
  // Whoever left looks for nothing more.
  filter("later");
  c.page.disconnectedCallback();
  c.clock.pass(200);
  await c.settle();
  expect(c.since()).toEqual([]);
});

test("beside events it looks itself every few seconds: often for sub-agents, seldom for models", async () => {
  const c = await chat("#/chat/b");
  c.since();
  const known: { [method: string]: number } = {};
  for (let second = 1; second <= 60; second += 1) {
    c.clock.pass(1_000);
    await c.settle();
    for (const asked of c.since()) known[asked.split(" ")[0] ?? ""] ??= second;
  }
  expect(known).toEqual({
    "sessions.tree": 3,
    "chat.threads": 5,
    "chat.steps": 5,
    "canvas.list": 10,
    "models.list": 60,
  });
});

test("a gateway of another version that answers less leaves the conversation usable", async () => {
  const c = await chat("#/chat/b");
  for (const method of ["chat.threads", "chat.steps", "models.list", "canvas.list", "sessions.tree"])
    c.answers[method] = () => ({});
  await c.tell("chat.message");
  await c.tell("chat.typing");
  await c.hear("parley-messages", "look-at", { call: "x", isOpen: true });
  c.clock.pass(60_000);
  await c.settle();
  expect(c.text()).not.toContain("! ");
  expect([c.valueOf("parley-messages", ".calls"), c.valueOf("parley-messages", ".models")]).toEqual([[], []]);
  for (const method of Object.keys(c.answers)) c.refused.add(method);
  await c.tell("chat.message");
  await c.tell("chat.typing");
  c.clock.pass(60_000);
  await c.settle();
  expect(c.text()).not.toContain("! ");
  await c.hear("parley-composer", "send", { text: "hello", files: [], rewrite: null });
  expect(c.did.at(-1)).toBe('send ["hello",[]]');
});
