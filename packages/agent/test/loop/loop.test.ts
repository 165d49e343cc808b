import { virtualClock } from "@parley/testkit";
import { describe, expect, it } from "vitest";
import type { Model } from "@parley/models";
import { noUsage, silentLog, type Entry } from "@parley/protocol";
import { mostCallsPerAnswer, viewOf, type JournalStep } from "../../src/index.ts";
import type { CallEffects } from "@parley/tools";
import {
  cell,
  type CountedTool,
  journal,
  keyed,
  run,
  said,
  scripted,
  type ScriptedModel,
  tool,
  user,
} from "./stage.ts";

const results = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) =>
    entry.type === "toolResult"
      ? [entry.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("|")]
      : [],
  );

describe("a turn", () => {
  it("ends with the model's words when it calls no tool", async () => {
    const { end, events } = await run(scripted([{ text: "hello" }]));
    expect(end).toMatchObject({ stop: "stop", finalText: "hello", usage: { inputTokens: 1 } });
    expect(end.entries.map((entry) => entry.type)).toEqual(["user", "assistant"]);
    expect(events.map((event) => event.type)).toEqual(["modelStart", "text", "modelEnd", "end"]);
  });

  it("runs tools and gives their results to the next call, tools sorted by name", async () => {
    const read = tool("read", "reads", () => said("file content"));
    const model = scripted([
      { text: "let me look", calls: [{ name: "read", args: { path: "a" } }] },
      { text: "it says so" },
    ]);
    const { end, events } = await run(model, { tools: [tool("write", "writes"), read] });
    expect(end.finalText).toBe("it says so");
    expect(results(end.entries)).toEqual(["file content"]);
    expect(model.requests[0]?.tools.map((each) => each.name)).toEqual(["read", "write"]);
    expect(model.requests[1]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
    expect(
      events
        .filter((event) => event.type === "toolStart" || event.type === "toolEnd")
        .map((event) => event.type),
    ).toEqual(["toolStart", "toolEnd"]);
  });

  it("logs the answer before its tools start, a write's intent before the write, and the result after", async () => {
    const log: string[] = [];
    const steps: JournalStep[] = [];
    const inner = journal(steps);
    const write = tool("write", "writes", () => {
      log.push("write runs");
      return said("ok");
    });
    await run(scripted([{ calls: [{ name: "write" }, { name: "read" }] }, { text: "done" }]), {
      tools: [write, tool("read", "reads")],
      journal: {
        ...inner,
        async checkpoint(more) {
          log.push(...more.map((step) => step.kind));
          await inner.checkpoint(more);
        },
      },
    });
    expect(log).toEqual(["model", "intent", "write runs", "result", "result", "model"]);
  });

  it("runs reads together and writes alone, with results in the order of the calls", async () => {
    let running = 0;
    const most = { reads: 0, writes: 0 };
    const slow = (kind: "reads" | "writes") => async (args: { readonly [key: string]: unknown }) => {
      running += 1;
      most[kind] = Math.max(most[kind], running);
      for (let turn = 0; turn < 5 - Number(args["n"]); turn += 1) await Promise.resolve();
      running -= 1;
      return said(`${kind} ${String(args["n"])}`);
    };
    const calls = [1, 2, 3].map((n) => ({ name: "read", args: { n } }));
    const { end } = await run(
      scripted([
        {
          calls: [
            ...calls,
            { name: "write", args: { n: 4 } },
            { name: "write", args: { n: 5 } },
            { name: "read", args: { n: 1 } },
          ],
        },
      ]),
      {
        tools: [tool("read", "reads", slow("reads")), tool("write", "writes", slow("writes"))],
      },
    );
    expect(most).toEqual({ reads: 3, writes: 1 });
    expect(results(end.entries)).toEqual([
      "reads 1",
      "reads 2",
      "reads 3",
      "writes 4",
      "writes 5",
      "reads 1",
    ]);
  });

  it("answers unknown tools, wrong arguments, bad calls and throwing tools with errors that the model reads", async () => {
    const { end } = await run(
      scripted([
        {
          calls: [{ name: "nope" }, { name: "boom" }, { name: "READ" }, { name: "read", args: { wrong: 1 } }],
          bad: [{ name: "read", raw: "{" }],
        },
      ]),
      {
        tools: [
          tool("read", "reads"),
          tool("boom", "reads", () => {
            throw new Error("it broke");
          }),
        ],
      },
    );
    expect(results(end.entries)).toEqual([
      'There is no tool "nope". The tools are: read, boom.',
      "it broke",
      "read ok",
      'Not run, wrong arguments: "wrong" is not allowed',
      "Not run: the arguments are not valid JSON.",
    ]);
    expect(end.finalText).toBe("done");
  });

  it("tells what a tool threw that is no error, in its own words", async () => {
    const logged: unknown[] = [];
    const log = { ...silentLog, error: (facts: object) => void logged.push(facts) };
    const { end } = await run(scripted([{ calls: [{ name: "boom" }] }]), {
      // oxlint-disable-next-line prefer-promise-reject-errors -- that is what is tested
      tools: [tool("boom", "reads", () => Promise.reject("words alone"))],
      log,
    });
    expect(results(end.entries)).toEqual(["words alone"]);
    expect(logged).toEqual([{ err: "words alone", tool: "boom", callId: "c0_0" }]);
  });

  it("lets new messages join before the next call, and leaves those after the last call alone", async () => {
    const steps: JournalStep[] = [];
    const model = scripted([{ calls: [{ name: "read" }] }, { text: "answer" }]);
    const arrivals = [[], [user("wait, also this")], [user("too late")]];
    const { end, events } = await run(model, {
      tools: [tool("read", "reads")],
      journal: journal(steps, undefined, arrivals),
    });
    expect(events.filter((event) => event.type === "absorbed")).toHaveLength(1);
    expect(end.entries.map((entry) => entry.type)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "user",
      "assistant",
    ]);
    expect(model.requests[1]?.messages.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
    ]);
    expect(arrivals).toEqual([[], [], [user("too late")]]);
  });

  it("makes call ids unique over the conversation and fit for every provider", async () => {
    const history: Entry[] = [
      {
        type: "assistant",
        content: [{ type: "toolCall", id: "x", name: "read", args: {} }],
        model: "m",
        stop: "toolUse",
        usage: noUsage,
        atMs: 0,
      },
    ];
    const { end } = await run(
      scripted([
        {},
        {
          calls: [
            { name: "read", id: "x" },
            { name: "read", id: "x" },
            { name: "read", id: "a:b/c" },
          ],
        },
      ]),
      {
        tools: [tool("read", "reads")],
        input: { history },
      },
    );
    expect(end.entries.flatMap((entry) => (entry.type === "toolResult" ? [entry.callId] : []))).toEqual([
      "x_2",
      "x_3",
      "a_b_c",
    ]);
  });
});

