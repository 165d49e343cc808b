// Whole tables of what is a person's among everything that is stored: which texts name them, what a look
// through the records finds, and what becomes of each record. After a wanted change:
// `vitest run --project @parley/gateway people/belongings -u`, and read the difference.
import { noneUsed } from "@parley/runner";
import type { StoredRecord } from "@parley/store";
import { answerTable, directMessage as direct, groupMessage as inOne } from "@parley/testkit";
import { expect, test } from "vitest";
import { belongings } from "../../src/people/belongings.ts";
import { marksOf, personIn } from "../../src/people/person.ts";
import { cutSaidBy } from "../../src/people/said-by.ts";
import { surveyor } from "../../src/people/survey.ts";

const zed = "777000123";
const links = { zebedee: [`telegram:${zed}`, "discord:55", "api:main/app/u:1"], other: ["telegram:1"] };
const marks = marksOf(personIn("zebedee", links));

test("who is meant by a text: a name of the links, one of its accounts, or an account alone", () => {
  const texts = ["zebedee", " discord:55 ", "telegram:9", "a:b:c", "nobody", ":9", "telegram:", ""];
  expect(texts.map((text) => attempt(() => personIn(text, links)))).toEqual([
    ...["zebedee", "discord:55"].map((name) => ({
      name,
      ids: [
        { channel: "telegram", id: zed },
        { channel: "discord", id: "55" },
        { channel: "api", id: "main/app/u:1" },
      ],
      link: "zebedee",
    })),
    { name: "telegram:9", ids: [{ channel: "telegram", id: "9" }], link: null },
    { name: "a:b:c", ids: [{ channel: "a", id: "b:c" }], link: null },
    ...["nobody", ":9", "telegram:", ""].map(
      (text) =>
        `"${text}" names nobody: a person is <channel>:<id>, as telegram:123456789, or a name of session.identityLinks; \`parley usage --by person\` and \`parley pair list\` show them`,
    ),
  ]);
});

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as Error).message;
  }
}

test("which keys and texts are theirs, and what is left of a text without them", async () => {
  const texts = [
    `agent:main:telegram:dm:${zed}`,
    `agent:main:telegram:default:dm:${zed}`,
    `agent:main:dm:${zed}`,
    "agent:main:dm:zebedee",
    "agent:main:discord:dm:zebedee:thread:x",
    "agent:main:discord:dm:55",
    "agent:main:telegram:dm:55",
    `agent:main:telegram:dm:${zed}4`,
    `agent:main:telegram:group:${zed}`,
    "agent:main:api:app:u%3A1",
    "agent:main:api:app:u%3A2",
    `telegram:default:dm:${zed}`,
    `telegram:default:dm:${zed}:thread:5`,
    `telegram:default:group:${zed}`,
    "discord:b:dm:55",
    `telegram:${zed}`,
    "discord:55",
    "discord:555",
    `the number ${zed} alone`,
    `x${zed}`,
    `${zed}x`,
    `a\\n${zed}`,
    "the number 55 alone",
    `["telegram:${zed}","telegram:1"]`,
    "nobody",
  ];
  const table = answerTable(texts, (text) => ({
    session: marks.ownsSession(text),
    place: marks.ownsPlace(text),
    namesPlace: marks.namesPlace(text),
    names: marks.names(text),
    without: marks.without(text),
  }));
  await expect(table).toMatchFileSnapshot("tables/person-marks.txt");
  const ids = [
    ["telegram", zed],
    ["discord", zed],
    ["", "55"],
    ["telegram", "55"],
    ["", "5"],
  ] as const;
  expect(ids.map(([channel, id]) => marks.isId(channel, id))).toEqual([true, false, true, false, false]);
});

const record = (kind: StoredRecord["kind"], id: string, more: Partial<StoredRecord> = {}): StoredRecord => ({
  kind,
  id,
  lane: "",
  conversation: "",
  turn: "",
  open: false,
  texts: {},
  ...more,
});
const own = `agent:main:telegram:dm:${zed}`;
const ownPlace = `telegram:default:dm:${zed}`;
const group = "agent:main:telegram:group:g1";
const groupPlace = "telegram:default:group:g1";
const shared = "agent:main:main";
const child = "agent:main:subagent:c1";
const grandchild = "agent:main:subagent:c2";

