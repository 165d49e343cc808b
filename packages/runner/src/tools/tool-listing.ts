// Lists every tool as a session sees it: usable, removed by a rule, or unavailable, with the reason. `parley
// tools` and /tools show this list.
import type { MethodResult } from "@parley/protocol";
import { catalogue, groupsOf, isRemote } from "@parley/tools";
import type { ToolsHere } from "./tools-here.ts";

export type ListedTool = MethodResult<"tools.list">["tools"][number];

/** In the catalogue's order; tools that no catalogue lists come last. */
export function listedTools({
  tools: told,
  refused,
  decision,
  unavailable,
}: Pick<ToolsHere, "tools" | "refused" | "decision" | "unavailable">): readonly ListedTool[] {
  const tools = told.filter(({ name }) => !refused.has(name));
  const removed = new Map(decision.removed.map(({ tool, rule }) => [tool, rule]));
  const missing = new Map(unavailable.map(({ tool, reason }) => [tool, reason]));
  const listed = catalogue.map((entry): ListedTool => {
    const { id, label, section, profiles, effect, summary } = entry;
    const isReady = tools.some(({ name }) => name === id);
    const reason = removed.get(id) ?? missing.get(id) ?? null;
    const status = isReady ? "ready" : removed.has(id) ? "removed" : "unavailable";
    return {
      id,
      label,
      section,
      profiles: [...profiles, "full"],
      groups: [...groupsOf(entry)],
      effect,
      summary,
      status,
      reason,
    };
  });
  const isOurs = (name: string): boolean => catalogue.some(({ id }) => id === name);
  const more = tools
    .filter(({ name }) => !isOurs(name))
    .map(({ name, summary, effect }): ListedTool => ({
      ...elsewhere(name),
      effect,
      summary,
      status: "ready",
      reason: null,
    }));
  const without = [...removed, ...missing]
    .filter(([name]) => !isOurs(name) && !more.some(({ id }) => id === name))
    .map(([name, reason]): ListedTool => ({
      ...elsewhere(name),
      effect: "sends",
      summary: "",
      status: removed.has(name) ? "removed" : "unavailable",
      reason,
    }));
  return [...listed, ...more, ...without];
}

/** What is told of a tool that no catalogue lists. */
function elsewhere(name: string): Pick<ListedTool, "id" | "label" | "section" | "profiles" | "groups"> {
  return isRemote(name)
    ? { id: name, label: name, section: "mcp", profiles: ["coding", "messaging", "full"], groups: ["mcp"] }
    : { id: name, label: name, section: "rehearsal", profiles: ["full"], groups: [] };
}