describe("caps", () => {
  it("makes the last allowed call without tools, so that the turn ends in words", async () => {
    const lines = Array.from({ length: 9 }, (_, n) => ({ calls: [{ name: "read", args: { n } }] }));
    const model = scripted(lines);
    const { end } = await run(model, { tools: [tool("read", "reads")], input: { maxSteps: 3 } });
    expect(model.requests.map((request) => request.toolChoice ?? "auto")).toEqual(["auto", "auto", "none"]);
    expect(end.stop).toBe("steps");
    expect(results(end.entries)).toEqual([
      "read ok",
      "read ok",
      "Not run: no more tools in this turn. Answer with what you know.",
    ]);
  });

  it("runs so many calls of one answer and tells the model about the rest, also after a restart", async () => {
    const read = tool("read", "reads");
    const calls = Array.from({ length: 200 }, (_, n) => ({ name: "read", args: { n } }));
    const steps: JournalStep[] = [];
    const { end } = await run(scripted([{ calls }]), { tools: [read], journal: journal(steps) });
    expect(read.starts).toHaveLength(mostCallsPerAnswer);
    expect(
      results(end.entries).filter((text) =>
        text.startsWith("Not run: one answer may make 32 calls, this one made 200."),
      ),
    ).toHaveLength(168);
    // Whoever resumes in the middle of the results counts the same.
    const half = steps.filter((step, at) => step.kind !== "result" || at < 100);
    const again = tool("read", "reads");
    await run(scripted([{ calls }]), { tools: [again], journal: journal(half) });
    expect(again.starts.length).toBeLessThanOrEqual(mostCallsPerAnswer);
  });

  it("warns at the third identical call, blocks from the fifth, closes after the eighth", async () => {
    const read = tool("read", "reads");
    const model = scripted(
      Array.from({ length: 20 }, () => ({ calls: [{ name: "read", args: { b: 1, a: 2 } }] })),
    );
    const { end } = await run(model, { tools: [read] });
    expect(read.starts).toHaveLength(4);
    expect(
      results(end.entries).map((text) =>
        text.includes("Note:") ? "warned" : text.startsWith("Not run: this exact") ? "blocked" : text,
      ),
    ).toEqual([
      "read ok",
      "read ok",
      "warned",
      "warned",
      "blocked",
      "blocked",
      "blocked",
      "blocked",
      "Not run: no more tools in this turn. Answer with what you know.",
    ]);
    expect(end.stop).toBe("loop");
  });

  it("lets a call be repeated while its answers change", async () => {
    let polls = 0;
    const poll = tool("poll", "reads", () => said(`${(polls += 1)} %`));
    const { end } = await run(scripted(Array.from({ length: 12 }, () => ({ calls: [{ name: "poll" }] }))), {
      tools: [poll],
    });
    expect(poll.starts).toHaveLength(12);
    expect(end.stop).toBe("stop");
  });

  it("asks the ledger before each call and stops at its no", async () => {
    const seen: number[] = [];
    const ledger = {
      async mayCall(usage: { readonly inputTokens: number }) {
        seen.push(usage.inputTokens);
        return usage.inputTokens < 2
          ? ({ ok: true } as const)
          : ({ ok: false, reason: "the day's budget is used" } as const);
      },
    };
    const { end } = await run(
      scripted(Array.from({ length: 5 }, (_, n) => ({ calls: [{ name: "read", args: { n } }] }))),
      {
        tools: [tool("read", "reads")],
        ledger,
      },
    );
    expect(seen).toEqual([0, 1, 2]);
    expect(end).toMatchObject({ stop: "capped", reason: "the day's budget is used" });
  });

  it("asks once more without tools when a reply is owed and the model said nothing", async () => {
    const model = scripted([{ calls: [{ name: "read" }] }, { text: " \n" }, { text: "never reached" }]);
    const closing: Model = {
      ...model,
      stream: (request, signal) =>
        request.toolChoice === "none"
          ? scripted([{}, { text: "here it is" }]).stream(request, signal)
          : model.stream(request, signal),
    };
    expect(
      (await run(closing, { tools: [tool("read", "reads")], input: { finalPass: true } })).end,
    ).toMatchObject({
      stop: "stop",
      finalText: "here it is",
    });
    expect((await run(model, { tools: [tool("read", "reads")] })).end).toMatchObject({
      stop: "stop",
      finalText: " \n",
    });
    const mute = scripted(Array.from({ length: 9 }, () => ({ text: "" })));
    expect((await run(mute, { input: { finalPass: true } })).end.finalText).toBe("");
    expect(mute.requests).toHaveLength(2);
  });

  it("takes what was said beside a call for the answer when nothing came after its result, where a reply is owed", async () => {
    const model = () =>
      scripted([{ text: "It is 42.", calls: [{ name: "read" }] }, { text: "" }, { text: "" }]);
    const tools = [tool("read", "reads")];
    expect((await run(model(), { tools, input: { finalPass: true } })).end.finalText).toBe("It is 42.");
    expect((await run(model(), { tools })).end.finalText).toBe("");
    const twice = scripted([
      { text: "It may be 41.", calls: [{ name: "read" }] },
      { text: "No: 42.", calls: [{ name: "read" }] },
      {},
      {},
    ]);
    expect((await run(twice, { tools, input: { finalPass: true } })).end.finalText).toBe("No: 42.");
  });

  it("keeps 8 KB of a result and 400 characters of an error, and spills the whole", async () => {
    const spilt = new Map<string, string>();
    const spill = async (callId: string, text: string): Promise<string> => {
      spilt.set(callId, text);
      return `.parley/results/${callId}.txt`;
    };
    const long = `${"ä€👍".repeat(4000)}the end`;
    const { end } = await run(scripted([{ calls: [{ name: "big" }, { name: "bad" }] }]), {
      tools: [
        tool("big", "reads", () => said(long)),
        tool("bad", "reads", () => said("x".repeat(1000), true)),
      ],
      spill,
    });
    const [big = "", bad = ""] = results(end.entries);
    expect(Buffer.byteLength(big)).toBeLessThanOrEqual(8192);
    expect(Buffer.byteLength(big)).toBeGreaterThan(8000);
    expect(big).toContain("the whole text is in .parley/results/c0_0.txt");
    expect(big.endsWith("the end")).toBe(true);
    expect(big).not.toContain("\uFFFD");
    expect(bad.length).toBeLessThanOrEqual(400);
    expect(spilt.get("c0_0")).toBe(long);
    expect(spilt.get("c0_1")).toHaveLength(1000);
  });

  it("keeps secrets out of results and of what is spilled", async () => {
    const spilt: string[] = [];
    const { end } = await run(scripted([{ calls: [{ name: "env" }, { name: "long" }] }]), {
      tools: [
        tool("env", "reads", () => said("KEY=sk-canary-1 and sk-canary-12")),
        tool("long", "reads", () => said("sk-canary-1 ".repeat(2000))),
      ],
      secrets: ["sk-canary-1", "sk-canary-12", "KEY"],
      spill: async (_callId, text) => {
        spilt.push(text);
        return "kept.txt";
      },
    });
    const [env, long] = results(end.entries);
    expect(env).toBe("KEY=[secret] and [secret]");
    expect(long).not.toContain("canary");
    expect(spilt).toHaveLength(1);
    expect(spilt[0]).not.toContain("canary");
  });

  it("keeps the beginning when the spill fails", async () => {
    const { end } = await run(scripted([{ calls: [{ name: "big" }] }]), {
      tools: [tool("big", "reads", () => said("y".repeat(20_000)))],
      spill: () => Promise.reject(new Error("disk full")),
    });
    expect(results(end.entries)[0]).toContain("the rest could not be kept");
  });
});

