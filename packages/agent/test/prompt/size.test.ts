// What the prompt costs. The estimator is chars/4; the leading system's default prompt is about 11,600
// tokens.
import { expect, test } from "vitest";
import { compile, estimateTokens, promptBudget, promptFacts, promptSections } from "../../src/index.ts";
import {
  codingTools,
  namedTools,
  stableInput,
  subagentTools,
  surfaceFacts,
  workspaceOf,
} from "./fixtures.ts";

test("a full prompt on Telegram with the coding profile and the default workspace stays under 3,500 tokens", async () => {
  const files = await workspaceOf("full", "full", "private");
  const tools = [...codingTools, ...namedTools("message gateway")];
  const surface = surfaceFacts({ reactions: "extensive", heartbeatPrompt: "Read HEARTBEAT.md." });
  const prompt = compile(
    promptSections,
    promptFacts(stableInput({ files, tools }), surface),
    promptBudget(200_000),
  );
  expect(prompt.truncations).toEqual([]);
  expect(estimateTokens(prompt.text)).toBeLessThan(3_500);
});

test("a minimal prompt stays under 900 tokens, with the default workspace too", async () => {
  const files = await workspaceOf("full", "minimal", "private");
  const surface = surfaceFacts({ channel: undefined, context: "Find the three oldest files." });
  const tokens = (input: Parameters<typeof stableInput>[0]): number =>
    estimateTokens(
      compile(promptSections, promptFacts(stableInput(input), surface), promptBudget(200_000)).text,
    );
  expect(tokens({ mode: "minimal", tools: subagentTools })).toBeLessThan(900);
  expect(tokens({ mode: "minimal", tools: subagentTools, files })).toBeLessThan(900);
});
