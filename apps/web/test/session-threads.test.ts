// Turning from one conversation to another over one line: what is followed and read, what stays of the one
// that was left, what of another's events is not shown, and what a line that breaks meanwhile does to it.
import type { ChatMessage } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { chatSession } from "../src/session/chat-session.ts";
import { storedToken } from "../src/session/credential.ts";
import { storedOutbox } from "../src/session/outbox.ts";
import type { ChatState } from "../src/session/state.ts";
import { fakeLine, refusal, settle, stub } from "./device/browser.ts";
import { memoryStorage } from "./fake-gateway.ts";
import { stoppedClock } from "./pages/show-page.ts";

const said = (seq: number, text: string, role: ChatMessage["role"] = "assistant"): ChatMessage => ({
  seq,
  role,
  text,
  html: "",
  atMs: seq,
});

async function page(scopes: readonly string[] = ["read", "write"]) {
  stub({});
  const storage = memoryStorage();
  storedToken(storage).keep("t");
  const clock = stoppedClock();
  let state: ChatState | null = null;
  const events: string[] = [];
  const histories: {
    [thread: string]: { messages: readonly ChatMessage[]; working?: boolean; hasEarlier?: boolean };
  } = {
    "": { messages: [said(1, "first 1"), said(2, "first 2")], working: true },
    b: { messages: [said(10, "b 10")], hasEarlier: true },
    c: { messages: [] },
  };
  const seqs: { [thread: string]: { seq: number; resync: boolean } } = {
    "": { seq: 2, resync: false },
    b: { seq: 10, resync: false },
    c: { seq: 0, resync: false },
  };
  const answers: { [method: string]: (params: { thread?: string }) => unknown } = {
    connect: ({ thread = "" }) => ({ ...seqs[thread], peer: "p", scopes, protocol: 1 }),
    "chat.follow": ({ thread = "" }) => seqs[thread],
    "chat.history": ({ thread = "" }) => ({
      sessionKey: "s",
      working: false,
      hasEarlier: false,
      ...histories[thread],
      messages: [...(histories[thread]?.messages ?? [])],
    }),
    "chat.send": () => ({ id: "x", sessionKey: "s", duplicate: false }),
  };
  const line = fakeLine((method, params) => answers[method]?.(params) ?? {});
  let ids = 0;
  const session = chatSession({
    base: "http://h",
    token: storedToken(storage),
    outbox: storedOutbox(storage),
    clock,
    ids: { uuid: () => `k${(ids += 1)}`, code: () => "code", chance: () => 1 },
    onChange: (next) => (state = next),
    onEvent: ({ event }) => void events.push(event),
  });
  onTestFinished(() => session.end());
  session.start(null);
  await settle(12);
  const chat = (): ChatState => {
    if (state === null) throw new Error("nothing was told");
    return state;
  };
  return {
    session,
    line,
    clock,
    storage,
    answers,
    histories,
    seqs,
    events,
    chat,
    texts: () => chat().messages.map(({ text }) => text),
    /** What was asked since the last time. */
    since: () => line.asked.splice(0),
    async open(thread: string | null) {
      session.open(thread);
      await settle(12);
    },
    async tell(event: string, payload: object) {
      line.tell(event, payload);
      await settle();
    },
  };
}

test("another conversation is followed and read; the one that was left is there at once when one comes back", async () => {
  const p = await page();
  expect([p.texts(), p.chat().working]).toEqual([["first 1", "first 2"], true]);
  expect(p.since()).toEqual(['connect {"auth":{"token":"t"}}', 'chat.history {"limit":200}']);
  p.session.open("b");
  expect([p.chat().thread, p.texts(), p.chat().working, p.chat().hasEarlier]).toEqual([
    "b",
    [],
    false,
    false,
  ]);
  await settle(12);
  expect([p.texts(), p.chat().working, p.chat().hasEarlier]).toEqual([["b 10"], false, true]);
  expect(p.since()).toEqual(['chat.follow {"thread":"b"}', 'chat.history {"thread":"b","limit":200}']);
  await p.tell("chat.message", said(11, "b 11"));
  p.session.open(null);
  expect([p.texts(), p.chat().hasEarlier]).toEqual([["first 1", "first 2"], false]);
  await settle(12);
  // What was told of it last is where its replay begins.
  expect(p.since()).toEqual(['chat.follow {"lastSeq":2}', 'chat.history {"limit":200}']);
  await p.open("b");
  expect([p.texts(), p.since()]).toEqual([
    ["b 10", "b 11"],
    ['chat.follow {"thread":"b","lastSeq":11}', 'chat.history {"thread":"b","limit":200}'],
  ]);
  // The one that is open is not turned to.
  await p.open("b");
  expect(p.since()).toEqual([]);
});

