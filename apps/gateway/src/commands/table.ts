// Lists every chat command in the order of /help and the menus. To add one, write its file in the folder of
// its subject and name it here.
import { activation } from "./answers/activation.ts";
import { approve, deny } from "./decide/approve.ts";
import { answer } from "./decide/answer.ts";
import { agents } from "./look/agents.ts";
import { btw } from "./conversation/btw.ts";
import { commandsOn } from "./look/commands.ts";
import { forget } from "./conversation/forget.ts";
import { exportSession } from "./conversation/export-session.ts";
import { name } from "./conversation/name.ts";
import { subagents } from "./look/subagents.ts";
import { tasks } from "./look/tasks.ts";
import type { ChatCommand } from "./chat-command.ts";
import { canvas } from "./look/canvas.ts";
import { cron } from "./decide/cron.ts";
import { compact } from "./conversation/compact.ts";
import { context } from "./look/context.ts";
import { estop } from "./decide/estop.ts";
import { handoff } from "./conversation/handoff.ts";
import { helpOn } from "./look/help.ts";
import { mcp } from "./decide/mcp.ts";
import { memory } from "./decide/memory.ts";
import { model } from "./answers/model.ts";
import { newConversation, reset } from "./conversation/new.ts";
import { pair } from "./decide/pair.ts";
import { queue } from "./answers/queue.ts";
import { reasoning } from "./answers/reasoning.ts";
import { restart } from "./decide/restart.ts";
import { skill } from "./look/skill.ts";
import { start } from "./look/start.ts";
import { status } from "./look/status.ts";
import { steer } from "./conversation/steer.ts";
import { stop } from "./conversation/stop.ts";
import { think } from "./answers/think.ts";
import { tools } from "./look/tools.ts";
import { tts } from "./answers/tts.ts";
import { unfocus } from "./conversation/unfocus.ts";
import { update } from "./decide/update.ts";
import { usage } from "./look/usage.ts";
import { verbose } from "./answers/verbose.ts";
import { whoami } from "./look/whoami.ts";
import { why } from "./look/why.ts";

export const chatCommands: readonly ChatCommand[] = [
  stop,
  estop,
  approve,
  deny,
  answer,
  btw,
  steer,
  name,
  agents,
  tasks,
  subagents,
  cron,
  canvas,
  unfocus,
  exportSession,
  forget,
  memory,
  queue,
  verbose,
  tts,
  whoami,
  usage,
  context,
  tools,
  mcp,
  pair,
  handoff,
  skill,
  status,
  restart,
  update,
  why,
  helpOn(listedCommands),
  commandsOn(listedCommands),
  start,
  newConversation,
  reset,
  activation,
  think,
  reasoning,
  model,
  compact,
];

/** Returns the commands that the lists show to this person. */
export function listedCommands(owner: boolean): readonly ChatCommand[] {
  return chatCommands.filter((command) => !command.isUnlisted && (owner || !command.ownersOnly));
}
