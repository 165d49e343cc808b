// What approvers are shown, word for word, and where; who may wait with how many requests; and what the
// store keeps of each, for how long and in which order.
import {
  formatRowPayload,
  noUsage,
  parseContent,
  parseRowPayload,
  type Address,
  type ConversationKey,
  type SessionKey,
} from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import { directMessage, virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { isApproved } from "../src/approvals/approval-gate.ts";
import { cardDeliveries, settledCard, toldElsewhere } from "../src/approvals/approval-card.ts";
import { outcomeOf, settledWords, ticketRow } from "../src/approvals/approval-outcome.ts";
import { approvalStore } from "../src/approvals/approval-store.ts";
import { approvalSurfaces } from "../src/approvals/approval-surfaces.ts";
import { approvalId, parseApproval, type Approval } from "../src/approvals/approval.ts";
import { askedByLines } from "../src/approvals/asked-by.ts";
import { tooManyOpen } from "../src/approvals/open-limits.ts";
import { storedIn, withStoredCalls } from "../src/approvals/stored-calls.ts";
import { memoryStore } from "./store.ts";

const minuteMs = 60_000;
const grant = { argv: ["ls"], cwd: "/w", sandbox: "off", files: [], outside: [] };
const telegram: Address = { channel: "telegram", account: "default", kind: "dm", peer: "1" };
const web: Address = { channel: "web", account: "default", kind: "dm", peer: "web-1" };

function approvalOf(more: Partial<Approval> = {}): Approval {
  return {
    v: 1,
    id: "abcdefghjk",
    session: "agent:main:telegram:dm:7" as SessionKey,
    epoch: 1,
    agent: "main",
    turn: "agent:main:telegram:dm:7#1",
    callId: "c1",
    conversation: "telegram:default:dm:7" as ConversationKey,
    authority: "member",
    owner: false,
    askedBy: ["telegram:7"],
    names: { "telegram:7": "Olga" },
    tool: "exec",
    args: { command: "ls" },
    hash: "h",
    shown: "run: ls",
    reason: "ls is not allowed",
    grant,
    approvers: ["telegram:1"],
    createdAtMs: 0,
    expiresAtMs: 30 * minuteMs,
    state: "open",
    log: [{ atMs: 0, what: "asked", by: "t" }],
    ...more,
  };
}

/** The words and buttons of a card. */
function shown({ parts, ...delivery }: NewDelivery): object {
  const contents = parts.map(({ content }) => parseContent(content));
  const texts = contents.flatMap((content) => (content.kind === "reply" ? content.parts : []));
  return { ...delivery, parts: texts };
}

const onWeb = { address: web, approvers: null };
const head = [
  '🔐 **Approval `abcdefghjk`**: agent "main" asks to run this command (ls is not allowed).',
  "```",
  'asked by: "Olga" (telegram:7)',
  "chat: telegram private chat 7",
  "session: agent:main:telegram:dm:7",
  "```",
].join("\n");
const tail = [
  "Answer within 30 minutes with a button, or with `/approve abcdefghjk once|always` or `/deny abcdefghjk`.",
  "Always: exactly these words in this folder and sandbox, for this agent, whoever asks.",
].join("\n");

describe("a request's card", () => {
  test("shows who asks for what and why, and a button for each answer", () => {
    const { deliveries, cells } = cardDeliveries(approvalOf(), onWeb, "turn/preview");
    expect(cells).toEqual([]);
    expect(deliveries.map(shown)).toEqual([
      {
        id: "approval:abcdefghjk:web:default:dm:web-1",
        pool: "web:default",
        lane: "web:default:dm:web-1",
        cause: "agent:main:telegram:dm:7#1",
        closes: "turn/preview",
        parts: [
          {
            kind: "text",
            markdown: `${head}\n\n\`\`\`\nrun: ls\n\`\`\`\n\n${tail}`,
            buttons: [
              [
                { label: "✅ Once", value: "/approve abcdefghjk once", style: "success" },
                { label: "♾ Always", value: "/approve abcdefghjk always", style: "primary" },
                { label: "⛔ Deny", value: "/approve abcdefghjk deny", style: "danger" },
              ],
            ],
          },
        ],
      },
    ]);
  });

  test("whose action is long has it above in full, in a message of its own that ends the growing answer", () => {
    const [short, long] = ["x".repeat(1_200), "x".repeat(1_201)].map(
      (words) => cardDeliveries(approvalOf({ shown: words }), onWeb, "turn/preview").deliveries,
    );
    expect(short).toHaveLength(1);
    expect(long?.map(({ id, closes }) => [id, closes])).toEqual([
      ["approval:abcdefghjk:web:default:dm:web-1/words", "turn/preview"],
      ["approval:abcdefghjk:web:default:dm:web-1", undefined],
    ]);
    expect(long?.map(shown)).toMatchObject([
      { parts: [{ markdown: `\`\`\`\n${"x".repeat(1_201)}\n\`\`\`` }] },
      { parts: [{ markdown: `${head}\nIt stands in full above.\n\n${tail}` }] },
    ]);
    for (const { closes } of cardDeliveries(approvalOf(), onWeb, null).deliveries)
      expect(closes).toBeUndefined();
  });

  test("says what is asked for, by the tool, for how long, and whether it may be for good", () => {
    const firstAndLast = (more: Partial<Approval>): readonly (string | undefined)[] => {
      const [card] = cardDeliveries(approvalOf(more), onWeb, null).deliveries;
      const [part] = (
        shown(card as NewDelivery) as { parts: { markdown: string; buttons: { label: string }[][] }[] }
      ).parts;
      const lines = part?.markdown.split("\n") ?? [];
      return [
        lines[0],
        ...lines.slice(lines.indexOf("```", 8) + 2),
        part?.buttons[0]?.map(({ label }) => label).join(" "),
      ];
    };
    const device = { tool: "nodes", args: { command: "run" } };
    expect(firstAndLast({ ...device, grant: null })).toEqual([
      '🔐 **Approval `abcdefghjk`**: agent "main" asks to run this command on a device (ls is not allowed).',
      "Answer within 30 minutes with a button, or with `/approve abcdefghjk once` or `/deny abcdefghjk`.",
      "✅ Once ⛔ Deny",
    ]);
    const bound = { ...grant, files: [{ path: "/w/a", sha256: "f" }] };
    expect(firstAndLast({ grant: bound, expiresAtMs: 89_999, reason: "a `b`\n[c](d) <e>" })).toEqual([
      '🔐 **Approval `abcdefghjk`**: agent "main" asks to run this command (a b \\u{a} c (d) e).',
      "Answer within 1 minute with a button, or with `/approve abcdefghjk once|always` or `/deny abcdefghjk`.",
      "Always: exactly these words in this folder and sandbox, as long as each file above is as it is now, for this agent, whoever asks.",
      "✅ Once ♾ Always ⛔ Deny",
    ]);
    const [other] = firstAndLast({ tool: "web_fetch", reason: "r".repeat(301) });
    expect(other).toBe(
      `🔐 **Approval \`abcdefghjk\`**: agent "main" asks to use \`web fetch\` outside (${"r".repeat(300)} ...).`,
    );
    expect(firstAndLast({ tool: "nodes", args: { command: "list" } })[0]).toContain("use `nodes` outside");
  });

  test("lets those press who may, as long as they may; everybody who sees it where none are named", () => {
    const { deliveries } = cardDeliveries(
      approvalOf(),
      { address: web, approvers: ["web-1", "web-2"] },
      null,
    );
    const [first] = (shown(deliveries[0] as NewDelivery) as { parts: { buttons: object[][] }[] }).parts;
    for (const button of first?.buttons.flat() ?? [])
      expect(button).toMatchObject({ allowed: ["web-1", "web-2"], untilMs: 30 * minuteMs });
    const short = cardDeliveries(approvalOf(), { address: telegram, approvers: ["1"] }, null);
    expect(short.cells.length).toBeGreaterThan(0);
  });

  test("has the decision in its place, without buttons, under the same name", () => {
    expect(shown(settledCard(approvalOf(), web, "⛔ No."))).toEqual({
      id: "approval:abcdefghjk:web:default:dm:web-1/settled",
      pool: "web:default",
      lane: "web:default:dm:web-1",
      cause: "agent:main:telegram:dm:7#1",
      parts: [{ kind: "text", markdown: "⛔ No.\n\n```\nrun: ls\n```", buttons: [] }],
    });
    expect(settledCard(approvalOf(), web, "x").parts[0]).toMatchObject({
      into: "approval:abcdefghjk:web:default:dm:web-1/0",
    });
    const long = shown(settledCard(approvalOf({ shown: "x".repeat(1_201) }), web, "⛔ No."));
    expect(long).toMatchObject({ parts: [{ markdown: "⛔ No.\n\nApproval `abcdefghjk`" }] });
  });

  test("of others is told to who asked, for each kind of call", () => {
    const words = (more: Partial<Approval>): string => JSON.stringify(toldElsewhere(approvalOf(more), null));
    expect(words({})).toContain(
      "For this I need leave to run a command. Those who may give it have been asked",
    );
    expect(words({ tool: "nodes", args: { command: "run" } })).toContain(
      "leave to run a command on a device.",
    );
    expect(words({ tool: "nodes", args: {} })).toContain("leave to use nodes outside.");
    const told = toldElsewhere(approvalOf(), "p");
    expect([told.id, told.lane, told.cause, told.closes]).toEqual([
      "approval:abcdefghjk:told",
      "telegram:default:dm:7",
      "agent:main:telegram:dm:7#1",
      "p",
    ]);
    expect(toldElsewhere(approvalOf(), null)).not.toHaveProperty("closes");
  });

  test("names three people at most, cuts their names, and says which chat it is", () => {
    const lines = (more: Partial<Approval>) => askedByLines(approvalOf(more)).split("\n").slice(0, 2);
    expect(lines({ askedBy: [] })[0]).toBe("asked by: nobody in a chat");
    expect(lines({ askedBy: ["a:1", "a:2", "a:3"], names: { "a:2": "B" } })[0]).toBe(
      'asked by: a:1, "B" (a:2), a:3',
    );
    expect(lines({ askedBy: ["a:1", "a:2", "a:3", "a:4", "a:5"] })[0]).toBe(
      "asked by: a:1, a:2, a:3 and 2 more",
    );
    expect(lines({ names: { "telegram:7": "n".repeat(40) } })[0]).toBe(
      `asked by: "${"n".repeat(40)}" (telegram:7)`,
    );
    expect(lines({ names: { "telegram:7": "😀".repeat(41) } })[0]).toBe(
      `asked by: "${"😀".repeat(40)}" (cut) (telegram:7)`,
    );
    const chats = ["discord:work:channel:5:6", "telegram:default:group:-5:7", "web:default:dm:web-1"];
    expect(chats.map((each) => lines({ conversation: each as ConversationKey })[1])).toEqual([
      "chat: discord channel 5, thread 6, account work",
      "chat: telegram group -5, thread 7",
      "chat: web private chat web-1",
    ]);
  });
});

describe("a decision", () => {
  test("is told in the words of its state", () => {
    const log = [
      { atMs: 0, what: "asked", by: "t" },
      { atMs: 1, what: "x", by: "telegram:1" },
    ];
    const of = (state: Approval["state"]): Approval => approvalOf({ state, log });
    const states = ["open", "once", "always", "denied", "expired", "stopped", "used"] as const;
    expect(states.map((state) => settledWords(of(state)))).toEqual([
      "Approval abcdefghjk: it is being decided by somebody else just now.",
      "Approval abcdefghjk: it was allowed before, by telegram:1.",
      "Approval abcdefghjk: it was allowed before, by telegram:1.",
      "Approval abcdefghjk: it was denied before, by telegram:1.",
      "Approval abcdefghjk: its time is over.",
      "Approval abcdefghjk: what asked for it was stopped.",
      "Approval abcdefghjk: it was allowed and used before.",
    ]);
    expect((["once", "always", "denied"] as const).map((state) => outcomeOf(of(state)))).toEqual([
      "✅ Allowed once by telegram:1.",
      "♾ Allowed for good by telegram:1.",
      "⛔ Denied by telegram:1: not run.",
    ]);
  });

  test("wakes the session in the name of the first who asked, with their place and rights", () => {
    const row = (more: Partial<Approval>) => {
      const { payload, ...rest } = ticketRow(approvalOf(more), 5);
      return { ...rest, payload: parseRowPayload(payload) };
    };
    const log = [{ atMs: 0, what: "x", by: "telegram:1" }];
    expect(
      row({ state: "once", log, askedBy: ["telegram:8", "telegram:7"], guild: "g", parent: "p" }),
    ).toEqual({
      id: "approval:abcdefghjk",
      subject: "ticket:abcdefghjk",
      pool: "main",
      lane: "agent:main:telegram:dm:7",
      conversation: "telegram:default:dm:7",
      authority: "member",
      as: { kind: "work", ticket: "abcdefghjk" },
      payload: {
        v: 1,
        owner: false,
        internal: { kind: "approval", id: "abcdefghjk", turn: "agent:main:telegram:dm:7#1" },
        inbound: {
          id: "approval:abcdefghjk",
          channel: "telegram",
          account: "default",
          address: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
          sender: { id: "8", name: "Parley", isBot: false },
          messageId: "approval:abcdefghjk",
          kind: "message",
          text: "Approval abcdefghjk was given by telegram:1. The command is run now; its result follows.",
          attachments: [],
          mentions: [],
          addressed: true,
          guild: "g",
          parent: "p",
          atMs: 5,
        },
      },
    });
    const child = row({
      session: "agent:main:subagent:0123456789ab-1" as SessionKey,
      state: "denied",
      tool: "web_fetch",
      askedBy: [],
    });
    expect([child.pool, child.payload.inbound.sender.id, child.payload.inbound.text]).toEqual([
      "subagent",
      "parley",
      "Approval abcdefghjk was denied by t. The call of web_fetch was not run and may not be tried again in another form.",
    ]);
  });

  test("is for one call: its id differs with the turn, the call and what it does", () => {
    const ids = [
      approvalId("t", "c", "h"),
      approvalId("t", "c", "i"),
      approvalId("t", "d", "h"),
      approvalId("u", "c", "h"),
      approvalId("t", "ch", ""),
    ];
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[a-hj-km-np-z2-9]{10}$/);
    expect(approvalId("t", "c", "h")).toBe(ids[0]);
    expect([storedIn("approved_abc"), storedIn("call_1"), storedIn("approved_")]).toEqual(["abc", null, ""]);
  });
});

