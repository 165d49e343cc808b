// A long conversation with large tool results through a model with a small window whose provider counts more
// tokens than we do. Plays it, checks every request, and tells what pruning and compaction saved.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ModelMessage, ModelRequest } from "@parley/models";
import type { Entry } from "@parley/protocol";
import { stage } from "./stage.ts";
import type { Answer, Asked } from "./scripted-model.ts";
import { textTool } from "./text-tool.ts";

export interface LongTalk {
  /** What the person was sent in place of an answer. */
  readonly complaints: readonly string[];
  /** What was wrong with requests. */
  readonly flaws: readonly string[];
  readonly transcript: readonly Entry[];
  readonly requests: number;
  /** Requests that the provider refused as too long. */
  readonly refused: number;
  readonly summaries: number;
  readonly flushes: number;
  /** By the provider's count, of all answered requests of the conversation itself. */
  readonly tokens: {
    readonly shown: number;
    /** Had every request held the whole conversation. */
    readonly whole: number;
    readonly most: number;
    /** Of the summaries and flushes. */
    readonly spent: number;
  };
}

const windowTokens = 24_000;
/** The provider's tokens are shorter than our estimate takes them for. */
const charsPerToken = 3.6;
const lane = "agent:main:telegram:dm:alice";

export async function longTalk(turns: number): Promise<LongTalk> {
  // Logs, listings, pages: what fits into 8 KB, and what does not.
  const look = textTool(
    "look",
    (args) =>
      `${JSON.stringify(args)}\n${"line of output\n".repeat(100 + ((args as { n: number }).n % 7) * 200)}`,
  );
  const s = await stage({ contextWindow: windowTokens, tools: [look] });
  await mkdir(join(s.home, "workspace"), { recursive: true });
  const counted = (request: ModelRequest): number =>
    Math.ceil(JSON.stringify([request.system, request.messages, request.tools]).length / charsPerToken);
  const found: string[] = [];
  let refused = 0;
  let summaries = 0;
  let flushes = 0;
  let spent = 0;
  let shown = 0;
  let most = 0;

  s.model.answers((one: Asked): Answer => {
    const { request, messages, text } = one;
    found.push(...flawsOf(messages).map((flaw) => `request ${one.nth}: ${flaw}`));
    const tokens = counted(request);
    if (tokens > windowTokens) {
      refused += 1;
      return { fails: "context_overflow" };
    }
    if (request.system.stable.startsWith("You keep the memory")) {
      summaries += 1;
      spent += tokens;
      return `## Goal\nTo look at ${summaries} things.\n## Open\nNothing.`;
    }
    if (text.includes("memory flush before compaction")) {
      spent += tokens;
      if (messages.at(-1)?.role === "tool") return "NO_REPLY";
      flushes += 1;
      return { calls: { name: "append_note", args: { text: `- flush ${flushes}` } } };
    }
    shown += tokens;
    most = Math.max(most, tokens);
    const since = messages.length - 1 - messages.findLastIndex((message) => message.role === "user");
    const [, n = "0"] = /turn (\d+)/.exec(text) ?? [];
    const calls = Number(n) % 4;
    if (since < calls * 2) return { calls: { name: "look", args: { n: Number(n) + since } } };
    return { says: [`answer ${n} ${"of some length ".repeat(20)}`], promptTokens: tokens };
  });

  const alice = s.person("alice");
  for (let turn = 1; turn <= turns; turn += 1) {
    await alice.says(`turn ${turn}: ${"please look at this ".repeat(15)}`).gets(/./);
    // Mostly while the provider's cache lives, at times after it has gone.
    await s.pass(turn % 10 === 0 ? 600_000 : 20_000);
  }
  const stored = await s.store().sessions.transcript(lane as never, { limit: 100_000 });
  const transcript = stored.map(({ body }) => JSON.parse(body) as Entry);
  const complaints = alice.sees().filter((text, at) => !text.startsWith(`answer ${at + 1} `));
  const requests = s.model.asked.length;
  const whole = wholeTokens(transcript, s.model.asked.at(-1)?.request);
  await s.close();
  return {
    complaints,
    flaws: found,
    transcript,
    requests,
    refused,
    summaries,
    flushes,
    tokens: { shown, whole, most, spent },
  };
}

/** What the same requests would have held without any view: all that was said and done before each. */
function wholeTokens(transcript: readonly Entry[], last: ModelRequest | undefined): number {
  const fixed = JSON.stringify([last?.system, last?.tools]).length;
  let before = 0;
  let total = 0;
  for (const entry of transcript) {
    if (entry.type === "summary") continue;
    if (entry.type === "assistant") total += fixed + before;
    before += JSON.stringify("content" in entry ? entry.content : "").length + 40;
  }
  return Math.round(total / charsPerToken);
}

/**
 * What no provider would take: unpaired calls, roles that do not alternate, empty messages, ids twice (I11).
 */
function flawsOf(messages: readonly ModelMessage[]): readonly string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  let open: string[] = [];
  if (messages[0]?.role !== "user") found.push("it does not begin with a user message");
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      if (open.shift() !== message.callId) found.push(`a result without its call at ${at}`);
      continue;
    }
    if (open.length > 0) found.push(`calls without results before ${at}`);
    if (messages[at - 1]?.role === message.role) found.push(`two ${message.role} messages at ${at}`);
    if (message.content.length === 0) found.push(`an empty message at ${at}`);
    open =
      message.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [];
    for (const id of open) {
      if (ids.has(id)) found.push(`the id ${id} twice`);
      ids.add(id);
    }
  }
  return found;
}
