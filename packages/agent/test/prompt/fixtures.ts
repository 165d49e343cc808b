// Facts for tests: a house in which everything is set, to be varied one thing at a time.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Capabilities, silentLog } from "@parley/protocol";
import {
  bootstrapFiles,
  type BootstrapCaps,
  type BootstrapSnapshot,
  type ChannelFacts,
  defaultCaps,
  ensureWorkspace,
  type PromptMode,
  type StableInput,
  type SurfaceFacts,
} from "../../src/index.ts";
import { catalogue } from "@parley/tools";

export const templates = fileURLToPath(new URL("../../../../config/templates/", import.meta.url));
export const home = "/home/ann/.parley/workspace";

const anything: Capabilities = {
  dialect: "telegram",
  textChars: 4096,
  captionChars: 1024,
  textEntities: 100,
  uploadBytes: 50_000_000,
  downloadBytes: 20_000_000,
  media: true,
  polls: true,
  voice: true,
  silent: true,
  threads: true,
  pins: true,
  typing: true,
  reactions: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
  menus: false,
  forms: false,
  idempotentSends: false,
};

export const telegram: ChannelFacts = {
  name: "telegram",
  kind: "dm",
  threaded: false,
  capabilities: anything,
  actions: ["edit", "remove", "react", "pin"],
  buttons: "on",
  unheard: false,
};

export const discord: ChannelFacts = {
  ...telegram,
  name: "discord",
  kind: "channel",
  capabilities: { ...anything, dialect: "discord", textChars: 2000, voice: false, idempotentSends: true },
  buttons: { enableWith: "channels.discord.capabilities.inlineButtons" },
};

export const web: ChannelFacts = {
  ...telegram,
  name: "web",
  capabilities: {
    ...anything,
    dialect: "html",
    textChars: 32_000,
    polls: false,
    voice: false,
    reactions: false,
    replyTags: false,
    inlineButtons: false,
  },
  actions: ["edit"],
  buttons: "unsupported",
};

/** Tools as the catalogue has them. */
export function namedTools(names: string) {
  return names.split(" ").map((name) => {
    const entry = catalogue.find(({ id }) => id === name);
    if (entry === undefined) throw new Error(`the catalogue has no ${name}`);
    return { name, summary: entry.summary };
  });
}

export const codingTools = namedTools(
  "read write edit apply_patch exec process memory_search memory_get sessions_list sessions_history sessions_send " +
    "sessions_spawn subagents session_status cron image",
);

/** What policy leaves a subagent without children of its own. */
export const subagentTools = namedTools(
  "read write edit apply_patch exec process memory_search memory_get image",
);

export const noFiles: BootstrapSnapshot = { files: [] };

export function stableInput(overrides: Partial<StableInput> = {}): StableInput {
  return {
    version: "0.1.0",
    agent: "main",
    mode: "full",
    audience: "private",
    modelFamily: "claude",
    tools: codingTools,
    skills: [],
    citations: "auto",
    modelAliases: [],
    workspace: home,
    files: noFiles,
    warnTruncation: false,
    docs: { path: "/opt/parley/docs", source: "/opt/parley" },
    cli: "/opt/parley/bin/parley",
    owners: [],
    timeZone: "Europe/Berlin",
    ...overrides,
  };
}

export function surfaceFacts(overrides: Partial<SurfaceFacts> = {}): SurfaceFacts {
  return {
    session: "agent:main:telegram:dm:1001",
    approvals: true,
    channel: telegram,
    reactions: "off",
    silence: "none",
    contextTellsSilence: false,
    reasoningTags: false,
    reasoning: "off",
    thinking: "off",
    host: "server",
    os: "linux",
    arch: "x64",
    node: "v24.0.0",
    shell: "bash",
    model: "anthropic/claude-sonnet-4-5",
    defaultModel: "anthropic/claude-sonnet-4-5",
    ...overrides,
  };
}

export type WorkspaceKind = "empty" | "full" | "oversize";

/** Small caps keep the oversize goldens readable; the arithmetic is the same. */
const oversizeCaps: BootstrapCaps = { fileChars: 400, totalChars: 1_200 };

/** A real folder, read by the real loader, told under one fixed path. */
export async function workspaceOf(
  kind: WorkspaceKind,
  mode: PromptMode,
  audience: StableInput["audience"],
): Promise<BootstrapSnapshot> {
  const dir = await mkdtemp(join(tmpdir(), "parley-workspace-"));
  try {
    if (kind !== "empty") {
      await ensureWorkspace(dir, templates);
      await writeFile(join(dir, "MEMORY.md"), "- Ann drinks tea.\n");
      await writeFile(join(dir, "HEARTBEAT.md"), "# HEARTBEAT.md\n\n- Is the post there?\n");
    }
    if (kind === "oversize") await writeFile(join(dir, "SOUL.md"), "I am made of many words. ".repeat(2_000));
    const bootstrap = bootstrapFiles({
      caps: kind === "oversize" ? oversizeCaps : defaultCaps,
      hooks: [(files) => Promise.resolve(files.map((file) => ({ ...file, path: `${home}/${file.name}` })))],
      log: silentLog,
    });
    return await bootstrap.load({
      workspace: dir,
      mode,
      audience,
      heartbeats: true,
      agent: "main",
      session: "agent:main:main",
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
