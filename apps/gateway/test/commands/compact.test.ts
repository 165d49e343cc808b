// What /compact answers, stores and lets go of: with a summary, without one, refused by a limit, and ended
// in between. The context and the transcript's reader are real; the model and the store say what a test
// wants.
import { Fault, noUsage, silentLog, type Usage } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { compact } from "../../src/commands/conversation/compact.ts";

const key = "agent:tea:telegram:dm:7";
const inbound = directMessage({
  account: "work",
  sender: { id: "7" },
  address: { account: "work", thread: "9" },
  guild: "g",
  parent: "p",
});
const text = (type: "user" | "assistant", words: string): object => ({
  type,
  content: [{ type: "text", text: words }],
  rows: [],
  atMs: 1,
  ...(type === "user" ? {} : { model: "lab/m", stop: "stop", usage: noUsage }),
});

interface Around {
  readonly said?: readonly object[];
  /** Characters of the system prompt, of which four are a token. */
  readonly promptChars?: number;
  readonly summary?: string;
  readonly fails?: string;
  readonly refuses?: boolean;
  /** Called when the model is asked. */
  readonly asked?: (ends: { readonly lease: AbortController; readonly running: AbortController }) => void;
}

async function compacting(args: string, around: Around = {}) {
  const clock = virtualClock({ startMs: 5_000 });
  const did: unknown[] = [];
  const ends = { lease: new AbortController(), running: new AbortController() };
  const usage: Usage = { ...noUsage, inputTokens: 40, outputTokens: 2 };
  const model = {
    id: "lab/m",
    contextWindow: 1_000_000,
    maxTokens: 8_000,
    async *stream({ messages: [{ content }] }: { messages: [{ content: readonly [{ text: string }] }] }) {
      const focus = /keep above all: "(.*)"/.exec(content[0].text)?.[1];
      did.push(["asks", ...(focus === undefined ? [] : [focus])]);
      around.asked?.(ends);
      await new Promise<void>((done) => void clock.after(5, done));
      const words = [{ type: "text", text: around.summary ?? "They drank tea." }];
      yield around.fails === undefined
        ? { type: "end", stop: "stop", usage, content: words }
        : {
            type: "end",
            stop: "error",
            usage,
            content: [],
            error: { kind: "refused", message: around.fails },
          };
    },
  };
  const ports = {
    store: {
      sessions: {
        open: async () => ({
          key,
          epoch: 3,
          lastSeq: 90,
          createdAtMs: 0,
          fields: { usage: { inputTokens: 1_000 }, compactions: 4 },
        }),
        transcript: async (_key: string, how: object) => {
          did.push(["reads", how]);
          return (around.said ?? []).map((entry, at) => ({ seq: 80 + at, body: JSON.stringify(entry) }));
        },
      },
      cells: {},
    },
    turnPreparer: {
      forTurn: async ({ agent, session, address, guild, parent }: { [name: string]: unknown }) => {
        did.push([
          "prepares",
          agent,
          (session as { readonly epoch: number }).epoch,
          { address, guild, parent },
        ]);
        return {
          model,
          tools: [],
          system: { stable: "s".repeat(around.promptChars ?? 400), volatile: "" },
          timeoutMs: 60_000,
          workspace: "/nowhere",
          notesPlace: { originOf: async () => () => null },
          keepsNotes: false,
          context: {
            pruning: { mode: "off" },
            compaction: {
              mode: "default",
              reserveTokensFloor: 0,
              keepRecentTokens: 1,
              memoryFlush: { enabled: false },
              postCompactionSections: [],
            },
            postCompactionMaxChars: 100,
          },
        };
      },
    },
    ledger: {
      forTurn: ({ id }: { readonly id: string }) => ({
        mayCall: async (used: Usage) => (
          did.push(["may call", id, used === noUsage]),
          around.refuses === true ? { ok: false, reason: "Today's limit is reached." } : { ok: true }
        ),
        sideModel: (own: object) => own,
        note: async (end: { readonly usage: Usage }, asked: { readonly id: string }) => (
          did.push(["notes", end.usage.inputTokens, asked.id]),
          [{ key: "usage/today", value: "{}" }]
        ),
        committed: () => did.push("committed"),
        close: () => did.push("closes"),
      }),
    },
    redaction: {},
    heard: {
      port: { ask: async ({ action }: { readonly action: string }) => void did.push(["hooks", action]) },
    },
    running: {
      begin: (turn: string) => (
        did.push(`begins ${turn}`),
        { signal: ends.running.signal, end: () => did.push("is over") }
      ),
    },
    channel: (account: string) => ({
      typing: async ({ thread }: { readonly thread?: string }) => void did.push(["types", account, thread]),
    }),
    clock,
  };
  const call = {
    key,
    name: "compact",
    args,
    inbound,
    owner: false,
    turn: { id: "t1", lane: key, epoch: 2, rows: [], conversation: "telegram:work:dm:7:9" },
    lease: { signal: ends.lease.signal, cover: async () => {}, renew: async () => 0 },
    log: silentLog,
  };
  const running = Promise.resolve(compact.run(call as never, ports as never)).catch(
    (error: unknown) => error,
  );
  await clock.advance(10);
  const end = (await running) as { readonly answer: string; committed?: () => void } | Error;
  expect(clock.armed()).toBe(0);
  return { end, did };
}

