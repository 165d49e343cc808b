// Lists every tool, in the order in which people read about them. A tool is a file of tools/ and an entry
// here; a planned tool already has its entry, which says so.
import { isUnavailable, type ToolContext, type ToolFactory } from "./context.ts";
import type { Tool, ToolEffect } from "./tool.ts";
import { applyPatch } from "./tools/apply-patch.ts";
import { edit } from "./tools/edit.ts";
import { exec } from "./tools/exec.ts";
import { gateway } from "./tools/gateway.ts";
import { process } from "./tools/process.ts";
import { read } from "./tools/read.ts";
import { sessionStatus } from "./tools/session-status.ts";
import { updatePlan } from "./tools/update-plan.ts";
import { write } from "./tools/write.ts";

const toolProfiles = ["minimal", "coding", "messaging", "full"] as const;
export type ToolProfile = (typeof toolProfiles)[number];

type ToolSection =
  | "fs"
  | "runtime"
  | "web"
  | "memory"
  | "sessions"
  | "ui"
  | "messaging"
  | "automation"
  | "nodes"
  | "agents"
  | "media";

export interface CatalogueEntry {
  readonly id: string;
  readonly label: string;
  /** Its tools are also the group of that name: "group:fs". */
  readonly section: ToolSection;
  /** `full` has every tool, so no entry names it. */
  readonly profiles: readonly Exclude<ToolProfile, "full">[];
  /** Tools of "group:parley": Parley's own, beyond files and commands. */
  readonly own: boolean;
  readonly effect: ToolEffect;
  readonly summary: string;
  /** Null: not built yet. */
  readonly make: ToolFactory | null;
}

const notBuilt = null;

export const catalogue: readonly CatalogueEntry[] = [
  entry("read", "Read", "fs", ["coding"], "reads", "Read file contents", read),
  entry("write", "Write", "fs", ["coding"], "writes", "Create or overwrite files", write),
  entry("edit", "Edit", "fs", ["coding"], "writes", "Make precise edits to files", edit),
  entry("apply_patch", "Apply patch", "fs", ["coding"], "writes", "Apply multi-file patches", applyPatch),
  entry(
    "exec",
    "Exec",
    "runtime",
    ["coding"],
    "writes",
    "Run shell commands (pty for programs that need a terminal)",
    exec,
  ),
  entry("process", "Process", "runtime", ["coding"], "writes", "Manage background exec sessions", process),
  entry("web_search", "Web search", "web", [], "reads", "Search the web", notBuilt),
  entry("web_fetch", "Web fetch", "web", [], "reads", "Fetch a URL as readable text", notBuilt),
  entry(
    "memory_search",
    "Memory search",
    "memory",
    ["coding"],
    "reads",
    "Search MEMORY.md and memory/*.md",
    notBuilt,
  ),
  entry("memory_get", "Memory get", "memory", ["coding"], "reads", "Read lines of a memory file", notBuilt),
  entry(
    "sessions_list",
    "Sessions",
    "sessions",
    ["coding", "messaging"],
    "reads",
    "List other sessions and sub-agents",
    notBuilt,
  ),
  entry(
    "sessions_history",
    "Session history",
    "sessions",
    ["coding", "messaging"],
    "reads",
    "Read another session's history",
    notBuilt,
  ),
  entry(
    "sessions_send",
    "Session send",
    "sessions",
    ["coding", "messaging"],
    "sends",
    "Send a message to another session",
    notBuilt,
  ),
  entry(
    "sessions_spawn",
    "Spawn",
    "sessions",
    ["coding"],
    "writes",
    "Spawn a sub-agent in its own session",
    notBuilt,
  ),
  entry(
    "subagents",
    "Sub-agents",
    "sessions",
    ["coding"],
    "writes",
    "List, steer or kill your sub-agents",
    notBuilt,
  ),
  entry(
    "session_status",
    "Session status",
    "sessions",
    ["minimal", "coding", "messaging"],
    "writes",
    "Show time, usage and model; set the model",
    sessionStatus,
  ),
  entry("browser", "Browser", "ui", [], "writes", "Control a web browser", notBuilt),
  entry("canvas", "Canvas", "ui", [], "writes", "Present, evaluate or snapshot the canvas", notBuilt),
  entry(
    "message",
    "Message",
    "messaging",
    ["messaging"],
    "sends",
    "Send messages and channel actions",
    notBuilt,
  ),
  entry("cron", "Cron", "automation", ["coding"], "writes", "Manage reminders and scheduled jobs", notBuilt),
  entry("gateway", "Gateway", "automation", [], "writes", "Restart or configure Parley", gateway),
  entry("nodes", "Nodes", "nodes", [], "sends", "List, notify or use paired devices", notBuilt),
  entry("agents_list", "Agents", "agents", [], "reads", "List agents allowed for sessions_spawn", notBuilt),
  entry("update_plan", "Plan", "agents", ["coding"], "writes", "Keep a plan for multi-step work", updatePlan),
  entry("image", "Image", "media", ["coding"], "reads", "Analyze an image", notBuilt),
  entry("tts", "Speech", "media", [], "writes", "Turn text into speech", notBuilt),
];

function entry(
  id: string,
  label: string,
  section: ToolSection,
  profiles: CatalogueEntry["profiles"],
  effect: ToolEffect,
  summary: string,
  make: ToolFactory | null,
): CatalogueEntry {
  return {
    id,
    label,
    section,
    profiles,
    own: section !== "fs" && section !== "runtime",
    effect,
    summary,
    make,
  };
}

export interface MadeTools {
  readonly tools: readonly Tool[];
  readonly unavailable: readonly { readonly tool: string; readonly reason: string }[];
}

/** Returns the tools that this place has, in the catalogue's order; policy then removes some of them. */
export function makeTools(context: ToolContext): MadeTools {
  const tools: Tool[] = [];
  const unavailable: { readonly tool: string; readonly reason: string }[] = [];
  for (const { id, make } of catalogue) {
    const made = make === null ? { unavailable: "not built yet" } : make(context);
    if (isUnavailable(made)) unavailable.push({ tool: id, reason: made.unavailable });
    else tools.push(made);
  }
  return { tools, unavailable };
}
