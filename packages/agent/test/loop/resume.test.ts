import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noUsage, type Entry, type ToolResultEntry, type Usage } from "@parley/protocol";
import type { CallEffects } from "@parley/tools";
import type { JournalStep, LoopDeps } from "../../src/index.ts";
import { cell, Crash, journal, keyed, type Line, run, said, scripted, tool, user } from "./stage.ts";

const unknown = "Outcome unknown: the process stopped while this ran. Check what it did before repeating it.";

const aCall = fc.record({
  name: fc.constantFrom("read", "write", "send", "post", "missing"),
  args: fc.record({ n: fc.integer({ min: 0, max: 2 }) }),
});
const aLine: fc.Arbitrary<Line> = fc.record({
  text: fc.constantFrom("", "thinking aloud"),
  calls: fc.array(aCall, { minLength: 1, maxLength: 4 }),
});
const aTurn = fc.record({
  lines: fc.array(aLine, { maxLength: 4 }),
  arrivals: fc.array(fc.constantFrom(false, true), { maxLength: 5 }),
  crashes: fc.array(fc.record({ write: fc.nat(12), durable: fc.boolean() }), { maxLength: 4 }),
  maxSteps: fc.integer({ min: 1, max: 6 }),
  finalPass: fc.boolean(),
});

function shape(entries: readonly Entry[]): readonly string[] {
  return entries.map((entry) => {
    if (entry.type === "toolResult") return `result ${entry.callId}`;
    if (entry.type === "assistant") return `assistant ${JSON.stringify(entry.content)}`;
    return `${entry.type} ${JSON.stringify(entry)}`;
  });
}

function posted(entries: readonly Entry[]): readonly ToolResultEntry[] {
  return entries.filter(
    (entry) =>
      entry.type === "toolResult" &&
      entry.content.some((part) => part.type === "text" && part.text === "posted"),
  ) as readonly ToolResultEntry[];
}