test("events count for the conversation that the line follows, and not while one turns to another", async () => {
  const p = await page();
  await p.tell("chat.delta", { turn: "t", text: "grows", html: "" });
  expect(p.chat().draft?.text).toBe("grows");
  p.session.open("b");
  expect(p.chat().draft).toBe(null);
  // The line tells of the one before until it is asked for the other.
  for (const [event, payload] of [
    ["chat.message", said(3, "of the first")],
    ["chat.delta", { turn: "t", text: "of the first", html: "" }],
    ["chat.typing", { working: true }],
    ["resync", {}],
  ] as const)
    p.line.tell(event, payload);
  expect([p.texts(), p.chat().draft, p.chat().working]).toEqual([[], null, false]);
  await settle(12);
  expect(p.texts()).toEqual(["b 10"]);
  // Whoever else listens hears all of it.
  expect(p.events).toEqual(["chat.delta", "chat.message", "chat.delta", "chat.typing", "resync"]);
});

test("turning twice before the line answers ends at the last; a history that came for another is dropped", async () => {
  const p = await page();
  p.since();
  p.session.open("b");
  p.session.open("c");
  await settle(20);
  expect([p.chat().thread, p.texts(), p.since()]).toEqual([
    "c",
    [],
    ['chat.follow {"thread":"b"}', 'chat.follow {"thread":"c"}', 'chat.history {"thread":"c","limit":200}'],
  ]);
  p.answers["chat.history"] = ({ thread }) => {
    if (thread === "b") p.session.open(null);
    return {
      sessionKey: "s",
      messages: [said(99, `of ${thread ?? "the first"}`)],
      working: true,
      hasEarlier: false,
    };
  };
  await p.open("b");
  await settle(20);
  expect([p.chat().thread, p.texts()]).toEqual([null, ["first 1", "first 2"]]);
});

test("a conversation of which too much was missed is emptied and read anew, and others' places stay", async () => {
  const p = await page();
  await p.open("b");
  await p.open(null);
  Object.assign(p.seqs, { b: { seq: 50, resync: true } });
  Object.assign(p.histories, { b: { messages: [said(50, "b 50")] } });
  await p.open("b");
  expect([p.texts(), p.chat().hasEarlier]).toEqual([["b 50"], false]);
  p.since();
  Object.assign(p.histories, { b: { messages: [said(70, "b 70")] } });
  p.line.tell("resync", {});
  await settle(12);
  expect([p.texts(), p.since()]).toEqual([["b 70"], ['chat.history {"thread":"b","limit":200}']]);
});

test("what is written goes to the conversation in which it was written, one after the other; what is stopped is the open one's", async () => {
  const p = await page();
  p.since();
  const file = { name: "a", mediaType: "t", data: "" };
  p.session.send("one");
  p.session.open("b");
  p.session.send("two", [file]);
  expect(p.chat().outgoing.map(({ text, thread }) => [text, thread])).toEqual([
    ["one", null],
    ["two", "b"],
  ]);
  await settle(20);
  expect(p.since().filter((each) => each.startsWith("chat.send"))).toEqual([
    'chat.send {"text":"one","idempotencyKey":"k1"}',
    `chat.send ${JSON.stringify({ thread: "b", files: [file], text: "two", idempotencyKey: "k2" })}`,
  ]);
  expect([p.chat().outgoing, storedOutbox(p.storage).list()]).toEqual([[], []]);
  p.session.stop();
  await p.open(null);
  p.session.stop();
  await settle();
  expect(p.since().filter((each) => each.startsWith("chat.abort"))).toEqual([
    'chat.abort {"thread":"b"}',
    "chat.abort {}",
  ]);
});

test.each(["closed", "unavailable", "rate_limited", "internal", "ambiguous", "aborted"])(
  "a message that was refused as %s waits and goes again over the next line, under the same key",
  async (code) => {
    const p = await page();
    p.since();
    let times = 0;
    p.answers["chat.send"] = () => ((times += 1) === 1 ? refusal(code, "later") : {});
    p.session.send("words");
    await settle(12);
    expect(p.chat().outgoing).toMatchObject([{ text: "words" }]);
    expect(p.chat().outgoing[0]).not.toHaveProperty("refused");
    p.session.hurry();
    await settle(20);
    expect([p.chat().outgoing, p.since().filter((each) => each.startsWith("chat.send"))]).toEqual([
      [],
      [1, 2].map(() => 'chat.send {"text":"words","idempotencyKey":"k1"}'),
    ]);
  },
);

