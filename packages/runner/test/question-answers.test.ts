// Who may be asked, who may answer, until when, and what is said and kept at each end of a question. The
// store is real; the turns and the channel are what a test says.
import { noRedaction } from "@parley/agent";
import {
  formatRowPayload,
  parseContent,
  parseRowPayload,
  silentLog,
  type SessionKey,
} from "@parley/protocol";
import type { NewDelivery, NewRow, SqliteStore } from "@parley/store";
import { directMessage, virtualClock } from "@parley/testkit";
import type { ToolScope } from "@parley/tools";
import { afterEach, describe, expect, test } from "vitest";
import { createQuestions, type QuestionsOptions } from "../src/questions/questions.ts";
import { questionId } from "../src/questions/question.ts";
import { questionStore } from "../src/questions/question-store.ts";
import { memoryStore } from "./store.ts";

const stores: SqliteStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

const session = "agent:main:telegram:dm:7" as SessionKey;
const scope = (more: object = {}): ToolScope =>
  ({
    session,
    agent: "main",
    turn: `${session}#1`,
    callId: "c1",
    conversation: "telegram:default:dm:7",
    by: { owner: false, senders: ["telegram:7"] },
    ...more,
  }) as unknown as ToolScope;
const request = (more: object = {}) => ({
  question: "Which?",
  options: ["red", "blue"],
  fields: [],
  minutes: 10,
  ...more,
});
const id = questionId(`${session}#1`, "c1");
const olga = { person: "telegram:7", name: "Olga", owner: false };
const minute = 60_000;

async function stage(
  more: Partial<QuestionsOptions> & { readonly rows?: readonly object[]; readonly buttons?: boolean } = {},
) {
  const clock = virtualClock();
  const begunMs = clock.now();
  const store = await memoryStore(clock);
  stores.push(store);
  const posted: NewDelivery[] = [];
  const accepted: NewRow[] = [];
  const logged: unknown[] = [];
  const turn = { state: "open", stop: null as string | null, log: [] as object[] };
  const epoch = { now: 0 };
  const row = {
    id: "r1",
    pool: "main",
    lane: session,
    conversation: "telegram:default:dm:7",
    authority: "telegram:7",
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage({ sender: { id: "7" } }),
      owner: false,
    } as never),
  };
  const questions = createQuestions({
    cells: store.cells,
    inbox: {
      find: async () => (more.rows ?? [row]) as never,
      accept: async (rows) => (accepted.push(...rows), []) as never,
    },
    outbox: { post: async (deliveries) => (posted.push(...deliveries), []) as never },
    turns: { find: async () => turn as never },
    sessions: { open: async () => ({ epoch: epoch.now }) as never },
    channel: () => ({ capabilities: { inlineButtons: more.buttons ?? true, forms: false } }) as never,
    placeOf: () => null,
    owners: async () => ["telegram:1", "discord:2"],
    identityLinks: {},
    redaction: noRedaction,
    clock,
    log: { ...silentLog, info: (...line: unknown[]) => void logged.push(line) },
    ...more,
  });
  const book = questionStore(store.cells, clock);
  return {
    questions,
    posted,
    logged,
    clock,
    store,
    turn,
    epoch,
    accepted,
    after: (ms: number) => clock.advance(begunMs + ms - clock.now()),
    kept: async () => (await book.get(id))?.question,
    /** Writes what the first run of the call returns, as its journal does. */
    async ask(what = request(), where = scope()) {
      const done = await questions.ask(where, what);
      for (const { key, value } of done.effects?.cells ?? []) await store.cells.put(key, value ?? "", {});
      return done;
    },
    cards: () =>
      posted.map(({ id: delivery, parts }) => {
        const content = parts.map((part) => parseContent(part.content));
        const said = /"markdown":"((?:[^"\\]|\\.)*)"/.exec(JSON.stringify(content))?.[1] ?? "";
        return `${delivery.split(":")[0]}: ${said.split(String.raw`\n\n`).at(-1)}`;
      }),
  };
}
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `went through: ${JSON.stringify(value)}`,
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );

