// What the prompt costs: compile time cold and warm, tokens per mode, throughput of the reply parser. Times
// are also told as multiples of a baseline that any machine can run (SHA-256 over the same text), so that
// figures of two machines can be compared. `node bench/prompt.ts [--json <file>]`
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  bootstrapFiles,
  compile,
  defaultCaps,
  ensureWorkspace,
  estimateTokens,
  explain,
  hashOf,
  type PromptFacts,
  type PromptMode,
  promptBudget,
  promptFacts,
  promptSections,
  replyParser,
  tokenEstimator,
} from "@parley/agent";
import { telegramCapabilities } from "@parley/channels";
import { silentLog, systemClock } from "@parley/protocol";
import { catalogue } from "@parley/tools";
import { Bench } from "tinybench";

const windowTokens = 200_000;
const coding =
  "read write edit apply_patch exec process memory_search memory_get sessions_list sessions_history sessions_send sessions_spawn subagents session_status cron image message";
const subagent = "read write edit apply_patch exec process memory_search memory_get image";

/** Telegram, coding profile, default workspace. */
async function factsOf(mode: PromptMode, workspace: string): Promise<PromptFacts> {
  const session = mode === "minimal" ? "agent:main:subagent:1" : "agent:main:telegram:dm:1001";
  const files = await bootstrapFiles({ caps: defaultCaps, hooks: [], log: silentLog }).load({
    workspace,
    mode,
    audience: "private",
    heartbeats: true,
    agent: "main",
    session,
  });
  return promptFacts(
    {
      version: "0.1.0",
      agent: "main",
      mode,
      audience: "private",
      modelFamily: "claude",
      tools: (mode === "minimal" ? subagent : coding).split(" ").map((name) => ({
        name,
        summary: catalogue.find(({ id }) => id === name)?.summary ?? "",
      })),
      skills: [],
      citations: "auto",
      modelAliases: [],
      workspace: "/home/ann/.parley/workspace",
      files,
      warnTruncation: false,
      docs: { path: "/opt/parley/docs", source: "/opt/parley" },
      owners: [],
      timeZone: "Europe/Berlin",
    },
    {
      session,
      channel:
        mode === "minimal"
          ? undefined
          : {
              name: "telegram",
              kind: "dm",
              threaded: false,
              capabilities: telegramCapabilities,
              actions: ["edit", "react"],
              buttons: "on",
              unheard: false,
            },
      reactions: "minimal",
      approvals: true,
      contextTellsSilence: false,
      silence: "none",
      context: mode === "minimal" ? "Find the three oldest files." : undefined,
      heartbeatPrompt: "Read HEARTBEAT.md.",
      reasoningTags: false,
      reasoning: "off",
      thinking: "off",
      host: "server",
      os: "linux",
      arch: "x64",
      node: process.version,
      model: "anthropic/claude-sonnet-4-5",
      defaultModel: "anthropic/claude-sonnet-4-5",
    },
  );
}

/** About what a long answer looks like: prose, lists, inline code and a code block, after a thought. */
const paragraph =
  "The `read` tool **reads** files, e.g. <https://a.b>; NOTE that a < b.\n- one\n- two\n\n```ts\nconst x = 1;\n```\n\n";
const answer = `<think>${"Let me see. ".repeat(50)}</think>[[reply_to_current]] ${paragraph.repeat(200)}`;
/** Providers send a few characters at a time. */
const deltaChars = 4;

/** About the size of a real tool's schema. */
const parametersLike = {
  type: "object",
  properties: Object.fromEntries(
    ["path", "offset", "limit", "mode"].map((name) => [
      name,
      { type: "string", description: `The ${name}.` },
    ]),
  ),
  required: ["path"],
};

function parse(text: string, chunkChars: number): number {
  const parser = replyParser({ currentMessageId: "1" });
  let visibleChars = 0;
  for (let at = 0; at < text.length; at += chunkChars)
    visibleChars = parser.push(text.slice(at, at + chunkChars)).visible.length;
  parser.end();
  return visibleChars;
}

const { values } = parseArgs({ options: { json: { type: "string" } } });
const clock = systemClock();
const workspace = await mkdtemp(join(tmpdir(), "parley-bench-"));
try {
  await ensureWorkspace(workspace, fileURLToPath(new URL("../config/templates/", import.meta.url)));
  const facts = await factsOf("full", workspace);
  const startMs = clock.mono();
  const prompt = compile(promptSections, facts, promptBudget(windowTokens));
  const coldMs = clock.mono() - startMs;

  const minimal = await factsOf("minimal", workspace);
  const none = await factsOf("none", workspace);
  const tokens = [
    prompt,
    ...[minimal, none].map((each) => compile(promptSections, each, promptBudget(windowTokens))),
  ].map((each) => ({
    mode: each.mode,
    tokens: estimateTokens(each.text),
    "stable tokens": estimateTokens(each.stable),
    estimator: tokenEstimator,
  }));

  // What every turn pays besides, so that its prompt can be shown later: a record of some hundred bytes goes
  // into its commit.
  const schemas = facts.stable.tools.list.map(({ name, summary }) => ({
    name,
    description: summary.repeat(6),
    parameters: parametersLike,
  }));
  const bench = new Bench({ time: 500 });
  bench
    .add("baseline: sha256 of the prompt", () => createHash("sha256").update(prompt.text).digest("hex"))
    .add("compile full, warm", () => compile(promptSections, facts, promptBudget(windowTokens)))
    .add("explain, and the report's text and hash", () => hashOf(JSON.stringify(explain(prompt, schemas))))
    .add("compile minimal, warm", () => compile(promptSections, minimal, promptBudget(windowTokens)))
    .add(`parse ${answer.length} characters, ${deltaChars} at a time`, () => parse(answer, deltaChars))
    .add(`parse ${answer.length} characters at once`, () => parse(answer, answer.length));
  await bench.run();

  const timed = bench.tasks.map(({ name, result }) => ({
    name,
    ms: "latency" in result ? result.latency.p50 : Number.NaN,
  }));
  const baselineMs = timed[0]?.ms ?? Number.NaN;
  const times = [{ name: "compile full, cold", ms: coldMs }, ...timed].map(({ name, ms }) => ({
    name,
    ms: Number(ms.toFixed(4)),
    "x baseline": Number((ms / baselineMs).toFixed(1)),
    ...(name.startsWith("parse") ? { "MB/s": Number((answer.length / 1_000 / ms).toFixed(1)) } : {}),
  }));
  console.table(tokens);
  console.table(times);
  if (values.json !== undefined)
    await writeFile(values.json, `${JSON.stringify({ tokens, times }, null, 2)}\n`);
} finally {
  await rm(workspace, { recursive: true, force: true });
}