test.each(["invalid", "denied", "conflict", "not_found", "unauthorized"])(
  "a message that was refused as %s is not sent again",
  async (code) => {
    const p = await page();
    p.answers["chat.send"] = () => refusal(code, "why not");
    p.session.send("words");
    await settle(12);
    expect([p.chat().outgoing[0]?.refused, storedOutbox(p.storage).list()]).toEqual(["why not", []]);
    p.session.discard("k1");
    expect(p.chat().outgoing).toEqual([]);
  },
);

test("the draft of a turn that ended stands a second for its answer; another draft or conversation ends that wait", async () => {
  const p = await page();
  const delta = (text: string): Promise<void> => p.tell("chat.delta", { turn: "t", text, html: "" });
  await delta("grows");
  await p.tell("chat.typing", { working: false });
  p.clock.pass(999);
  expect([p.chat().draft?.text, p.chat().working]).toEqual(["grows", false]);
  p.clock.pass(1);
  expect(p.chat().draft).toBe(null);
  await delta("again");
  await p.tell("chat.typing", { working: false });
  await delta("goes on");
  p.clock.pass(1_000);
  expect(p.chat().draft?.text).toBe("goes on");
  await p.tell("chat.typing", { working: false });
  await p.tell("chat.typing", { working: true });
  p.clock.pass(1_000);
  expect([p.chat().draft?.text, p.chat().working]).toEqual(["goes on", true]);
  await delta("");
  expect(p.chat().draft).toBe(null);
  // Of the conversation that was left nothing ends in the one that is open.
  await delta("of the first");
  await p.tell("chat.typing", { working: false });
  await p.open("b");
  await delta("of b");
  p.clock.pass(1_000);
  expect(p.chat().draft?.text).toBe("of b");
  await p.tell("chat.typing", { working: false });
  p.session.end();
  const before = p.chat();
  p.clock.pass(60_000);
  expect(p.chat()).toBe(before);
});

test("as much as can be sent at once is sent, and what a line never took is refused under a key of its own", async () => {
  const p = await page();
  p.since();
  p.session.send("x".repeat(200_000));
  await settle(12);
  expect([p.chat().outgoing, p.since().map((each) => each.split(" ")[0])]).toEqual([[], ["chat.send"]]);
  p.session.open("b");
  p.session.send("y".repeat(200_001));
  expect(p.chat().outgoing).toEqual([
    {
      key: "k2",
      text: "y".repeat(200_001),
      thread: "b",
      atMs: p.clock.now(),
      refused: "it has 200,001 characters, and 200,000 can be sent at once",
    },
  ]);
});

test("what was read further back stays known over a broken line; an old event told again changes no place", async () => {
  const p = await page();
  await p.open("b");
  const history = (messages: readonly ChatMessage[], hasEarlier: boolean) => () => ({
    sessionKey: "s",
    messages,
    working: false,
    hasEarlier,
  });
  p.answers["chat.history"] = history([said(5, "b 5")], false);
  p.session.earlier();
  await settle(12);
  await p.tell("chat.message", said(11, "b 11"));
  await p.tell("chat.message", said(7, "b 7"));
  p.answers["chat.history"] = history([said(10, "b 10"), said(11, "b 11")], true);
  p.line.end();
  await settle();
  p.since();
  p.session.hurry();
  await settle(20);
  expect([p.texts(), p.chat().hasEarlier, p.since()[0]]).toEqual([
    ["b 5", "b 7", "b 10", "b 11"],
    false,
    'connect {"auth":{"token":"t"},"thread":"b","lastSeq":11}',
  ]);
});

test("further back that came for what is no more shown is dropped, and one that cannot be read gives the line up", async () => {
  const p = await page();
  await p.open("b");
  let answered = (): void => {};
  const earlier = { sessionKey: "s", messages: [said(5, "b 5")], working: false, hasEarlier: false };
  p.answers["chat.history"] = ({ thread, ...more }) => {
    if (!("beforeSeq" in more)) return { ...earlier, messages: [said(60, `${thread} 60`)], hasEarlier: true };
    answered();
    return earlier;
  };
  // Too much was missed while it was asked for.
  answered = () => p.line.tell("resync", {});
  p.session.earlier();
  await settle(20);
  expect([p.texts(), p.chat().hasEarlier]).toEqual([["b 60"], true]);
  // Somebody turned elsewhere.
  answered = () => p.session.open("c");
  p.session.earlier();
  await settle(20);
  expect([p.chat().thread, p.texts()]).toEqual(["c", ["c 60"]]);
  answered = () => {};
  p.answers["chat.history"] = () => refusal("internal", "the store is away");
  p.session.earlier();
  await settle(12);
  expect([p.chat().connection.kind, p.texts(), p.chat().hasEarlier]).toEqual(["offline", ["c 60"], true]);
});

