// What /verbose tells of calls: no secret, also where the text is cut, and nothing that could pass for more than a line.
import { expect, test } from "vitest";
import type { Journal, JournalStep } from "@parley/agent";
import { noUsage, parseContent, type ConversationKey } from "@parley/protocol";
import { tellingCalls, type VerboseLevel } from "../src/streaming/told-calls.ts";

const secret = "sk-live-0123456789abcdefghij";
const turn = { id: "lane#1", conversation: "telegram:default:dm:olga" as ConversationKey };
const redaction = { secrets: [secret], stateDirs: ["/home/olga/.parley"], workspaces: [] };

const model = (args: object): JournalStep => ({
  kind: "model",
  entry: {
    type: "assistant",
    content: [{ type: "toolCall", id: "c1", name: "exec", args: args as never }],
    model: "a/b",
    stop: "toolUse",
    usage: noUsage,
    atMs: 0,
  },
  bad: [],
  closing: false,
});
const result = (text: string, isError = false): JournalStep => ({
  kind: "result",
  entry: {
    type: "toolResult",
    callId: "c1",
    name: "exec",
    content: [{ type: "text", text }],
    isError,
    atMs: 0,
  },
});

async function told(level: VerboseLevel, step: JournalStep): Promise<readonly string[]> {
  const seen: string[] = [];
  const journal: Journal = {
    steps: [],
    absorb: async () => [],
    async checkpoint(_steps, { effects = [] } = {}) {
      for (const { parts } of effects.flatMap(({ deliveries = [] }) => deliveries)) {
        const content = parseContent(parts[0]?.content ?? "");
        if (content.kind === "reply" && content.parts[0]?.kind === "text")
          seen.push(content.parts[0].markdown);
      }
    },
  };
  await tellingCalls(journal, turn, level, redaction).checkpoint([step]);
  return seen;
}

test("a secret is taken out before a call or a result is cut", async () => {
  for (let before = 150; before < 210; before += 1) {
    const [call = ""] = await told("on", model({ command: `${"x".repeat(before)}${secret}` }));
    expect(call).not.toContain("sk-live");
    expect(call.length).toBeLessThan(240);
  }
  for (let before = 560; before < 610; before += 1) {
    const [words = ""] = await told("full", result(`${"x".repeat(before)}${secret}`));
    expect(words).not.toContain("sk-live");
  }
  expect((await told("full", result("see /home/olga/.parley/state.db"))).join("")).not.toContain(
    ".parley/state",
  );
});

test("arguments stay one line of code, and a result cannot leave its fence", async () => {
  const [call] = await told("on", model({ command: "a`b\n\n# head", n: 1 }));
  expect(call).toBe("🛠️ **exec** `command: a'b # head, n: 1`");
  const [words = ""] = await told("full", result("```\n**bold**", true));
  expect(words).toBe("⚠️ **exec**\n````\n```\n**bold**\n````");
});

test("off tells nothing, and on no results", async () => {
  expect(await told("off", model({ a: 1 }))).toEqual([]);
  expect(await told("on", result("done"))).toEqual([]);
});
