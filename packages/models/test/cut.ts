// Cuts a recorded stream at given bytes and checks that no rest is ever taken for an answer.
import { type FakeModels, type ModelStep, streamBytes, modelStep } from "@parley/testkit";
import { expect } from "vitest";
import { ask, asking, weatherTool, type wires } from "./collect.ts";

const step: ModelStep = {
  text: "Two 👍 words",
  toolCalls: [{ id: "c1", name: "weather", args: { city: "Paris" } }],
  usage: { input: 3, output: 4 },
};

/** The length of the stream, and where its events end. */
export function recorded(wire: (typeof wires)[number]["wire"]): {
  readonly bytes: Buffer;
  readonly boundaries: readonly number[];
} {
  const bytes = streamBytes(modelStep.parse(step), { wire, model: "fake" });
  const boundaries = [...bytes.toString("latin1").matchAll(/\n\n/g)].map((match) => match.index + 2);
  return { bytes, boundaries };
}

/** How many of the cuts were told as torn; the others lost nothing but what follows the terminal event. */
export async function cutAt(
  server: FakeModels,
  { wire, model }: (typeof wires)[number],
  offsets: readonly number[],
  reset: boolean,
): Promise<number> {
  const { bytes } = recorded(wire);
  let torn = 0;
  for (const cutAtByte of offsets) {
    server.script({ ...step, cutAtByte, reset });
    const got = await ask(model(server.url), asking("hi", { tools: [weatherTool] }));
    if (got.end.error !== undefined) {
      torn += 1;
      expect(["torn", "unavailable"]).toContain(got.end.error.kind);
      expect(got.calls).toEqual([]);
      expect(got.end.content.every((part) => part.type !== "toolCall")).toBe(true);
    } else {
      expect(got.calls).toEqual([{ type: "toolCall", id: "c1", name: "weather", args: { city: "Paris" } }]);
      expect(got.text).toBe("Two 👍 words");
      expect(bytes.subarray(cutAtByte).toString()).not.toMatch(
        /"finish_reason":"|"type":"response\.completed|"type":"message_stop"\}/,
      );
    }
  }
  return torn;
}