type Said = NonNullable<Parameters<typeof inOne>[0]>;
/** The ids that the testkit counts are not the same in every run. */
const numbered = { id: "telegram:default:u1", messageId: "1" };
const directMessage = (said: Said): object => direct({ ...numbered, ...said });
const groupMessage = (said: Said): object => inOne({ ...numbered, ...said });

const payload = (inbound: object, more: object = {}): { readonly payload: string } => ({
  payload: JSON.stringify({ v: 1, inbound, owner: false, ...more }),
});
const byZed = (said: Said): Said => ({ sender: { id: zed, name: "Zebedee Quux" }, ...said });
const inGroup = { address: { channel: "telegram", account: "default", kind: "group", peer: "g1" } } as const;
const entry = (turn: string, lane: string, body: object): StoredRecord =>
  record("entry", turn, { turn, lane, texts: { body: JSON.stringify(body) } });
const user = (text: string, more: object = {}): object => ({
  type: "user",
  content: [{ type: "text", text }],
  rows: [],
  atMs: 0,
  ...more,
});
const cell = (id: string, value: unknown): StoredRecord =>
  record("cell", id, { texts: { value: typeof value === "string" ? value : JSON.stringify(value) } });
const line = (person: string, turns: number): object => ({
  ...noneUsed,
  turns,
  channel: "telegram",
  person,
  model: "m",
});
const heartbeat = "Read HEARTBEAT.md and do what it says";
const long = "the mauve submarine sleeps below the pelicans";