describe("stopping", () => {
  const hanging: Model = {
    ...scripted([]),
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
  };

  it("leaves a model behind that ignores the abort", async () => {
    const clock = virtualClock();
    const stop = new AbortController();
    const ran = run(hanging, { clock, signal: stop.signal });
    await clock.advance(1000);
    stop.abort();
    await clock.advance(5000);
    expect((await ran).end).toMatchObject({ stop: "aborted", finalText: "", error: { kind: "aborted" } });
    expect(clock.armed()).toBe(0);
  });

  it("leaves a tool behind that ignores the abort, pairs every call, and logs no result that nobody knows", async () => {
    const clock = virtualClock();
    const stop = new AbortController();
    const steps: JournalStep[] = [];
    const stuckTool = tool("stuck", "writes", () => new Promise(() => {}));
    const ran = run(scripted([{ calls: [{ name: "stuck" }, { name: "stuck", args: { n: 2 } }] }]), {
      clock,
      signal: stop.signal,
      tools: [stuckTool],
      journal: journal(steps),
    });
    await clock.advance(1000);
    stop.abort();
    await clock.advance(5000);
    const { end } = await ran;
    expect(end.stop).toBe("aborted");
    expect(results(end.entries)).toEqual([
      "Outcome unknown: stopped while this ran. Check what it did before repeating it.",
      "Not run: stopped before it started.",
    ]);
    expect(steps.map((step) => step.kind)).toEqual(["model", "intent"]);
    expect(stuckTool.starts).toHaveLength(1);
  });

  it("asks nothing when it was stopped before it began", async () => {
    const model = scripted([]);
    // What waits is left to the next turn, and nothing is spent.
    const arrivals = [[user("waits")]];
    const asked: unknown[] = [];
    const { end } = await run(model, {
      signal: AbortSignal.abort(),
      journal: journal([], undefined, arrivals),
      ledger: {
        async mayCall(usage) {
          asked.push(usage);
          return { ok: true };
        },
      },
    });
    expect(end.stop).toBe("aborted");
    expect([model.requests, asked, arrivals]).toEqual([[], [], [[user("waits")]]]);
  });

  it("tells a model failure as a value and keeps what was said as an entry that failed", async () => {
    const error = { kind: "torn", message: "cut" } as const;
    const steps: JournalStep[] = [];
    const { end } = await run(
      scripted([{ text: "half an", calls: [{ name: "read" }], end: { stop: "error", error } }]),
      {
        journal: journal(steps),
        tools: [tool("read", "reads")],
      },
    );
    expect(end).toMatchObject({ stop: "error", error, finalText: "" });
    expect(end.entries.at(-1)).toMatchObject({
      type: "assistant",
      stop: "error",
      content: [{ type: "text", text: "half an" }],
    });
    expect(steps).toEqual([]);
  });

  it("keeps no call of a failed answer, neither a whole one nor one that cannot be read", async () => {
    const error = { kind: "unavailable", message: "gone" } as const;
    const { end, events } = await run(
      scripted([
        {
          text: "half",
          calls: [{ name: "read" }],
          bad: [{ name: "read", raw: "{" }],
          end: { stop: "error", error, content: [] },
        },
      ]),
      { tools: [tool("read", "reads")] },
    );
    // Its words are only in what was streamed.
    expect(end.entries.at(-1)).toMatchObject({ content: [{ type: "text", text: "half" }], stop: "error" });
    expect(events.filter(({ type }) => type === "toolStart" || type === "toolEnd")).toEqual([]);
  });
});

