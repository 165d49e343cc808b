// What /verbose tells of calls: no secret, also where the text is cut, and nothing that could pass for more
// than a line.
import { expect, test } from "vitest";
import type { Journal, JournalStep } from "@parley/agent";
import { noUsage, parseContent, type ConversationKey } from "@parley/protocol";
import { tellingCalls, verboseOf, type VerboseLevel } from "../src/streaming/told-calls.ts";

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

test("each call is told under its own id with what the step records beside it, ten of them at most, and results under theirs", async () => {
  const written: unknown[] = [];
  const inner: Journal = {
    steps: [result("earlier")],
    absorb: async () => [{ type: "user", content: [], rows: ["r"], atMs: 1 }],
    checkpoint: async (steps, how) => void written.push([steps.length, how]),
  };
  const journal = tellingCalls(inner, turn, "full", redaction);
  expect([journal.steps, await journal.absorb()]).toEqual([inner.steps, await inner.absorb()]);
  const call = (nth: number) => ({ type: "toolCall", id: `c${nth}`, name: `tool${nth}`, args: {} }) as const;
  const calls = (count: number): JournalStep => {
    const step = model({});
    if (step.kind !== "model") throw new Error("no step of a model");
    return {
      ...step,
      entry: { ...step.entry, content: Array.from({ length: count }, (_, nth) => call(nth)) },
    };
  };
  const own = { deliveries: [{ id: "own" }] } as never;
  await journal.checkpoint([calls(11), result("done")], { uses: [{ key: "u", value: "1" }], effects: [own] });
  await journal.checkpoint([calls(10)], { isLast: true });
  await journal.checkpoint([calls(0)], { isLast: true });
  const delivery = (id: string, markdown: string) => ({
    id,
    pool: "telegram:default",
    lane: "telegram:default:dm:olga",
    cause: "lane#1",
    parts: [{ content: JSON.stringify({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] }) }],
  });
  const lines = Array.from({ length: 10 }, (_, nth) => `🛠️ **tool${nth}**`).join("\n");
  expect(written).toEqual([
    [
      2,
      {
        uses: [{ key: "u", value: "1" }],
        effects: [
          {
            deliveries: [
              delivery("lane#1/call/c0", `${lines}\n… and 1 more`),
              delivery("lane#1/result/c1", "↩️ **exec**\n```\ndone\n```"),
            ],
          },
          own,
        ],
      },
    ],
    [1, { isLast: true, effects: [{ deliveries: [delivery("lane#1/call/c0", lines)] }] }],
    [1, { isLast: true }],
  ]);
});

test("a call is cut at 200 characters, a result at 600, between characters; pictures and nothing are told as such", async () => {
  const args = (chars: number) => told("on", model({ a: "x".repeat(chars - 3) }));
  expect([await args(200), await args(201)]).toEqual([
    [`🛠️ **exec** \`a: ${"x".repeat(197)}\``],
    [`🛠️ **exec** \`a: ${"x".repeat(197)}…\``],
  ]);
  expect((await told("full", result("y".repeat(600))))[0]).toBe(
    `↩️ **exec**\n\`\`\`\n${"y".repeat(600)}\n\`\`\``,
  );
  expect((await told("full", result("y".repeat(601))))[0]).toContain(`${"y".repeat(600)}…\n`);
  expect((await told("full", result(`${"y".repeat(599)}😀 and more`)))[0]?.isWellFormed()).toBe(true);
  expect(await told("full", result("  \n"))).toEqual(["↩️ **exec**: no text"]);
  const pictured = result("one");
  if (pictured.kind !== "result") throw new Error("no result");
  const content = [...pictured.entry.content, { type: "image", path: "/p", mediaType: "image/png" } as const];
  expect(await told("full", { ...pictured, entry: { ...pictured.entry, content } })).toEqual([
    "↩️ **exec**\n```\none\n[image]\n```",
  ]);
  // A model may call a tool by any name.
  const odd = model({ n: { deep: [1, "two"] }, none: null });
  if (odd.kind !== "model" || odd.entry.content[0]?.type !== "toolCall") throw new Error("no call");
  const named = { ...odd.entry.content[0], name: `**a.b-c_1** ${"n".repeat(80)}` };
  expect(await told("on", { ...odd, entry: { ...odd.entry, content: [named] } })).toEqual([
    `🛠️ **a.b-c_1${"n".repeat(57)}** \`n: {"deep":[1,"two"]}, none: null\``,
  ]);
  const fields = ["on", "full", "off", "loud", 1, undefined].map((verbose) =>
    verboseOf({ fields: verbose === undefined ? {} : { verbose } }),
  );
  expect(fields).toEqual(["on", "full", "off", "off", "off", "off"]);
});