const records: readonly StoredRecord[] = [
  record("session", own, { texts: { fields: "{}" } }),
  record("session", group, {
    texts: { fields: JSON.stringify({ topic: "Zebedee Quux was here", last: ownPlace, kept: 1 }) },
  }),
  record("session", shared, { texts: { fields: "no JSON" } }),
  record("session", child, { texts: { fields: "{}" } }),
  record("session", grandchild),
  record("session", "agent:main:cron:j1"),
  record("session", "agent:main:cron:j2"),
  record("row", "r-own", {
    lane: own,
    conversation: ownPlace,
    turn: "t-own",
    open: true,
    texts: payload(
      directMessage(
        byZed({
          text: `  ${long}  `,
          attachments: [{ kind: "image", ref: "ref-1" }] as never,
          enclosed: [{ kind: "forward", words: ["enclosed words"] }] as never,
        }),
      ),
    ),
  }),
  record("row", "r-group", {
    lane: group,
    conversation: groupPlace,
    turn: "t-both",
    texts: payload(groupMessage(byZed({ ...inGroup, text: "tea at nine" }))),
  }),
  record("row", "r-olga", {
    lane: group,
    conversation: groupPlace,
    turn: "t-both",
    texts: payload(groupMessage({ ...inGroup, text: `Zebedee Quux said tea at nine, and ${long}` })),
  }),
  record("row", "r-alone", {
    lane: group,
    conversation: groupPlace,
    turn: "t-alone",
    texts: payload(groupMessage(byZed({ ...inGroup, text: "short" }))),
  }),
  record("row", "r-internal", {
    lane: group,
    conversation: groupPlace,
    turn: "t-alone",
    texts: payload(groupMessage({ ...inGroup, text: "made by Parley" }), {
      internal: { kind: "task", id: "x", turn: "t-alone" },
    }),
  }),
  record("row", "r-heartbeat", {
    lane: own,
    conversation: ownPlace,
    texts: payload(directMessage(byZed({ text: heartbeat })), {
      internal: { kind: "heartbeat", id: "x", turn: "" },
    }),
  }),
  record("row", "r-broken", { lane: group, conversation: groupPlace, texts: { payload: `{"to":"${zed}"}` } }),
  record("row", "r-far", {
    lane: "agent:main:web:dm:1",
    conversation: "web:default:dm:1",
    texts: payload(directMessage({ text: `tea at nine; ${long}` })),
  }),
  record("turn", "t-own", { lane: own, conversation: ownPlace, open: true }),
  record("turn", "t-both", { lane: group, conversation: groupPlace, open: true }),
  record("turn", "t-alone", { lane: group, conversation: groupPlace }),
  record("step", "t-alone", { lane: group, turn: "t-alone", texts: { body: "{}" } }),
  record("step", "t-both", { lane: group, turn: "t-both", texts: { body: '{"said":"tea at nine"}' } }),
  entry("t-own", own, user("private words here")),
  entry("t-beat", own, user(`[System Message] ${heartbeat}`)),
  entry("t-other", "agent:main:web:dm:1", user(`[System Message] ${heartbeat}`)),
  entry("t-both", group, user(`[from "Zebedee Quux" id ${zed}]\ntea at nine\n[from "Olga" id 5]\nyes`)),
  entry("t-alone", group, user(`[from "Zebedee Quux" id ${zed}]\nshort words`)),
  entry("t-alone", group, { type: "assistant", content: [{ type: "text", text: "an answer" }] }),
  entry("t-both", group, { type: "summary", text: "they drank tea" }),
  entry("t-both", group, { type: "assistant", content: [{ type: "text", text: "Zebedee Quux drinks" }] }),
  entry("t-main", shared, user("by whom", { by: [`telegram:${zed}`] })),
  entry("t-main2", shared, user("by another", { by: ["telegram:1"] })),
  entry("t-old", shared, user("too old to know")),
  entry("t-child", child, user(`Task from session ${own}: do it`)),
  entry("t-c2", grandchild, user(`Task from session ${child}: and this`)),
  record("delivery", "d-own", { lane: ownPlace, turn: "t-own", open: true, texts: { body: "hi" } }),
  record("delivery", "d-alone", { lane: groupPlace, turn: "t-alone", open: true, texts: {} }),
  record("part", "d-both", {
    lane: groupPlace,
    turn: `${group}#9`,
    texts: { content: '{"text":"tea at nine, Zebedee Quux"}' },
  }),
  record("part", "d-far", {
    lane: "web:default:dm:1",
    turn: "x#1",
    texts: { content: '{"text":"tea at nine"}' },
  }),
  record("event", "e1", { lane: "web:default:dm:1", texts: { body: `{"place":"${ownPlace}"}` } }),
  record("event", "e2", { lane: "web:default:dm:1", texts: { body: `{"text":"${long}"}` } }),
  record("event", "e3", { lane: ownPlace, texts: { body: "{}" } }),
  record("lane", own),
  record("lane", group),
  cell(`child:x`, { session: "agent:main:subagent:c3", parent: own }),
  cell("paired:discord:b:55", { channel: "discord", senderId: "55", senderName: "Zed on Discord" }),
  cell("pairing:discord:b:56", { channel: "discord", senderId: "56", senderName: "Bea" }),
  cell(`paired:telegram:default:${zed}`, { channel: "telegram", senderId: zed, senderName: "Zebedee Quux" }),
  cell("pairing:telegram:default:1", { channel: "telegram", senderId: "1", senderName: "Al" }),
  cell("job:j1", { owner: { sender: `telegram:${zed}` } }),
  cell("job:j2", { owner: { sender: "telegram:1", session: null } }),
  cell("job:j3", { owner: { sender: null, session: own } }),
  cell("cronrun:j1:1", {}),
  cell("cronhook:j2:1", {}),
  cell(`usage/2026-01-01/${group}`, {
    lines: [line(`telegram:${zed}`, 1), line("discord:55", 2), line("telegram:1", 4), line("others", 8)],
  }),
  cell("usage/2026-01-02/x", { lines: [line("telegram:1", 1)] }),
  cell("memory-note:a", { by: [`telegram:${zed}`, "telegram:1"], session: group }),
  cell("memory-note:b", { by: [`telegram:${zed}`] }),
  cell("memory-note:c", { by: ["telegram:1"], session: own }),
  cell("memory-note:d", { by: ["telegram:1"], session: group }),
  cell("memory-note:e", {}),
  cell("approval:a", { session: group, askedBy: [`telegram:${zed}`] }),
  cell("approval:b", { session: group, askedBy: [`telegram:${zed}`, "telegram:1"] }),
  cell("question:a", { session: child, askedBy: [] }),
  cell("question:b", { session: group }),
  cell("auth:d1", { peer: zed }),
  cell("unread", "{broken"),
  cell("prompt:text:h1", `mentions ${zed}`),
  cell("prompt:text:h2", "mentions nobody"),
  cell("prompt:text:h3", `[System Message] ${heartbeat}`),
  cell("node:n1", { place: ownPlace }),
  cell("media:kept", {}),
  cell("media:gone", {}),
  cell(`x:${child}`, {}),
  cell("some", { deep: [{ turn: "t-alone" }] }),
  cell("other", { text: `${long}, said the owner`, short: "tea at nine" }),
  cell("owner:first", `telegram:${zed}`),
  cell("plain", "just words"),
];

