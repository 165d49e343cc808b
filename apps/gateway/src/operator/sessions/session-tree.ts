// Puts sessions and the sub-agents that they spawned in the order of a tree for operators: each session
// before what is below it, the oldest first.
import { noUsage, type MethodResult, type Usage } from "@parley/protocol";
import type { Child } from "@parley/runner";
import type { Session } from "@parley/store";

type Node = MethodResult<"sessions.tree">["sessions"][number];

/** `sessions show` of the sub-agent has the whole of its task. */
const taskChars = 300;

/** `root`: only this session and what is below it; null: every session that has sub-agents. */
export function sessionTree(
  root: string | null,
  children: readonly Child[],
  sessions: readonly Session[],
  working: ReadonlySet<string>,
): readonly Node[] {
  const known = new Map(sessions.map((session) => [session.key as string, session]));
  const spawned = new Map(children.map((child) => [child.session, child]));
  const below = Map.groupBy(children.toReversed(), ({ parent }) => parent);

  const node = (key: string, depth: number): Node => {
    const [session, child] = [known.get(key), spawned.get(key)];
    const usage = { ...noUsage, ...(session?.fields["usage"] as Partial<Usage> | undefined) };
    return {
      key,
      parent: child?.parent ?? null,
      depth,
      label: child?.label ?? null,
      task: child === undefined ? null : child.task.slice(0, taskChars),
      state: child === undefined ? (working.has(key) ? "working" : "idle") : (child.end?.state ?? "running"),
      reason: child?.end?.reason ?? null,
      startedAtMs: child?.startedAtMs ?? session?.createdAtMs ?? 0,
      endedAtMs: child?.end?.atMs ?? null,
      tokens: usage.inputTokens + usage.outputTokens,
    };
  };
  const from = (key: string, depth: number): readonly Node[] => [
    node(key, depth),
    ...(below.get(key) ?? []).flatMap(({ session }) => from(session, depth + 1)),
  ];
  if (root !== null) return from(root, 0);
  // A sub-agent whose own parent is not listed any more begins a tree itself.
  const roots = [...below.keys()].filter((key) => !spawned.has(key));
  return roots.flatMap((key) => from(key, 0));
}
