// Lists the tools, and says how to use those that take long. The advice only names tools that exist.
import type { StableFacts } from "../facts.ts";
import { neverDropped, type StableSection } from "../section.ts";

export const tooling: StableSection = {
  id: "tooling",
  title: "Tooling",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: (facts) => lines(facts, true),
  shrink: (facts) => lines(facts, false),
  why: ({ tools }) => `${tools.list.length} tools after policy`,
};

function lines({ tools }: StableFacts, summaries: boolean): string {
  if (tools.list.length === 0)
    return "No tools are available in this session: answer from what you know, and say so where it matters.";
  const list = tools.list.map(({ name, summary }) =>
    summaries && summary !== "" ? `- ${name}: ${summary}` : `- ${name}`,
  );
  return [
    "Available tools (filtered by policy). Tool names are case-sensitive. Call tools exactly as listed.",
    ...list,
    ...lookedUp(tools),
    "TOOLS.md is guidance; it does not decide which tools exist.",
    ...longWork(tools),
  ].join("\n");
}

/** Most characters of the names of tools that have to be looked up. */
const namesChars = 4_000;

function lookedUp(tools: StableFacts["tools"]): string[] {
  const { deferred } = tools;
  if (deferred.length === 0 || !tools.has("tool_search")) return [];
  let room = namesChars;
  const shown = deferred.filter((name) => (room -= name.length + 2) >= 0);
  const more = deferred.length - shown.length;
  return [
    `More tools, to be loaded with \`${tools.name("tool_search")}\` before they are called (it finds them by words, too): ` +
      `${shown.join(", ")}${more === 0 ? "" : `, and ${more} more`}.`,
  ];
}

function longWork(tools: StableFacts["tools"]): string[] {
  const n = (name: string): string => `\`${tools.name(name)}\``;
  const advice: string[] = [];
  if (tools.has("cron")) {
    const instead = tools.has("exec")
      ? `, not ${n("exec")} sleep loops, yieldMs tricks or repeated polling`
      : "";
    advice.push(`For later work (check back, reminders, recurring) use ${n("cron")}${instead}.`);
  }
  if (tools.has("exec")) {
    const wait = tools.has("process") ? ` or ${n("process")}(action=poll, timeout=<ms>)` : "";
    advice.push(
      `${n("exec")} starts commands now; they may go on in the background. Start each once: its completion wakes you. ` +
        `For long waits avoid rapid poll loops: use enough yieldMs${wait}.`,
    );
  }
  if (tools.has("process"))
    advice.push(`Use ${n("process")} for the logs, status, input or end of a running command.`);
  if (tools.has("sessions_spawn")) {
    advice.push(
      `If a task is larger or takes long, prefer ${n("sessions_spawn")}. Completion is push-based: it announces itself when done.`,
    );
  }
  const polled = [
    ...(tools.has("subagents") ? [`${n("subagents")} list`] : []),
    ...(tools.has("sessions_list") ? [n("sessions_list")] : []),
  ];
  if (polled.length > 0)
    advice.push(`Do not poll ${polled.join(" or ")} in a loop; check status only on demand.`);
  if (tools.has("update_plan")) {
    advice.push(
      `Use ${n("update_plan")} only for non-trivial work, with exactly one step in_progress; do not repeat the plan after it.`,
    );
  }
  return advice;
}
