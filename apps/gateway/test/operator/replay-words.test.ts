// What a replay says of two turns, and what it answers calls of tools with: tables over the records by hand.
import { expect, test } from "vitest";
import type { Entry, SavedTurn } from "@parley/protocol";
import type { Tool } from "@parley/tools";
import { failuresOf, movedIn, type Replayed } from "../../src/replay/compare-turns.ts";
import { callsIn, recordedTools } from "../../src/replay/recorded-tools.ts";

const side: Replayed["before"] = {
  model: "a/one",
  stop: "stop",
  answer: "It rains.",
  calls: [{ name: "look", args: { at: "sky" } }],
  steps: 2,
  inputTokens: 1_000,
  outputTokens: 200,
  cacheReadTokens: 30,
  cacheWriteTokens: 4,
  costUsd: 0.5,
  tookMs: 900,
};
const replayed = (after: Partial<typeof side> | null, more: Partial<Replayed> = {}): Replayed => ({
  before: side,
  after: after === null ? null : { ...side, ...after },
  prompt: null,
  unanswered: [],
  ...more,
});
const moves = [
  { id: "memory", zone: "stable", change: "changed", charsBefore: 10, charsAfter: 20 },
  { id: "time", zone: "volatile", change: "removed", charsBefore: 7, charsAfter: 0 },
];
const prompt = {
  moves,
  files: ["AGENTS.md", "USER.md"],
  tools: ["look", "say"],
} as unknown as Replayed["prompt"];

test.each<[string, Replayed, readonly string[]]>([
  ["nothing moved", replayed({}), []],
  ["only space around the answer", replayed({ answer: " It rains.\n" }), []],
  [
    "the prompt moved and no model was asked",
    replayed(null, { prompt }),
    [
      "prompt: memory (stable) changed, 10 to 20 characters",
      "prompt: time (volatile) removed, 7 to 0 characters",
      "files: AGENTS.md, USER.md",
      "tools: look, say",
    ],
  ],
  [
    "a prompt without moves",
    replayed({}, { prompt: { moves: [], files: [], tools: [] } as unknown as Replayed["prompt"] }),
    [],
  ],
  [
    "everything moved",
    replayed(
      {
        model: "b/two",
        stop: "error",
        answer: "refused: no",
        calls: [],
        inputTokens: 500,
        outputTokens: 100,
        cacheReadTokens: 15,
        cacheWriteTokens: 2,
        costUsd: 0.25,
        tookMs: 1_800,
      },
      {
        unanswered: [
          { name: "look", args: {}, given: "another" },
          { name: "say", args: {}, given: "none" },
        ],
      },
    ),
    [
      "model: a/one to b/two",
      "end: stop to error",
      "calls: look to none",
      "look was called with other arguments: it was given the recorded result of another call",
      "say was called, and the record has no result of it",
      "answer: other words",
      "tokens: 1234 to 617 (-50 %)",
      "cost: $0.5000 to $0.2500",
      "time: 900 ms to 1800 ms",
    ],
  ],
  [
    "the same tools with other words",
    replayed({ calls: [{ name: "look", args: { at: "sea" } }] }),
    ["calls: look to look"],
  ],
  [
    "more calls",
    replayed({ calls: [...side.calls, { name: "say", args: {} }], outputTokens: 1_434 }),
    ["calls: look to look, say", "tokens: 1234 to 2468 (+100 %)"],
  ],
  ["a price that nobody knows", replayed({ costUsd: null }), ["cost: $0.5000 to unknown"]],
  [
    "nothing known of before",
    {
      ...replayed({}),
      before: {
        ...side,
        inputTokens: 0,
        outputTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        costUsd: null,
        tookMs: null,
      },
    },
    ["tokens: 0 to 1234", "cost: unknown to $0.5000"],
  ],
  ["a time that nobody took", replayed({ tookMs: null }), []],
])("what moved, where %s", (_what, given, told) => {
  expect([...movedIn(given)]).toEqual(told);
});

test.each(["stop", "length", "cut", "steps", "loop", "error", "aborted", "none"])(
  "an end as %s is told as a failure where it is none of an answer's",
  (stop) => {
    const failed = ["error", "aborted", "none"].includes(stop);
    expect([...movedIn(replayed({ stop }))]).toEqual(failed ? [`end: stop to ${stop}`] : []);
    expect([...failuresOf({ calls: "any", answer: {} }, replayed({ stop }))]).toEqual(
      failed ? [`it ended as "${stop}": It rains.`] : [],
    );
  },
);

