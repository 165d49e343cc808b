// Whole prompts per mode, surface and workspace. A diff in test/golden is a diff in behaviour; `vitest -u`
// writes them anew.
import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import {
  compile,
  type CompiledPrompt,
  promptBudget,
  promptFacts,
  promptSections,
  type PromptMode,
  type SurfaceFacts,
} from "../../src/index.ts";
import {
  codingTools,
  namedTools,
  discord,
  stableInput,
  subagentTools,
  surfaceFacts,
  telegram,
  web,
  type WorkspaceKind,
  workspaceOf,
} from "./fixtures.ts";

const surfaces: { readonly [name: string]: { readonly shared: boolean; readonly facts: SurfaceFacts } } = {
  "telegram-dm": {
    shared: false,
    facts: surfaceFacts({
      heartbeatPrompt: "Read HEARTBEAT.md. If nothing needs attention, reply HEARTBEAT_OK.",
    }),
  },
  "telegram-topic": {
    shared: true,
    facts: surfaceFacts({
      session: "agent:main:telegram:group:-1007:topic:42",
      channel: { ...telegram, kind: "group", threaded: true },
      silence: "unasked",
      reactions: "minimal",
      context: "This topic is about the garden.",
    }),
  },
  "discord-channel": {
    shared: true,
    facts: surfaceFacts({
      session: "agent:main:discord:channel:9001",
      channel: discord,
      silence: "free",
      reactions: "extensive",
      contextTellsSilence: true,
      context: "If nothing is to be said, answer with only NO_REPLY.",
    }),
  },
  web: {
    shared: false,
    facts: surfaceFacts({
      session: "agent:main:web:dm:web-1",
      channel: web,
      reasoningTags: true,
      reasoning: "stream",
    }),
  },
  cron: {
    shared: false,
    facts: surfaceFacts({ session: "agent:main:cron:daily:run:7", channel: undefined, silence: "free" }),
  },
  subagent: {
    shared: false,
    facts: surfaceFacts({
      session: "agent:main:subagent:5",
      channel: undefined,
      silence: "free",
      context: "Find the three oldest files. Your last message is handed to your parent.",
    }),
  },
};
const modes: readonly PromptMode[] = ["full", "minimal", "none"];
const workspaces: readonly WorkspaceKind[] = ["empty", "full", "oversize"];

const cases = modes.flatMap((mode) =>
  Object.keys(surfaces).flatMap((surface) => workspaces.map((kind) => ({ mode, surface, kind }))),
);
const nameOf = ({ mode, surface, kind }: (typeof cases)[number]): string => `${mode}.${surface}.${kind}.md`;

function shown(prompt: CompiledPrompt): string {
  const cuts = prompt.truncations.map(
    (cut) => `- ${cut.section}: ${cut.how}, ${cut.keptChars} of ${cut.rawChars} characters`,
  );
  const report = [`<!-- stable ${prompt.stableHash} -->`, ...cuts].join("\n");
  return `${prompt.stable}\n\n<!-- cache boundary -->${prompt.volatile}\n\n${report}\n`;
}

describe("golden prompts", () => {
  test.each(cases)("$mode on $surface with a workspace that is $kind", async (each) => {
    const surface = surfaces[each.surface];
    if (surface === undefined) throw new Error("unknown surface");
    const audience = surface.shared ? "shared" : "private";
    const stable = stableInput({
      mode: each.mode,
      audience,
      tools: each.mode === "full" ? [...codingTools, ...namedTools("message")] : subagentTools,
      files: await workspaceOf(each.kind, each.mode, audience),
    });
    const prompt = compile(promptSections, promptFacts(stable, surface.facts), promptBudget(200_000));
    await expect(shown(prompt)).toMatchFileSnapshot(`../golden/${nameOf(each)}`);
  });

  test("no golden is left over", async () => {
    const there = await readdir(new URL("../golden/", import.meta.url));
    expect(there.toSorted()).toEqual(cases.map(nameOf).toSorted());
  });
});
