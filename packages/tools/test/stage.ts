// A workspace on disk with everything that tools need around it, for the suites of this package.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  silentLog,
  systemClock,
  systemIds,
  type Clock,
  type ConversationKey,
  type JsonObject,
  type SessionKey,
  noUsage,
} from "@parley/protocol";
import {
  noSandbox,
  openCommands,
  openSandbox,
  rooted,
  workspaceFiles,
  type CommandRecord,
  type CommandRecords,
  type Commands,
  type ExecPolicy,
  type ExecPorts,
  type Sandbox,
  type SessionPorts,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ToolScope,
  type Unavailable,
} from "../src/index.ts";

export const session = "agent:main:main" as SessionKey;
export const hostPath = process.env["PATH"] ?? "/usr/bin:/bin";

export interface Stage {
  /** Around the workspace: what must stay untouched. */
  readonly outside: string;
  readonly workspace: string;
  readonly context: ToolContext;
  readonly commands: Commands;
  readonly records: Map<string, CommandRecord>;
  /** What was told about commands that ended. */
  readonly ended: CommandRecord[];
  close(): Promise<void>;
}

export interface StageOptions {
  readonly exec?: Partial<Omit<ExecPorts, "commands">>;
  readonly sandbox?: (workspace: string, outside: string) => Promise<Sandbox>;
  readonly context?: Partial<ToolContext>;
  readonly clock?: Clock;
}

/** Ports to a session that never changes. */
export const sessionPorts: SessionPorts = {
  status: {
    lines: async () => [{ name: "Model", value: "openai/gpt-5" }],
    setModel: async (_scope, model) => model ?? "the agent's own",
  },
  plans: { save: async () => undefined },
  children: {
    agents: () => ["main", "helper"],
    spawn: async (_scope, { task }) => ({ text: `spawned for ${task}` }),
    list: async () => "no sub-agents",
    log: async (_scope, child) => ({ text: `log of ${child}` }),
    steer: async (_scope, child) => ({ text: `told ${child}` }),
    kill: async (_scope, child) => `killed ${child}`,
  },
  schedules: { act: async (_scope, { action }) => ({ text: `jobs: ${action}` }) },
  questions: { ask: async (_scope, { question }) => ({ text: `asked ${question}` }) },
  messages: {
    keep: async (bytes, name) => ({ path: name, mediaType: "text/plain", bytes: bytes.length, name }),
    act: async (_scope, { action, files }) => ({
      text: [action, ...files.map(({ name, bytes }) => `${name} (${bytes})`)].join(" "),
    }),
  },
  canvases: {
    unavailable: () => null,
    present: async (_scope, { title }) => ({ text: `shown: ${title}`, effects: {} }),
    update: async () => ({ text: "updated", effects: {} }),
    hide: async () => ({ text: "hidden", effects: {} }),
    shown: async () => ({ title: "Canvas", version: 1, html: "<p>one", scripts: [] }),
    scripted: async () => ({}),
  },
  loadedTools: { load: async () => undefined },
  spending: { around: (_scope, use) => use(async () => undefined) },
  seenPictures: {
    shown: async () => [],
    describer: () => ({ unavailable: "no imageModel" }),
    describe: async (_scope, { pictures }) => ({ text: `${pictures.length} pictures`, model: "eyes/1" }),
  },
  sessions: {
    list: async (_scope, { limit }) => ({ text: `${limit} sessions` }),
    history: async (_scope, { session: name }) => ({ text: `history of ${name}` }),
    send: async (_scope, { session: name }) => ({ text: `sent to ${name}` }),
  },
};

export const full: ExecPolicy = { mode: "full", ask: "off", allowlist: [], grants: [], owner: true };

