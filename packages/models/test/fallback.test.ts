import fc from "fast-check";
import { noUsage, silentLog, sleep } from "@parley/protocol";
import { seededIds, virtualClock, type VirtualClock } from "@parley/testkit";
import { describe, expect, it } from "vitest";
import {
  cooldowns,
  type Cooldowns,
  type Model,
  type ModelError,
  type ModelErrorKind,
  modelErrorKinds,
  withFallbacks,
} from "../src/index.ts";
import { ask, asking, type Collected } from "./collect.ts";

type Turn = { readonly text?: string; readonly error?: ModelError };

interface Player extends Model {
  readonly calls: number[];
}

/** Plays one turn per call, the last one forever; notes when it was called. */
function player(id: string, clock: VirtualClock, ...turns: readonly Turn[]): Player {
  const calls: number[] = [];
  return {
    id,
    contextWindow: 1000,
    maxTokens: 100,
    vision: false,
    reasoning: false,
    calls,
    async *stream() {
      calls.push(clock.mono());
      const { text, error } = turns[Math.min(calls.length, turns.length) - 1] ?? {};
      if (text !== undefined) yield { type: "text", delta: text };
      const content = text === undefined ? [] : [{ type: "text" as const, text }];
      const usage = { inputTokens: 1, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
      yield {
        type: "end",
        stop: error === undefined ? "stop" : error.kind === "aborted" ? "aborted" : "error",
        usage,
        content,
        ...(error === undefined ? {} : { error }),
      };
    },
  };
}

const failing = (kind: ModelErrorKind, retryAfterMs?: number): Turn => ({
  error: { kind, message: kind, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
});
const good: Turn = { text: "fine" };

async function play(
  clock: VirtualClock,
  models: readonly [Model, ...Model[]],
  rests: Cooldowns = cooldowns(clock),
): Promise<Collected> {
  const model = withFallbacks(models, { clock, ids: seededIds(1), log: silentLog, cooldowns: rests });
  let done = false;
  const answer = ask(model, asking("hi")).finally(() => (done = true));
  while (!done) await clock.advanceToNext();
  return answer;
}

describe("a model with fallbacks", () => {
  it("answers with the primary while it is in order", async () => {
    const clock = virtualClock();
    const [first, second] = [player("a/1", clock, good), player("b/2", clock, good)];
    const { end, text } = await play(clock, [first, second]);
    expect([text, end.model, second.calls]).toEqual(["fine", undefined, []]);
  });

  it.each(["rate_limited", "overloaded", "unavailable", "torn"] as const)(
    "repeats a passing failure (%s) at the same model, then asks the next",
    async (kind) => {
      const clock = virtualClock();
      const [first, second] = [player("a/1", clock, failing(kind)), player("b/2", clock, good)];
      const { end } = await play(clock, [first, second]);
      expect([first.calls.length, second.calls.length, end.model]).toEqual([2, 1, "b/2"]);
      expect(end.usage.inputTokens).toBe(3);
    },
  );

  it.each(["auth", "billing", "not_found", "invalid", "timeout"] as const)(
    "asks the next model at once after %s",
    async (kind) => {
      const clock = virtualClock();
      const [first, second] = [player("a/1", clock, failing(kind)), player("b/2", clock, good)];
      expect((await play(clock, [first, second])).end.model).toBe("b/2");
      expect(first.calls.length).toBe(1);
      expect(clock.mono()).toBe(0);
    },
  );

  it.each(["aborted", "context_overflow", "refused"] as const)(
    "never asks another model after %s",
    async (kind) => {
      const clock = virtualClock();
      const [first, second] = [player("a/1", clock, failing(kind)), player("b/2", clock, good)];
      expect((await play(clock, [first, second])).end.error?.kind).toBe(kind);
      expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
    },
  );

  it("still asks the next model when the first one was silent for longer than the budget", async () => {
    const clock = virtualClock();
    const silent: Model = {
      ...player("a/1", clock),
      async *stream() {
        await sleep(clock, 120_000);
        yield {
          type: "end",
          stop: "error",
          usage: noUsage,
          content: [],
          error: { kind: "timeout", message: "no first token" },
        };
      },
    };
    expect((await play(clock, [silent, player("b/2", clock, good)])).end.model).toBe("b/2");
  });

  it("waits at least as long as the server asks", async () => {
    const clock = virtualClock();
    const alone = player("a/1", clock, failing("rate_limited", 20_000), good);
    expect((await play(clock, [alone])).text).toBe("fine");
    expect(alone.calls).toEqual([0, 20_000]);
  });

  it("does not wait longer than a person would while another model is at hand", async () => {
    const clock = virtualClock();
    const [first, second] = [
      player("a/1", clock, failing("rate_limited", 20_000)),
      player("b/2", clock, good),
    ];
    await play(clock, [first, second]);
    expect([first.calls, second.calls]).toEqual([[0], [0]]);
  });

  it("gives up at a wait beyond its cap, and within its budget in any case", async () => {
    const clock = virtualClock();
    expect((await play(clock, [player("a/1", clock, failing("rate_limited", 61_000))])).end.error?.kind).toBe(
      "rate_limited",
    );
    expect(clock.mono()).toBe(0);
    await play(clock, [player("a/1", clock, failing("overloaded"))]);
    expect(clock.mono()).toBeLessThanOrEqual(90_000);
  });

  it("tells the reader to forget what a failed attempt had said", async () => {
    const clock = virtualClock();
    const first = player(
      "a/1",
      clock,
      { text: "half an ans", error: { kind: "torn", message: "cut" } },
      good,
    );
    const { events } = await play(clock, [first]);
    expect(events.map((event) => (event.type === "text" ? event.delta : event.type))).toEqual([
      "half an ans",
      "discard",
      "fine",
      "end",
    ]);
  });

  it("prefers a model in order to one that cools, and comes back to it after the rest", async () => {
    const clock = virtualClock();
    const rests = cooldowns(clock);
    const [first, second] = [player("a/1", clock, failing("auth"), good), player("b/2", clock, good)];
    await play(clock, [first, second], rests);
    expect(rests.leftMs("a/1")).toBe(600_000);
    expect((await play(clock, [first, second], rests)).end.model).toBe("b/2");
    expect(first.calls.length).toBe(1);
    await clock.advance(600_000);
    expect((await play(clock, [first, second], rests)).end.model).toBeUndefined();
    expect(first.calls.length).toBe(2);
  });

  it("asks the one that is due first when all cool: recovery needs no restart (I10)", async () => {
    const clock = virtualClock();
    const rests = cooldowns(clock);
    rests.failed("a/1", "auth");
    rests.failed("b/2", "overloaded");
    const [first, second] = [player("a/1", clock, good), player("b/2", clock, good)];
    expect((await play(clock, [first, second], rests)).end.model).toBe("b/2");
    expect(rests.leftMs("b/2")).toBe(0);
  });

  it("cools longer with every failure in a row, up to five minutes", () => {
    const clock = virtualClock();
    const rests = cooldowns(clock);
    const left = [1, 2, 3, 4].map(() => {
      rests.failed("a/1", "overloaded");
      return rests.leftMs("a/1");
    });
    expect(left).toEqual([30_000, 60_000, 300_000, 300_000]);
    rests.failed("a/1", "rate_limited", 400_000);
    expect(rests.leftMs("a/1")).toBe(400_000);
  });

  it("writes down each failure with the provider's own reason, which the log is named for", async () => {
    const clock = virtualClock();
    const written: unknown[] = [];
    const error: ModelError = { kind: "invalid", status: 400, message: "max_tokens is not supported" };
    const model = withFallbacks([player("a/1", clock, { error })], {
      clock,
      ids: seededIds(1),
      log: { ...silentLog, warn: (fields) => void written.push(fields) },
      cooldowns: cooldowns(clock),
    });
    await ask(model, asking("hi"));
    expect(written).toEqual([
      { model: "a/1", attempt: 1, kind: "invalid", status: 400, reason: "max_tokens is not supported" },
    ]);
  });

  it("ends at once when it is stopped while it waits", async () => {
    const clock = virtualClock();
    const stop = new AbortController();
    const model = withFallbacks([player("a/1", clock, failing("overloaded"))], {
      clock,
      ids: seededIds(1),
      log: silentLog,
      cooldowns: cooldowns(clock),
    });
    const answer = ask(model, asking("hi"), stop.signal);
    await clock.advance(100);
    stop.abort();
    expect((await answer).end).toMatchObject({ stop: "aborted", error: { kind: "aborted" } });
    expect(clock.armed()).toBe(0);
  });

  it("whatever fails: ends once, within the budget, with the words of one attempt only", async () => {
    const aTurn = fc.record({
      text: fc.constantFrom(undefined, "some words"),
      kind: fc.constantFrom("ok", ...modelErrorKinds),
      waitMs: fc.constantFrom(undefined, 100, 30_000, 200_000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(aTurn, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
        async (plans) => {
          const clock = virtualClock();
          const [first = player("none", clock), ...others] = plans.map((plan, nth) =>
            player(
              `p/${nth}`,
              clock,
              ...plan.map(({ text, kind, waitMs }) => ({
                ...(text === undefined ? {} : { text }),
                ...(kind === "ok" ? {} : failing(kind, waitMs)),
              })),
            ),
          );
          const { end, events } = await play(clock, [first, ...others]);
          const kept = events.slice(events.findLastIndex((event) => event.type === "discard") + 1);
          const text = kept.map((event) => (event.type === "text" ? event.delta : "")).join("");
          expect(text).toBe(end.content.map((part) => (part.type === "text" ? part.text : "")).join(""));
          expect(clock.mono()).toBeLessThanOrEqual(90_000);
          expect(clock.armed()).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("how long a model with fallbacks waits", () => {
  /** When each model was asked, with chance at one end. */
  async function asked(
    chance: number,
    ...plans: readonly (readonly [id: string, ...turns: readonly Turn[]])[]
  ): Promise<{
    readonly calls: readonly (readonly number[])[];
    readonly end: Collected["end"];
    readonly atMs: number;
  }> {
    const clock = virtualClock();
    const [first = player("none", clock), ...others] = plans.map(([id, ...turns]) =>
      player(id, clock, ...turns),
    );
    const model = withFallbacks([first, ...others], {
      clock,
      ids: { chance: () => chance },
      log: silentLog,
      cooldowns: cooldowns(clock),
    });
    let done = false;
    const answer = ask(model, asking("hi")).finally(() => (done = true));
    while (!done) await clock.advanceToNext();
    return {
      calls: [first, ...others].map(({ calls }) => calls),
      end: (await answer).end,
      atMs: clock.mono(),
    };
  }

  it("is doubled each time, half of it by chance, eight times or as long as it may", async () => {
    const failed = ["a/1", failing("overloaded")] as const;
    expect((await asked(0, failed)).calls).toEqual([[0, 500, 1_500, 3_500, 7_500, 15_500, 30_500, 45_500]]);
    expect((await asked(1, failed)).calls).toEqual([[0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000]]);
    // The last wait would end behind the ninety seconds.
    expect((await asked(1, failed)).atMs).toBe(61_000);
    const exact = await asked(0, ["a/1", failing("overloaded", 45_000)]);
    expect(exact.calls).toEqual([[0, 45_000, 90_000]]);
  });

  it("is what the server asks for, up to a minute alone and five seconds beside others", async () => {
    const alone = async (waitMs: number) =>
      (await asked(0, ["a/1", failing("rate_limited", waitMs), good])).calls;
    expect([await alone(60_000), await alone(60_001), await alone(499)]).toEqual([
      [[0, 60_000]],
      [[0]],
      [[0, 500]],
    ]);
    const beside = async (waitMs: number) =>
      (await asked(0, ["a/1", failing("rate_limited", waitMs), good], ["b/2", good])).calls;
    expect([await beside(5_000), await beside(5_001)]).toEqual([
      [[0, 5_000], []],
      [[0], [0]],
    ]);
    // The last of them has nobody behind it, so it is asked as one alone is.
    const last = await asked(0, ["a/1", failing("torn")], ["b/2", failing("timeout", 6_000), good]);
    expect(last.calls).toEqual([
      [0, 500],
      [500, 6_500],
    ]);
    expect(last.end).toMatchObject({ stop: "stop", model: "b/2", usage: { inputTokens: 4 } });
  });

  it("and when all have failed, ends with what the last one said", async () => {
    const { end, calls } = await asked(
      0,
      ["a/1", failing("auth")],
      ["b/2", failing("billing")],
      ["c/3", failing("invalid")],
    );
    expect(calls).toEqual([[0], [0], [0]]);
    expect(end).toMatchObject({
      stop: "error",
      model: "c/3",
      error: { kind: "invalid" },
      usage: { inputTokens: 3 },
    });
  });
});

it("the combined model is the primary, priced where all are; a failure rests the one that failed, an invalid request none", async () => {
  const clock = virtualClock();
  const primary: Model = {
    ...player("a/1", clock, failing("invalid")),
    contextWindow: 7,
    maxTokens: 8,
    vision: true,
    reasoning: true,
    thinking: ["low"],
    priced: true,
  };
  const second: Model = { ...player("b/2", clock, failing("timeout", 700_000)), priced: true };
  const unpriced = player("c/3", clock, good);
  const rests = cooldowns(clock);
  const options = { clock, ids: seededIds(1), log: silentLog, cooldowns: rests };
  const { stream: _stream, ...shown } = withFallbacks([primary, second], options);
  const facts = {
    id: "a/1",
    contextWindow: 7,
    maxTokens: 8,
    vision: true,
    reasoning: true,
    thinking: ["low"],
  };
  expect(shown).toEqual({ ...facts, priced: true });
  expect(withFallbacks([primary, unpriced], options).priced).toBe(false);
  expect(withFallbacks([unpriced, primary], options)).toMatchObject({ id: "c/3", priced: false });
  const { end } = await play(clock, [primary, second, unpriced], rests);
  expect(end.model).toBe("c/3");
  expect(["a/1", "b/2", "c/3"].map((id) => rests.leftMs(id))).toEqual([0, 700_000, 0]);
});

describe("what only a person can mend", () => {
  it.each([
    ["auth", true],
    ["billing", true],
    ["not_found", true],
    ["unavailable", false],
  ] as const)(
    "is known of a model after %s, until it answers or the config changes",
    async (kind, isTrouble) => {
      const clock = virtualClock();
      const rests = cooldowns(clock);
      await play(clock, [player("a/1", clock, failing(kind)), player("b/2", clock, good)], rests);
      expect(rests.troubles()).toEqual(isTrouble ? [{ model: "a/1", kind }] : []);
      rests.mended();
      expect(rests.troubles()).toEqual([]);
      // Asked again at once where somebody may have mended it, and not before its time where nobody can.
      expect(rests.leftMs("a/1") > 0).toBe(!isTrouble);
      rests.failed("a/1", kind);
      rests.succeeded("a/1");
      expect(rests.troubles()).toEqual([]);
    },
  );
});