test("a look through everything finds what is theirs, and decides of each record", async () => {
  const eye = surveyor(marks);
  for (const each of records) expect(eye.see(each)).toBe("keep");
  const survey = eye.end();
  const verdict = belongings(marks, survey, new Set(["media:gone"]));
  const table = records
    .map(
      (each) => `${each.kind} ${each.id} ${each.texts["body"] ?? ""}\n  ${JSON.stringify(verdict(each))}\n`,
    )
    .join("");
  const seen = JSON.stringify(survey, (_key, each: unknown) => (each instanceof Set ? [...each] : each), 1);
  await expect(`${seen}\n${table}`).toMatchFileSnapshot("tables/belongings.txt");
});

test("what one person said is cut out of a message of several: labels, quotes, documents, what was said earlier", async () => {
  const texts = [
    ['[from "Zed" id 7]', "one", "two", '[from "Olga" id 8]', "three"],
    ['[from "Olga" id 8]', "three", '[from "Zed" id 7]', "one"],
    ['[from "Zed" id 7]', "one", "[Parley: a note]", "after"],
    ['[from "Zed" id 7]', "one", "[System Message] it", "after"],
    [
      "<<<BEGIN_PARLEY_HISTORY ab>>>",
      '[from "Olga" id 8]',
      "before",
      "<<<END_PARLEY_HISTORY ab>>>",
      '[from "Zed" id 7]',
      "one",
    ],
    ['- "Zed": "earlier words"', '- "Olga": "kept words"'],
    [
      "<<<BEGIN_PARLEY_QUOTE ab>>>",
      'replies to a message of "Zed"',
      "their words",
      "<<<END_PARLEY_QUOTE ab>>>",
      '[from "Olga" id 8]',
      "I agree",
    ],
    [
      "<<<BEGIN_PARLEY_QUOTE ab>>>",
      'replies to a message of "Olga"',
      "her words",
      "<<<END_PARLEY_QUOTE ab>>>",
      '[from "Zed" id 7]',
      "me too",
    ],
    ["<<<BEGIN_PARLEY_QUOTE ab>>>", 'replies to a message of "Olga"', "cut"],
    ['[reply to the message above of "Zed"]', '[from "Olga" id 8]', "yes"],
    [
      '[from "Zed" id 7]',
      "see [x]",
      '[attached file: "a.txt"]',
      "<<<BEGIN_PARLEY_DOCUMENT cd>>>",
      'the file "a.txt"',
      "secret",
      "<<<END_PARLEY_DOCUMENT cd>>>",
      '[from "Olga" id 8]',
      "ok",
    ],
    ["<<<BEGIN_PARLEY_DOCUMENT cd>>>", 'the file "b.txt"', "hers", "<<<END_PARLEY_DOCUMENT cd>>>"],
    ["no labels at all"],
    [""],
  ].map((lines) => lines.join("\n"));
  const table = answerTable(texts, (text) => cutSaidBy(text, (id) => id === "7", new Set(["Zed"])));
  await expect(table).toMatchFileSnapshot("tables/said-by.txt");
});

test("words and names that are too short mean nobody, longer ones only where they spoke, long ones everywhere; eight sub-agents deep all is theirs", () => {
  const [short, long24] = ["s".repeat(23), "l".repeat(24)];
  const said = [
    ["Zo", "abcde"],
    ["Zoe", "abcdef"],
    ["Zoe", short],
    ["Zoe", long24],
  ] as const;
  const rows = said.map(([name, text], at) =>
    record("row", `r${at}`, {
      lane: group,
      conversation: groupPlace,
      turn: "t-both",
      texts: payload(groupMessage({ ...inGroup, sender: { id: zed, name }, text })),
    }),
  );
  const below = (n: number): string => (n === 0 ? own : `agent:main:subagent:d${n}`);
  const chain = Array.from({ length: 9 }, (_, at) =>
    cell(`child:d${at}`, { session: below(at + 1), parent: below(at) }),
  );
  const eye = surveyor(marks);
  for (const each of [...rows, ...chain]) eye.see(each);
  const survey = eye.end();
  expect([...survey.sessions]).toEqual(Array.from({ length: 8 }, (_, at) => below(at + 1)));
  expect([[...survey.names], survey.words]).toEqual([["Zoe"], [long24, short, "abcdef"]]);
  const verdict = belongings(marks, survey, new Set());
  const left = (lane: string): unknown => {
    const said = `abcde abcdef ${short} ${long24} of Zo and Zoe`;
    const after = verdict(entry("t-x", lane, { type: "assistant", content: [{ type: "text", text: said }] }));
    return typeof after === "string" ? after : JSON.parse(after["body"] ?? "null").content[0].text;
  };
  expect([left(group), left("agent:main:web:dm:1")]).toEqual([
    "abcde [removed] [removed] [removed] of Zo and [removed]",
    `abcde abcdef ${short} [removed] of Zo and Zoe`,
  ]);
});

