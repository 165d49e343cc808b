// Exports the agent's tools: the type of a tool, and each tool from a file of its own.
import type { Clock } from "@parley/protocol";
import { append } from "./rehearsal/append.ts";
import { echo } from "./rehearsal/echo.ts";
import { sleepTool } from "./rehearsal/sleep.ts";
import type { Tool } from "./tool.ts";

export { catalogue, makeTools, type MadeTools } from "./catalogue.ts";
export type * from "./context.ts";
export type * from "./ports/browser.ts";
export type * from "./ports/canvases.ts";
export type * from "./ports/devices.ts";
export type * from "./ports/done.ts";
export type * from "./ports/memory.ts";
export type * from "./ports/messages.ts";
export type * from "./ports/other-sessions.ts";
export type * from "./ports/pictures.ts";
export type * from "./ports/schedules.ts";
export type * from "./ports/session.ts";
export type * from "./ports/settings.ts";
export type * from "./ports/speech.ts";
export type * from "./ports/spending.ts";
export type * from "./ports/web.ts";
export { defineTool, textResult } from "./define-tool.ts";
export type { CommandRecord, CommandRecords } from "./exec/command-record.ts";
export type { Command } from "./exec/command.ts";
export { openCommands, type Commands } from "./exec/commands.ts";
export { commandEnv } from "./exec/environment.ts";
export { actionHash, describeAction, type ExecAction } from "./exec/exec-action.ts";
export * from "./exec/exec-decision.ts";
export { guardOf, promptFolders, promptNames } from "./files/guarded-paths.ts";
export { isOlder, type Begun, type Origin, type Origins, type Watch } from "./files/origins.ts";
export { rooted, type Rooted } from "./files/rooted.ts";
export { freeSettings } from "./free-settings.ts";
export { workspaceFiles, type WorkspaceFiles, type WorkspaceFilesOptions } from "./files/workspace-files.ts";
export * from "./policy.ts";
export { protectedChanges } from "./protected-settings.ts";
export { endWatch } from "./sandbox/guard-watch.ts";
export { isSandboxed, noSandbox, openSandbox } from "./sandbox/open-sandbox.ts";
export { networkWord, type Sandbox, type SandboxSettings } from "./sandbox/sandbox.ts";
export type { WayOut } from "./sandbox/way-out.ts";
export * from "./tool.ts";

/** Harmless tools to try the machinery with. `path` is the search path for programs. */
export function rehearsalTools(clock: Clock, path: string): readonly Tool[] {
  return [echo, append, sleepTool(clock, path)];
}
