// Which rows one event becomes, and how long each waits: commands, albums, programs, presses, edits, limits
// and what is refused. Everything around the planner is a list; test/message-path drives it whole.
import { Fault, parseRowPayload, silentLog, type Inbound, type SkillCall } from "@parley/protocol";
import { directMessage, groupMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { eventPlanner, type PlannedRow } from "../../src/receive/plan-event.ts";

const hour = 3_600_000;

interface Around {
  readonly admission?: object;
  readonly mode?: string;
  /** What /queue set in the session. */
  readonly own?: object;
  readonly contextRows?: number;
  readonly owners?: boolean;
  readonly over?: object | null;
  readonly skill?: SkillCall | null;
  readonly question?: string | null;
  readonly read?: (event: Inbound) => object;
  readonly claimed?: boolean;
  readonly reaction?: (event: Inbound) => object;
  readonly session?: string;
  readonly route?: (event: Inbound) => object;
  readonly log?: object;
  readonly admit?: (inbound: Inbound, call: { isSlashCommand: boolean }) => Promise<object>;
}

const member = { kind: "turn", owner: false, authority: "member" };
const owner = { kind: "turn", owner: true, authority: "owner" };
const session = "agent:main:telegram:dm:5";

/** The planner, and what it asked of the parts around it. */
function planner(around: Around = {}) {
  const asked: unknown[] = [];
  const it = eventPlanner({
    sessions: {
      open: async (key: string) => (asked.push(`opens ${key}`), { fields: { activation: "mention" } }),
    },
    inbox: { find: async () => [] },
    admit: async (inbound: Inbound, call: { isSlashCommand: boolean; activation(): Promise<unknown> }) => {
      asked.push(["admit", call.isSlashCommand, await call.activation()]);
      return around.admit?.(inbound, call) ?? around.admission ?? member;
    },
    route: around.route ?? (() => ({ agent: "main", session: around.session ?? session })),
    skillCalled: async () => (asked.push("skill"), around.skill ?? null),
    questionHere: async () => (asked.push("question"), around.question ?? null),
    modelNamed: (agent: string, word: string) => (word === "opus" ? `a/opus-of-${agent}` : null),
    buttonPresses: {
      read: async (event: Inbound) => around.read?.(event) ?? { inbound: event, commands: true },
      claim: async (event: Inbound) => (asked.push(`claims ${event.text}`), around.claimed ?? true),
    },
    readReaction: async (event: Inbound) => around.reaction?.(event) ?? event,
    spokenIn: async (key: string) => (
      asked.push(`spoken in ${key}`),
      { fields: { queue: around.own ?? {} } }
    ),
    refusals: {
      note: (code: string, source: string, told: object) => asked.push(["refusal", code, source, told]),
    },
    messageLimits: { over: async () => (asked.push("counted"), around.over ?? null) },
    limits: { owners: around.owners ?? false },
    bootAtMs: 10 * hour,
    queue: { mode: around.mode ?? "steer", debounceMs: 900, cap: 20, drop: "summarize" },
    contextRows: around.contextRows ?? 5,
    log: { ...silentLog, ...around.log },
  } as never);
  return { ...it, asked };
}

const now = { atMs: 10 * hour };
const dm = (text: string, more: object = {}): Inbound => directMessage({ text, ...now, ...more });
const inGroup = (text: string, more: object = {}): Inbound =>
  groupMessage({ text, addressed: true, ...now, ...more });
const file = (ref: string) => ({ kind: "image", ref }) as const;

const shownRow = ({ row, notices, settings, heard }: PlannedRow) => {
  const payload = row.payload === "" ? null : parseRowPayload(row.payload);
  return {
    as: row.as,
    ...(payload === null ? {} : { text: payload.inbound.text }),
    ...(payload?.command === undefined ? {} : { command: payload.command }),
    ...(payload?.skill === undefined ? {} : { skill: payload.skill.name }),
    ...(payload?.steer === undefined ? {} : { steer: true }),
    ...(settings === undefined ? {} : { mode: settings.mode }),
    ...(heard === undefined ? {} : { heard: heard.text }),
    ...(notices.length === 0 ? {} : { says: JSON.stringify(notices.map(({ parts }) => parts)) }),
  };
};

async function planned(event: Inbound, around: Around = {}): Promise<readonly ReturnType<typeof shownRow>[]> {
  const rows = await planner(around).plan(event);
  if ("command" in rows) throw new Error(`a command past the lane: ${rows.command.name}`);
  return rows.map(shownRow);
}
const reasons = async (event: Inbound, around: Around = {}) =>
  (await planned(event, around)).map(({ as }) => ("reason" in as ? as.reason : as.kind));
/** How long the first row waits, and whether it stands alone. */
const waits = async (event: Inbound, around: Around = {}) => {
  const [{ as } = { as: {} }] = await planned(event, around);
  const { afterMs = 0, barrier = false } = as as { afterMs?: number; barrier?: boolean };
  return [afterMs, barrier];
};

test("a message waits for what belongs to it, the longest of its reasons, and stands alone where it must", async () => {
  const old = { atMs: 8 * hour - 1 };
  const album = { groupId: "g" };
  expect({
    plain: await waits(dm("hi")),
    album: await waits(dm("hi", album)),
    "all but a pasted text": await waits(dm("x".repeat(3_999))),
    "a pasted text": await waits(dm("x".repeat(4_000))),
    "an album of pasted texts": await waits(dm("x".repeat(4_000), album)),
    collect: await waits(dm("hi"), { mode: "collect" }),
    "collect, a pasted text": await waits(dm("x".repeat(4_000)), { mode: "collect" }),
    "collect by /queue": await waits(dm("hi"), { own: { mode: "collect", debounceMs: 5_000 } }),
    "steer by /queue": await waits(dm("hi"), { mode: "collect", own: { mode: "steer" } }),
    "a debounce of another mode": await waits(dm("hi"), { own: { debounceMs: 5_000 } }),
    "two hours before the start": await waits(dm("hi", { atMs: 8 * hour })),
    "a backlog": await waits(dm("hi", old)),
    followup: await waits(dm("hi"), { mode: "followup" }),
    "followup, an album": await waits(dm("hi", album), { mode: "followup" }),
    "followup, a backlog": await waits(dm("hi", old), { mode: "followup" }),
    interrupt: await waits(dm("hi"), { mode: "interrupt" }),
    "a skill that answers": await waits(dm("/sum"), { skill: { name: "sum", input: "", location: "l" } }),
    "a skill that runs a tool": await waits(dm("/sum"), {
      skill: { name: "sum", input: "", location: "l", tool: "exec" } as never,
    }),
  }).toEqual({
    plain: [0, false],
    album: [700, false],
    "all but a pasted text": [0, false],
    "a pasted text": [1_500, false],
    "an album of pasted texts": [1_500, false],
    collect: [900, false],
    "collect, a pasted text": [1_500, false],
    "collect by /queue": [5_000, false],
    "steer by /queue": [0, false],
    "a debounce of another mode": [0, false],
    "two hours before the start": [0, false],
    "a backlog": [1_500, false],
    followup: [0, true],
    "followup, an album": [700, false],
    "followup, a backlog": [1_500, false],
    interrupt: [0, false],
    "a skill that answers": [0, false],
    "a skill that runs a tool": [0, true],
  });
});

test("a program's message is whole at once and alone; a webhook's text is no command, no skill and nobody's words", async () => {
  const by = (channel: string, text: string) => dm(text, { channel, ...now, atMs: 0, groupId: "g" });
  expect(await planned(by("api", "x".repeat(4_000)), { mode: "collect" })).toEqual([
    {
      as: { kind: "work", barrier: true },
      text: "x".repeat(4_000),
      mode: "collect",
      heard: "x".repeat(4_000),
    },
  ]);
  const hook = planner({ skill: { name: "sum", input: "", location: "l" } });
  const rows = await hook.plan(by("hook", "/new me"));
  expect((rows as readonly PlannedRow[]).map(shownRow)).toEqual([
    { as: { kind: "work", barrier: true }, text: "/new me", mode: "steer" },
  ]);
  expect(hook.asked).not.toContain("skill");
  expect(hook.asked).not.toContain("counted");
  expect(await planner().plan(by("api", "/stop"))).toMatchObject({ command: { name: "stop" } });
});

test("/steer joins the running turn with its words; without them it is a command", async () => {
  expect(await planned(dm("/steer use the other file"), { mode: "collect" })).toEqual([
    {
      as: { kind: "work" },
      text: "use the other file",
      steer: true,
      mode: "steer",
      heard: "use the other file",
    },
  ]);
  expect(await planned(dm("/tell now"))).toMatchObject([{ text: "now", steer: true }]);
  expect(await planned(dm("/steer"))).toEqual([
    {
      as: { kind: "work", barrier: true },
      text: "/steer",
      command: { name: "steer", args: "" },
      mode: "steer",
    },
  ]);
});

test("a command waits as its message would; the words behind it are a message of their own right after", async () => {
  expect(await planned(dm("/new hello"), { mode: "collect" })).toEqual([
    {
      as: { kind: "work", afterMs: 900, barrier: true },
      text: "/new hello",
      command: { name: "new", args: "hello" },
      mode: "collect",
    },
    { as: { kind: "work" }, text: "hello" },
  ]);
  expect(await planned(dm("/new opus hello"), { mode: "followup" })).toMatchObject([
    { as: { barrier: true }, command: { name: "new", args: "opus hello", model: "a/opus-of-main" } },
    { as: { kind: "work", barrier: true }, text: "hello" },
  ]);
  expect(await planned(dm("/new opus"))).toHaveLength(1);
  // The word is one of the agent's that answers there.
  const route = () => ({ agent: "tea", session: "agent:tea:telegram:dm:5" });
  expect(await planned(dm("/new opus"), { route })).toMatchObject([{ command: { model: "a/opus-of-tea" } }]);
});

test("a row has the rights of whoever is let in; what only stands there, and what is refused, has none", async () => {
  const rights = async (event: Inbound, around: Around = {}) => {
    const rows = await planner(around).plan(event);
    if ("command" in rows) return [rows.by.authority, rows.by.owner, rows.by.route.agent];
    return rows.map(({ row }) => [
      row.authority,
      row.payload === "" ? null : parseRowPayload(row.payload).owner,
    ]);
  };
  const refused = { kind: "refused", code: "dm_disabled", reason: "no" };
  expect([
    await rights(dm("hi"), { admission: owner }),
    await rights(dm("/new hello"), { admission: owner }),
    await rights(dm("hi")),
    await rights(inGroup("hi"), { admission: { kind: "context" } }),
    await rights(inGroup("👍", { kind: "reaction" }), { admission: owner }),
    await rights(dm("hi"), { admission: refused }),
    await rights(dm("/stop"), { admission: { ...member, authority: "member:1" } }),
  ]).toEqual([
    [["owner", true]],
    [
      ["owner", true],
      ["owner", true],
    ],
    [["member", false]],
    [["none", false]],
    [["owner", true]],
    [["none", null]],
    ["member:1", false, "main"],
  ]);
});

test("a directive beside one file belongs to the message; any other command does not", async () => {
  const with1 = { attachments: [file("a")] };
  expect(await planned(dm("/think high", with1))).toMatchObject([
    { text: "/think high", heard: "/think high" },
  ]);
  expect(await planned(dm("/think high"))).toMatchObject([{ command: { name: "think", args: "high" } }]);
  expect(await planned(dm("/new", with1))).toMatchObject([{ command: { name: "new" } }]);
});

test("an edit replaces words: it is no command, no answer's count and starts no conversation anew", async () => {
  const edited = planner({ over: { of: "person", per: "minute", most: 1, isFirst: true } });
  const rows = (await edited.plan(dm("/new", { kind: "edit", editedAtMs: 1 }))) as readonly PlannedRow[];
  expect(rows.map(shownRow)).toEqual([{ as: { kind: "edit" }, text: "/new" }]);
  expect(edited.asked.filter((each) => typeof each === "string" && /counted|spoken/.test(each))).toEqual([]);
  expect(await planned(dm("/stop", { kind: "edit" }))).toMatchObject([
    { as: { kind: "edit" }, text: "/stop" },
  ]);
  const unheard = inGroup("other", { kind: "edit", addressed: false });
  expect(await planned(unheard, { admission: { kind: "context" }, contextRows: 0 })).toEqual([
    { as: { kind: "edit" }, text: "other" },
  ]);
});

test("talk that calls nobody is kept as the config says, and was heard all the same", async () => {
  const talk = inGroup("to nobody", { addressed: false });
  const admission = { kind: "context" };
  const heard = { text: "to nobody", heard: "to nobody" };
  for (const keep of [5, 1])
    expect(await planned(talk, { admission, contextRows: keep })).toEqual([
      { as: { kind: "context", keep }, ...heard },
    ]);
  expect(await planned(talk, { admission, contextRows: 0 })).toEqual([
    {
      as: { kind: "closed", outcome: "context", reason: "nobody called, and no history is kept" },
      ...heard,
    },
  ]);
});

test("a part of an album that calls brings the files of the parts that were talk", async () => {
  const admission = (inbound: Inbound) => (inbound.addressed ? member : { kind: "context" });
  const it = planner({ admit: async (inbound) => admission(inbound) });
  const part = (ref: string, addressed: boolean) =>
    inGroup("", { groupId: "g", attachments: [file(ref)], addressed });
  const files = async (event: Inbound) => {
    const [first] = (await it.plan(event)) as readonly PlannedRow[];
    return [
      first?.row.as.kind,
      parseRowPayload(first?.row.payload ?? "").inbound.attachments.map(({ ref }) => ref),
    ];
  };
  expect(await files(part("a", false))).toEqual(["context", ["a"]]);
  expect(await files(part("b", true))).toEqual(["work", ["a", "b"]]);
  expect(await files(part("c", false))).toEqual(["work", ["c"]]);
});

test("a number that answers a question is its command; a skill's call asks for no question", async () => {
  expect(await planner({ question: "q7" }).plan(dm(" 2 "))).toMatchObject({
    command: { name: "answer", args: "q7 2" },
  });
  const called = planner({ question: "q7", skill: { name: "sum", input: "2", location: "l" } });
  expect((await called.plan(dm("/sum 2"))) as readonly PlannedRow[]).toHaveLength(1);
  expect(called.asked).not.toContain("question");
});

test("a platform's own command calls the agent also where it is a skill's; in a sub-agent's thread everything does", async () => {
  const admitted = async (event: Inbound, around: Around = {}) => {
    const it = planner(around);
    await it.plan(event);
    return it.asked.find((each) => Array.isArray(each) && each[0] === "admit");
  };
  const skill = { name: "sum", input: "", location: "l" };
  expect(await admitted(inGroup("/sum", { kind: "command" }), { skill })).toEqual(["admit", true, "mention"]);
  expect(await admitted(inGroup("/sum"), { skill })).toEqual(["admit", false, "mention"]);
  expect(await admitted(inGroup("/new", { kind: "command" }))).toEqual(["admit", true, "mention"]);
  expect(await admitted(inGroup("/dance", { kind: "command" }))).toEqual(["admit", false, "mention"]);
  expect(await admitted(inGroup("hi"), { session: "agent:main:subagent:c1" })).toEqual([
    "admit",
    false,
    "always",
  ]);
});

test("a press counts once, by its event, and only if somebody may press; its place and limits are those of its value", async () => {
  const event = dm("/stop raw", { kind: "callback", callback: { id: "p", value: "v" } });
  const read = (commands: boolean, text: string) => (pressed: Inbound) => ({
    inbound: { ...pressed, text },
    commands,
  });
  const first = planner({ read: read(true, "/stop") });
  expect(await first.plan(event)).toMatchObject({ command: { name: "stop" } });
  expect(first.asked).toContain("claims /stop raw");
  expect(await reasons(event, { read: read(true, "/stop"), claimed: false })).toEqual([
    "the button was pressed before",
  ]);
  // What an agent wrote on a button is talk.
  expect(await planned(event, { read: read(false, "/stop") })).toMatchObject([
    { text: "/stop", heard: "/stop" },
  ]);
  const stranger = planner({
    read: read(true, "yes"),
    admission: { kind: "refused", code: "dm_disabled", reason: "no" },
  });
  await stranger.plan(event);
  expect(stranger.asked).not.toContain("claims /stop raw");
  // A message is no press, and claims nothing.
  const message = planner();
  await message.plan(dm("hi"));
  expect(message.asked.filter((each) => String(each).startsWith("claims"))).toEqual([]);
  expect(await reasons(event, { read: () => ({ unwanted: "too old" }) })).toEqual(["too old"]);
});

test("a reaction is routed by the place that was found for it, and is context even where it was let in", async () => {
  const topic = {
    channel: "telegram",
    account: "default",
    kind: "group",
    peer: "-100",
    thread: "7",
  } as const;
  const event = inGroup("reacted 👍", { kind: "reaction" });
  const it = planner({
    reaction: (reaction) => ({ ...reaction, address: topic }),
    route: ({ address }) => ({
      agent: "main",
      session: `agent:main:telegram:group:${address.thread ?? "none"}`,
    }),
  });
  const [row] = (await it.plan(event)) as readonly PlannedRow[];
  expect([row?.row.lane, row?.row.as.kind]).toEqual(["agent:main:telegram:group:7", "context"]);
  expect(await reasons(event, { reaction: () => ({ unwanted: "reactions are off" }) })).toEqual([
    "reactions are off",
  ]);
});

test("what is too much is refused and counted by whose limit it was, told once; commands past the lane go through", async () => {
  const over = (of: string, isFirst: boolean) => ({ of, per: "minute", most: 3, freeInMs: 9_000, isFirst });
  const refused = async (of: string, isFirst: boolean) => {
    const it = planner({ over: over(of, isFirst) });
    const [row] = ((await it.plan(inGroup("hi"))) as readonly PlannedRow[]).map(shownRow);
    const note = it.asked.find((each) => Array.isArray(each) && each[0] === "refusal") as readonly unknown[];
    return [note[1], row?.as, row?.says !== undefined];
  };
  const closed = (of: string) => ({
    kind: "closed",
    outcome: "refused",
    reason: `more than limits.${of} lets in: 3 a minute`,
  });
  expect(await refused("person", true)).toEqual(["person_limit", closed("person"), true]);
  expect(await refused("place", false)).toEqual(["place_limit", closed("place"), false]);
  const limited = { over: over("person", true) };
  expect(await planner(limited).plan(dm("/stop"))).toMatchObject({ command: { name: "stop" } });
  expect(await reasons(dm("hi"), { ...limited, admission: owner })).toEqual(["work"]);
  expect(await reasons(dm("hi"), { ...limited, admission: owner, owners: true })).toHaveLength(1);
  expect(await reasons(dm("hi"), { ...limited, admission: owner, owners: true })).not.toEqual(["work"]);
});

test("a refusal is noted with its account and sender, and says what the rules say", async () => {
  const it = planner({
    admission: { kind: "refused", code: "pairing_asked", reason: "pairing asked", say: "Your code" },
  });
  const event = dm("let me in");
  const [row] = ((await it.plan(event)) as readonly PlannedRow[]).map(shownRow);
  expect(row).toEqual({
    as: { kind: "closed", outcome: "refused", reason: "pairing asked" },
    says: expect.stringContaining("Your code"),
  });
  expect(it.asked).toContainEqual([
    "refusal",
    "pairing_asked",
    "telegram:default 5",
    { account: "telegram:default", sender: "5", kind: "dm", rows: [event.id] },
  ]);
  const nobody = planner({
    route: () => {
      throw new Fault("invalid", "no agent is bound here");
    },
  });
  expect(await nobody.plan(event)).toMatchObject([
    { row: { as: { reason: "no agent is bound here" } }, notices: [] },
  ]);
  expect(nobody.asked).toMatchObject([["refusal", "no_agent", "telegram:default 5", { rows: [event.id] }]]);
});

test("whoever sent what cannot be read is told in private where we answer them, and nobody else is", async () => {
  const from = (kind: string) => ({ ...dm("", {}), address: { ...dm("").address, kind } });
  const event = (kind: string) =>
    ({
      kind: "unreadable",
      id: "telegram:default:9",
      channel: "telegram",
      account: "default",
      raw: "{",
      reason: "torn",
      from: { address: from(kind).address, sender: from(kind).sender },
    }) as never;
  const told = async (around: Around, kind = "dm") =>
    (await planner(around).rowOfUnreadable(event(kind))).notices.map(({ id, parts }) => [
      id,
      JSON.stringify(parts).replace(/.*"markdown\\":\\"(.*?)\\".*/, "$1"),
    ]);
  const id = "notice:telegram:default:9";
  expect(await told({})).toEqual([[id, expect.stringContaining("cannot read")]]);
  expect(await told({}, "group")).toEqual([]);
  const refused = { kind: "refused", code: "pairing_asked", reason: "pairing asked" };
  expect(await told({ admission: { ...refused, say: "Your code" } })).toEqual([[id, "Your code"]]);
  expect(await told({ admission: refused })).toEqual([]);
  expect(await told({ admission: { kind: "context" } })).toEqual([]);
  // A store that is away is asked again later; a flaw of ours holds nobody up.
  const away = { admit: () => Promise.reject(new Fault("unavailable", "the store is away")) };
  await expect(told(away)).rejects.toThrow("the store is away");
  const logged: unknown[] = [];
  const log = { error: (...line: readonly unknown[]) => void logged.push(line) };
  expect(await told({ log, admit: () => Promise.reject(new TypeError("flaw")) })).toEqual([]);
  expect(logged).toEqual([
    [
      { rows: ["telegram:default:9"], error: new TypeError("flaw") },
      "the sender of an unreadable event could not be told",
    ],
  ]);
  // It is let in, or not, as a message in private that called nobody by a command.
  const asked: unknown[] = [];
  const admit = async (
    { id, kind, text, addressed, account, mentions, attachments }: Inbound,
    { isSlashCommand }: { readonly isSlashCommand: boolean },
  ) => {
    asked.push({ id, kind, text, addressed, account, mentions, attachments, isSlashCommand });
    return member;
  };
  await told({ admit });
  expect(asked).toEqual([
    {
      id: "telegram:default:9",
      kind: "message",
      text: "",
      addressed: true,
      account: "default",
      mentions: [],
      attachments: [],
      isSlashCommand: false,
    },
  ]);
});
