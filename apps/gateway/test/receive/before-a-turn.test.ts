// What happens to a message before a turn reads it: parts of an album join the one that calls, reactions find
// the message they belong to, and a full queue loses the right rows. The store stands by as a list.
import { formatContent, formatRowPayload, type Address, type Inbound } from "@parley/protocol";
import { expect, test } from "vitest";
import { albumParts } from "../../src/receive/album-parts.ts";
import { queueOverflow } from "../../src/receive/queue-overflow.ts";
import { reactions } from "../../src/receive/reactions.ts";

const group: Address = { channel: "telegram", account: "a", kind: "group", peer: "-1" };
const inbound = (id: string, more: object = {}): Inbound =>
  ({
    id,
    channel: "telegram",
    account: "a",
    address: group,
    sender: { id: "7", name: "Ada", isBot: false },
    messageId: id,
    kind: "message",
    text: "",
    attachments: [{ kind: "image", ref: `file-${id}` }],
    mentions: [],
    addressed: false,
    atMs: 0,
    groupId: "g",
    ...more,
  }) as never;
const stored = (of: Inbound, more: object = {}) => ({
  payload: formatRowPayload({ v: 1, inbound: of, owner: false, ...more }),
});
const session = "agent:main:telegram:group:-1" as never;
const refs = ({ attachments }: Inbound) => attachments.map(({ ref }) => ref);

function albums(rows: { readonly [state: string]: readonly Inbound[] } = {}) {
  return albumParts({
    find: async ({ state = "" }: { state?: string }) => (rows[state] ?? []).map((each) => stored(each)),
  } as never);
}

test("the part that calls brings the files of those before it, oldest first, each once, also when planned again", async () => {
  const parts = albums({ context: [inbound("2"), inbound("1"), inbound("x", { groupId: "other" })] });
  parts.passed(inbound("2"));
  parts.passed(inbound("3"));
  const caller = inbound("4", { addressed: true, text: "look" });
  const all = ["file-1", "file-2", "file-3", "file-4"];
  expect(refs(await parts.called(caller, session))).toEqual(all);
  expect(refs(await parts.called(caller, session))).toEqual(all);
  // The next one of the album calls too, with its own file alone.
  const next = await parts.joined(inbound("5"), session);
  expect([next.addressed, refs(await parts.called(next, session))]).toEqual([true, ["file-5"]]);
});

test.each(["waiting", "claimed"])(
  "a part joins one that called and is %s, also after a restart, with its own file",
  async (state) => {
    const parts = albums({ [state]: [inbound("1", { addressed: true })], context: [inbound("0")] });
    expect((await parts.joined(inbound("2"), session)).addressed).toBe(true);
    expect(refs(await parts.called(inbound("2", { addressed: true }), session))).toEqual(["file-2"]);
  },
);

test.each([
  ["another album", { groupId: "h" }],
  ["no album", { groupId: undefined }],
  ["forwarded messages", { groupId: "forwarded" }],
  ["another person", { sender: { id: "8", name: "Bob", isBot: false } }],
  ["another place", { address: { ...group, peer: "-2" } }],
  ["a private chat", { address: { ...group, kind: "dm" } }],
  ["an edit", { kind: "edit" }],
])("%s joins nothing", async (_what, more) => {
  const parts = albums();
  await parts.called(inbound("1", { addressed: true }), session);
  const other = inbound("2", more);
  expect(await parts.joined(other, session)).toBe(other);
  parts.passed(inbound("3", more));
  expect(refs(await parts.called(inbound("1", { addressed: true }), session))).toEqual(["file-1"]);
});

test("at most twenty files come from the parts before, and a hundred albums are remembered", async () => {
  const parts = albums();
  for (let n = 0; n < 25; n += 1) parts.passed(inbound(`p${n}`));
  const files = refs(await parts.called(inbound("c", { addressed: true }), session));
  expect([files.length, files[0], files[19], files[20]]).toEqual([21, "file-p0", "file-p19", "file-c"]);
  for (let n = 0; n < 99; n += 1)
    await parts.called(inbound("c", { groupId: `g${n}`, addressed: true }), session);
  expect((await parts.joined(inbound("z"), session)).addressed).toBe(true);
  await parts.called(inbound("c", { groupId: "one more", addressed: true }), session);
  expect((await parts.joined(inbound("z"), session)).addressed).toBe(false);
});

const reaction = (more: object = {}) =>
  inbound("r", { kind: "reaction", text: "reacted 👍", replyTo: { messageId: "5" }, ...more });
const part = (content: object, messageId: string | null) => ({
  content: formatContent({ v: 1, ...content } as never),
  receipt: messageId === null ? null : JSON.stringify({ messageId }),
});
const text = (plain: string) => ({ kind: "rendered", part: { kind: "text", text: "", plain } });
const delivery = (parts: readonly object[], lane = "telegram:a:group:-1") => ({ lane, parts });
function read(found: readonly object[], wanted: "off" | "own" | "all", event: Inbound) {
  const asked: object[] = [];
  const outbox = { find: async (query: object) => (asked.push(query), found) } as never;
  return reactions({ outbox, wanted: () => wanted })(event).then((got) => ({
    asked,
    got: got as { text?: string; unwanted?: string; address?: Address },
  }));
}