describe("a question is refused", () => {
  const task = { ...directMessage({ sender: { id: "7" } }) };
  const unseen = {
    id: "m1",
    payload: formatRowPayload({
      v: 1,
      inbound: task,
      owner: false,
      internal: { kind: "message", id: "x", turn: "t" },
    } as never),
  };
  const unread = "denied: nobody reads this turn's conversation, so nobody could answer";
  test.each<[string, object, object, object, string]>([
    ["where a program asked", {}, { conversation: "api:default:dm:7" }, {}, unread],
    ["in a webhook's turn", {}, { conversation: "hook:default:dm:7" }, {}, unread],
    ["in a sub-agent without a thread", {}, { session: "agent:main:subagent:0123456789ab-1" }, {}, unread],
    ["where only another session asked", { rows: [unseen] }, {}, {}, unread],
    ["where no channel is open", { channel: () => null }, {}, {}, unread],
    [
      "where only programs spoke",
      {},
      { by: { owner: false, senders: ["api:x", "hook:y"] } },
      {},
      "denied: no person's words began this turn, so there is nobody to ask",
    ],
    [
      "with options and fields",
      {},
      {},
      { fields: [{ label: "a", long: false }] },
      "invalid: a question has options or fields, not both",
    ],
    ["without words", {}, {}, { question: " \n " }, "invalid: nothing of this question can be shown"],
  ])("%s", async (_, options, where, what, words) => {
    const s = await stage(options);
    expect(await refusal(s.questions.ask(scope(where), request(what)))).toBe(words);
    expect(await s.questions.list()).toEqual([]);
  });
});

test("a question is kept whole with its call, waits for its minutes, and says what a message instead would mean", async () => {
  const s = await stage();
  const nowMs = s.clock.now();
  const done = await s.ask(request({ options: [" red ", "blue", "red", " "] }));
  expect(done.waitsFor).toEqual({ ticket: id, untilMs: nowMs + 10 * minute });
  expect(done.text).toBe(
    "Nobody chose, and somebody wrote a message, which follows: read it as the answer if it is one. The question is closed. The options were: 1. red; 2. blue.",
  );
  expect(await s.kept()).toEqual({
    v: 1,
    id,
    session,
    epoch: 0,
    turn: `${session}#1`,
    callId: "c1",
    conversation: "telegram:default:dm:7",
    question: "Which?",
    options: ["red", "blue"],
    fields: [],
    numbered: false,
    people: ["telegram:7"],
    owner: false,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + 10 * minute,
    state: "open",
  });
  const open = await stage();
  expect((await open.ask(request({ options: [] }))).text).toMatch(/The question is closed\.$/);
});

test("its options are numbers only where there are no buttons, and never on the page", async () => {
  const numbered = async (buttons: boolean, conversation: string): Promise<boolean | undefined> => {
    const s = await stage({ buttons });
    await s.ask(request(), scope({ conversation }));
    return (await s.kept())?.numbered;
  };
  expect(await numbered(true, "telegram:default:dm:7")).toBe(false);
  expect(await numbered(false, "telegram:default:dm:7")).toBe(true);
  expect(await numbered(false, "web:default:dm:7")).toBe(false);
});

test("those may answer whose words the turn follows, on every platform where they are known; in an owner's turn every owner", async () => {
  const identityLinks = {
    olga: ["telegram:7", "discord:70"],
    boss: ["discord:2", "slack:B"],
    other: ["irc:x"],
  };
  const people = async (by: object): Promise<readonly string[] | undefined> => {
    const s = await stage({ identityLinks });
    await s.ask(request(), scope({ by }));
    return (await s.kept())?.people;
  };
  expect(await people({ owner: false, senders: ["telegram:7", "api:k", "telegram:9"] })).toEqual([
    "telegram:7",
    "telegram:9",
    "discord:70",
  ]);
  expect(await people({ owner: true, senders: ["telegram:1"] })).toEqual([
    "telegram:1",
    "discord:2",
    "slack:B",
  ]);
});