describe("the last look before the start", () => {
  const [turn, session] = ["agent:main:telegram:dm:7#1", "agent:main:telegram:dm:7" as SessionKey];
  const look = async (
    asked: { readonly turn?: string; readonly callId?: string; readonly hash?: string; session?: string },
    kept: Partial<Approval>,
  ): Promise<boolean> => {
    const approval = approvalOf({ id: approvalId(turn, "c1", "h"), state: "used", ...kept });
    const book = {
      get: async (id: string) => (id === approval.id ? { approval, version: 1, cell: "" } : null),
    };
    const { hash = "h", ...scope } = asked;
    return isApproved(book as never)({} as never, hash, { turn, session, callId: "c1", ...scope } as never);
  };
  const used = { turn, callId: "c1" };
  const late = `approved_${approvalId(turn, "c1", "h")}`;

  test("takes the approval that this call of this turn used up, by its own id or the stored call's", async () => {
    expect(await look({}, { used })).toBe(true);
    expect(await look({ turn: "t#2", callId: late }, { used: { turn: "t#2", callId: late } })).toBe(true);
  });

  test.each<[string, Parameters<typeof look>[0], Partial<Approval>]>([
    ["a call that was never asked about", { callId: "c2" }, { used }],
    ["the stored call of an approval that its first call used", { callId: late }, { used }],
    ["the first call of an approval that the stored call used", {}, { used: { turn, callId: late } }],
    [
      "the stored call in another turn",
      { turn: "t#3", callId: late },
      { used: { turn: "t#2", callId: late } },
    ],
    ["another session", { session: "agent:main:main" }, { used }],
    ["another action", { callId: late, hash: "i" }, { used: { turn, callId: late } }],
    ["an approval that is given and not used up yet", {}, { used, state: "once" }],
    ["an approval for good that is not used up yet", {}, { used, state: "always" }],
    ["an approval that nobody used", {}, {}],
  ])("refuses %s", async (_whose, asked, kept) => {
    expect(await look(asked, kept)).toBe(false);
  });
});