export async function stage(options: StageOptions = {}): Promise<Stage> {
  const outside = await realpath(await mkdtemp(join(tmpdir(), "parley-tools-")));
  const workspace = join(outside, "ws");
  await mkdir(workspace);
  const clock = options.clock ?? systemClock();
  const records = new Map<string, CommandRecord>();
  const ended: CommandRecord[] = [];
  const commands = await openCommands(
    {
      records: inMap(records),
      onEnd: async (record) => void ended.push(record),
      clock,
      ids: systemIds(),
      log: silentLog,
    },
    (root) => rooted({ root }),
  );
  const sandbox = (await options.sandbox?.(workspace, outside)) ?? noSandbox(workspace, hostPath);
  const files = workspaceFiles({
    root: sandbox.workspace,
    inside: sandbox.inside,
    readOnly: sandbox.readOnly,
  });
  const context: ToolContext = {
    ...sessionPorts,
    owner: true,
    vision: true,
    timeZone: "Europe/Berlin",
    files,
    sandbox,
    clock,
    exec: {
      commands,
      policy: full,
      host: { PATH: hostPath, HOME: outside, SECRET_TOKEN: "hunter2" },
      timeoutSeconds: 60,
      ...options.exec,
    },
    drawing: {
      model: () => ({ model: "brush/1" }),
      draw: async ({ count }) => ({
        pictures: Array.from({ length: count }, () => ({ bytes: Buffer.from("png"), extension: "png" })),
        model: "brush/1",
        usage: noUsage,
      }),
    },
    speech: {
      voice: () => ({ name: "espeak-ng" }),
      speak: async (text) => [
        { path: "a.ogg", mediaType: "audio/ogg", bytes: text.length, name: "voice.ogg" },
      ],
    },
    pictures: {
      keep: async (bytes) => ({
        path: `${bytes.length}.png`,
        mediaType: "image/png",
        width: 1,
        height: 1,
        original: { width: 1, height: 1, frames: 1 },
      }),
    },
    ...options.context,
  };
  return {
    outside,
    workspace,
    context,
    commands,
    records,
    ended,
    async close() {
      await commands.end();
      await rm(outside, { recursive: true, force: true });
    },
  };
}

/** Bubblewrap, with the workspace to write in. `hidden`: folders below it that no command sees. */
export function writingSandbox(workspace: string, hidden: readonly string[] = []): Promise<Sandbox> {
  return openSandbox(
    {
      backend: "bubblewrap",
      scope: "agent",
      workspaceAccess: "rw",
      network: false,
      limits: { memoryMb: 256, processes: 64, cpuSeconds: 20 },
      docker: { image: "none" },
    },
    {
      agent: "main",
      session,
      workspace,
      folder: "/nowhere",
      readRoots: [],
      hidden,
      host: { PATH: hostPath },
      mark: () => "m",
    },
  );
}

export function inMap(records: Map<string, CommandRecord>): CommandRecords {
  return {
    load: async () => [...records.values()],
    save: async (record) => void records.set(record.id, record),
    remove: async (id) => void records.delete(id),
  };
}

export function scopeOf(workspace: string, signal = new AbortController().signal): ToolScope {
  const conversation = "telegram:default:dm:42" as ConversationKey;
  const by = { owner: true, senders: ["telegram:42"] };
  return {
    session,
    agent: "main",
    turn: "t1",
    callId: "c1",
    conversation,
    by,
    authority: "owner",
    workspace,
    env: {},
    signal,
  };
}

export function made(tool: Tool | Unavailable): Tool {
  if ("unavailable" in tool) throw new Error(tool.unavailable);
  return tool;
}

/**
 * Whether a process of this machine has these words in its command line. Where there is /proc it is read: a
 * `ps` every few milliseconds would take more of the machine than what is waited for.
 */
export function isAlive(words: string): boolean {
  if (!existsSync("/proc/self/cmdline"))
    return execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).includes(words);
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && commandLine(name).includes(words));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return ""; // It is over by now.
  }
}

/** As the loop calls it: parsed first. A throw is the tool's answer too. */
export async function call(
  tool: Tool | Unavailable,
  args: JsonObject,
  workspace = "/",
  signal?: AbortSignal,
): Promise<ToolResult> {
  const it = made(tool);
  const parsed = it.parse(args);
  if (!parsed.ok) return { content: [{ type: "text", text: parsed.reason }], isError: true };
  return it.run(parsed.args, scopeOf(workspace, signal));
}

export async function said(tool: Tool | Unavailable, args: JsonObject, workspace?: string): Promise<string> {
  const { content } = await call(tool, args, workspace);
  return content
    .map((part) => (part.type === "text" ? part.text : `<${part.mediaType} ${part.path}>`))
    .join("\n");
}

/** The reason of a call that must not succeed. */
export async function refusedWith(tool: Tool | Unavailable, args: JsonObject): Promise<string> {
  try {
    const result = await call(tool, args);
    if (result.isError !== true) throw new Error(`was not refused: ${JSON.stringify(result.content)}`);
    return result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  } catch (error) {
    if (error instanceof Error && error.name === "Fault") return error.message;
    throw error;
  }
}
