// What the model reads of a turn's rows: whole messages and shortened ones, what others said before, Parley's
// own words, and whose words they are.
import { formatRowPayload, type Inbound, type UserEntry } from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import { answerTable, directMessage, groupMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { toldAlone, turnMessages, type ToldBeside } from "../src/transcript/user-messages.ts";
import {
  answeredIn,
  isAsked,
  isChatCommandTurn,
  isWake,
  messageIdOf,
  namesIn,
  openingContext,
  openingRows,
  placeOf,
  speakersOf,
  wholeRows,
} from "../src/turn-rows.ts";

const hour = 3_600_000;
let seq = 0;
/** `payload`: what the row's payload has beside the message. */
function row(id: string, inbound: Partial<Inbound> = {}, payload: object = {}, more: Partial<Row> = {}): Row {
  seq += 1;
  const made = (payload as { readonly group?: boolean }).group === true ? groupMessage : directMessage;
  const { group: _group, ...rest } = payload as { readonly group?: boolean };
  return {
    id,
    seq,
    acceptedAtMs: seq * 10,
    conversation: "telegram:default:dm:5",
    authority: "owner",
    version: 0,
    payload: formatRowPayload({
      v: 1,
      inbound: { ...made({ text: `words of ${id}`, messageId: id }), id, ...inbound } as Inbound,
      owner: true,
      ...rest,
    } as never),
    ...more,
  } as Row;
}
const turn = (rows: readonly Row[], more: object = {}): Turn =>
  ({
    id: "agent:main:main#1",
    lane: "agent:main:telegram:dm:5",
    conversation: "telegram:default:dm:5",
    rows,
    context: [],
    log: [],
    ...more,
  }) as unknown as Turn;
const built = (of: Turn, beside: Partial<ToldBeside> = {}, bootAtMs = 0): ReturnType<typeof turnMessages> =>
  turnMessages({ bootAtMs }, of, { ...toldAlone, cap: 20, ...beside });
const text = (entry: UserEntry | undefined): string =>
  (entry?.content ?? []).map((part) => (part.type === "text" ? part.text : `<${part.path}>`)).join("\n");
const openingText = (of: Turn, beside: Partial<ToldBeside> = {}, bootAtMs = 0): string =>
  text(built(of, beside, bootAtMs).opening[0]);
const member = { internal: undefined, owner: false };

test("a turn opens with one entry of its rows, made once, with the time of the last", () => {
  const rows = [row("a"), row("b")];
  const messages = built(turn(rows));
  const [entry, ...more] = messages.opening;
  expect([entry, more, messages.shortened]).toEqual([
    {
      type: "user",
      content: [{ type: "text", text: "words of a\n\nwords of b" }],
      rows: ["a", "b"],
      atMs: rows[1]?.acceptedAtMs,
    },
    [],
    null,
  ]);
  expect(messages.opening).toBe(messages.opening);
  const joined = row("c");
  expect(messages.entryOf(joined)).toMatchObject({ rows: ["c"], atMs: joined.acceptedAtMs });
  expect(text(messages.entryOf(joined))).toBe("words of c");
});

test("beyond the cap the oldest are told in a line each, with the kinds of their files, and the cut ones are counted", () => {
  const photo = [{ kind: "image", ref: "r1" }] as never;
  const rows = [
    row("short"),
    row("long", { text: "x".repeat(16_001) }),
    row("photo", { text: "look", attachments: photo }),
    row("own", {}, { internal: { kind: "task", id: "t", turn: "" } }),
    row("d"),
    row("e"),
  ];
  const messages = built(turn(rows), { cap: 3 });
  // Three of people's before the newest three, 32,000 characters for them together.
  expect(messages.shortened).toEqual({ cut: 1, chars: 16_000, whole: 3 });
  const told = text(messages.opening[0]).split("\n");
  expect(told[0]).toMatch(/^\[Parley: much came at once; the 2 messages before these/);
  expect(told.slice(1, 3).map((line) => line.slice(0, 20))).toEqual([
    '- "words of short"',
    '- "xxxxxxxxxxxxxxxxx',
  ]);
  // The cut line ends in its mark, within its quotes.
  expect(told[2]).toMatch(/^- "x{16000,16001}…"$/);
  expect(messages.opening[0]?.rows).toEqual(["short", "long", "photo", "own", "d", "e"]);
  const fewer = built(turn(rows), { cap: 2 });
  expect(fewer.shortened).toEqual({ cut: 2, chars: 10_666, whole: 2 });
  expect(text(fewer.opening[0])).toContain('- "look [image]"');
  const many = Array.from({ length: 201 }, (_each, n) =>
    row(`m${n}`, { text: "y".repeat(n < 100 ? 160 : 161) }),
  );
  expect(built(turn(many), { cap: 1 }).shortened).toEqual({ cut: 100, chars: 160, whole: 1 });
  expect(built(turn([row("a"), row("b")]), { cap: 1 }).shortened).toBeNull();
});

test("Parley's words to the agent, recent notes, and that it was away stand before the messages", () => {
  const one = row("a", { atMs: 0 }, {}, { acceptedAtMs: 9 * hour });
  const of = turn([one, row("b", { atMs: 9 * hour }, {}, { acceptedAtMs: 9 * hour })]);
  expect(
    openingText(of, { notes: ["first", "second"], startup: { text: "yesterday" } }, 2 * hour + 1),
  ).toMatch(
    /^\[Parley: first\]\n\n\[Parley: second\]\n\n\[Parley: these messages came while you were away.*STARTUP.*yesterday.*words of a\n\nwords of b$/s,
  );
  const startup = { text: "yesterday", untrusted: "evil.example" };
  expect(built(of, { startup }).opening[0]?.untrusted).toBe("evil.example");
  expect(openingText(of, {}, 2 * hour)).toBe("words of a\n\nwords of b");
});

test("what others said before is told with it, but for what the agent is shown anyway and what came later", () => {
  const file = (ref: string, groupId: string | undefined, words = "") =>
    ({ text: words, groupId, attachments: [{ kind: "image", ref }] }) as never;
  const context = [
    row("earlier"),
    row("same", file("r1", "album")),
    row("same with words", file("r1", "album", "look here")),
    row("no album", file("r1", undefined)),
    row("other picture", file("r2", "album")),
    row("own", {}, { internal: { kind: "schedule", id: "s", turn: "" } }),
  ];
  const asked = row("asked", file("r1", "album", "what is it?"));
  const late = row("late");
  const told = openingText(turn([asked], { context: [...context, late] }));
  const history = told.slice(0, told.lastIndexOf("words of own"));
  const inOrder = ["words of earlier", "look here", "image", "image"];
  expect(history).toContain("HISTORY");
  expect(inOrder.map((each) => history.includes(each))).toEqual([true, true, true, true]);
  expect(history.split("\n").filter((line) => /Somebody/.test(line))).toHaveLength(4);
  expect(told).not.toContain("words of late");
  // What Parley wrote is no history: it stands among the messages, announced.
  expect(told).toMatch(/\[System Message\] words of own\n\n.*what is it\?/s);
});

test("an entry names who spoke where one session has many private chats, and the strangers whose text it holds", () => {
  const hook = { channel: "hook", sender: { id: "ci/build", name: "CI", isBot: false } } as never;
  const at = (lane: string, conversation: string, rows: readonly Row[]) => {
    const [entry] = built(turn(rows, { lane, conversation })).opening;
    return [entry?.by, entry?.untrusted];
  };
  const dm = "telegram:default:dm:5";
  const two = [row("a"), row("b", { sender: { id: "6", name: "Other", isBot: false } })];
  const marked = row("c", {}, { internal: { kind: "task", id: "t", turn: "", untrusted: "a.example" } });
  expect([
    at("agent:main:main", dm, two),
    at("agent:main:telegram:dm:5", dm, two),
    at("agent:main:main", "telegram:default:group:-1", two),
    at("agent:main:telegram:dm:5", dm, [row("x"), marked]),
    at("agent:main:telegram:dm:5", dm, [row("h", hook), marked]),
  ]).toEqual([
    [["telegram:5", "telegram:6"], undefined],
    [undefined, undefined],
    [undefined, undefined],
    [undefined, "a.example"],
    [undefined, "the webhook ci/build"],
  ]);
});

test("in a group each message has its sender's label, in private none has", () => {
  const rows = [row("a", {}, { group: true })];
  expect(openingText(turn(rows, { conversation: "telegram:default:group:-100" }))).toContain("Somebody");
  expect(openingText(turn(rows))).not.toContain("Somebody");
});

test("directives are read out of a message, one that is nothing else stays, and an edit is a message", () => {
  const words = (said: string, more: Partial<Inbound> = {}): string =>
    openingText(turn([row("a", { text: said, ...more })]));
  expect([
    words("/think high what now"),
    words("/think high"),
    words("/think high", { attachments: [{ kind: "image", ref: "r" }] as never }).includes("/think"),
    words("new words", { kind: "edit" }),
  ]).toEqual(["what now", "/think high", false, "new words"]);
});

test("a skill's command is told as its skill's words, whole where its body is at hand; one that runs a tool as it is", () => {
  const skill = { name: "brew", input: "green", location: "/s/brew/SKILL.md" };
  const words = (more: object, bodies: readonly (readonly [string, string])[] = []): string =>
    openingText(turn([row("a", { text: "/brew green" }, { skill: { ...skill, ...more } })]), {
      skillBodies: new Map(bodies),
      read: (each) => {
        const { inbound } = JSON.parse(each.payload) as { readonly inbound: Inbound };
        return { inbound: { ...inbound, text: `${inbound.text}\n[a transcript]` }, images: [] };
      },
    });
  expect(
    answerTable(
      [
        [{}, []],
        [{}, [["brew", " Boil it.\n"]]],
        [{}, [["other", "No."]]],
        [{ input: "" }, []],
        [{ tool: "exec" }, [["brew", "Boil it."]]],
      ] as const,
      ([more, bodies]) => words(more, bodies),
    ),
  ).toMatchInlineSnapshot(`
    "[{},[]]
      "Use the \\"brew\\" skill for this request: read its SKILL.md at /s/brew/SKILL.md first, then follow it.\\n\\nUser input:\\ngreen\\n[a transcript]"
    [{},[["brew"," Boil it.\\n"]]]
      "Use the \\"brew\\" skill for this request. Its SKILL.md says:\\n\\nBoil it.\\n\\nUser input:\\ngreen\\n[a transcript]"
    [{},[["other","No."]]]
      "Use the \\"brew\\" skill for this request: read its SKILL.md at /s/brew/SKILL.md first, then follow it.\\n\\nUser input:\\ngreen\\n[a transcript]"
    [{"input":""},[]]
      "Use the \\"brew\\" skill for this request: read its SKILL.md at /s/brew/SKILL.md first, then follow it.\\n[a transcript]"
    [{"tool":"exec"},[["brew","Boil it."]]]
      "/brew green\\n[a transcript]"
    "
  `);
});

test("pictures and documents of all messages come with the entry, in their order", () => {
  const read: ToldBeside["read"] = ({ id, payload }) => ({
    inbound: (JSON.parse(payload) as { readonly inbound: Inbound }).inbound,
    images: [{ type: "image", path: `/${id}`, mediaType: "image/png" }] as never,
    documents: [{ name: `${id}.txt`, text: `inside ${id}` }],
  });
  const [entry] = built(turn([row("a"), row("b")]), { read }).opening;
  expect(entry?.content.slice(1)).toMatchObject([{ path: "/a" }, { path: "/b" }]);
  expect(text(entry)).toMatch(/a\.txt.*inside a.*b\.txt.*inside b/s);
});

test("what a turn's rows say beside their words: place, people, names, and what was there when it began", () => {
  const rows = [
    row("a", { guild: "g1", parent: "p1" }),
    row("b", { sender: { id: "6", name: "", isBot: false }, guild: "g2" }),
    row(
      "c",
      { sender: { id: "7", name: "Parley", isBot: false } },
      { internal: { kind: "task", id: "t", turn: "" } },
    ),
  ];
  const [a, b] = rows as [Row, Row, Row];
  const address = { channel: "telegram", account: "default", kind: "dm", peer: "5" };
  expect([placeOf(turn([a, b])), placeOf(turn([b, a])), placeOf(turn([]))]).toEqual([
    { address, guild: "g2" },
    { address, guild: "g1", parent: "p1" },
    { address },
  ]);
  expect([speakersOf(rows), speakersOf([a, row("m", {}, member)]), speakersOf([])]).toEqual([
    { owner: true, senders: ["telegram:5", "telegram:6", "telegram:7"] },
    { owner: false, senders: ["telegram:5"] },
    { owner: false, senders: [] },
  ]);
  expect(namesIn(rows)).toEqual({ "telegram:5": "Somebody" });
  const absorbed = turn(rows, {
    log: [
      { kind: "absorbed", body: '["b"]' },
      { kind: "model", body: "{}" },
      { kind: "absorbed", body: '["c"]' },
    ],
    context: [row("x", {}, {}, { seq: a.seq - 1 }), row("y", {}, {}, { seq: a.seq })],
  });
  expect(openingRows(absorbed).map(({ id }) => id)).toEqual(["a"]);
  expect(openingContext(absorbed).map(({ id }) => id)).toEqual(["x"]);
  expect(openingContext(turn([], { context: [a] }))).toEqual([]);
  expect(wholeRows(rows, 3)).toBe(rows);
  expect([1, 2].map((cap) => wholeRows(rows, cap).map(({ id }) => id))).toEqual([
    ["b", "c"],
    ["a", "b", "c"],
  ]);
  const command = row("d", {}, { command: { name: "status", args: "" } });
  expect([[command], [command, a], [a]].map((each) => isChatCommandTurn(turn(each)))).toEqual([
    true,
    false,
    false,
  ]);
});

test("who waits for words, what can be quoted, and what only wakes a turn", () => {
  const of = (inbound: Partial<Inbound>, payload: object = {}): Row => row("r", inbound, payload);
  const bot = { sender: { id: "9", name: "B", isBot: true } };
  const internal = (kind: string, turn_ = "t1") => ({ internal: { kind, id: "i", turn: turn_ } });
  const rows: { readonly [what: string]: Row } = {
    "a message": of({}),
    "not addressed": of({ addressed: false }),
    "a reaction": of({ kind: "reaction" }),
    "a press": of({ kind: "callback" }),
    "a bot": of(bot),
    "a webhook": of({ channel: "hook" }),
    "a press in a canvas": of({ messageId: "canvas:1" }),
    "an approval": of({}, internal("approval")),
    "an approval of another turn": of({}, internal("approval", "t2")),
    "a question": of({}, internal("question")),
    "a device": of({}, internal("device")),
    "a task": of({}, internal("task")),
    "an answer": of({}, internal("answer")),
    "an answer for another turn": of({}, internal("answer", "t2")),
  };
  expect(
    Object.entries(rows).map(([what, each]) => [
      what,
      isAsked(each),
      messageIdOf(each),
      isWake(each, "t1"),
      answeredIn(each, "t1"),
    ]),
  ).toEqual([
    ["a message", true, "r", false, null],
    ["not addressed", false, "r", false, null],
    ["a reaction", false, null, false, null],
    ["a press", true, null, false, null],
    ["a bot", false, "r", false, null],
    ["a webhook", false, null, false, null],
    ["a press in a canvas", true, null, false, null],
    ["an approval", false, null, true, null],
    ["an approval of another turn", false, null, false, null],
    ["a question", false, null, true, null],
    ["a device", false, null, true, null],
    ["a task", false, null, false, null],
    ["an answer", false, null, false, "i"],
    ["an answer for another turn", false, null, false, null],
  ]);
});