describe("where approvers are asked", () => {
  const accounts = ["telegram:default", "telegram:work", "discord:default", "web:default"].map((key) => {
    const [channel = "", account = ""] = key.split(":");
    return { channel, account };
  });
  const places = async (
    target: "dm" | "channel" | "both",
    address: Address,
    owner = false,
    people: readonly string[] = ["telegram:1", "discord:2", "web:web-1", "matrix:3", "telegram:4"],
  ): Promise<readonly string[]> => {
    const { surfaces } = approvalSurfaces({
      approvers: people,
      owners: async () => [],
      target,
      accounts: () => accounts,
    });
    return (await surfaces(address, owner)).map(
      ({ address: { channel, account, kind, peer }, approvers }) =>
        `${channel}:${account}:${kind}:${peer} ${approvers === null ? "all" : approvers.join(",")}`,
    );
  };
  const work: Address = { channel: "telegram", account: "work", kind: "dm", peer: "9" };
  const group: Address = { ...work, kind: "group", peer: "-5" };
  const guild: Address = { channel: "discord", account: "default", kind: "channel", peer: "55" };

  test("on the page alone, when an owner or an approver asks there; else also of all in private", async () => {
    expect(await places("both", web, true)).toEqual(["web:default:dm:web-1 all"]);
    expect(await places("both", web)).toEqual(["web:default:dm:web-1 web-1"]);
    expect(await places("both", { ...web, peer: "web-2" })).toEqual([
      "web:default:dm:web-2 all",
      "telegram:default:dm:1 1",
      "discord:default:dm:2 2",
      "telegram:default:dm:4 4",
    ]);
  });

  test("in an approver's own chat; else in private by the account that was written to", async () => {
    expect(await places("dm", { ...work, peer: "4" })).toEqual(["telegram:work:dm:4 1,4"]);
    const all = ["telegram:work:dm:1 1", "discord:default:dm:2 2", "telegram:work:dm:4 4"];
    expect(await places("dm", work)).toEqual(all);
    expect(await places("channel", work)).toEqual(all);
  });

  test("of a place that is shared, by what the config says and whether an approver is there at all", async () => {
    const privately = ["telegram:work:dm:1 1", "discord:default:dm:2 2", "telegram:work:dm:4 4"];
    const here = "telegram:work:group:-5 1,4";
    expect(await places("dm", group)).toEqual(privately);
    expect(await places("channel", group)).toEqual([here]);
    expect(await places("both", group)).toEqual([here, ...privately]);
    expect(await places("channel", guild, false, ["telegram:1"])).toEqual(["telegram:default:dm:1 1"]);
    expect(await places("both", group, true, [])).toEqual([]);
  });

  test("owners are the approvers where the config names none", async () => {
    const of = (approvers: readonly string[] | null) =>
      approvalSurfaces({
        approvers,
        owners: async () => ["telegram:o"],
        target: "dm",
        accounts: () => [],
      }).approvers();
    expect([await of(null), await of([]), await of(["a:1"])]).toEqual([["telegram:o"], [], ["a:1"]]);
  });
});

