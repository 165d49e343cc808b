// Implements /cron: lists the jobs that belong to this conversation, and lets owners pause, resume, run and
// remove them.
import { jobLine, type JobMaker } from "@parley/runner";
import { isFault } from "@parley/protocol";
import { isProgram, senderId } from "@parley/access";
import type { CommandPorts, PastLaneCall, PastLaneCommand } from "../chat-command.ts";

const usage = "Usage: /cron [list | pause N | resume N | run N | rm N]; N is a number of the list, or an id.";
const mostShown = 20;
const actions: readonly string[] = ["pause", "resume", "run", "rm"];

export const cron: PastLaneCommand = {
  name: "cron",
  summary: "reminders and scheduled jobs: list, and for owners pause, resume, run, rm N",
  place: "past-lane",
  async run(call, ports) {
    const by = makerOf(call);
    const [action = "list", ...words] = call.args.split(/\s+/).filter((word) => word !== "");
    const all = await ports.schedules.list(by);
    const nowMs = ports.clock.now();
    if (action === "list") {
      if (all.length === 0) return "There are no scheduled jobs here. Ask me for a reminder to make one.";
      const lines = all.slice(0, mostShown).map((job, at) => `${at + 1}. ${jobLine(job, nowMs)}`);
      const more = all.length > mostShown ? [`… and ${all.length - mostShown} more.`] : [];
      return [...lines, ...more].join("\n");
    }
    const name = words.join(" ");
    if (!actions.includes(action) || name === "") return usage;
    if (!call.owner) return "Only an owner may do that.";
    const numbered = /^\d{1,4}$/.test(name) ? all[Number(name) - 1]?.id : undefined;
    return act(action, numbered ?? name, call, ports, by);
  },
};

async function act(
  action: string,
  name: string,
  { inbound }: PastLaneCall,
  { schedules, clock }: CommandPorts,
  by: JobMaker,
): Promise<string> {
  try {
    const { job } = await schedules.get(name, by);
    switch (action) {
      case "run":
        await schedules.run(job.id, by, inbound.id);
        return `${JSON.stringify(job.name)} (${job.id}) runs now.`;
      case "rm":
        await schedules.remove(job.id, by);
        return `Removed ${JSON.stringify(job.name)} (${job.id}).`;
      default: {
        const enabled = action === "resume";
        const isSo = job.enabled === enabled && (enabled ? job.state.paused === null : true);
        const next = isSo ? job : await schedules.edit(job.id, { enabled }, by);
        return jobLine(next, clock.now());
      }
    }
  } catch (error) {
    if (isFault(error)) return error.message;
    throw error;
  }
}

function makerOf({ inbound, route, owner, authority }: PastLaneCall): JobMaker {
  return {
    agent: route.agent,
    kind: "command",
    sender: senderId(inbound),
    isOwner: owner,
    conversation: isProgram(inbound) ? null : inbound.address,
    session: route.session,
    turn: null,
    authority,
    tools: null,
  };
}