test("a reaction tells which of our messages it is to, and what is not ours counts as the account wants", async () => {
  const ours = delivery([
    part(text("first"), "4"),
    part(text("w".repeat(80)), "5"),
    part(text("after"), "6"),
  ]);
  const { got, asked } = await read([delivery([], "telegram:a:group:-2"), ours], "own", reaction());
  expect(got).toMatchObject({
    text: `reacted 👍 to your message "${"w".repeat(80)}"`,
    address: group,
    replyTo: { messageId: "5", toBot: true },
  });
  expect(asked).toEqual([{ receipt: '"5"', lane: "telegram:a:group:-1", limit: 200 }]);
  const long = await read([delivery([part(text("w".repeat(81)), "5")])], "own", reaction());
  expect(long.got.text).toBe(`reacted 👍 to your message "${"w".repeat(80)}…"`);
  const words = async (content: object) =>
    (await read([delivery([part(content, "5")])], "all", reaction())).got.text;
  expect([
    await words({ kind: "rendered", part: { kind: "media", caption: { plain: "a cat" } } }),
    await words({ kind: "rendered", part: { kind: "media" } }),
    await words({ kind: "act", action: { kind: "edit", text: { plain: "new" } } }),
    await words({ kind: "act", action: { kind: "pin" } }),
  ]).toEqual(['"a cat"', "5", '"new"', "5"].map((what) => `reacted 👍 to your message ${what}`));
  expect((await read([ours], "off", reaction())).got.unwanted).toMatch(/off/);
  expect((await read([], "own", reaction())).got.unwanted).toMatch(/not mine/);
  expect((await read([], "all", reaction())).got.text).toBe("reacted 👍 to message 5");
  // In a forum the topic is ours to find.
  const topic = { ...group, thread: "0" };
  const inForum = await read([], "all", reaction({ address: topic }));
  expect([inForum.got.unwanted, inForum.asked]).toEqual([
    "a reaction whose topic is not known",
    [{ receipt: '"5"', limit: 200 }],
  ]);
  const plain = inbound("m");
  expect((await read([ours], "off", plain)).got).toBe(plain);
});

test("in a forum, where only the id is known, it is the message of this very chat", async () => {
  const of = (lane: string, plain: string) => delivery([part(text(plain), "5")], lane);
  const strangers = [
    of("telegram:a:group:-2:7", "another chat"),
    of("telegram:b:group:-1:7", "another account"),
    of("discord:a:group:-1:7", "another platform"),
  ];
  const topic = { ...group, thread: "0" };
  const found = await read(
    [...strangers, of("telegram:a:group:-1:7", "ours")],
    "own",
    reaction({ address: topic }),
  );
  expect(found.got).toMatchObject({
    text: 'reacted 👍 to your message "ours"',
    address: { ...group, thread: "7" },
  });
  expect((await read(strangers, "own", reaction({ address: topic }))).got.unwanted).toMatch(/not mine/);
});

test("a vote tells the options by their words, and of another's poll nothing", async () => {
  const poll = delivery([
    part(text("before"), "4"),
    part(
      {
        kind: "rendered",
        part: { kind: "poll", question: "q".repeat(81), options: ["yes", "no", "o".repeat(81)] },
      },
      "5",
    ),
  ]);
  const vote = async (given: object, found: readonly object[] = [poll]) => {
    const { got, asked } = await read(found, "own", reaction({ vote: given }));
    return [got.text ?? got.unwanted, asked[0]];
  };
  const where = { receipt: '"poll":"77"', limit: 200 };
  const about = `in your poll "${"q".repeat(80)}…"`;
  expect(await vote({ poll: "77", options: [1, 2] })).toEqual([
    `voted "no", "${"o".repeat(80)}…" ${about}`,
    where,
  ]);
  expect((await vote({ poll: "77", options: [3] }))[0]).toBe(`voted "?" ${about}`);
  expect((await vote({ poll: "77", options: [0], takenBack: true }))[0]).toBe(
    `took back the vote "yes" ${about}`,
  );
  expect((await vote({ poll: "77", options: [], takenBack: true }))[0]).toBe(`took back the vote ${about}`);
  expect((await vote({ options: [0] }))[1]).toMatchObject({ receipt: '"5"' });
  for (const none of [
    [],
    [delivery([part(text("no poll"), "5")])],
    [{ ...poll, lane: "telegram:b:group:-1" }],
  ])
    expect((await vote({ poll: "77", options: [0] }, none))[0]).toBe("a vote in a poll that is not mine");
});

const queued = (seq: number, more: object = {}, payload: object = {}) => ({
  seq,
  id: `r${seq}`,
  lane: "l",
  conversation: "c",
  authority: "owner",
  turn: null as string | null,
  ...stored(inbound(`r${seq}`, { addressed: seq % 2 === 0 }), payload),
  ...more,
});
const command = { command: { name: "new", args: "" } };
const internal = { internal: { kind: "hook", id: "h", turn: "" } };

