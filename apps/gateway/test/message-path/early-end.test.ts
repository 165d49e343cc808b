// Answers that end before they are done: the person is told in plain words, whatever was said before.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { labConfig, labModels, type Lab } from "./lab-models.ts";
import { stage, type Stage } from "./stage.ts";
import { textTool } from "./text-tool.ts";

let s: Stage;
let lab: Lab;
beforeEach(async () => {
  lab = labModels();
  const config = { ...labConfig, agents: { defaults: { model: "lab/plain" } } };
  s = await stage({ config, models: lab.models, tools: [textTool("look", () => "nothing new")] });
});
afterEach(() => s.close());

describe("an answer that ends early", () => {
  test.each([
    [
      "length",
      "Once upon a time",
      /^Once upon a time\n+⚠️ My answer was cut off here: it reached the longest/,
    ],
    [
      "cut",
      "Once upon a time",
      /^Once upon a time\n+⚠️ The language model's provider cut my answer off here\.$/,
    ],
    ["length", "see:\n```js\nlet a = 1;", /^see:\nlet a = 1;\n+⚠️ My answer was cut off here/],
    ["length", "", /^⚠️ The model used up all that it may write before it came to an answer\./],
    ["cut", "", /^⚠️ The language model's provider ended my answer before its first word\./],
  ] as const)("by %s after %j says so", async (ends, says, shown) => {
    lab.script = () => ({ says, ends });
    await s.person("alice").says("tell me").gets(shown);
  });

  test.each([
    ["", /^⚠️ I was repeating the same step and got no further, so I stopped\./],
    [
      "I could not find it.",
      /^I could not find it\.\n+⚠️ I stopped here: I was repeating the same step and got no further\.$/,
    ],
  ])("because it called the same tool over and over and then said %j says so", async (says, shown) => {
    lab.script = () => {
      const hadEnough = lab.calls.length > 8;
      return hadEnough && says !== "" ? { says } : { tool: "look", ends: "toolUse" };
    };
    await s.person("alice").says("look").gets(shown);
    expect(lab.calls.length).toBeLessThan(12);
  });
});

describe("a model that asks for patience", () => {
  test.each([
    [3_600_000, "in about an hour"],
    [600_000, "in about 10 minutes"],
    [7_200_000, "in about 2 hours"],
    [3 * 86_400_000, "in about 3 days"],
  ])("of %i ms is told truthfully", async (retryAfterMs, when) => {
    lab.script = () => ({ fails: "rate_limited", retryAfterMs });
    await s
      .person("alice")
      .says("hello")
      .gets(`⚠️ The language model asks us to slow down. Please try again ${when}.`);
  });
});