test("a token that may not read has a page without a conversation", async () => {
  const p = await page(["write"]);
  expect([p.chat().connection.kind, p.line.asked]).toEqual(["online", ['connect {"auth":{"token":"t"}}']]);
});

test("further back is read once at a time, from the first that is shown, while there is more and a line", async () => {
  const p = await page();
  await p.open("b");
  p.since();
  p.answers["chat.history"] = () => ({
    sessionKey: "s",
    messages: [said(5, "b 5")],
    working: true,
    hasEarlier: false,
  });
  await p.tell("chat.delta", { turn: "t", text: "grows", html: "" });
  p.session.earlier();
  p.session.earlier();
  await settle(12);
  // A draft that grows is no answer that came.
  expect([p.texts(), p.chat().hasEarlier, p.chat().working, p.chat().draft?.text]).toEqual([
    ["b 5", "b 10"],
    false,
    false,
    "grows",
  ]);
  p.session.earlier();
  await settle();
  expect(p.since()).toEqual(['chat.history {"thread":"b","limit":200,"beforeSeq":10}']);
});

test("a history that cannot be read gives the line up, and the next one follows what is open", async () => {
  const p = await page();
  p.answers["chat.history"] = () => refusal("internal", "the store is away");
  await p.open("b");
  expect([p.chat().connection.kind, p.line.open()]).toEqual(["offline", 0]);
  p.since();
  p.answers["chat.history"] = () => ({
    sessionKey: "s",
    messages: [said(10, "b 10")],
    working: false,
    hasEarlier: false,
  });
  p.session.hurry();
  await settle(20);
  expect([p.chat().connection.kind, p.texts(), p.since()]).toEqual([
    "online",
    ["b 10"],
    ['connect {"auth":{"token":"t"},"thread":"b","lastSeq":10}', 'chat.history {"thread":"b","limit":200}'],
  ]);
});

test("whoever turns to another conversation while the line comes up is there once it has", async () => {
  const p = await page();
  p.line.end();
  await settle();
  const history = p.answers["chat.history"];
  let turns = 1;
  p.answers["chat.history"] = (params) => {
    if (turns-- > 0) p.session.open("b");
    return history?.(params);
  };
  p.since();
  p.session.hurry();
  await settle(24);
  expect([p.chat().thread, p.texts(), p.since()]).toEqual([
    "b",
    ["b 10"],
    [
      'connect {"auth":{"token":"t"},"lastSeq":2}',
      'chat.history {"limit":200}',
      'chat.follow {"thread":"b"}',
      'chat.history {"thread":"b","limit":200}',
    ],
  ]);
});

test("a conversation of more than two thousand messages is cut to its newest thousand", async () => {
  const p = await page();
  const many = (count: number): void =>
    void Object.assign(p.histories, {
      c: { messages: Array.from({ length: count }, (_, at) => said(at + 1, `m${at}`)) },
    });
  many(2_000);
  await p.open("c");
  p.session.forgetEarlier();
  expect(p.texts()).toHaveLength(2_000);
  await p.tell("chat.message", said(2_001, "last"));
  p.session.forgetEarlier();
  expect([p.texts().length, p.texts()[0], p.texts().at(-1), p.chat().hasEarlier]).toEqual([
    1_000,
    "m1001",
    "last",
    true,
  ]);
});

test("a line that comes back and missed too much begins the open conversation anew; one that missed nothing goes on", async () => {
  const p = await page();
  const again = async (): Promise<string | undefined> => {
    p.line.end();
    await settle();
    p.since();
    p.session.hurry();
    await settle(20);
    return p.since()[0];
  };
  await p.tell("chat.message", said(3, "first 3"));
  Object.assign(p.histories, { "": { messages: [said(4, "first 4")] } });
  expect([await again(), p.texts()]).toEqual([
    'connect {"auth":{"token":"t"},"lastSeq":3}',
    ["first 1", "first 2", "first 3", "first 4"],
  ]);
  Object.assign(p.seqs, { "": { seq: 90, resync: true } });
  Object.assign(p.histories, { "": { messages: [said(90, "first 90")], hasEarlier: true } });
  expect([await again(), p.texts(), p.chat().hasEarlier]).toEqual([
    'connect {"auth":{"token":"t"},"lastSeq":3}',
    ["first 90"],
    true,
  ]);
  Object.assign(p.seqs, { "": { seq: 90, resync: false } });
  expect(await again()).toBe('connect {"auth":{"token":"t"},"lastSeq":90}');
});
