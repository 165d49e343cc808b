// Signs that nobody sees, or that turn text around, in whatever strangers and agents write: each place that
// shows such text writes them out, in a list as well as in its drawer.
import { expect, test } from "vitest";
import { Activity } from "../../src/pages/activity.ts";
import { Channels } from "../../src/pages/channels.ts";
import { DeadLetters } from "../../src/pages/dead.ts";
import { Devices } from "../../src/pages/devices.ts";
import { McpServers } from "../../src/pages/mcp.ts";
import { Memory } from "../../src/pages/memory.ts";
import { Outbox } from "../../src/pages/outbox.ts";
import { Prompt } from "../../src/pages/prompt.ts";
import { Schedules } from "../../src/pages/schedules.ts";
import { Sessions } from "../../src/pages/sessions.ts";
import { Skills } from "../../src/pages/skills.ts";
import { MessageStory } from "../../src/pages/story.ts";
import { Tools } from "../../src/pages/tools.ts";
import { Usage } from "../../src/pages/usage.ts";
import { nowMs, showPage } from "./show-page.ts";

/** Text of a stranger, called by the field in which it stands. */
const odd = (field: string): string => `${field}\u202e`;

async function shown(Kind: Parameters<typeof showPage>[0], at: string, answers: object) {
  const page = await showPage(Kind, { at, answers: answers as never });
  await page.text();
  // What the filter searches is no text that people see.
  const text = (await page.text()).replaceAll(/^searched: .*$/gm, "");
  const names = (of: RegExp): readonly string[] => [
    ...new Set([...text.matchAll(of)].map(([, name = ""]) => name)),
  ];
  return { raw: names(/(\w+)\u202e/g), written: names(/(\w+)\\u\{202e\}/g).toSorted() };
}

const at = {
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  atMs: nowMs,
  startedAtMs: nowMs,
  receivedAtMs: nowMs,
  endedAtMs: nowMs,
};
const session = {
  key: "agent:main:k",
  agent: "main",
  kind: "dm",
  name: odd("name"),
  working: false,
  inputTokens: 0,
  outputTokens: 0,
  epoch: 1,
  ...at,
};
const entry = (type: string) => ({ seq: 1, epoch: 1, turn: "t", type, text: odd(type), atMs: nowMs });
const mcpTool = (name: string) => ({
  name,
  tool: name,
  description: odd("description"),
  schema: {},
  readOnly: true,
});
const skill = {
  name: odd("name"),
  status: "unmet",
  source: "extra",
  reason: odd("reason"),
  description: odd("about"),
  file: odd("file"),
};
const row = {
  id: "r",
  session: "s",
  conversation: "c",
  messageId: "1",
  sender: odd("sender"),
  text: odd("text"),
  state: "ended",
  outcome: "dead",
  reason: null,
  sentAtMs: 0,
  ...at,
};
const delivery = {
  id: "d",
  conversation: "c",
  cause: "c",
  state: "failed",
  text: odd("text"),
  parts: [
    {
      state: "failed",
      attempts: 1,
      flagged: false,
      messageId: null,
      startedAtMs: nowMs,
      reason: odd("reason"),
    },
  ],
  ...at,
};
const proposal = (state: string) => ({
  id: state,
  agent: "a",
  session: "s",
  turn: "t",
  state,
  expiresAtMs: nowMs,
  said: odd("said"),
  by: odd("by"),
  changes: [
    {
      kind: "merge",
      lines: [{ path: odd("path"), line: 1, text: odd("was") }],
      text: odd("becomes"),
      why: odd("why"),
      untrusted: odd("untrusted"),
    },
  ],
  ...at,
});

