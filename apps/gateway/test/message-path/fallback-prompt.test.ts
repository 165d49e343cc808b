// Each model of a turn is asked with what was made for it: a fallback has another name, another family,
// another way to think, another window.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { labConfig, labModels, type Lab } from "./lab-models.ts";
import { stage, type Stage } from "./stage.ts";
import { textTool } from "./text-tool.ts";

let s: Stage;
let lab: Lab;
beforeEach(() => {
  lab = labModels();
});
afterEach(() => s.close());

const thinking = (agents: object = {}): { readonly [key: string]: unknown } => ({
  ...labConfig,
  agents: { defaults: { ...labConfig.agents.defaults, thinkingDefault: "high", models: {}, ...agents } },
});

describe("a fallback", () => {
  test("is asked with a prompt of its own, and what it thinks in tags is shown to nobody", async () => {
    s = await stage({ config: thinking(), models: lab.models });
    lab.script = ({ model, text }) =>
      model === "lab/plain"
        ? { fails: "auth" }
        : { says: `<think>secret plan</think><final>re: ${text}</final>` };
    await s.person("alice").says("hello").gets("re: hello");
    const [primary, fallback] = lab.calls;
    expect(primary?.system).toContain("model=lab/plain | default_model=lab/plain");
    expect(primary?.system).not.toContain("<final>");
    expect(fallback?.system).toContain("model=lab/words | default_model=lab/plain");
    expect(fallback?.system).toContain("## Reasoning Format");
    expect(s.person("alice").sees().join()).not.toContain("secret");
  });

  test("that answers without its tags has answered all the same", async () => {
    s = await stage({ config: thinking(), models: lab.models });
    lab.script = ({ model, text }) => (model === "lab/plain" ? { fails: "auth" } : { says: `re: ${text}` });
    await s.person("alice").says("hello").gets("re: hello");
  });

  test("of another family gets that family's texts, and the primary none of them", async () => {
    s = await stage({
      config: thinking({ model: { primary: "lab/plain", fallbacks: ["lab/gpt-5-mini"] } }),
      models: lab.models,
    });
    lab.script = ({ model, text }) => (model === "lab/plain" ? { fails: "auth" } : { says: `re: ${text}` });
    await s.person("alice").says("hello").gets("re: hello");
    expect(lab.calls.map(({ system }) => system.includes("never end on a plan or a promise"))).toEqual([
      false,
      true,
    ]);
  });

  test("thinks as the message says, at a level that it takes", async () => {
    s = await stage({
      config: thinking({ model: { primary: "lab/plain", fallbacks: ["lab/restless"] } }),
      models: lab.models,
    });
    lab.script = ({ model, text }) => (model === "lab/plain" ? { fails: "auth" } : { says: `re: ${text}` });
    await s.person("alice").says("/think minimal hello").gets("re: hello");
    expect(lab.calls.map(({ thinking: level }) => level)).toEqual(["minimal", "low"]);
  });

  test("with a smaller window is asked about the newest part of a conversation, and answers", async () => {
    s = await stage({
      config: thinking({ model: { primary: "lab/plain", fallbacks: ["lab/small"] } }),
      models: lab.models,
    });
    const alice = s.person("alice");
    for (const nth of [1, 2, 3, 4, 5]) await alice.says(`${nth} ${"long ".repeat(800)}`).gets(/^re: /);
    lab.script = ({ model, text }) =>
      model === "lab/plain" ? { fails: "auth" } : { says: `small: ${text.slice(-4)}` };
    await alice.says("last").gets("small: last");
    const { messages } = lab.requests.at(-1) ?? { messages: [] };
    const words = JSON.stringify(messages);
    expect(words).toContain("Earlier parts of this conversation are left out");
    expect(words).not.toContain("1 long");
    expect(Buffer.byteLength(words) / 4).toBeLessThan(4_000);
  });

  test("may not use a tool that its rules take away, even when it calls it", async () => {
    const config = { ...thinking(), tools: { byProvider: { "lab/words": { deny: ["look"] } } } };
    let looked = 0;
    s = await stage({
      config,
      models: lab.models,
      tools: [textTool("look", () => `looked ${(looked += 1)}`)],
    });
    lab.script = ({ model }) => (model === "lab/plain" ? { fails: "auth" } : { says: "so", tool: "look" });
    await s.person("alice").says("look").gets(/so/);
    expect(looked).toBe(0);
    expect(lab.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["look"], [], []]);
    expect(JSON.stringify(lab.requests.at(-1)?.messages)).toContain("is not for this model");
    await expect(await s.trace()).toMatchFileSnapshot("traces/fallback-tools.txt");
  });
});

describe("without any tool", () => {
  test("the talk goes on, and the prompt says that there is none", async () => {
    const config = { ...labConfig, tools: { allow: ["memory_search"] } };
    s = await stage({ config, models: lab.models, tools: [textTool("look", () => "seen")] });
    await s.person("alice").says("hello").gets("re: hello");
    expect(lab.requests[0]?.tools).toEqual([]);
    expect(lab.calls[0]?.system).toContain("No tools are available in this session");
  });
});

describe("in a group", () => {
  test("the tools that the model is told of are the same whoever asks; a call for somebody who may not is refused", async () => {
    let looked = 0;
    const rules = { toolsBySender: { "telegram:mallory": { deny: ["look"] } } };
    s = await stage({
      config: { ...labConfig, tools: rules },
      telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } },
      models: lab.models,
      tools: [textTool("look", () => `looked ${(looked += 1)}`)],
    });
    lab.script = () => ({ says: "so", tool: "look" });
    const group = {
      address: { channel: "telegram", account: "default", kind: "group", peer: "club" },
    } as const;
    const alice = s.person("alice", { chat: "club" });
    await alice.says("look", group).gets(/so/);
    expect(looked).toBe(1);
    s.person("mallory", { chat: "club" }).says("look", group);
    await s.until(() => lab.calls.length === 4 && s.pools().turnsRunning() === 0, "the second turn");
    expect(looked).toBe(1);
    expect(JSON.stringify(lab.requests.at(-1)?.messages)).toContain("may not use");
    expect(
      new Set(lab.requests.map(({ tools, system }) => JSON.stringify([tools, system.stable]))).size,
    ).toBe(1);
  });
});
