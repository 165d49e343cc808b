// Implements /subagents: lists the sub-agents of a session, shows what one did, ends or guides it. Beside
// owners only people with the rights that it works with do more than list, because its log may hold what
// others may not read.
import { childLine, steerChild, taskRow, transcriptLines, waitingTask, type Child } from "@parley/runner";
import type { SessionKey } from "@parley/protocol";
import { type CommandPorts, type PastLaneCall, type PastLaneCommand, plainly } from "../chat-command.ts";

const usage =
  "Usage: /subagents [list | log N | kill N | kill all | steer N TEXT]; N is a number of the list, or an id.";
const mostShown = 20;
const mostSuggested = 8;
const entriesShown = 12;
const entryChars = 300;

export const subagents: PastLaneCommand = {
  name: "subagents",
  summary: "my sub-agents here: list, log N, kill N or all, steer N TEXT",
  place: "past-lane",
  async suggests({ route }, { beside }) {
    const all = (await beside.children(route.session)).slice(0, mostSuggested);
    const acts = all.flatMap(({ id, label, end }) =>
      (end === null ? ["kill", "log", "steer"] : ["log"]).map((action) => ({
        label: `${action} ${label}`,
        value: `${action} ${id}`,
      })),
    );
    return [...plainly(["list", "kill all"]), ...acts];
  },
  async run(call, ports) {
    const all = await ports.beside.children(call.route.session);
    const [action = "list", name = "", ...words] = call.args.split(/\s+/).filter((word) => word !== "");
    if (action === "list") return list(all, ports);
    if (!["log", "kill", "steer"].includes(action) || name === "") return usage;
    const meant =
      action === "kill" && name === "all" ? all.filter(({ end }) => end === null) : named(all, name);
    if (meant.length === 0)
      return name === "all"
        ? "No sub-agent is running."
        : `I have no sub-agent ${JSON.stringify(name.slice(0, 40))} here. /subagents lists them.`;
    const own = await Promise.all(meant.map((child) => isTheirs(call, ports, child)));
    if (own.includes(false)) return "Only an owner may do that: it works with the rights of others.";
    const [child] = meant;
    if (action === "kill") return kill(meant, ports);
    if (child === undefined) return usage;
    return action === "log" ? log(child, ports) : steer(child, words.join(" "), call, ports);
  },
};

function list(all: readonly Child[], { clock }: CommandPorts): string {
  if (all.length === 0) return "I have no sub-agents here.";
  const lines = all.slice(0, mostShown).map((child, at) => `${at + 1}. ${childLine(child, clock.now())}`);
  const more = all.length > mostShown ? [`… and ${all.length - mostShown} more.`] : [];
  return [...lines, ...more].join("\n");
}

function named(all: readonly Child[], name: string): readonly Child[] {
  const found =
    all.find(({ id }) => id === name) ?? (/^\d{1,4}$/.test(name) ? all[Number(name) - 1] : undefined);
  return found === undefined ? [] : [found];
}

async function isTheirs(
  { owner, authority }: PastLaneCall,
  { store: { inbox } }: CommandPorts,
  child: Child,
): Promise<boolean> {
  return owner || (await taskRow(inbox, child))?.authority === authority;
}

async function log(child: Child, { store: { sessions }, redaction, clock }: CommandPorts): Promise<string> {
  const stored = await sessions.transcript(child.session as SessionKey, {
    newest: true,
    limit: entriesShown,
  });
  const lines = transcriptLines(stored, redaction).map((line) =>
    line.length <= entryChars ? line : `${line.slice(0, entryChars).toWellFormed()}…`,
  );
  return [childLine(child, clock.now()), ...(lines.length === 0 ? ["Nothing is logged yet."] : lines)].join(
    "\n",
  );
}

async function kill(meant: readonly Child[], { beside }: CommandPorts): Promise<string> {
  const ended = (await Promise.all(meant.map((child) => beside.kill(child, "killed by /subagents")))).flat();
  const ids = [...new Set(ended.map(({ id, label }) => `${id} (${label})`))];
  return ids.length === 0 ? "It has ended already." : `Killed: ${ids.join(", ")}.`;
}

async function steer(
  child: Child,
  text: string,
  { inbound }: PastLaneCall,
  { store: { cells, inbox }, clock }: CommandPorts,
): Promise<string> {
  if (text === "") return usage;
  if (child.end !== null) return "It has ended: ask me to give it more work, or to spawn another.";
  if ((await waitingTask(cells, child.id)) !== null)
    return "Its thread is not open yet: try again in a moment.";
  const sent = await steerChild({ inbox, clock }, child, { id: inbound.id, text });
  return sent
    ? `${child.id} (${child.label}) reads this before its next step.`
    : "It can no longer be reached.";
}
