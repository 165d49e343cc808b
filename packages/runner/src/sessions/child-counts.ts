// Counts sub-agents for the status and the metrics: those that a process works on now, those that wait (for a
// slot, their own sub-agents, or a decision), and how those of the last seven days ended.
import type { LaneView } from "@parley/store";
import type { AskedEnd, Child } from "./child-registry.ts";

export interface ChildCounts {
  readonly running: number;
  readonly waiting: number;
  /** Only states that occurred. */
  readonly ended: { readonly [state in AskedEnd["state"]]?: number };
}

/** `lanes`: those of the pool `subagent`. */
export function childCounts(
  children: readonly Child[],
  lanes: readonly Pick<LaneView, "lane" | "holder">[],
): ChildCounts {
  const held = new Set(lanes.flatMap(({ lane, holder }) => (holder === null ? [] : [lane])));
  const open = children.filter(({ end }) => end === null);
  const running = open.filter(({ session }) => held.has(session)).length;
  const ended: { [state in AskedEnd["state"]]?: number } = {};
  for (const { end } of children) if (end !== null) ended[end.state] = (ended[end.state] ?? 0) + 1;
  return { running, waiting: open.length - running, ended };
}
