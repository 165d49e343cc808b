// The loop with a context port: what it writes down and when, and that a resumed turn shows the same.
import { noUsage, type Entry, type SummaryEntry } from "@parley/protocol";
import { describe, expect, it } from "vitest";
import type { JournalStep, LoopContext } from "../../src/index.ts";
import { Crash, journal, run, said as tells, scripted, tool, user } from "../loop/stage.ts";

const summary = (throughSeq: number): SummaryEntry => ({
  type: "summary",
  text: `through ${throughSeq}`,
  throughSeq,
  atMs: 0,
});
const usage = { ...noUsage, inputTokens: 5 };

/** Summarises the first entry at the given call; shows the summary and what came after it. */
function summarises(atCall: number): LoopContext & { readonly prepared: number[] } {
  const prepared: number[] = [];
  return {
    prepared,
    async prepare(entries) {
      prepared.push(entries.length);
      const answers = entries.filter((entry) => entry.type === "assistant").length;
      const done = entries.some((entry) => entry.type === "summary");
      return answers === atCall && !done ? { summary: summary(1), usage } : { summary: null, usage: noUsage };
    },
    fit(entries) {
      const found = entries.findLast((entry): entry is SummaryEntry => entry.type === "summary");
      return {
        entries:
          found === undefined
            ? entries
            : [found, ...entries.filter((entry, at) => entry !== found && at >= found.throughSeq)],
        maxTokens: 321,
      };
    },
    overflowed: async () => null,
  };
}

it("an answer may be as long as the turn and what is shown both allow", async () => {
  for (const [ofTurn, least] of [
    [200, 200],
    [321, 321],
    [900, 321],
  ] as const) {
    const context: LoopContext = { ...summarises(9), fit: (entries) => ({ entries, maxTokens: 321 }) };
    const model = scripted([{ text: "done" }]);
    await run(model, { context, input: { maxTokens: ofTurn } });
    expect(model.requests.map(({ maxTokens }) => maxTokens)).toEqual([least]);
  }
});

describe("a summary", () => {
  const lines = [{ calls: [{ name: "read" }] }, { text: "done" }];
  const shown = (entries: readonly Entry[]): readonly string[] => entries.map((entry) => entry.type);

  it("is logged before anything is shown from it, counted, and kept as an entry of the turn", async () => {
    const steps: JournalStep[] = [];
    const model = scripted([...lines]);
    const { end } = await run(model, {
      tools: [tool("read", "reads")],
      journal: journal(steps),
      context: summarises(1),
    });
    expect(shown(end.entries)).toEqual(["user", "assistant", "toolResult", "summary", "assistant"]);
    expect(end.usage.inputTokens).toBe(2 + 5);
    expect(steps.map((step) => step.kind)).toEqual(["model", "result", "summary", "model"]);
    expect(model.requests[1]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
    expect(JSON.stringify(model.requests[1]?.messages[0])).toContain(
      "Summary of the conversation so far:\\nthrough 1",
    );
    expect(model.requests[1]?.maxTokens).toBe(321);
  });

  it("is made once, wherever the process dies", async () => {
    const whole = await run(scripted([...lines]), { tools: [tool("read", "reads")], context: summarises(1) });
    for (let write = 0; write < 4; write += 1) {
      for (const durable of [false, true]) {
        const steps: JournalStep[] = [];
        const model = scripted([...lines]);
        const given = { tools: [tool("read", "reads")] };
        await expect(
          run(model, { ...given, journal: journal(steps, { write, durable }), context: summarises(1) }),
        ).rejects.toThrow(Crash);
        const { end } = await run(model, { ...given, journal: journal(steps), context: summarises(1) });
        expect(shown(end.entries)).toEqual(shown(whole.end.entries));
        expect(end.usage).toEqual(whole.end.usage);
        expect(steps.filter((step) => step.kind === "summary")).toHaveLength(1);
      }
    }
  });

  it("does not hold up a stop", async () => {
    const stop = new AbortController();
    const context: LoopContext = {
      ...summarises(9),
      prepare: async () => {
        stop.abort();
        return { summary: null, usage: noUsage };
      },
    };
    const model = scripted([]);
    expect((await run(model, { context, signal: stop.signal })).end.stop).toBe("aborted");
    expect(model.requests).toHaveLength(0);
  });
});

describe("a request that is too long for the provider", () => {
  const tooLong = {
    end: { stop: "error", error: { kind: "context_overflow", message: "too long" } },
  } as const;

  it("is asked again once the view is shorter, and ends as a failure when it cannot get shorter", async () => {
    let left = 2;
    const context: LoopContext = {
      ...summarises(9),
      overflowed: async () => ((left -= 1) >= 0 ? { summary: null, usage } : null),
    };
    const model = scripted([tooLong]);
    const { end } = await run(model, { context });
    expect(end).toMatchObject({ stop: "error", error: { kind: "context_overflow" } });
    expect(model.requests).toHaveLength(3);
    expect(end.usage.inputTokens).toBe(3 + 2 * 5);
    // Of three refused requests one stands in the history.
    expect(end.entries.map((entry) => entry.type)).toEqual(["user", "assistant"]);
  });

  it("loses nothing that was said and done before", async () => {
    const steps: JournalStep[] = [];
    const lines = [{ calls: [{ name: "send" }] }, tooLong];
    const model = scripted(lines);
    const context: LoopContext = {
      ...summarises(9),
      overflowed: async () => {
        lines[1] = { text: "sent and summarised" } as never;
        return { summary: summary(1), usage };
      },
    };
    const send = tool("send", "sends", () => tells("sent"));
    const { end } = await run(model, {
      tools: [send],
      journal: journal(steps),
      context,
      input: { incoming: [user("send it")] },
    });
    expect(end.finalText).toBe("sent and summarised");
    expect(send.starts).toHaveLength(1);
    expect(steps.map((step) => step.kind)).toEqual(["model", "intent", "result", "summary", "model"]);
  });
});