describe("room for one more request", () => {
  const open = (count: number, more: Partial<Approval> = {}): readonly Approval[] =>
    Array.from({ length: count }, (_, nth) =>
      approvalOf({
        askedBy: [`telegram:p${nth}`],
        conversation: `telegram:default:dm:p${nth}` as ConversationKey,
        ...more,
      }),
    );
  const asked = {
    askedBy: ["telegram:x", "telegram:7"],
    conversation: "telegram:default:dm:7" as ConversationKey,
    owner: false,
  };

  test.each([
    ["of one person", { askedBy: ["telegram:7"] }, 5, "5 requests of telegram:7 wait for an answer"],
    [
      "of one conversation",
      { conversation: asked.conversation },
      8,
      "8 requests of this conversation wait for an answer",
    ],
    ["of all who are no owners", {}, 12, "12 requests of people who are no owners wait for an answer"],
  ] as const)("ends with the last %s", (_what, more, most, words) => {
    const of = (count: number) => open(count, more as Partial<Approval>);
    expect(tooManyOpen(of(most - 1), asked)).toBeNull();
    expect(tooManyOpen(of(most), asked)).toBe(words);
  });

  test("is an owner's also where others wait, and theirs do not count for others", () => {
    expect(tooManyOpen(open(50), { ...asked, owner: true })).toBeNull();
    expect(tooManyOpen(open(50, { owner: true }), asked)).toBeNull();
  });
});

