// Whole turns, told step by step: what the model was asked, what the journal holds and how the turn ended. A
// diff in test/tables/turns.txt is a diff in behaviour.
import type { ModelEvent, ModelRequest } from "@parley/models";
import {
  type AssistantEntry,
  Fault,
  type Entry,
  type ImageContent,
  type TextContent,
  type Usage,
  type UserEntry,
  noUsage,
  silentLog,
} from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import {
  type Gate,
  type Journal,
  type JournalStep,
  type LoopContext,
  type LoopDeps,
  runLoop,
} from "../../src/index.ts";
import {
  cell,
  given,
  journal,
  keyed,
  type Line,
  type Ran,
  run,
  said,
  scripted,
  type ScriptedModel,
  tool,
  user,
} from "./stage.ts";

type Part = ModelRequest["messages"][number]["content"][number];

const picture = (path: string): ImageContent => ({ type: "image", mediaType: "image/png", path });
const words = (text: string): TextContent => ({ type: "text", text });
const used = (usage: Usage): string =>
  `${usage.inputTokens} in, ${usage.outputTokens} out, ${usage.cacheReadTokens} read, ${usage.cacheWriteTokens} written`;

function partsOf(content: readonly Part[]): string {
  return content
    .map((part) => {
      if (part.type === "text") return JSON.stringify(part.text);
      if (part.type === "image") return `<picture ${part.path}>`;
      if (part.type === "toolCall") return `${part.name}#${part.id}${JSON.stringify(part.args)}`;
      return `<${part.type}>`;
    })
    .join(" ");
}

function toldEntry(entry: Entry): string {
  if (entry.type === "toolResult") {
    const more = [
      ...(entry.isError ? ["error"] : []),
      ...(entry.untrusted === undefined ? [] : [`of ${entry.untrusted}`]),
      ...(entry.usage === undefined ? [] : [used(entry.usage)]),
      `at ${entry.atMs}`,
    ];
    return `${entry.callId} ${entry.name} (${more.join("; ")}): ${partsOf(entry.content)}`;
  }
  if (entry.type === "assistant")
    return `answer of ${entry.model}, ${entry.stop}, ${used(entry.usage)}, at ${entry.atMs}: ${partsOf(entry.content)}`;
  return entry.type === "user" ? `user: ${partsOf(entry.content)}` : `${entry.type}: ${entry.text}`;
}

function toldStep(step: JournalStep): string {
  if (step.kind === "intent") return `intent ${step.name}#${step.callId}`;
  if (step.kind === "absorbed") return `absorbed ${step.entries.map(toldEntry).join(" ")}`;
  if (step.kind === "model")
    return `model${step.closing ? ", without tools" : ""}${step.bad.map((bad) => `, bad ${bad.callId}`).join("")}`;
  return step.kind === "result" ? `result ${step.entry.callId}` : `summary, ${used(step.usage)}`;
}

function toldRequest({ messages, tools, toolChoice, maxTokens, thinking, cacheKey }: ModelRequest): string[] {
  const more = [
    ...(toolChoice === undefined ? [] : [`tools: ${toolChoice}`]),
    ...(maxTokens === undefined ? [] : [`at most ${maxTokens}`]),
    `thinking ${thinking}`,
    `cache ${cacheKey}`,
  ];
  return [
    `  asked (${more.join("; ")}) with ${(tools ?? []).map(({ name }) => name).join(" ")}`,
    ...messages.map((each) => {
      const which = each.role === "tool" ? ` ${each.callId} ${each.name}${each.isError ? " error" : ""}` : "";
      return `    ${each.role}${which}: ${partsOf(each.content)}`;
    }),
  ];
}

function told(title: string, model: ScriptedModel, written: readonly string[], { end, events }: Ran): string {
  const last = [
    ...(end.error === undefined ? [] : [`${end.error.kind}: ${end.error.message}`]),
    ...(end.reason === undefined ? [] : [end.reason]),
    ...(end.tickets === undefined ? [] : [`waits for ${end.tickets.join(" ")} until ${end.untilMs}`]),
  ];
  return [
    `# ${title}`,
    // A long turn shows what was asked last, which holds the rest.
    ...(model.requests.length > 3 ? model.requests.slice(-1) : model.requests).flatMap(toldRequest),
    `  journal: ${written.join(" | ")}`,
    ...end.entries.map((entry) => `  ${toldEntry(entry)}`),
    `  events: ${events.map(({ type }) => type).join(" ")}`,
    `  ends ${[end.stop, ...last].join("; ")}, ${used(end.usage)}: ${JSON.stringify(end.finalText)}`,
    "",
  ].join("\n");
}

