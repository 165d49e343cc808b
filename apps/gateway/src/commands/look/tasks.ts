// Implements /tasks: lists what works for this conversation beside its turns, sub-agents and background
// commands.
import { childLine } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

const mostShown = 20;

export const tasks: PastLaneCommand = {
  name: "tasks",
  summary: "what works for this conversation: sub-agents and background commands",
  place: "past-lane",
  onlyTells: true,
  async run({ route: { session } }, { beside, clock }) {
    const [children, commands] = await Promise.all([beside.children(session), beside.commands(session)]);
    const seconds = (sinceMs: number): number => Math.max(0, Math.round((clock.now() - sinceMs) / 1_000));
    const lines = [
      ...children.filter(({ end }) => end === null).map((child) => `🤖 ${childLine(child, clock.now())}`),
      ...commands
        .filter(({ state }) => state === "running")
        .map(({ id, command, startedAtMs }) => `⚙️ ${id} ${command}: running, ${seconds(startedAtMs)} s`),
    ];
    if (lines.length === 0) return "Nothing works for this conversation now.";
    const more = lines.length > mostShown ? [`… and ${lines.length - mostShown} more.`] : [];
    return [...lines.slice(0, mostShown), ...more].join("\n");
  },
};
