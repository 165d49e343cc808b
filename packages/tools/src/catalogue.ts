// Lists every tool, in the order in which people read about them. A tool is a file of tools/ and a line here.
import { isUnavailable } from "./ports/done.ts";
import type { ToolContext, ToolFactory } from "./context.ts";
import type { Tool } from "./tool.ts";
import type { ToolListing } from "./tool-listing.ts";
import { agentsList, agentsListListing } from "./tools/agents-list.ts";
import { applyPatch, applyPatchListing } from "./tools/apply-patch.ts";
import { askUser, askUserListing } from "./tools/ask-user.ts";
import { browser, browserListing } from "./tools/browser.ts";
import { canvas, canvasListing } from "./tools/canvas.ts";
import { cron, cronListing } from "./tools/cron.ts";
import { edit, editListing } from "./tools/edit.ts";
import { exec, execListing } from "./tools/exec.ts";
import { gateway, gatewayListing } from "./tools/gateway.ts";
import { image, imageListing } from "./tools/image.ts";
import { imageGenerate, imageGenerateListing } from "./tools/image-generate.ts";
import { memoryGet, memoryGetListing } from "./tools/memory-get.ts";
import { memorySearch, memorySearchListing } from "./tools/memory-search.ts";
import { memoryUpkeep, memoryUpkeepListing } from "./tools/memory-upkeep.ts";
import { message, messageListing } from "./tools/message.ts";
import { nodes, nodesListing } from "./tools/nodes.ts";
import { process, processListing } from "./tools/process.ts";
import { read, readListing } from "./tools/read.ts";
import { sessionStatus, sessionStatusListing } from "./tools/session-status.ts";
import { sessionsHistory, sessionsHistoryListing } from "./tools/sessions-history.ts";
import { sessionsList, sessionsListListing } from "./tools/sessions-list.ts";
import { sessionsSend, sessionsSendListing } from "./tools/sessions-send.ts";
import { sessionsSpawn, sessionsSpawnListing } from "./tools/sessions-spawn.ts";
import { subagents, subagentsListing } from "./tools/subagents.ts";
import { toolSearch, toolSearchListing } from "./tools/tool-search.ts";
import { tts, ttsListing } from "./tools/tts.ts";
import { updatePlan, updatePlanListing } from "./tools/update-plan.ts";
import { webFetch, webFetchListing } from "./tools/web-fetch.ts";
import { webSearch, webSearchListing } from "./tools/web-search.ts";
import { write, writeListing } from "./tools/write.ts";

export interface CatalogueEntry extends Omit<ToolListing, "name"> {
  readonly id: string;
  /** Tools of "group:parley": Parley's own, beyond files and commands. */
  readonly own: boolean;
  readonly make: ToolFactory;
}

export const catalogue: readonly CatalogueEntry[] = [
  built(readListing, read),
  built(writeListing, write),
  built(editListing, edit),
  built(applyPatchListing, applyPatch),
  built(execListing, exec),
  built(processListing, process),
  built(webSearchListing, webSearch),
  built(webFetchListing, webFetch),
  built(memorySearchListing, memorySearch),
  built(memoryGetListing, memoryGet),
  built(memoryUpkeepListing, memoryUpkeep),
  built(sessionsListListing, sessionsList),
  built(sessionsHistoryListing, sessionsHistory),
  built(sessionsSendListing, sessionsSend),
  built(sessionsSpawnListing, sessionsSpawn),
  built(subagentsListing, subagents),
  built(sessionStatusListing, sessionStatus),
  built(browserListing, browser),
  built(canvasListing, canvas),
  built(messageListing, message),
  built(askUserListing, askUser),
  built(cronListing, cron),
  built(gatewayListing, gateway),
  built(nodesListing, nodes),
  built(agentsListListing, agentsList),
  built(toolSearchListing, toolSearch),
  built(updatePlanListing, updatePlan),
  built(imageListing, image),
  built(imageGenerateListing, imageGenerate),
  built(ttsListing, tts),
];

function built({ name, ...listing }: ToolListing, make: ToolFactory): CatalogueEntry {
  return { ...listing, id: name, own: listing.section !== "fs" && listing.section !== "runtime", make };
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
    const made = make(context);
    if (isUnavailable(made)) unavailable.push({ tool: id, reason: made.unavailable });
    else tools.push(made);
  }
  return { tools, unavailable };
}
