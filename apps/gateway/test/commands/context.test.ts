// What /context says of a prompt, word for word: the parts stand in the ports.
import { groupMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { context } from "../../src/commands/look/context.ts";

const section = (id: string, zone: string, hash: string, more: object = {}) => ({
  id,
  zone,
  hash,
  tokens: 1_200,
  chars: 4_000,
  included: true,
  reason: `why ${id}`,
  ...more,
});
const explanation = {
  mode: "full",
  chars: 12_345,
  tokens: 3_000,
  stableTokens: 2_500,
  volatileTokens: 500,
  boundary: 10_000,
  estimator: "o200k",
  stableHash: "s1",
  sections: [
    section("rules", "stable", "aaaaaaaabbbb"),
    section("canvas", "stable", "", { included: false, reason: "no tool" }),
    section("time", "volatile", "ccccccccdddd"),
  ],
  files: [
    {
      name: "SOUL.md",
      state: "present",
      rawChars: 30_000,
      injectedChars: 20_000,
      truncated: true,
      hash: "f1",
    },
    {
      name: "USER.md",
      state: "present",
      rawChars: 9,
      injectedChars: 9,
      truncated: false,
      note: "x",
      hash: "f2",
    },
    { name: "TOOLS.md", state: "missing", rawChars: 0, injectedChars: 0, truncated: false, hash: "" },
    { name: "IDENTITY.md", state: "refused", rawChars: 0, injectedChars: 0, truncated: false, hash: "" },
  ],
  truncations: [{ section: "files", how: "middle", keptChars: 20_000, rawChars: 30_000 }],
  tools: [
    { name: "exec", chars: 1_000, tokens: 250, hash: "t1" },
    { name: "read", chars: 500, tokens: 125, hash: "t2" },
  ],
};

async function told(
  args: string,
  { now = explanation as object, before = null as object | null, skills = 2 } = {},
) {
  const asked: unknown[] = [];
  const inbound = groupMessage({ guild: "g", parent: "p" });
  const session = { key: "agent:main:telegram:group:-100" };
  const text = await context.run(
    { args, inbound, route: { agent: "main", session: session.key } } as never,
    {
      store: { sessions: { open: async (key: string) => (asked.push(key), session) } },
      turnPreparer: {
        prompt: async (what: object) => {
          asked.push(what);
          return { explanation: now, facts: { stable: { skills: Array.from({ length: skills }) } } };
        },
      },
      prompts: {
        last: (of: object) => (before === null || of !== session ? null : { report: "r" }),
        explanation: async ({ report }: { readonly report: string }) => (report === "r" ? before : null),
      },
    } as never,
  );
  return { lines: (text ?? "").split("\n"), asked, inbound, session };
}

const head = [
  "Prompt: full, 12,345 characters, about 3,000 tokens (o200k)",
  "Stable: about 2,500 tokens, up to the cache boundary at character 10,000; volatile: 500",
  "Tools: 2, their schemas are 1,500 characters, about 375 tokens",
  "Workspace files, raw → injected characters:",
  "- SOUL.md: 30,000 → 20,000 (cut)",
  "- USER.md: 9 → 9 (not confirmed by an owner)",
  "- TOOLS.md: missing",
  "- IDENTITY.md: may not be read",
];

test("the list has the sizes, the detail also each section in its zone, the cuts and each tool", async () => {
  const { lines, asked, inbound, session } = await told("");
  expect(lines).toEqual([
    ...head,
    "Sections: 2 in, 1 out",
    "Skills listed: 2",
    "Moved: nothing to compare with yet",
    "More: /context detail",
  ]);
  const { address } = inbound;
  expect(asked).toEqual([
    session.key,
    { agent: "main", session, place: { address, guild: "g", parent: "p" } },
  ]);
  expect((await told(" DETAIL ", { skills: 0 })).lines).toEqual([
    ...head,
    "Stable sections:",
    "- rules: 1,200 tokens, `aaaaaaaa` (why rules)",
    "- ~~canvas~~: out (no tool)",
    "Volatile sections, after the cache boundary:",
    "- time: 1,200 tokens, `cccccccc` (why time)",
    "Cuts:",
    "- files: middle, 20,000 of 30,000 characters",
    "Tool schemas:",
    "- exec: 1,000 characters, about 250 tokens",
    "- read: 500 characters, about 125 tokens",
    "Moved: nothing to compare with yet",
  ]);
  const bare = { ...explanation, files: [], tools: [], truncations: [] };
  expect((await told("detail", { now: bare })).lines.join("\n")).not.toMatch(/Cuts|Tool schemas/);
  expect((await told("list", { now: bare })).lines[3]).toBe("Workspace files: none");
  expect((await told("sizes")).lines).toEqual([
    "Usage: /context list (sizes), or /context detail (every section with its reason, every tool).",
  ]);
});

test("what moved since the last turn is told with the files behind it, and whether the cached prefix holds", async () => {
  const moved = async (before: object) =>
    (await told("", { before: { ...explanation, ...before } })).lines.find((line) =>
      line.startsWith("Moved"),
    );
  const [rules, canvas, time] = explanation.sections;
  expect(await moved({})).toBe("Moved since the last turn: nothing");
  expect(await moved({ sections: [rules, canvas, { ...time, hash: "other" }] })).toBe(
    "Moved since the last turn: time changed; the cached prefix holds",
  );
  const files = explanation.files.map((file) => ({ ...file, hash: `${file.hash}!` }));
  expect(
    await moved({
      stableHash: "s0",
      files: files.slice(0, 1).concat(explanation.files.slice(1) as never),
      sections: [{ ...rules, hash: "x" }, { ...canvas, included: true, hash: "y" }, time],
    }),
  ).toBe("Moved since the last turn: rules changed, canvas removed (SOUL.md); the cached prefix is lost");
  expect(await moved({ tools: [explanation.tools[0], { ...explanation.tools[1], hash: "t3" }] })).toBe(
    "Moved since the last turn: schemas of read; the cached prefix is lost",
  );
});
