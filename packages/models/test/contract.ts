// What every model must keep, whoever serves it. A driver is not done before this suite is called on it.
import type { VirtualClock } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Model } from "@parley/models";
import { ask, asking, collect, weatherTool } from "./collect.ts";

export interface ModelStage {
  readonly model: Model;
  readonly clock: VirtualClock;
  /**
   * Arranges what the next call answers, and returns what to ask for it. `call`: `weather` with
   * `{"city":"Oslo"}`.
   */
  arrange(answer: "words" | "call" | "failure" | "hang"): string;
  close(): Promise<void>;
}

export function modelContract(name: string, open: () => Promise<ModelStage>): void {
  describe(`${name} keeps the contract of models`, () => {
    let stage: ModelStage;
    beforeEach(async () => {
      stage = await open();
    });
    afterEach(() => stage.close());

    test("its name says provider and model, its sizes are positive", () => {
      expect(stage.model.id).toMatch(/^[^/]+\/.+/);
      expect(stage.model.contextWindow).toBeGreaterThan(0);
      expect(stage.model.maxTokens).toBeGreaterThan(0);
    });

    test("the deltas of an answer are the text of its end", async () => {
      const got = await ask(stage.model, asking(stage.arrange("words")));
      expect(got.text).not.toBe("");
      expect(got.end.stop).toBe("stop");
      expect(got.end.content.map((part) => (part.type === "text" ? part.text : "")).join("")).toBe(got.text);
      expect(got.end.usage.inputTokens).toBeGreaterThanOrEqual(0);
    });

    test("a tool call comes whole, in an event and in the end", async () => {
      const got = await ask(stage.model, asking(stage.arrange("call"), { tools: [weatherTool] }));
      expect(got.calls).toMatchObject([{ name: "weather", args: { city: "Oslo" } }]);
      expect(got.end.stop).toBe("toolUse");
      expect(got.end.content.filter((part) => part.type === "toolCall")).toEqual(got.calls);
      expect(got.calls[0]?.id).not.toBe("");
    });

    test("a failure is a value", async () => {
      const { end, calls } = await ask(
        stage.model,
        asking(stage.arrange("failure"), { tools: [weatherTool] }),
      );
      expect(end.stop).toBe("error");
      expect(end.error?.kind).toBe("overloaded");
      expect(calls).toEqual([]);
    });

    test("a call that is stopped before it begins says so and nothing else", async () => {
      const got = await ask(stage.model, asking(stage.arrange("words")), AbortSignal.abort());
      expect(got.events).toHaveLength(1);
      expect(got.end).toMatchObject({ stop: "aborted", error: { kind: "aborted" } });
    });

    test("a call that hangs ends when it is stopped, without help of a timer", async () => {
      const stop = new AbortController();
      const answer = collect(stage.model.stream(asking(stage.arrange("hang")), stop.signal));
      await new Promise((resolve) => setTimeout(resolve, 50));
      stop.abort();
      expect((await answer).end.stop).toBe("aborted");
    });

    test("nothing stays armed behind an answer, a failure or a reader that went away", async () => {
      await ask(stage.model, asking(stage.arrange("words")));
      await ask(stage.model, asking(stage.arrange("failure")));
      for await (const event of stage.model.stream(
        asking(stage.arrange("words")),
        new AbortController().signal,
      )) {
        expect(event.type).toBeDefined();
        break;
      }
      expect(stage.clock.armed()).toBe(0);
    });
  });
}