describe("decisions before a call", () => {
  it("tells the model a refusal and its reason", async () => {
    const write = tool("write", "writes");
    const { end } = await run(scripted([{ calls: [{ name: "write" }] }]), {
      tools: [write],
      gate: async () => ({ kind: "refuse", reason: "denied by policy" }),
    });
    expect(results(end.entries)).toEqual(["denied by policy"]);
    expect(write.starts).toEqual([]);
  });

  it("parks at a call that waits, keeps what ran before, and goes on from there when it is decided", async () => {
    const steps: JournalStep[] = [];
    const [read, write] = [tool("read", "reads"), tool("write", "writes")];
    const model = scripted([{ calls: [{ name: "read" }, { name: "write" }] }, { text: "written" }]);
    const tools = [read, write];
    const parked = await run(model, {
      tools,
      journal: journal(steps),
      gate: async (call) =>
        call.name === "write" ? { kind: "park", tickets: ["a1"], untilMs: 5 } : { kind: "go" },
    });
    expect(parked.end).toMatchObject({ stop: "parked", tickets: ["a1"], untilMs: 5 });
    expect([read.starts, write.starts]).toEqual([["c0_0"], []]);
    const { end } = await run(model, { tools, journal: journal(steps), gate: async () => ({ kind: "go" }) });
    expect(end).toMatchObject({ stop: "stop", finalText: "written" });
    expect([read.starts, write.starts]).toEqual([["c0_0"], ["c0_1"]]);
    expect(model.requests).toHaveLength(2);
  });
});