describe("an answer", () => {
  test("is stored, wakes the turn under the question's ticket, changes the card, and is what the call returns", async () => {
    const s = await stage();
    await s.ask();
    await s.after(minute);
    expect(await s.questions.answer(` ${id.toUpperCase()} `, " 2 ", olga)).toBe("Thank you, noted.");
    expect(await s.kept()).toMatchObject({
      state: "answered",
      answer: { text: "blue", by: "telegram:7", name: "Olga" },
      endedAtMs: s.clock.now(),
    });
    expect(s.accepted.map(({ id: row, subject, as, lane }) => ({ row, subject, as, lane }))).toEqual([
      { row: `question:${id}`, subject: `ticket:${id}`, as: { kind: "work", ticket: id }, lane: session },
    ]);
    expect(parseRowPayload(s.accepted[0]?.payload ?? "").inbound.text).toContain(
      'The question "Which?" was answered by Olga, telegram:7: blue',
    );
    expect(s.cards()).toEqual([String.raw`question: ✅ blue\n(Olga, telegram:7)`]);
    expect(await s.questions.ask(scope(), request())).toEqual({ text: "Answered by Olga, telegram:7: blue" });
  });

  test.each<[string, string, string, object, string]>([
    ["to no question", "nothing", "red", olga, 'missing: there is no question "nothing"'],
    [
      "to a name far too long",
      "x".repeat(50),
      "red",
      olga,
      `missing: there is no question "${"x".repeat(40)}"`,
    ],
    ["of a stranger", id, "red", { ...olga, person: "telegram:8" }, "denied: this question is not for you"],
    [
      "of an owner in another's turn",
      id,
      "red",
      { person: "telegram:1", name: "B", owner: true },
      "denied: this question is not for you",
    ],
    ["without words", id, " ", olga, `invalid: write the answer behind the id: /answer ${id} …`],
    [
      "longer than 8,000 characters",
      id,
      "x".repeat(8_001),
      olga,
      "invalid: an answer has at most 8000 characters",
    ],
    ["of 8,000 characters", id, "x".repeat(8_000), olga, 'went through: "Thank you, noted."'],
    ["by the pressed option", id, "#1", olga, 'went through: "Thank you, noted."'],
  ])("%s", async (_, name, text, by, words) => {
    const s = await stage();
    await s.ask();
    expect(await refusal(s.questions.answer(name, text, by as typeof olga))).toBe(words);
    const went = words.startsWith("went");
    expect([(await s.kept())?.state, s.accepted.length]).toEqual(went ? ["answered", 1] : ["open", 0]);
  });

  test("of an owner counts in an owner's turn, though the list of people does not name them", async () => {
    const s = await stage({ owners: async () => [] });
    await s.ask(request(), scope({ by: { owner: true, senders: ["telegram:7"] } }));
    const boss = { person: "slack:9", name: "Boss", owner: true };
    expect(await refusal(s.questions.answer(id, "1", { ...boss, owner: false }))).toBe(
      "denied: this question is not for you",
    );
    expect(await s.questions.answer(id, "1", boss)).toBe("Thank you, noted.");
  });

  test("said again by the same person is done again; another one is told who was first", async () => {
    const s = await stage();
    await s.ask(request(), scope({ by: { owner: false, senders: ["telegram:7", "telegram:8"] } }));
    await s.questions.answer(id, "1", olga);
    expect(await s.questions.answer(id, "RED", olga)).toBe("Thank you, noted.");
    expect(s.accepted.map(({ id: row }) => row)).toEqual([`question:${id}`, `question:${id}`]);
    const before = "conflict: this was answered before by Olga, telegram:7: red";
    expect(await refusal(s.questions.answer(id, "2", olga))).toBe(before);
    expect(await refusal(s.questions.answer(id, "1", { ...olga, person: "telegram:8" }))).toBe(before);
  });

  test("counts until the very millisecond when the time is over", async () => {
    const early = await stage();
    await early.ask();
    await early.after(10 * minute - 1);
    expect(await early.questions.answer(id, "1", olga)).toBe("Thank you, noted.");
    const late = await stage();
    await late.ask();
    await late.after(10 * minute);
    expect(await refusal(late.questions.answer(id, "1", olga))).toBe("conflict: the time to answer is over");
    expect(late.cards()).toEqual(["question: ⌛ Nobody answered in time."]);
    expect(await late.questions.ask(scope(), request())).toEqual({
      text: "Nobody answered in time. Go on without the answer, or end.",
    });
  });

  test.each<[string, (s: Awaited<ReturnType<typeof stage>>) => unknown]>([
    ["whose turn is over", ({ turn }) => (turn.state = "done")],
    ["whose turn is stopped", ({ turn }) => (turn.stop = "a person")],
    ["whose conversation began anew", (s) => (s.epoch.now = 1)],
    ["that was stopped", ({ questions }) => questions.stop({ session })],
  ])("to one %s comes too late", async (_, change) => {
    const s = await stage();
    await s.ask();
    await change(s);
    expect(await refusal(s.questions.answer(id, "1", olga))).toBe("conflict: what asked this has ended");
    expect(s.cards()).toEqual(["question: ⏹ Stopped."]);
    expect(await s.questions.ask(scope(), request())).toEqual({
      text: "The question was withdrawn before anybody answered.",
    });
    expect(s.accepted).toEqual([]);
  });
});