test("what only begins with Parley's mark is no person's; what has it in the middle is theirs", () => {
  const eye = surveyor(marks);
  for (const [at, text] of [
    "[System Message] wake up",
    "I saw [System Message] yesterday",
    " [System Message]x",
  ].entries())
    eye.see(entry(`t-${at}`, own, user(text)));
  expect(eye.end().words).toEqual(["I saw [System Message] yesterday", "[System Message]x"]);
});

test("what they said goes from the arguments of others' calls too, a single word as well; the tool's name stays", () => {
  const said = ["+491701234567", "Gesundbrunnen"].map((text, at) =>
    record("row", `r${at}`, {
      lane: group,
      conversation: groupPlace,
      turn: "t-both",
      texts: payload(groupMessage({ ...inGroup, sender: { id: zed, name: "Zed" }, text })),
    }),
  );
  const body = {
    type: "assistant",
    content: [
      {
        type: "toolCall",
        id: "c1",
        name: "Gesundbrunnen",
        args: { phone: "+491701234567", of: ["Zed"], form: '{"stop":"Gesundbrunnen"}', mode: "write" },
      },
    ],
    atMs: 0,
  };
  const eye = surveyor(marks);
  for (const each of [...said, entry("t-other", group, body)]) eye.see(each);
  const after = belongings(marks, eye.end(), new Set())(entry("t-other", group, body));
  expect(typeof after === "string" ? after : JSON.parse(after["body"] ?? "null")).toEqual({
    ...body,
    content: [
      {
        ...body.content[0],
        args: { phone: "[removed]", of: ["[removed]"], form: '{"stop":"[removed]"}', mode: "write" },
      },
    ],
  });
});

test("who is called text and wrote content takes no field, kind, tool or key of others' records along", () => {
  const said = (by: string): StoredRecord =>
    record("row", `r-${by}`, {
      lane: group,
      conversation: groupPlace,
      turn: "t-both",
      texts: payload(groupMessage({ ...inGroup, sender: { id: zed, name: by }, text: `${by}` })),
    });
  const theirs = ["text", "content", "telegram", "toolResult"].map(said);
  const body = {
    type: "toolResult",
    callId: "c1",
    name: "text",
    content: [{ type: "text", text: "telegram and text, both said" }],
    untrusted: "telegram",
    isError: false,
    atMs: 0,
  };
  const others = {
    lane: group,
    conversation: groupPlace,
    turn: "t-other",
    texts: payload(groupMessage({ ...inGroup, text: "I heard content" })),
  };
  const records = [...theirs, entry("t-other", group, body), record("row", "r-other", others)];
  const eye = surveyor(marks);
  for (const each of records) eye.see(each);
  const verdict = belongings(marks, eye.end(), new Set());
  const after = (at: number, field: string): unknown => {
    const changed = verdict(records.at(at) as StoredRecord);
    return typeof changed === "string" ? changed : JSON.parse(changed[field] ?? "null");
  };
  expect(theirs.map(verdict)).toEqual(theirs.map(() => "remove"));
  expect(after(-2, "body")).toEqual({
    ...body,
    content: [{ type: "text", text: "[removed] and [removed], both said" }],
  });
  const before = JSON.parse(others.texts.payload) as { readonly inbound: object };
  expect(after(-1, "payload")).toEqual({
    ...before,
    inbound: { ...before.inbound, text: "I heard [removed]" },
  });
});