describe("a turn that dies at any step and is resumed", () => {
  it("ends with the transcript of the turn that did not die, and starts no write twice (I7, I11)", async () => {
    await fc.assert(
      fc.asyncProperty(aTurn, async ({ lines, arrivals, crashes, maxSteps, finalPass }) => {
        const input = { maxSteps, finalPass };
        const waiting = (): ReturnType<typeof user>[][] =>
          arrivals.map((comes, nth) => (comes ? [user(`late ${nth}`)] : []));
        const tools = () => [
          tool("read", "reads", (args) => said(`read ${JSON.stringify(args)}`)),
          tool("write", "writes", (args) => said(`wrote ${JSON.stringify(args)}`)),
          tool("send", "sends"),
          keyed("post", (callId) => ({ ...said("posted"), effects: cell(callId) })),
        ];
        const done: { readonly plain: CallEffects[]; readonly crashed: CallEffects[] } = {
          plain: [],
          crashed: [],
        };
        const plain = await run(scripted(lines), {
          tools: tools(),
          input,
          journal: journal([], undefined, waiting(), done.plain),
        });

        // One durable record, one world; each life of the process dies where it is told to, the last one does
        // not.
        const steps: JournalStep[] = [];
        const world = tools();
        const model = scripted(lines);
        const left = waiting();
        let logged = 0;
        for (const crash of crashes) {
          const asked = model.requests.length;
          logged = steps.filter((step) => step.kind === "model").length;
          const died = await run(model, {
            tools: world,
            input,
            journal: journal(steps, crash, left, done.crashed),
          }).then(
            () => false,
            (error: unknown) => {
              if (!(error instanceof Crash)) throw error;
              return true;
            },
          );
          // No logged answer is asked for again: each new request either was logged or was the one that died.
          expect(model.requests.length - asked).toBeLessThanOrEqual(
            steps.filter((step) => step.kind === "model").length - logged + 1,
          );
          if (!died) break;
        }
        const { end } = await run(model, {
          tools: world,
          input,
          journal: journal(steps, undefined, left, done.crashed),
        });

        expect(shape(end.entries)).toEqual(shape(plain.end.entries));
        expect({ stop: end.stop, text: end.finalText }).toEqual({
          stop: plain.end.stop,
          text: plain.end.finalText,
        });
        // What the logged answers used, and nothing of those that died.
        expect(end.usage).toEqual(plain.end.usage);
        for (const each of world) {
          if (each.effect !== "reads" && each.keyed !== true)
            expect(new Set(each.starts).size).toBe(each.starts.length);
        }
        // What keyed calls did outside is there once for every one that has its result, and never without it.
        expect(done.crashed).toEqual(posted(end.entries).map(({ callId }) => cell(callId)));
        expect(done.plain).toEqual(posted(plain.end.entries).map(({ callId }) => cell(callId)));
        // A result differs only where it cannot be known, and where what follows from that differs.
        const resultsOf = (entries: readonly Entry[]): string =>
          JSON.stringify(entries.filter((entry) => entry.type === "toolResult"));
        if (!resultsOf(end.entries).includes("Outcome unknown"))
          expect(resultsOf(end.entries)).toBe(resultsOf(plain.end.entries));
      }),
      { numRuns: 400 },
    );
  });

  it("tells the model that a write's outcome is unknown, and runs reads again", async () => {
    const steps: JournalStep[] = [];
    const world = [tool("read", "reads"), tool("write", "writes")];
    const model = scripted([
      { calls: [{ name: "write" }] },
      { calls: [{ name: "read" }] },
      { text: "checked" },
    ]);
    // Writes of the journal: answer, intent, result. The process dies before the result is durable.
    await expect(
      run(model, { tools: world, journal: journal(steps, { write: 2, durable: false }) }),
    ).rejects.toThrow(Crash);
    // Then again before the read's result is durable: results are writes 0 (unknown), 1 (answer), 2 (read).
    await expect(
      run(model, { tools: world, journal: journal(steps, { write: 2, durable: false }) }),
    ).rejects.toThrow(Crash);
    const { end } = await run(model, { tools: world, journal: journal(steps) });
    expect(end.finalText).toBe("checked");
    expect(world.map((each) => each.starts.length)).toEqual([2, 1]);
    expect(end.entries.find((entry) => entry.type === "toolResult")).toMatchObject({
      isError: true,
      content: [{ text: unknown }],
    });
    expect(model.requests).toHaveLength(3);
  });

  it("counts what a tool's own model used, once, and asks the ledger with it", async () => {
    const steps: JournalStep[] = [];
    const usage = { ...noUsage, inputTokens: 100, outputTokens: 10, costUsd: 0.5 };
    const tools = [tool("search", "reads", () => ({ ...said("found"), usage }))];
    const model = scripted([{ calls: [{ name: "search" }] }, { text: "so" }]);
    const asked: Usage[] = [];
    const ledger: NonNullable<LoopDeps["ledger"]> = {
      async mayCall(used) {
        asked.push(used);
        return { ok: true };
      },
    };
    // The result is durable, and the process dies of it.
    const dying = run(model, { tools, ledger, journal: journal(steps, { write: 1, durable: true }) });
    await expect(dying).rejects.toThrow(Crash);
    const { end } = await run(model, { tools, ledger, journal: journal(steps) });
    expect(tools[0]?.starts).toHaveLength(1);
    expect(asked.at(-1)).toMatchObject({ inputTokens: 101, outputTokens: 10, costUsd: 0.5 });
    expect(end.usage).toMatchObject({ inputTokens: 102, outputTokens: 10, costUsd: 0.5 });
  });

  it("ends at once when only the end was missing", async () => {
    const steps: JournalStep[] = [];
    const model = scripted([{ text: "hello" }]);
    await run(model, { journal: journal(steps) });
    const { end, events } = await run(model, { journal: journal(steps) });
    expect(model.requests).toHaveLength(1);
    expect(end).toMatchObject({ stop: "stop", finalText: "hello", usage: { inputTokens: 1 } });
    expect(events.map((event) => event.type)).toEqual(["end"]);
  });
});