test("a message instead closes the question by the call's own write, with its card", async () => {
  const s = await stage();
  await s.ask();
  await s.after(minute);
  const again = await s.questions.ask(scope(), request({ minutes: 99 }));
  expect(again.waitsFor).toEqual({ ticket: id, untilMs: s.clock.now() + 9 * minute });
  expect(JSON.parse(again.effects?.cells?.[0]?.value ?? "")).toMatchObject({ id, state: "written" });
  expect(again.effects?.deliveries).toHaveLength(1);
  expect(JSON.stringify(again.effects?.deliveries)).toContain("Answered by a message.");
});

test("a bare number answers the open question of that person in that place, where options are shown as numbers", async () => {
  const s = await stage({ buttons: false });
  await s.ask();
  const from = (text: string, more: object = {}) =>
    ({ ...directMessage({ sender: { id: "7" } }), text, ...more }) as never;
  const inPlace = directMessage({ sender: { id: "7" } }).address;
  expect(inPlace).toMatchObject({ channel: "telegram", account: "default", kind: "dm", peer: "7" });
  const found = async (text: string, more: object = {}) =>
    (await s.questions.numbered(from(text, more))) === id;
  expect([await found("1"), await found(" 2\n"), await found("02")]).toEqual([true, true, true]);
  for (const text of ["0", "3", "1.", "one", "", "001"]) expect(await found(text)).toBe(false);
  expect(await found("1", { kind: "callback" })).toBe(false);
  expect(await found("1", { sender: { id: "8", name: "x", isBot: false } })).toBe(false);
  expect(await found("1", { address: { ...inPlace, peer: "8" } })).toBe(false);
  expect(await found("1", { address: { ...inPlace, thread: "5" } })).toBe(false);
  await s.questions.stop({ turn: `${session}#1` });
  expect(await found("1")).toBe(false);
});

test("a stop ends the open questions of its turn or session alone, and counts them", async () => {
  const s = await stage();
  await s.ask();
  await s.ask(request(), scope({ callId: "c2" }));
  await s.ask(request(), scope({ callId: "c3", turn: `${session}#2` }));
  // Sessions and turns whose names only begin like theirs are others.
  const beside = { session: `${session}:thread:1`, turn: `${session}#10` };
  await s.ask(request(), scope({ callId: "c4", ...beside }));
  await s.questions.answer(questionId(`${session}#1`, "c2"), "1", olga);
  expect(await s.questions.stop({ turn: "another" })).toBe(0);
  expect(await s.questions.stop({ turn: `${session}#1` })).toBe(1);
  expect(await s.questions.stop({ session })).toBe(1);
  expect((await s.questions.list()).map(({ callId, state }) => `${callId} ${state}`).toSorted()).toEqual([
    "c1 stopped",
    "c2 answered",
    "c3 stopped",
    "c4 open",
  ]);
});

test("a start does again what the process before may have left undone, for a day", async () => {
  const s = await stage();
  await s.ask();
  await s.ask(request(), scope({ callId: "c2" }));
  await s.questions.answer(id, "1", olga);
  s.accepted.length = 0;
  await s.after(86_400_000 - 1);
  await s.questions.heal();
  expect(s.accepted.map(({ id: row }) => row)).toEqual([`question:${id}`]);
  // The second one's time was over long ago, and is ended by whoever looks first.
  expect(s.cards()).toContain("question: ⌛ Nobody answered in time.");
  s.accepted.length = 0;
  await s.after(86_400_000);
  await s.questions.heal();
  expect(s.accepted).toEqual([]);
});

/** Where a delivery goes, what it closes, and its text with its buttons. */
const shown = ({ id: delivery, lane, closes, parts }: NewDelivery) => {
  const content = parseContent(parts[0]?.content ?? "");
  const text = content.kind === "reply" ? content.parts[0] : null;
  return { delivery, lane, closes, into: parts[0]?.into, text: { ...text, kind: undefined } };
};

