// What a model is told of every tool, word for word: names, summaries, descriptions, and each argument with
// its limits; and what tools are absent where, with the reason. After a wanted change: `vitest run --project
// @parley/tools told -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "@parley/protocol";
import { catalogue, makeTools, workspaceFiles, type Tool, type ToolContext } from "../src/index.ts";
import { everyPort } from "./every-port.ts";
import { full, stage } from "./stage.ts";

type Made = ReturnType<typeof makeTools>;

async function madeWith(context: Partial<ToolContext>): Promise<Made> {
  const own = await stage({ context: { ...everyPort, ...context } });
  const tools = makeTools(own.context);
  await own.close();
  return tools;
}

/** One line for each argument, those inside others below them. */
function lines(schema: JsonObject, indent: string): readonly string[] {
  const { type, description, properties, required, items, anyOf, additionalProperties, ...more } = schema;
  const inner = Object.entries((properties ?? {}) as { readonly [name: string]: JsonObject });
  const needed = (required ?? []) as readonly Json[];
  const choices = (anyOf ?? []) as readonly JsonObject[];
  const isOpen = typeof additionalProperties === "object" && additionalProperties !== null;
  const extra = isOpen ? JSON.stringify(additionalProperties) : additionalProperties;
  const facts = Object.entries({ ...more, ...(extra === undefined ? {} : { others: extra }) });
  const own = [
    JSON.stringify(type ?? "any").replaceAll(/["[\]]/g, ""),
    ...facts.map(([name, value]) => `${name}=${JSON.stringify(value)}`),
    ...(description === undefined ? [] : [`: ${JSON.stringify(description).slice(1, -1)}`]),
  ].join(" ");
  return [
    `${own}`,
    ...inner.flatMap(([name, each]) => {
      const [first = "", ...rest] = lines(each, `${indent}  `);
      return [`${indent}${name}${needed.includes(name) ? "" : "?"} ${first}`, ...rest];
    }),
    ...(items === undefined ? [] : under("each", items as JsonObject, indent)),
    ...choices.flatMap((each) => under("or", each, indent)),
  ];
}

function under(name: string, schema: JsonObject, indent: string): readonly string[] {
  const [first = "", ...rest] = lines(schema, `${indent}  `);
  return [`${indent}${name} ${first}`, ...rest];
}

function told(tool: Tool): string {
  const { name, summary, description, parameters } = tool;
  const entry = catalogue.find(({ id }) => id === name);
  const marks = [
    `effect ${tool.effect}`,
    `label ${entry?.label ?? "none"}`,
    ...(entry?.own === true ? ["of Parley's own"] : []),
    ...(tool.keyed === true ? ["keyed"] : []),
    ...(tool.endsPreview === true ? ["ends the preview"] : []),
    ...(tool.deferred === true ? ["deferred"] : []),
    ...(tool.action === undefined ? [] : ["may need approval"]),
    ...(tool.outside === undefined ? [] : ["may reach outside"]),
  ];
  return [`## ${name}: ${summary}`, marks.join(", "), description, ...lines(parameters, "  "), "", ""].join(
    "\n",
  );
}

test("every tool, as a model is told of it", async () => {
  const { tools, unavailable } = await madeWith({});
  expect(unavailable).toEqual([]);
  await expect(tools.map(told).join("")).toMatchFileSnapshot("tables/told.txt");
});

const command = async (policy: Partial<typeof full>): Promise<Partial<ToolContext>> => {
  const own = await stage();
  const { exec } = own.context;
  await own.close();
  return exec === undefined ? {} : { exec: { ...exec, policy: { ...full, ...policy } } };
};

test("what another place changes of it: other words, other arguments, tools that are not there", async () => {
  const usual = await madeWith({});
  const own = await stage();
  const { sandbox } = own.context;
  const readOnly = workspaceFiles({ root: own.workspace, inside: own.workspace, readOnly: true });
  await own.close();
  const search = (provider: string): Partial<ToolContext> => ({
    web: {
      files: () => ({ unavailable: "no files" }),
      pages: () => ({ unavailable: "the web is off (tools.web.fetch.enabled)" }),
      search: () => ({
        provider,
        maxResults: 5,
        search: async () => ({ results: [], provider, failed: [], cached: false }),
      }),
    },
  });
  const places: readonly (readonly [string, Partial<ToolContext>])[] = [
    ["not an owner", { owner: false }],
    ["a model that sees nothing", { vision: false }],
    [
      "a model that sees nothing, and one that looks for it",
      {
        vision: false,
        seenPictures: {
          shown: async () => [],
          describer: () => ({ model: "eyes/1" }),
          describe: async () => ({ text: "", model: "eyes/1" }),
        },
      },
    ],
    ["no pictures kept", { pictures: undefined }],
    ["nothing around", Object.fromEntries(Object.keys(everyPort).map((name) => [name, undefined]))],
    [
      "nothing drawn, nothing spoken, no commands",
      { drawing: undefined, speech: undefined, exec: undefined },
    ],
    ["commands denied", await command({ mode: "deny" })],
    ["commands by a list", await command({ mode: "allowlist" })],
    ["all commands asked for", await command({ ask: "always" })],
    ["a sandbox", { sandbox: { ...sandbox, kind: "bubblewrap", inside: "/workspace" } }],
    [
      "a sandbox that only reads",
      { sandbox: { ...sandbox, kind: "docker", inside: "/workspace", readOnly: true }, files: readOnly },
    ],
    ...[
      "tavily",
      "exa",
      "perplexity",
      "searxng",
      "gemini",
      "openai",
      "anthropic",
      "duckduckgo",
      "another",
    ].map((provider) => [`searches by ${provider}`, search(provider)] as const),
  ];
  let table = "";
  for (const [name, context] of places) {
    const { tools, unavailable } = await madeWith(context);
    const changed = tools.filter((tool) => {
      const was = usual.tools.find((each) => each.name === tool.name);
      return was === undefined || told(was) !== told(tool);
    });
    const words = changed.map((tool) => {
      const was = usual.tools.find((each) => each.name === tool.name);
      const same = JSON.stringify(was?.parameters) === JSON.stringify(tool.parameters);
      return `${tool.name} | ${tool.summary} | ${tool.description}${same ? "" : ` | ${JSON.stringify(tool.parameters)}`}\n`;
    });
    const gone = unavailable.map(({ tool, reason }) => `no ${tool}: ${reason}\n`);
    table += `# ${name}\n${[...words, ...gone].join("")}\n`;
  }
  await expect(table).toMatchFileSnapshot("tables/told-elsewhere.txt");
});

test("what a call's arguments become: defaults, spans that are cut to their limits, and what needs what", async () => {
  const { tools } = await madeWith({});
  const calls: readonly (readonly [tool: string, args: JsonObject])[] = [
    ["exec", { command: "ls" }],
    ...[9, 10, 120_000, 120_001].map((yieldMs) => ["exec", { command: ["ls"], yieldMs }] as const),
    ["exec", { command: [] }],
    ["exec", { command: "" }],
    ["exec", { command: "a\0" }],
    ["exec", { command: ["ls", "a\0b"] }],
    ["exec", { command: "ls", timeoutSeconds: 0 }],
    ["process", { action: "list" }],
    ...[-1, 30_000, 30_001].map((timeout) => ["process", { action: "poll", id: "p", timeout }] as const),
    ["process", { action: "stop" }],
    ["subagents", { action: "list" }],
    ["subagents", { action: "kill" }],
    ["subagents", { action: "log", target: "a" }],
    ["subagents", { action: "steer", target: "a" }],
    ["subagents", { action: "steer", target: "a", message: "go" }],
    ["edit", { path: "a" }],
    ["edit", { path: "a", oldText: "x" }],
    ["edit", { path: "a", newText: "x" }],
    ["edit", { path: "a", oldText: "x", newText: "y" }],
    ["edit", { path: "a", edits: [{ oldText: "x", newText: "y" }] }],
    ["edit", { path: "a", edits: [] }],
    ["edit", { path: "a", oldText: "x", newText: "y", edits: [{ oldText: "x", newText: "y" }] }],
    ["message", { action: "send", text: "a" }],
    ["message", { action: "poll", poll: { question: "q", options: ["a"] } }],
    ["message", { action: "send", buttons: [[{ label: "a", url: "ftp://a.test" }]] }],
    ["message", { action: "send", buttons: [[{ label: "a", url: "https://a.test" }]] }],
    ["ask_user", { question: "q", fields: [{ label: "a" }] }],
    ["cron", { action: "list" }],
    ["cron", { action: "add", job: { name: "a", more: 1, schedule: { kind: "at", at: 5, x: 1 } } }],
    ["sessions_spawn", { task: "t" }],
    ["sessions_spawn", { task: "t", thread: true, mode: "run" }],
    ["sessions_send", { sessionKey: "s", message: "m" }],
    ["sessions_send", { sessionKey: "s", message: "m", more: 1 }],
    ["sessions_list", {}],
    ["sessions_history", { sessionKey: "s" }],
    ["image", {}],
    ["image_generate", { prompt: "p" }],
    ...["1024x1024", "10x10", "9999x9999", "9x10", "10000x10", "x1024x1024", "1024x1024 "].map(
      (size) => ["image_generate", { prompt: "p", size }] as const,
    ),
    ["tts", { text: "t" }],
    ["web_fetch", { url: "u" }],
    ["web_search", { query: "  q  " }],
    ["web_search", { query: "  " }],
    ...["DE", "de", "d", "deu"].map((country) => ["web_search", { query: "q", country }] as const),
    ["memory_get", { path: "MEMORY.md" }],
    ["memory_upkeep", { action: "propose" }],
    ["update_plan", { plan: [{ step: "a", status: "pending" }] }],
    ["update_plan", { plan: ["in_progress", "in_progress"].map((status) => ({ step: "a", status })) }],
    ["canvas", { action: "present" }],
    ["canvas", { action: "present", html: "<p>" }],
    ["canvas", { action: "eval" }],
    ["canvas", { action: "hide" }],
    ["nodes", { action: "list" }],
    ["nodes", { action: "invoke" }],
    ["nodes", { action: "invoke", node: "n", command: "notify", text: "t" }],
    ["browser", { action: "open" }],
    ["tool_search", { query: "q" }],
    ["gateway", { action: "restart" }],
    ...["1.2.3", "v1", "-x", `a${"b".repeat(63)}`, `a${"b".repeat(64)}`, "1 2"].map(
      (to) => ["gateway", { action: "update.run", to }] as const,
    ),
  ];
  await expect(
    answerTable(calls, ([name, args]) => tools.find((tool) => tool.name === name)?.parse(args)),
  ).toMatchFileSnapshot("tables/parsed-calls.txt");
});