const stories: string[] = [];
/** Runs a turn and adds it to those that are told. */
async function tell(
  title: string,
  lines: readonly Line[] | ScriptedModel,
  more: Parameters<typeof run>[1] & {
    readonly steps?: JournalStep[];
    readonly arrivals?: UserEntry[][];
  } = {},
): Promise<Ran> {
  const { steps = [], arrivals, ...deps } = more;
  const model = "stream" in lines ? lines : scripted(lines);
  const written: string[] = [];
  const clock = more.clock ?? virtualClock();
  const ran = await run(model, {
    journal: heard(journal(steps, undefined, arrivals), written),
    ...deps,
    clock,
  });
  stories.push(told(title, model, written, ran));
  // Nothing is left that could still happen, and whoever resumes a turn whose end alone is missing ends it
  // alike.
  expect([title, (clock as ReturnType<typeof virtualClock>).armed()]).toEqual([title, 0]);
  if (["stop", "length", "cut", "steps", "loop"].includes(ran.end.stop)) {
    const again = await run(scripted([{ text: "never said" }]), { ...deps, journal: journal(steps) });
    expect(again.events).toEqual([ran.end]);
  }
  return ran;
}

/** A journal that tells what is written: what goes in one step, with what it uses up and does outside. */
function heard(inner: Journal, written: string[]): Journal {
  return {
    ...inner,
    async checkpoint(steps, how = {}) {
      const { uses = [], effects = [], isLast = false } = how;
      const more = [
        ...uses.map(({ key }) => `uses ${key}`),
        ...effects.flatMap(({ cells = [] }) => cells.map(({ key }) => `does ${key}`)),
        ...(isLast ? ["last"] : []),
      ];
      written.push([steps.map(toldStep).join(" + "), ...more].join(", "));
      await inner.checkpoint(steps, how);
    },
    async absorb() {
      const entries = await inner.absorb();
      if (entries.length > 0) written.push(toldStep({ kind: "absorbed", entries }));
      return entries;
    },
  };
}

/** A model that says each list of events in turn. */
function saying(...answers: readonly (readonly ModelEvent[])[]): ScriptedModel {
  const model = scripted([]);
  return {
    ...model,
    async *stream(request) {
      yield* answers[model.requests.push(request) - 1] ?? [];
    },
  };
}
const finished = (content: AssistantEntry["content"], more: object = {}): ModelEvent => ({
  type: "end",
  stop: "stop",
  usage: { ...noUsage, inputTokens: 3, outputTokens: 4 },
  content,
  ...more,
});

const answered = (id: string): readonly Entry[] => [
  user(`before ${id}`),
  {
    type: "assistant",
    content: [{ type: "toolCall", id, name: "look", args: {} }],
    model: "m",
    stop: "toolUse",
    usage: noUsage,
    atMs: 0,
  },
  { type: "toolResult", callId: id, name: "look", content: [words("seen")], isError: false, atMs: 0 },
];