describe("the store of approvals", () => {
  test("keeps each for ninety days, the newest first, changes it once, and the log tells when", async () => {
    const clock = virtualClock({ startMs: 1_000 });
    const { cells, close } = await memoryStore(clock);
    const book = approvalStore(cells, clock);
    const first = await book.open(approvalOf({ createdAtMs: 1 }));
    expect((await book.open(approvalOf({ createdAtMs: 9, shown: "other" }))).approval).toEqual(
      first.approval,
    );
    await book.open(approvalOf({ id: "later", createdAtMs: 3 }));
    await book.open(approvalOf({ id: "middle", createdAtMs: 2 }));
    expect((await book.list()).map(({ approval }) => approval.id)).toEqual(["later", "middle", "abcdefghjk"]);
    await clock.advance(5);
    const moved = await book.move(first, { state: "once" }, { what: "once", by: "telegram:1" });
    expect(moved?.approval).toEqual({
      ...first.approval,
      state: "once",
      log: [...first.approval.log, { atMs: 1_005, what: "once", by: "telegram:1" }],
    });
    expect(await book.move(first, { state: "denied" }, { what: "denied", by: "telegram:2" })).toBeNull();
    expect((await book.get(first.approval.id))?.approval.state).toBe("once");
    expect(book.moving(first, { state: "used" }, { what: "used", by: "t" })).toMatchObject({
      key: "approval:abcdefghjk",
      ttlMs: 90 * 86_400_000,
      expect: first.version,
    });
    expect((await cells.get("approval:later"))?.expiresAtMs).toBe(1_000 + 90 * 86_400_000);
    expect((await cells.get("approval:abcdefghjk"))?.expiresAtMs).toBe(1_005 + 90 * 86_400_000);
    expect(() => parseApproval(JSON.stringify({ ...first.approval, v: 2 }))).toThrow("does not know");
    await close();
  });

  test("drops the oldest that are closed beyond a thousand, and none that is open", async () => {
    const clock = virtualClock();
    const { cells, close } = await memoryStore(clock);
    const book = approvalStore(cells, clock);
    for (let nth = 0; nth < 1_002; nth += 1) {
      const state = nth % 501 === 0 ? "open" : "denied";
      await cells.put(
        `approval:a${nth}`,
        JSON.stringify(approvalOf({ id: `a${nth}`, createdAtMs: nth, state })),
        {},
      );
    }
    await book.open(approvalOf({ id: "new", createdAtMs: 5_000 }));
    const left = (await book.list()).map(({ approval }) => approval.id);
    expect([left.length, left[0], left.at(-1), left.includes("a1"), left.includes("a2")]).toEqual([
      1_002,
      "new",
      "a0",
      false,
      true,
    ]);
    await close();
  });

  test("keeps what is allowed for good by its agent, words, folder and sandbox, until it is taken back", async () => {
    const clock = virtualClock({ startMs: 7 });
    const { cells, close } = await memoryStore(clock);
    const book = approvalStore(cells, clock);
    await book.grant("main", grant, "telegram:1");
    await book.grant("main", { ...grant, files: [{ path: "/w/a", sha256: "f" }] }, "telegram:2");
    for (const other of [{ argv: ["ls", "x"] }, { cwd: "/x" }, { sandbox: "on" }])
      await book.grant("main", { ...grant, ...other }, "telegram:1");
    await book.grant("main2", grant, "telegram:1");
    expect([(await book.grants()).length, (await book.grants("main")).length]).toEqual([5, 4]);
    const [again] = (await book.grants("main")).filter(
      ({ argv, cwd, sandbox }) => argv.length === 1 && cwd === "/w" && sandbox === "off",
    );
    expect(again).toEqual({
      ...grant,
      files: [{ path: "/w/a", sha256: "f" }],
      id: again?.id,
      agent: "main",
      by: "telegram:2",
      atMs: 7,
    });
    const [{ id } = { id: "" }] = await book.grants("main2");
    expect([await book.revoke(id.slice(1)), await book.revoke(id), await book.revoke(id)]).toEqual([
      false,
      true,
      false,
    ]);
    expect((await book.grants()).length).toBe(4);
    await cells.put(
      "exec-grant:old:1",
      JSON.stringify({ id: "1", agent: "old", argv: ["x"], cwd: "/", sandbox: "off" }),
      {},
    );
    expect(await book.grants("old")).toMatchObject([{ files: [], outside: [] }]);
    await close();
  });
});