test.each([
  [
    "activity",
    Activity,
    "#/activity",
    {
      "sessions.list": { sessions: [session] },
      "sessions.show": { entries: [entry("user"), entry("assistant")] },
    },
    ["assistant", "name", "user"],
  ],
  [
    "channels",
    Channels,
    "#/channels/telegram:a",
    {
      "channels.list": {
        channels: [{ channel: "telegram", account: "a", state: "down", reason: odd("reason") }],
      },
      "pairing.list": {
        pending: [
          {
            code: "C",
            channel: "telegram",
            account: "a",
            senderId: odd("id"),
            senderName: odd("asks"),
            expiresAtMs: nowMs,
          },
        ],
        paired: [{ channel: "telegram", account: "a", senderId: odd("in"), senderName: odd("name"), ...at }],
      },
      "channels.places": {
        places: [
          {
            conversation: "telegram:a:group:1",
            channel: "telegram",
            account: "a",
            kind: "group",
            names: ["E", odd("member")],
            title: odd("title"),
            lastAtMs: 0,
          },
        ],
      },
    },
    ["asks", "id", "in", "member", "name", "reason", "title"],
  ],
  [
    "dead letters",
    DeadLetters,
    "#/dead/r",
    { "dead.list": { rows: [{ ...row, reason: odd("reason") }] } },
    ["reason", "sender", "text"],
  ],
  [
    "devices",
    Devices,
    "#/devices/d",
    {
      "devices.list": {
        devices: [
          {
            id: "d",
            name: odd("name"),
            scopes: [],
            peer: odd("peer"),
            connections: 1,
            grants: ["run"],
            most: ["run"],
            ...at,
          },
        ],
      },
    },
    ["name", "peer"],
  ],
  [
    "MCP servers",
    McpServers,
    "#/mcp/m",
    {
      "mcp.list": {
        servers: [
          {
            name: "m",
            enabled: true,
            state: "failed",
            transport: "stdio",
            target: odd("target"),
            reason: odd("reason"),
            version: odd("version"),
            starts: 1,
            tools: [mcpTool("t")],
            waiting: [
              { ...mcpTool("w"), before: null },
              { ...mcpTool("x"), before: { ...mcpTool("x"), description: odd("before") } },
            ],
            code: "",
            leftOut: [{ name: odd("left"), reason: odd("because") }],
            listedAtMs: null,
          },
        ],
      },
    },
    ["because", "before", "description", "left", "reason", "target", "version"],
  ],
  [
    "memory",
    Memory,
    "#/memory/l?q=x",
    {
      "agents.list": { agents: [] },
      "memory.proposals": { proposals: [proposal("open"), proposal("accepted")] },
      "memory.history": {
        agent: "a",
        changes: [
          {
            id: "c",
            path: odd("file"),
            session: "s",
            turn: "t",
            by: [odd("who")],
            tool: "x",
            removed: odd("removed"),
            added: odd("added"),
            ...at,
          },
        ],
      },
      "memory.search": {
        agent: "a",
        mode: "keyword",
        notes: [],
        results: [
          {
            path: odd("found"),
            startLine: 1,
            endLine: 2,
            heading: odd("heading"),
            score: 1,
            source: "memory",
            scope: "s",
            snippet: odd("snippet"),
          },
        ],
      },
      "memory.why": {
        agent: "a",
        lines: [
          {
            path: odd("place"),
            line: 1,
            text: odd("line"),
            writtenBy: [
              { session: "s", turn: "t", by: [odd("writer")], tool: "x", untrusted: odd("read"), ...at },
            ],
          },
        ],
      },
    },
    [
      "added",
      "becomes",
      "by",
      "file",
      "found",
      "heading",
      "line",
      "path",
      "place",
      "read",
      "removed",
      "said",
      "snippet",
      "untrusted",
      "was",
      "who",
      "why",
      "writer",
    ],
  ],
  ["outbox", Outbox, "#/outbox/d", { "outbox.list": { deliveries: [delivery] } }, ["reason", "text"]],
  [
    "a prompt",
    Prompt,
    "#/prompt",
    {
      "sessions.list": { sessions: [session] },
      "prompt.explain": {
        session: "agent:main:k",
        turn: null,
        stableHash: "",
        moved: null,
        explanation: {
          mode: "full",
          sections: [
            { id: "who", zone: "stable", chars: 5, tokens: 1, hash: "w", included: true, reason: "always" },
          ],
          files: [],
          tools: [],
          tokens: 1,
          stableTokens: 1,
          volatileTokens: 0,
          estimator: "e",
        },
      },
      "prompt.show": { text: odd("told"), boundary: 5 },
    },
    ["name", "told"],
  ],
  [
    "schedules",
    Schedules,
    "#/schedules/j",
    {
      "cron.list": {
        jobs: [
          {
            id: "j",
            name: odd("name"),
            words: "",
            agent: "m",
            session: "s",
            enabled: true,
            paused: odd("paused"),
            consecutiveErrors: 0,
            last: { reason: odd("broke"), ...at },
            nextAtMs: null,
            payload: { message: odd("message") },
            owner: { kind: "turn", sender: odd("owner") },
            misfire: "all",
            overlap: "skip",
            runs: 0,
            missed: 0,
            version: 1,
          },
        ],
      },
      "cron.runs": {
        id: "j",
        now: [],
        runs: [odd("reason"), null].map((reason) => ({
          slot: "s",
          instantMs: nowMs,
          turn: null,
          session: null,
          outcome: "ok",
          reason,
          count: 1,
          tokens: 0,
          said: odd("said"),
          ...at,
        })),
      },
    },
    ["broke", "message", "name", "owner", "paused", "reason", "said"],
  ],
  [
    "sessions",
    Sessions,
    `#/sessions/${encodeURIComponent("agent:main:k")}`,
    {
      "sessions.list": { sessions: [session] },
      "sessions.show": {
        ...session,
        model: null,
        thinking: null,
        reasoning: null,
        entries: [entry("user"), entry("toolResult")],
      },
      "sessions.tree": {
        sessions: [
          {
            key: "agent:main:k",
            parent: "agent:main:p",
            depth: 0,
            label: odd("label"),
            task: odd("task"),
            state: "idle",
            reason: null,
            tokens: 0,
            ...at,
          },
        ],
      },
      "models.list": { models: [] },
    },
    ["name", "task", "toolResult", "user"],
  ],
  [
    "skills",
    Skills,
    `#/skills/${encodeURIComponent(odd("name"))}`,
    {
      "skills.list": {
        agent: "m",
        skills: [skill, { ...skill, reason: null }],
        shadowed: [{ name: odd("hidden"), source: "bundled", file: "f", by: "workspace" }],
        rejected: [{ source: "extra", file: "f", reason: odd("rejected") }],
        cut: [],
      },
      "agents.list": { agents: [] },
      "skills.info": {
        ...skill,
        key: "k",
        homepage: null,
        command: null,
        emoji: null,
        requirements: [{ kind: "bin", what: odd("needs"), satisfied: true }],
        warnings: [odd("warning")],
        notes: [odd("note")],
      },
    },
    ["about", "file", "hidden", "name", "needs", "note", "reason", "rejected", "warning"],
  ],
  [
    "a story",
    MessageStory,
    "#/why/r",
    {
      why: {
        row,
        admitted: true,
        waitedMs: 0,
        waitedFor: [],
        turn: null,
        deliveries: [delivery],
        now: odd("now"),
      },
    },
    ["now", "reason", "sender", "text"],
  ],
  [
    "tools",
    Tools,
    "#/tools/t",
    {
      "tools.list": {
        session: "s",
        sandbox: null,
        reason: null,
        tools: [
          {
            id: "t",
            label: "T",
            status: "removed",
            effect: "reads",
            reason: odd("reason"),
            summary: odd("summary"),
            section: "x",
            groups: [],
            profiles: [],
          },
          {
            id: "u",
            label: "U",
            status: "ready",
            effect: "reads",
            reason: null,
            summary: odd("does"),
            section: "x",
            groups: [],
            profiles: [],
          },
        ],
      },
      "sessions.list": { sessions: [session] },
    },
    ["does", "name", "reason", "summary"],
  ],
  [
    "usage",
    Usage,
    "#/usage?by=person",
    {
      usage: {
        from: "a",
        through: "b",
        timeZone: "UTC",
        caps: [],
        rows: [
          {
            name: odd("person"),
            turns: 1,
            inputTokens: 1,
            outputTokens: 1,
            cacheReadTokens: 0,
            costUsd: 0,
            unpricedTokens: 0,
          },
        ],
        total: {
          turns: 1,
          inputTokens: 1,
          outputTokens: 1,
          cacheReadTokens: 0,
          costUsd: 0,
          unpricedTokens: 0,
        },
      },
    },
    ["person"],
  ],
] as const)("%s", async (_, Kind, address, answers, fields) => {
  expect(await shown(Kind, address, answers)).toEqual({ raw: [], written: [...fields] });
});