describe("a keyed call", () => {
  const question = (answer: () => string | null): CountedTool =>
    keyed("ask", (callId) => {
      const text = answer();
      if (text !== null) return said(text);
      return {
        ...said("nobody answered yet"),
        effects: cell(callId),
        waitsFor: { ticket: "q1", untilMs: 9 },
      };
    });
  const asking = (): ScriptedModel => scripted([{ calls: [{ name: "ask" }] }, { text: "done" }]);

  it("writes its effects with its result and no intent before, and an error has none", async () => {
    const steps: JournalStep[] = [];
    const done: CallEffects[] = [];
    const post = keyed("post", (callId) => ({ ...said("posted"), effects: cell(callId) }));
    const fails = keyed("fails", (callId) => ({ ...said("no", true), effects: cell(callId) }));
    await run(scripted([{ calls: [{ name: "post" }, { name: "fails" }] }]), {
      tools: [post, fails],
      journal: journal(steps, undefined, [], done),
    });
    expect(steps.map(({ kind }) => kind)).toEqual(["model", "result", "result", "model"]);
    expect(done).toEqual([cell("c0_0")]);
  });

  it("uses up its approval in the write of its result", async () => {
    const uses: unknown[] = [];
    const base = journal([]);
    await run(scripted([{ calls: [{ name: "post" }] }]), {
      tools: [keyed("post", () => said("posted"))],
      gate: async () => ({ kind: "go", uses: { key: "approval:1", value: null } }),
      journal: {
        ...base,
        async checkpoint(steps, how) {
          for (const used of how?.uses ?? []) uses.push([steps.map(({ kind }) => kind), used.key]);
        },
      },
    });
    expect(uses).toEqual([[["result"], "approval:1"]]);
  });

  it("begins to wait once, parks with its ticket and time, and is answered when it runs again", async () => {
    const steps: JournalStep[] = [];
    const done: CallEffects[] = [];
    const uses: string[] = [];
    let answer: string | null = null;
    const tools = [question(() => answer)];
    const model = asking();
    const life = () => {
      const inner = journal(steps, undefined, [], done);
      return run(model, {
        tools,
        gate: async () => ({ kind: "go", uses: { key: "approval:1", value: null } }),
        journal: {
          ...inner,
          checkpoint(more, how) {
            uses.push(...(how?.uses ?? []).map(({ key }) => `${key} with ${more[0]?.kind}`));
            return inner.checkpoint(more, how);
          },
        },
      });
    };
    for (const _life of [1, 2])
      expect((await life()).end).toMatchObject({ stop: "parked", tickets: ["q1"], untilMs: 9 });
    expect(done).toEqual([cell("c0_0")]);
    answer = "yes";
    const { end } = await life();
    expect([results(end.entries), end.finalText]).toEqual([["yes"], "done"]);
    expect(done).toEqual([cell("c0_0")]);
    // Its approval went with the beginning.
    expect(uses).toEqual(["approval:1 with intent"]);
    expect(model.requests).toHaveLength(2);
  });

  it("is given up for somebody who writes meanwhile, but not before it has begun to wait", async () => {
    const steps: JournalStep[] = [];
    const somebodyWrote = async (): Promise<boolean> => true;
    const tools = [question(() => null)];
    const model = asking();
    const first = await run(model, { tools, journal: journal(steps), somebodyWrote });
    expect(first.end.stop).toBe("parked");
    const { end } = await run(model, { tools, journal: journal(steps), somebodyWrote });
    expect([results(end.entries), end.finalText]).toEqual([["nobody answered yet"], "done"]);
  });

  it("has a result also when the turn is stopped while it waits", async () => {
    const stop = new AbortController();
    const ask = keyed("ask", () => {
      stop.abort();
      return { ...said("later"), waitsFor: { ticket: "q1", untilMs: 9 } };
    });
    const { end } = await run(asking(), { tools: [ask], signal: stop.signal });
    expect([end.stop, results(end.entries)]).toEqual([
      "aborted",
      ["Stopped while it waited for its answer."],
    ]);
  });
});