async function mixed(): Promise<void> {
  const clock = virtualClock();
  const logged: string[] = [];
  const order: string[] = [];
  const noted = (name: string, effect: "reads" | "writes", answer: ReturnType<typeof said>) =>
    tool(name, effect, async () => {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} ends`);
      return answer;
    });
  const paid = (inputTokens: number) => ({ ...noUsage, inputTokens, cacheWriteTokens: 1 });
  const log = {
    ...silentLog,
    error: (facts: { readonly err: Error }, line: string) =>
      void logged.push(`${line}: ${JSON.stringify({ ...facts, err: facts.err.message })}`),
  } as unknown as LoopDeps["log"];
  const asked: Usage[] = [];
  await tell(
    "tools of every kind in one answer",
    [
      // The history has the first answer.
      {},
      {
        text: "Let me see.",
        calls: [
          { name: "note", id: "h1" },
          { name: "LOOK", args: { n: 1 } },
          { name: "page" },
          { name: "note", args: { n: 2 } },
          { name: "fails" },
          { name: "breaks" },
        ],
        bad: [{ name: "look", raw: "{" }],
      },
      { text: "Half of it.", calls: [{ name: "page" }] },
      { text: "Done.", end: { stop: "length", usage: { ...noUsage, outputTokens: 7, cacheReadTokens: 2 } } },
    ],
    {
      clock,
      log,
      resultBytes: 200,
      secrets: ["hunter22"],
      tools: [
        noted("note", "writes", { ...said("noted"), usage: paid(10) }),
        noted("look", "reads", {
          content: [words("hunter22 is the word"), picture("a"), words("and more"), picture("b")],
          usage: paid(20),
        }),
        tool("page", "reads", () => ({
          content: [words(`${"far ".repeat(60)}hunter22 ${"away ".repeat(60)}`), picture("c"), picture("d")],
          untrusted: { source: "page.test", note: "Told by the tool." },
        })),
        tool("fails", "reads", () => {
          throw new Fault("invalid", "no such thing");
        }),
        tool("breaks", "reads", () => {
          throw new Error("it broke");
        }),
        { ...tool("zeta", "reads"), deferred: true },
        { ...tool("alpha", "reads"), deferred: true },
        { ...tool("middle", "reads"), deferred: true },
        { ...tool("unasked", "reads"), deferred: true },
      ],
      loaded: async () => ["middle", "unheard", "zeta", "alpha"],
      ledger: {
        async mayCall(usage) {
          asked.push(usage);
          return { ok: true };
        },
      },
      input: { history: answered("h1"), cacheKey: "room", thinking: "low", maxTokens: 900 },
    },
  );
  stories.push(`  the ledger was asked with ${asked.map(used).join(" | ")}`);
  stories.push(`  in this order: ${order.join(", ")}`, `  logged: ${logged.join(", ")}\n`);
}

async function summaries(): Promise<void> {
  const costs = { ...noUsage, cacheWriteTokens: 9 };
  const seen: string[] = [];
  const context: LoopContext = {
    prepare: async (entries) => {
      seen.push(`prepare ${entries.length}`);
      return { summary: null, usage: seen.length > 1 ? noUsage : costs };
    },
    fit: (entries) => ({ entries: entries.slice(-2), maxTokens: 50 }),
    overflowed: async (entries, signal) => {
      seen.push(`overflowed ${entries.length} ${signal.aborted}`);
      const summary = { type: "summary" as const, text: "It was long.", throughSeq: 1, atMs: 5 };
      return seen.length > 4 ? null : { summary, usage: { ...noUsage, outputTokens: 6 } };
    },
  };
  const tooLong = (): ModelEvent =>
    finished([], { stop: "error", error: { kind: "context_overflow", message: "too long" } });
  const model = saying([tooLong()], [tooLong()]);
  await tell("too long twice", model, { context, input: { history: answered("h1") } });
  stories.push(`  ${seen.join(", ")}\n`);
  const budget = {
    mayCall: async ({ cacheWriteTokens }: Usage) =>
      cacheWriteTokens > 0 ? { ok: false as const, reason: "all is spent" } : { ok: true as const },
  };
  seen.length = 0;
  await tell("a summary uses up what was left", [{ text: "never said" }], { context, ledger: budget });
}

async function failures(): Promise<void> {
  const call = { type: "toolCall" as const, id: "c", name: "look", args: {} };
  const down = { stop: "error", error: { kind: "unavailable", message: "down" } };
  const text = (delta: string): ModelEvent => ({ type: "text", delta });
  const bad = (id: string): ModelEvent => ({
    type: "badToolCall",
    id,
    name: "look",
    raw: "{",
    reason: "no JSON",
  });
  const thought = { type: "thinking" as const, text: "hm", signature: "s" };
  await tell(
    "words only in deltas, beside a thought and a call",
    saying([text("Well, "), text("no"), finished([thought, call], down)]),
  );
  await tell("words in the end too", saying([text("Well"), finished([words("Well, no"), call], down)]));
  await tell("a stream without an end", saying([text("half"), bad("b1")]));
  await tell(
    "what was discarded is forgotten, and the model names itself",
    saying(
      [
        text("wrong"),
        bad("b1"),
        { type: "discard" },
        text("right"),
        bad("b2"),
        finished([words("right"), call], { stop: "toolUse", model: "other/name" }),
      ],
      [text("lost"), { type: "discard" }],
    ),
    { tools: [tool("look", "reads")] },
  );
}

async function stopped(): Promise<void> {
  const of = async (title: string, kind: "plain" | "keyed"): Promise<void> => {
    const clock = virtualClock();
    const stop = new AbortController();
    const hang = () => new Promise<never>(() => {});
    const stuck =
      kind === "plain" ? tool("stuck", "writes", hang) : { ...keyed("stuck", hang as never), run: hang };
    const ran = tell(
      title,
      [{ calls: [{ name: "look" }, { name: "stuck" }, { name: "look" }, { name: "stuck", args: { n: 2 } }] }],
      {
        clock,
        signal: stop.signal,
        tools: [stuck, tool("look", "reads")],
      },
    );
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(5_000);
    await ran;
  };
  await of("stopped while a write runs", "plain");
  await of("stopped while a keyed call runs", "keyed");
  const clock = virtualClock();
  const stop = new AbortController();
  const waits = keyed("ask", () => {
    stop.abort();
    return { ...said("later"), waitsFor: { ticket: "q1", untilMs: 9 } };
  });
  await tell(
    "stopped when a call begins to wait",
    [{ calls: [{ name: "ask" }, { name: "ask" }, { name: "look" }] }],
    {
      clock,
      signal: stop.signal,
      tools: [waits, tool("look", "reads")],
    },
  );
  const write = { calls: [{ name: "write" }, { name: "look" }, { name: "write", args: { n: 2 } }] };
  const steps: JournalStep[] = [
    {
      kind: "model",
      entry: {
        type: "assistant",
        content: write.calls.map(({ name, args = {} }, at) => ({
          type: "toolCall",
          id: `c0_${at}`,
          name,
          args,
        })),
        model: "m",
        stop: "toolUse",
        usage: noUsage,
        atMs: 0,
      },
      bad: [],
      closing: false,
    },
    { kind: "intent", callId: "c0_0", name: "write" },
  ];
  await tell("stopped before a resumed turn goes on", [write], {
    signal: AbortSignal.abort(),
    steps,
    tools: [tool("write", "writes"), tool("look", "reads")],
  });
}

async function repeated(): Promise<void> {
  let at = 0;
  const same = { calls: [{ name: "look", args: { a: { x: 1, y: [1, 2] } } }] };
  const turned = { calls: [{ name: "Look", args: { a: { y: [1, 2], x: 1 } } }] };
  const other = { calls: [{ name: "look", args: { a: { x: 1, y: [2, 1] } } }] };
  await tell(
    "the same call over and over, an error once, a picture that changes",
    [same, turned, same, other, other, same, same, turned],
    {
      tools: [
        tool("look", "reads", () => {
          at += 1;
          return { content: [words("same"), picture(at === 6 ? "new" : "old")], isError: at === 4 };
        }),
      ],
      input: { maxSteps: 8, finalPass: true },
    },
  );
}

/** What is asked before a call, and what a call is told: of strangers, of the turn, of itself. */
async function gated(): Promise<void> {
  const asked: string[] = [];
  const scopes: string[] = [];
  const scoped = (name: string, effect: "reads" | "writes", more: object = {}) => {
    const made = tool(name, effect, () => ({ ...said(`${name} ok`), ...more }));
    return {
      ...made,
      run: (args: never, scope: Parameters<typeof made.run>[1]) => {
        const { callId, turn, untrusted = "nobody", signal } = scope;
        scopes.push(`${name} of ${turn} ${callId}, strangers: ${untrusted}, stopped: ${signal.aborted}`);
        return made.run(args, scope);
      },
    };
  };
  const post = (name: string) => keyed(name, (callId) => ({ ...said(`${name} ok`), effects: cell(callId) }));
  const gate: Gate = async ({ id, name }, { name: found }, heardSoFar, begun) => {
    const { untrusted, sources, read, trusted } = heardSoFar;
    asked.push(
      `${id} ${name} as ${found}${begun ? " again" : ""}: ${untrusted}, of ${sources.join("+")}, ` +
        `${trusted.length} trusted, ${read.length} read`,
    );
    if (name === "deny") return { kind: "refuse", reason: "denied by policy" };
    if (id === "wait") return { kind: "park", tickets: ["t1", "t2"], untilMs: 77 };
    return { kind: "go", uses: { key: `approval:${id}`, value: null } };
  };
  const tools = [
    scoped("look", "reads"),
    scoped("page", "reads", {
      content: [words("one"), picture("p"), words("two")],
      untrusted: { source: `site-${"x".repeat(300)}` },
    }),
    scoped("note", "writes"),
    post("post"),
    tool("deny", "writes"),
  ];
  const calls = ["look", "Note", "post", "deny", "page", "look"].map((name, n) => ({ name, args: { n } }));
  const steps: JournalStep[] = [];
  const lines = [
    {},
    { calls },
    {
      calls: [
        { name: "note" },
        { name: "look", args: { n: 9 } },
        { name: "look", id: "wait" },
        { name: "post" },
      ],
    },
    { text: "Done." },
  ];
  const input = { history: [...answered("h1"), { ...user("passed on"), untrusted: "friend.test" }] };
  await tell("each call is asked for, until one must wait", lines, { gate, tools, steps, input });
  stories.push(
    ...asked.splice(0).map((line) => `  asked: ${line}`),
    ...scopes.splice(0).map((line) => `  ${line}`),
    "",
  );
  const go: Gate = async (...given) => {
    await gate(...given);
    return { kind: "go" };
  };
  await tell("and goes on from there", lines, { gate: go, tools, steps, input });
  stories.push(...asked.map((line) => `  asked: ${line}`), ...scopes.map((line) => `  ${line}`), "");
  await tell("a call of a tool where there is none", [{ calls: [{ name: "look" }] }, { text: "Well." }]);
}

/** What a reply that is owed takes when the model says nothing that can be shown. */
async function owed(): Promise<void> {
  const tools = [tool("look", "reads")];
  const input = { finalPass: true };
  await tell("nothing is said, twice", [{ text: " " }, { text: "" }], { input });
  await tell(
    "what was said says nothing, and the model is told why",
    [{ text: "(hush)", calls: [{ name: "look" }] }, { text: "(hush)" }, { text: "Here." }],
    { tools, input: { ...input, saysNothing: (text) => (text === "(hush)" ? "people asked you" : null) } },
  );
  await tell(
    "words from before somebody joined in answer something else",
    [{ text: "It is 42.", calls: [{ name: "look" }] }, { text: "" }, { text: "", calls: [{ name: "look" }] }],
    { tools, input, arrivals: [[], [user("and now?"), user("hm?")]] },
  );
  await tell("cut off by its provider", [{ text: "Half", end: { stop: "cut" } }], { input });
  await tell(
    "cut off, and empty",
    [
      { text: "", end: { stop: "cut" } },
      { text: "Now", end: { stop: "length" } },
    ],
    {
      input,
    },
  );
  await tell("the first call may be the last", [{ text: "Well", calls: [{ name: "look" }] }], {
    tools,
    input: { ...input, maxSteps: 1 },
  });
}

/** How a model fails that gives no reason, and how one ends that does not stop. */
async function unreasoned(): Promise<void> {
  await tell(
    "an error without a reason",
    saying([finished([words("Half")], { stop: "error", model: "other" })]),
  );
  await tell("an abort without a reason", saying([finished([], { stop: "aborted" })]));
  await tell(
    "too long, and no shorter one is left",
    saying([
      finished([], {
        stop: "error",
        error: { kind: "context_overflow", message: "too long" },
      }),
    ]),
  );
  const clock = virtualClock();
  const stop = new AbortController();
  let returned = 0;
  const stubborn: ScriptedModel = {
    ...scripted([]),
    stream: () => {
      const events = [
        { type: "text", delta: "Half " },
        { type: "thinking", delta: "hm" },
        { type: "text", delta: "of it" },
      ];
      return {
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            const value = events.shift() as ModelEvent | undefined;
            return value === undefined ? new Promise<never>(() => {}) : { done: false, value };
          },
          return: async () => {
            returned += 1;
            throw new Error("nobody hears this");
          },
        }),
      };
    },
  };
  const ran = tell("a model that does not stop", stubborn, { clock, signal: stop.signal });
  await clock.advance(1_000);
  stop.abort();
  await clock.advance(4_999);
  const early = [clock.now(), returned].join(", told to return ");
  await clock.advance(1);
  await ran;
  stories.push(`  still waited for at ${early}; in the end ${returned}\n`);
}

test("whoever stops listening stops the model, which is told so, and leaves no timer", async () => {
  const clock = virtualClock();
  const told: string[] = [];
  const model: ScriptedModel = {
    ...scripted([]),
    async *stream(_request, signal) {
      signal.addEventListener("abort", () => told.push(`stopped: ${String(signal.reason)}`));
      try {
        for (;;) yield { type: "text", delta: "more " };
      } finally {
        told.push("returned");
      }
    },
  };
  const { input, deps } = given(model, { clock });
  for await (const event of runLoop(input, deps)) if (event.type === "text") break;
  expect(told).toEqual(["returned", "stopped: Error: the turn is over"]);
  expect(clock.armed()).toBe(0);
});

test("a turn makes fifty model calls unless it is told otherwise", async () => {
  const lines = Array.from({ length: 60 }, (_, n) => ({ calls: [{ name: "look", args: { n } }] }));
  const model = scripted(lines);
  const { end } = await run(model, { tools: [tool("look", "reads")] });
  expect([model.requests.length, end.stop]).toEqual([50, "steps"]);
  expect(model.requests.map(({ toolChoice }) => toolChoice).lastIndexOf(undefined)).toBe(48);
});

test("turns go like this", async () => {
  await mixed();
  await summaries();
  await failures();
  await stopped();
  await repeated();
  await gated();
  await owed();
  await unreasoned();
  await expect(`${stories.join("\n")}\n`).toMatchFileSnapshot("../tables/turns.txt");
});