test("the card stands where it was asked, takes the growing answer's place, and says how to answer; a stranger's try is in the log", async () => {
  const s = await stage();
  const preview = (delivery: string, said?: string) => ({
    kind: "preview",
    body: JSON.stringify({ delivery, ...(said === undefined ? {} : { said }) }),
  });
  s.turn.log = [preview("t/0"), preview("t/1"), preview("t/2", "said"), { kind: "call", body: "{}" }];
  const done = await s.ask(request({ options: ["red", "blue", "a colour of your own"] }));
  const value = (nth: number) => ({
    label: ["red", "blue", "a colour of your own"][nth - 1],
    value: expect.stringMatching(/^~[\w-]{22}$/),
    allowed: ["7"],
    untilMs: s.clock.now() + 10 * minute,
  });
  expect(done.effects?.deliveries?.map(shown)).toEqual([
    {
      delivery: `question:${id}:telegram:default:dm:7`,
      lane: "telegram:default:dm:7",
      closes: "t/1",
      into: undefined,
      text: {
        markdown: `❓ Which?\n\nChoose, or write your answer here, within 10 minutes; elsewhere: \`/answer ${id} …\`.`,
        buttons: [[value(1)], [value(2)], [value(3)]],
      },
    },
  ]);
  expect(done.effects?.cells?.map(({ key, expect: version }) => [key.split(":")[0], version])).toEqual([
    ["question", 0],
    ["button", undefined],
    ["button", undefined],
    ["button", undefined],
  ]);
  expect(await refusal(s.questions.answer(id, "1", { ...olga, person: "telegram:8" }))).toContain("denied");
  await s.questions.answer(id, "1", olga);
  expect(s.logged).toEqual([
    [{ question: id, by: "telegram:8" }, "somebody answered a question for others"],
    [{ question: id, session, by: "telegram:7" }, "question answered"],
  ]);
  const plain = await stage();
  plain.turn.log = [preview("t/0", "said")];
  expect((await plain.ask()).effects?.deliveries?.[0]).not.toHaveProperty("closes");
});

test("an open question is shown where its person goes on, each time, kept once, answered there, and ended everywhere", async () => {
  let places = (_session: string, from: object): object | null => from;
  const s = await stage({
    placeOf: ((of: string, from: object) => places(of, from)) as never,
    channel: ((account: string) => {
      if (account === "slack:default") return null;
      return {
        capabilities: { inlineButtons: account !== "telegram:default", forms: account === "discord:work" },
      };
    }) as never,
  });
  const there = { channel: "discord", account: "work", kind: "dm", peer: "70" } as const;
  await s.ask(
    request({
      options: [],
      fields: [
        { label: "Name", long: true },
        { label: "Age", long: false },
      ],
    }),
  );
  await s.after(1);
  await s.ask(
    request(),
    scope({ callId: "c2", by: { owner: false, senders: ["telegram:7", "discord:70"] } }),
  );
  await s.ask(request(), scope({ callId: "c3", session: `${session}:thread:1` }));
  await s.after(2);
  await s.ask(request({ minutes: 1 }), scope({ callId: "c4" }));
  const [second, over] = ["c2", "c4"].map((callId) => questionId(`${session}#1`, callId));
  await s.questions.follow(session, { ...there, channel: "slack", account: "default" });
  places = () => null;
  await s.questions.follow(session, there);
  // What was asked where this person does not belong is not shown to them.
  places = (_of, from) => ((from as { channel: string }).channel === "discord" ? from : null);
  await s.questions.follow(session, there);
  expect(s.posted).toEqual([]);
  places = (_of, from) => from;
  await s.after(2 * minute);
  await s.questions.follow(session, there);
  const lane = "discord:work:dm:70";
  const cards = s.posted.splice(0).map(shown);
  expect(cards.map(({ delivery, lane: to }) => `${delivery} ${to}`)).toEqual([
    `question:${over}:telegram:default:dm:7/settled telegram:default:dm:7`,
    `question:${second}:${lane} ${lane}`,
    `question:${id}:${lane} ${lane}`,
  ]);
  expect(cards[1]?.text).toMatchObject({ buttons: [[{ label: "red", allowed: ["70"] }, { label: "blue" }]] });
  expect(cards[2]?.text).toMatchObject({
    markdown: expect.stringContaining(
      "Please tell me: Name, Age.\nWrite your answer here, within 10 minutes",
    ),
    buttons: [
      [
        {
          label: "Fill in",
          style: "primary",
          allowed: [],
          form: [
            { name: "1. Name", label: "Name", long: true },
            { name: "2. Age", label: "Age", long: false },
          ],
        },
      ],
    ],
  });
  const { buttons: [[button] = []] = [] } = (cards[1]?.text ?? {}) as { buttons?: { value: string }[][] };
  expect(await s.store.cells.get(`button:${button?.value}`)).toMatchObject({
    value: expect.stringContaining(`/answer ${second} #1`),
    expiresAtMs: s.clock.now() + 90 * 86_400_000,
  });
  await s.questions.follow(session, there);
  expect(s.posted.splice(0)).toHaveLength(2);
  const kept = (await s.questions.list()).filter(({ followed }) => followed !== undefined);
  expect(kept.map(({ id: each, followed }) => [each, followed])).toEqual([
    [second, [lane]],
    [id, [lane]],
  ]);
  // A place where buttons can be pressed takes no bare numbers.
  const number = { ...directMessage({ sender: { id: "70" } }), text: "2" } as object;
  const said = (address: object, channel: string) =>
    s.questions.numbered({ ...number, channel, address } as never);
  expect(await said(there, "discord")).toBeNull();
  await s.questions.answer(second ?? "", "2", { person: "discord:70", name: "Olga", owner: false });
  expect(
    s.posted
      .splice(0)
      .map(shown)
      .map(({ lane: to, into }) => [to, into]),
  ).toEqual([
    ["telegram:default:dm:7", `question:${second}:telegram:default:dm:7/0`],
    [lane, `question:${second}:${lane}/0`],
  ]);
  expect(await s.questions.stop({ session })).toBe(1);
  expect(s.posted.map(({ lane: to }) => to)).toEqual(["telegram:default:dm:7", lane]);
  s.posted.length = 0;
  await s.questions.follow(session, there);
  expect(s.posted).toEqual([]);
});