describe("a view", () => {
  it("pairs every call, drops orphans and empty answers, joins neighbours and renames doubled ids", () => {
    const answer = (
      content: Extract<Entry, { type: "assistant" }>["content"],
      stop: "stop" | "error" = "stop",
    ): Entry => ({
      type: "assistant",
      content,
      model: "m",
      stop,
      usage: noUsage,
      atMs: 0,
    });
    const result = (callId: string, text: string): Entry => ({
      type: "toolResult",
      callId,
      name: "read",
      content: [{ type: "text", text }],
      isError: false,
      atMs: 0,
    });
    const call = (id: string) => ({ type: "toolCall", id, name: "read", args: {} }) as const;
    const messages = viewOf([
      user("lost before the summary"),
      { type: "summary", text: "they spoke of tea", throughSeq: 1, atMs: 0 },
      result("orphan", "never asked for"),
      user("one"),
      { type: "notice", text: "for people", atMs: 0 },
      answer([], "error"),
      answer([{ type: "thinking", text: "hm" }]),
      user("two"),
      answer([call("x"), call("x"), call("y")]),
      result("y", "for y"),
      result("x", "first x"),
      user("three"),
      answer([{ type: "text", text: "  " }, call("x")]),
      result("x", "later x"),
    ]);
    expect(
      messages.map((message) =>
        message.role === "tool"
          ? `${message.callId}: ${message.content.map((part) => (part.type === "text" ? part.text : "")).join("")}`
          : message.role,
      ),
    ).toEqual([
      "user",
      "assistant",
      "x: first x",
      "x_2: No result of this call was recorded.",
      "y: for y",
      "user",
      "assistant",
      "x_3: later x",
    ]);
    expect(messages[0]?.content).toEqual([
      { type: "text", text: "Summary of the conversation so far:\nthey spoke of tea" },
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ]);
  });
});

it.each([
  ["", []],
  ["so f", [{ type: "text", text: "so f" }]],
])("keeps of a stream that breaks off without an end what was said: %j", async (said, content) => {
  const model: Model = {
    ...scripted([]),
    async *stream() {
      if (said !== "") yield { type: "text", delta: said };
    },
  };
  const { end } = await run(model);
  expect(end.entries.at(-1)).toMatchObject({ type: "assistant", stop: "error", content });
});

it("names calls that come with one id again and again each in its own way, beside what was said", async () => {
  const calls = Array.from({ length: 4 }, () => ({ name: "read", id: "a b" }));
  const read = tool("read", "reads");
  const { end } = await run(scripted([{ text: "looking", calls }, { text: "seen" }]), { tools: [read] });
  expect(read.starts).toEqual(["a_b", "a_b_2", "a_b_3", "a_b_4"]);
  expect(end.entries[1]).toMatchObject({
    content: [{ type: "text", text: "looking" }, ...read.starts.map((id) => ({ type: "toolCall", id }))],
  });
});