const other = { calls: [{ name: "look", args: { at: "sea" } }] };
test.each<[SavedTurn["expect"], Parameters<typeof replayed>[0], readonly string[]]>([
  [{ calls: "same", answer: { same: true, includes: ["r"], excludes: ["x"] }, tokens: 1 }, {}, []],
  [{ calls: "names", answer: {} }, other, []],
  [
    { calls: "same", answer: {} },
    other,
    ['other calls: [{"name":"look","args":{"at":"sky"}}] to [{"name":"look","args":{"at":"sea"}}]'],
  ],
  [{ calls: "names", answer: {} }, { calls: [] }, ["other tools: look to none"]],
  [{ calls: "any", answer: {} }, { calls: [] }, []],
  [{ calls: "any", answer: { same: true } }, { answer: "\nIt rains. " }, []],
  [{ calls: "any", answer: { same: true } }, { answer: "Sun." }, ['other words: "It rains." to "Sun."']],
  [
    { calls: "any", answer: { includes: ["It", "snow", "hail"], excludes: ["sun", "rains", "It"] } },
    {},
    [
      'the answer does not say "snow"',
      'the answer does not say "hail"',
      'the answer says "rains"',
      'the answer says "It"',
    ],
  ],
  [{ calls: "any", answer: {}, tokens: 1 }, { outputTokens: 200 }, []],
  [{ calls: "any", answer: {}, tokens: 1 }, { cacheWriteTokens: 5 }, ["1235 tokens, of at most 1234"]],
  [{ calls: "any", answer: {}, tokens: 0.5 }, {}, ["1234 tokens, of at most 617"]],
  [{ calls: "same", answer: { same: true, includes: ["x"] }, tokens: 0.1 }, null, []],
])("a turn that is to %j, and was %j", (wanted, after, failures) => {
  expect([...failuresOf(wanted, replayed(after))]).toEqual(failures);
});

const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, args });
const said = (...content: readonly object[]): Entry => ({ type: "assistant", content }) as unknown as Entry;
const got = (callId: string, text: string, isError = false): Entry =>
  ({ type: "toolResult", callId, content: [{ type: "text", text }], isError }) as unknown as Entry;

const record: readonly Entry[] = [
  { type: "user", text: "hi" } as unknown as Entry,
  said({ type: "text", text: "I look" }, call("1", "look", { at: "sky" }), call("2", "look", { at: "sea" })),
  got("1", "blue"),
  got("2", "wet", true),
  said(call("3", "look", { at: "sky" }), call("4", "say", { words: "x" })),
  got("3", "grey"),
  got("lost", "nobody asked"),
  // A model that counts its calls anew uses an id twice.
  said(call("1", "say", { words: "y" })),
  got("1", "said y"),
];

test("the calls of a record are told in their order, whatever came of them", () => {
  expect(callsIn(record)).toEqual([
    { name: "look", args: { at: "sky" } },
    { name: "look", args: { at: "sea" } },
    { name: "look", args: { at: "sky" } },
    { name: "say", args: { words: "x" } },
    { name: "say", args: { words: "y" } },
  ]);
});

test("each call gets its own result once and then its last, then an unused one of the tool, then none", async () => {
  const tool = (name: string, deferred?: true): Tool =>
    ({
      name,
      summary: `${name}s`,
      description: `it ${name}s`,
      parameters: { type: "object" },
      effect: "read",
      ...(deferred === undefined ? {} : { deferred }),
      parse: (args: { readonly bad?: true }) =>
        args.bad === true ? { ok: false, problem: "bad" } : { ok: true, args: { parsed: true } },
      run: () => Promise.reject(new Error("nothing runs in a replay")),
    }) as unknown as Tool;
  const made = recordedTools([tool("look"), tool("say", true)], record);
  expect(made.tools.map(({ parse: _parse, run: _run, ...each }) => each)).toEqual([
    {
      name: "look",
      summary: "looks",
      description: "it looks",
      parameters: { type: "object" },
      effect: "read",
    },
    {
      name: "say",
      summary: "says",
      description: "it says",
      parameters: { type: "object" },
      effect: "read",

      deferred: true,
    },
  ]);
  const ask = async (name: string, args: object) => {
    const found = made.tools.find((each) => each.name === name);
    const parsed = found?.parse(args as never);
    // The model's own words are compared, not what a tool makes of them.
    expect(parsed).toEqual({ ok: true, args });
    if (found === undefined) throw new Error(`there is no tool ${name}`);
    const { content, isError } = (await found.run(args as never, {} as never)) as unknown as {
      content: readonly { readonly text: string }[];
      isError: boolean;
    };
    return `${isError ? "failed: " : ""}${content.map(({ text }) => text).join()}`;
  };
  expect(made.tools[0]?.parse({ bad: true } as never)).toEqual({ ok: false, problem: "bad" });
  expect([
    await ask("look", { at: "sky" }),
    await ask("look", { at: "sky" }),
    await ask("look", { at: "sky" }),
    await ask("look", { at: "land" }),
    await ask("look", { at: "sea" }),
    await ask("look", { at: "land" }),
    await ask("say", { words: "x" }),
    await ask("say", { words: "y" }),
  ]).toEqual([
    "blue",
    "grey",
    "grey",
    "failed: wet",
    "failed: wet",
    "failed: This is a replay: its record has no result of this call. Go on without it.",
    "said y",
    "said y",
  ]);
  expect(made.calls.map(({ name, args }) => `${name} ${JSON.stringify(Object.values(args)[0])}`)).toEqual([
    'look "sky"',
    'look "sky"',
    'look "sky"',
    'look "land"',
    'look "sea"',
    'look "land"',
    'say "x"',
    'say "y"',
  ]);
  expect(made.unanswered).toEqual([
    { name: "look", args: { at: "land" }, given: "another" },
    { name: "look", args: { at: "land" }, given: "none" },
    { name: "say", args: { words: "x" }, given: "another" },
  ]);
});
