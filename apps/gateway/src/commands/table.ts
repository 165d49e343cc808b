// Lists every chat command in the order of /help and the menus. To add one, write its file beside this one
// and name it here.
import { activation } from "./activation.ts";
import { approve, deny } from "./approve.ts";
import { answer } from "./answer.ts";
import { agents } from "./agents.ts";
import { btw } from "./btw.ts";
import { commandsOn } from "./commands.ts";
import { forget } from "./forget.ts";
import { exportSession } from "./export-session.ts";
import { name } from "./name.ts";
import { subagents } from "./subagents.ts";
import { tasks } from "./tasks.ts";
import type { ChatCommand } from "./chat-command.ts";
import { canvas } from "./canvas.ts";
import { cron } from "./cron.ts";
import { compact } from "./compact.ts";
import { context } from "./context.ts";
import { estop } from "./estop.ts";
import { handoff } from "./handoff.ts";
import { helpOn } from "./help.ts";
import { mcp } from "./mcp.ts";
import { memory } from "./memory.ts";
import { model } from "./model.ts";
import { newConversation, reset } from "./new.ts";
import { pair } from "./pair.ts";
import { queue } from "./queue.ts";
import { reasoning } from "./reasoning.ts";
import { restart } from "./restart.ts";
import { skill } from "./skill.ts";
import { start } from "./start.ts";
import { status } from "./status.ts";
import { steer } from "./steer.ts";
import { stop } from "./stop.ts";
import { think } from "./think.ts";
import { tools } from "./tools.ts";
import { tts } from "./tts.ts";
import { unfocus } from "./unfocus.ts";
import { update } from "./update.ts";
import { usage } from "./usage.ts";
import { verbose } from "./verbose.ts";
import { whoami } from "./whoami.ts";
import { why } from "./why.ts";

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