describe("the stored call of an approval that came after its turn", () => {
  const row = (id: string, internal?: object) => ({
    id,
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage(),
      owner: true,
      ...(internal === undefined ? {} : { internal }),
    } as never),
  });
  const decision = (id: string, turn = "t#1") => row(id, { kind: "approval", id, turn });
  const kept: { readonly [id: string]: Approval } = {
    first: approvalOf({ id: "first", state: "once", tool: "exec", args: { command: "ls" } }),
    second: approvalOf({ id: "second", state: "always", tool: "pay", args: { sum: 5 } }),
    denied: approvalOf({ id: "denied", state: "denied" }),
    used: approvalOf({ id: "used", state: "used" }),
  };
  const stage = (rows: readonly object[]) => {
    const asked: unknown[] = [];
    const model = {
      id: "a/b",
      vision: true,
      async *stream(request: object, signal: unknown) {
        asked.push([request, signal]);
        yield { type: "end", stop: "stop" };
      },
    };
    const book = {
      get: async (id: string) => (kept[id] === undefined ? null : { approval: kept[id], version: 1 }),
    };
    const wrapped = withStoredCalls(model as never, "t#2", () => rows as never, book as never);
    const signal = new AbortController().signal;
    const of = async (messages: readonly object[] = [], more: object = {}) => {
      const events: unknown[] = [];
      for await (const event of wrapped.stream({ messages, ...more } as never, signal)) events.push(event);
      return events;
    };
    return { of, asked, wrapped, signal };
  };
  const calls = (id: string, name: string, args: object) => {
    const call = { type: "toolCall", id: `approved_${id}`, name, args };
    return [call, { type: "end", stop: "toolUse", usage: noUsage, content: [call] }];
  };
  const model = [{ type: "end", stop: "stop" }];
  const made = (...ids: readonly string[]) => ({
    role: "assistant",
    content: [{ type: "text", text: "x" }, ...ids.map((id) => ({ type: "toolCall", id: `approved_${id}` }))],
  });

  test("is made in place of the model's first words, one after the other, and then the model goes on", async () => {
    const { of, asked, wrapped, signal } = stage([row("m"), decision("first"), decision("second")]);
    expect(wrapped).toMatchObject({ id: "a/b", vision: true });
    expect([
      await of([{ role: "user", content: [] }]),
      await of([made("first")]),
      await of([made("first"), made("second")]),
    ]).toEqual([calls("first", "exec", { command: "ls" }), calls("second", "pay", { sum: 5 }), model]);
    expect(asked).toEqual([[{ messages: [made("first"), made("second")] }, signal]]);
  });

  test("is not made where no tool may be called, in the turn that asked, and for what was not given or is used", async () => {
    const { of } = stage([decision("first")]);
    expect(await of([], { toolChoice: "none" })).toEqual(model);
    expect(await of([], { toolChoice: "auto" })).toHaveLength(2);
    for (const rows of [
      [],
      [row("m")],
      [decision("first", "t#2")],
      [decision("denied"), decision("used"), decision("gone")],
      [row("q", { kind: "question", id: "first", turn: "t#1" })],
    ])
      expect(await stage(rows).of()).toEqual(model);
    expect(await stage([decision("denied"), decision("second")]).of()).toEqual(
      calls("second", "pay", { sum: 5 }),
    );
  });
});