async function overflowing(
  rows: { waiting?: readonly object[]; claimed?: readonly object[] },
  settings: object,
  waiting: number,
  more: object = {},
) {
  const log: unknown[] = [];
  const overflow = queueOverflow(
    {
      find: async ({ state }: { state: "waiting" | "claimed" }) => rows[state] ?? [],
      stop: async (_lane: string, what: { rows?: { ids: readonly string[] }; turn?: string }) => {
        log.push(what.rows?.ids ?? `stops ${what.turn}`);
        // One was taken by a turn meanwhile.
        // One that took the message meanwhile goes on.
        return {
          turn: what.turn === "joined" ? null : (what.turn ?? null),
          rows: (what.rows?.ids ?? []).filter((id) => id !== "r3"),
        };
      },
    } as never,
    { add: async (conversation: string, dropped: object) => void log.push([conversation, dropped]) } as never,
    (turn) => log.push(`stopped ${turn}`),
  );
  await overflow(queued(9, more) as never, { seq: 9, waiting } as never, settings as never);
  return log;
}

test("a full queue loses its oldest or newest talk, as many as are too many, and tells who is owed", async () => {
  const waiting = [
    queued(5),
    queued(2),
    queued(4, { conversation: "d" }),
    queued(1),
    queued(6, {}, command),
    queued(7, {}, internal),
  ];
  const drop = (how: string, cap: number, count = 6) =>
    overflowing({ waiting }, { mode: "collect", drop: how, cap }, count);
  expect(await drop("old", 3)).toEqual([
    ["r1", "r2"],
    ["c", { count: 2, isOwed: true }],
  ]);
  expect(await drop("new", 3)).toEqual([
    ["r4", "r5"],
    ["d", { count: 1, isOwed: true }],
    ["c", { count: 1, isOwed: false }],
  ]);
  expect(await drop("old", 0)).toEqual([
    ["r1", "r2", "r4", "r5"],
    ["c", { count: 3, isOwed: true }],
    ["d", { count: 1, isOwed: true }],
  ]);
  expect([await drop("old", 6), await drop("summarize", 1), await drop("old", 5)]).toEqual([[], [], []]);
  const taken = await overflowing(
    { waiting: [queued(3), queued(1)] },
    { mode: "collect", drop: "old", cap: 0 },
    2,
  );
  expect(taken).toEqual([
    ["r1", "r3"],
    ["c", { count: 1, isOwed: false }],
  ]);
});

test("each look and each stop is of the row's own lane, and says why", async () => {
  const did: unknown[] = [];
  const rows = {
    waiting: [queued(3), queued(4)],
    claimed: [queued(2, { turn: "mine" })],
  };
  const overflow = queueOverflow(
    {
      find: async (query: { state: "waiting" | "claimed" }) => (did.push(query), rows[query.state]),
      stop: async (lane: string, what: { rows?: { ids: readonly string[] }; turn?: string }) => (
        did.push([lane, what]),
        { turn: what.turn ?? null, rows: what.rows?.ids ?? [] }
      ),
    } as never,
    { add: async () => {} } as never,
    (turn) => did.push(`stopped ${turn}`),
  );
  const row = queued(9) as never;
  await overflow(row, { seq: 9, waiting: 2 } as never, { mode: "collect", drop: "old", cap: 1 } as never);
  await overflow(row, { seq: 9, waiting: 2 } as never, { mode: "interrupt" } as never);
  const reason = "interrupted by a newer message";
  const waiting = { lane: "l", state: "waiting", limit: 1_000 };
  expect(did).toEqual([
    waiting,
    ["l", { rows: { ids: ["r3"] }, outcome: "superseded", reason: "the queue holds 1 (drop: old)" }],
    { lane: "l", state: "claimed", limit: 1_000 },
    waiting,
    ["l", { turn: "mine", unless: "r9", reason }],
    ["l", { rows: { ids: ["r3", "r4"] }, outcome: "superseded", reason }],
    "stopped mine",
  ]);
});

test("an interrupting message ends the turn of its own person and place, and replaces older talk of theirs", async () => {
  const interrupt = (rows: object) => overflowing(rows, { mode: "interrupt", drop: "old", cap: 1 }, 99);
  const claimed = [queued(1, { turn: "other", authority: "member" }), queued(2, { turn: "mine" })];
  const waiting = [
    queued(3),
    queued(4, { authority: "member" }),
    queued(5, { conversation: "d" }),
    queued(6, {}, command),
    queued(7, {}, internal),
    queued(8),
    queued(9),
    queued(10),
  ];
  expect(await interrupt({ claimed, waiting })).toEqual(["stops mine", ["r3", "r8"], "stopped mine"]);
  expect(await interrupt({ claimed: claimed.slice(0, 1), waiting })).toEqual([]);
  expect(await interrupt({ claimed: [queued(2, { turn: "joined" })] })).toEqual(["stops joined", []]);
  for (const seq of [9, 10])
    expect(await interrupt({ claimed: [...claimed, queued(seq, { turn: "mine" })], waiting })).toEqual([]);
});