test("a bare number counts where the question was taken along to, of the account it was shown by alone", async () => {
  const s = await stage({
    placeOf: ((_of: string, from: object) => from) as never,
    channel: ((account: string) => ({
      capabilities: { inlineButtons: account === "telegram:default", forms: false },
    })) as never,
  });
  await s.ask();
  const there = { channel: "irc", account: "a", kind: "dm", peer: "olga" } as const;
  await s.questions.follow(session, there);
  const said = (address: object, person = "7") =>
    s.questions.numbered({
      ...directMessage({ sender: { id: person } }),
      text: "2",
      channel: "telegram",
      address,
    } as never);
  expect([
    await said(there),
    await said(there, "8"),
    await said({ ...there, account: "b" }),
    await said({ ...there, channel: "xmpp" }),
    await said({ ...there, peer: "olga2" }),
  ]).toEqual([id, null, null, null, null]);
});

test("of two answers at once the second is told of the first; a question of another version is not read", async () => {
  const s = await stage();
  await s.ask(request(), scope({ by: { owner: false, senders: ["telegram:7", "telegram:8"] } }));
  const { put } = s.store.cells;
  let first = true;
  Object.assign(s.store.cells, {
    put: async (...args: Parameters<typeof put>) => {
      if (first) {
        first = false;
        await s.questions.answer(id, "blue", { ...olga, person: "telegram:8", name: "Pia" });
      }
      return put(...args);
    },
  });
  expect(await refusal(s.questions.answer(id, "red", olga))).toBe(
    "conflict: this was answered before by Pia, telegram:8: blue",
  );
  expect([s.accepted.length, s.cards()]).toEqual([1, [String.raw`question: ✅ blue\n(Pia, telegram:8)`]]);
  Object.assign(s.store.cells, { put });
  await put("question:strange", JSON.stringify({ ...(await s.kept()), v: 2 }), {});
  await expect(s.questions.answer("strange", "1", olga)).rejects.toMatchObject({
    code: "invalid",
    message: "a question is of a form that this version does not know",
  });
});

test("a start ends what nobody waits for any more and settles the card of what ended, once more", async () => {
  const s = await stage();
  await s.ask();
  await s.ask(request(), scope({ callId: "c2" }));
  await s.questions.stop({ turn: `${session}#1` });
  await s.ask(request(), scope({ callId: "c3" }));
  s.posted.length = 0;
  await s.questions.heal();
  expect([s.cards(), s.accepted]).toEqual([["question: ⏹ Stopped.", "question: ⏹ Stopped."], []]);
  s.turn.state = "done";
  s.posted.length = 0;
  await s.questions.heal();
  // The third one is ended now, and told like the others.
  expect(s.cards()).toEqual([
    "question: ⏹ Stopped.",
    "question: ⏹ Stopped.",
    "question: ⏹ Stopped.",
    "question: ⏹ Stopped.",
  ]);
});