const long = "w".repeat(4_000);
const talk = [text("user", long), text("assistant", long), text("user", "and now?"), text("assistant", "ok")];
const prepares = ["prepares", "tea", 3, { address: inbound.address, guild: "g", parent: "p" }];

test("the beginning becomes a summary in one commit with what it cost; the answer counts messages and tokens", async () => {
  const { end, did } = await compacting("  keep the\nrecipe ", { said: talk });
  if (end instanceof Error) throw end;
  const { committed, ...told } = end;
  expect(told).toEqual({
    answer:
      "Compacted: 3 messages became a summary. The context takes about 106 tokens now, 2.1k before, 2.0k saved.",
    entries: [JSON.stringify({ type: "summary", text: "They drank tea.", throughSeq: 82, atMs: 5_005 })],
    patch: {
      contextAfterSeq: 82,
      compactions: 5,
      usage: { ...noUsage, inputTokens: 1_040, outputTokens: 2 },
    },
    cells: [{ key: "usage/today", value: "{}" }],
  });
  committed?.();
  expect(did).toEqual([
    "begins t1",
    ["reads", { epoch: 2, afterSeq: 0, limit: 90 }],
    prepares,
    ["may call", "t1", true],
    ["hooks", "compact:before"],
    ["asks", "keep the recipe"],
    ["types", "telegram:work", "9"],
    ["hooks", "compact:after"],
    "closes",
    ["notes", 40, "lab/m"],
    "is over",
    "committed",
  ]);
});

test("what is asked without words has no focus, and one of eight hundred characters is the longest", async () => {
  const focus = async (args: string) =>
    (await compacting(args, { said: talk })).did.find((each) => Array.isArray(each) && each[0] === "asks");
  expect([await focus(""), await focus("f".repeat(800)), await focus("f".repeat(801))]).toEqual([
    ["asks"],
    ["asks", "f".repeat(800)],
    ["asks", `${"f".repeat(799)}…`],
  ]);
});

test("one message is one, a count is told in thousands, and what saved nothing says nothing of it", async () => {
  const notice = { type: "notice", text: "it rained", atMs: 1 };
  const told = async (promptChars: number, summary: string) => {
    const said = [text("user", "and now?"), notice];
    const { end } = await compacting("", { said, promptChars, summary });
    return end instanceof Error ? end.message : end.answer;
  };
  const became = (tokens: string) =>
    `Compacted: 1 message became a summary. The context takes about ${tokens}.`;
  expect([
    await told(400, "s".repeat(4_000)),
    await told(3_988, "s"),
    await told(399_988, "s"),
    await told(1_000_000, "s"),
  ]).toEqual([
    became("1.1k tokens now, 103 before"),
    became("999 tokens now, 1.0k before, 1 saved"),
    became("100.0k tokens now, 100k before, 1 saved"),
    became("250k tokens now, 250k before, 1 saved"),
  ]);
});

test("without a summary the conversation stays, is told why, and what was spent is noted", async () => {
  const usage = (inputTokens: number, outputTokens: number) => ({
    patch: { usage: { ...noUsage, inputTokens, outputTokens } },
    cells: [{ key: "usage/today", value: "{}" }],
  });
  const nothing = await compacting("", { said: [] });
  const failed = await compacting("", { said: talk, fails: "no right" });
  const empty = await compacting("", { said: talk, summary: " " });
  const { committed: _none, ...none } = nothing.end as { committed?: unknown };
  const { committed: _failed, ...no } = failed.end as { committed?: unknown };
  const { committed: _empty, ...blank } = empty.end as { committed?: unknown };
  const trouble =
    "⚠️ The conversation could not be summarised, so it stays as it was. Please try again later.";
  expect([none, no, blank]).toEqual([
    { answer: "There is nothing to compact yet.", ...usage(1_000, 0) },
    { answer: trouble, ...usage(1_040, 2) },
    { answer: trouble, ...usage(1_040, 2) },
  ]);
  expect(nothing.did.slice(4)).toEqual(["closes", ["notes", 0, "lab/m"], "is over"]);
});

test("a limit that is reached refuses before the model is asked, and nothing stays open of it", async () => {
  const { end, did } = await compacting("", { said: talk, refuses: true });
  expect(end).toEqual({ answer: "⚠️ Today's limit is reached." });
  expect(did.slice(3)).toEqual([["may call", "t1", true], "closes", "is over"]);
});

test.each(["lease", "running"] as const)(
  "when its %s ends meanwhile nothing is kept, and whoever has the lane next decides",
  async (which) => {
    const why = new Fault("aborted", "the daemon stops");
    const { end, did } = await compacting("", { said: talk, asked: (ends) => ends[which].abort(why) });
    expect(end).toBe(why);
    expect(did.filter((each) => typeof each === "string")).toEqual(["begins t1", "closes", "is over"]);
    const plain = await compacting("", { said: talk, asked: (ends) => ends[which].abort(new Error("gone")) });
    expect(plain.end).toEqual(new Fault("conflict", "the command was told to stop"));
  },
);
