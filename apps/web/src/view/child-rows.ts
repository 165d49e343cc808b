// Orders the sub-agents of a session as the rows of a tree, and says where a key leads in it (the tree
// pattern of WAI-ARIA). Who is under whom comes from the gateway, each node before what is below it.
import type { MethodResult } from "@parley/protocol";

export type Children = MethodResult<"sessions.tree">["sessions"];
export type Child = Children[number];

export interface ChildRow {
  readonly child: Child;
  /** 1 for those that the session itself spawned. */
  readonly level: number;
  /** Its place among those of the same parent, from 1. */
  readonly place: number;
  /** How many these are. */
  readonly of: number;
  /** Null where nothing is below it. */
  readonly isOpen: boolean | null;
  /** The key of the row above it in the tree; null at the first level. */
  readonly parent: string | null;
}

interface Branch {
  readonly child: Child;
  readonly below: Branch[];
}

export function isAtWork({ state }: Pick<Child, "state">): boolean {
  return state === "running" || state === "working";
}

/** The sub-agents that the session itself spawned; `children` may begin with the session. */
export function branchesOf(children: Children): readonly Branch[] {
  const base = children[0]?.depth ?? 0;
  const [first, rest] = base === 0 ? [1, children.slice(1)] : [base, children];
  const roots: Branch[] = [];
  const line: Branch[] = [];
  for (const child of rest) {
    const branch = { child, below: [] };
    const level = Math.min(child.depth - first, line.length);
    (line[level - 1]?.below ?? roots).push(branch);
    line.splice(level, Infinity, branch);
  }
  return roots;
}

/** With more than these, what has ended is folded away. */
const fewNodes = 30;

/** Whether what is below a branch is seen before somebody says so. */
export function opensFirst({ below }: Branch, nodes: number): boolean {
  return nodes <= fewNodes || below.some(hasWork);
}

function hasWork({ child, below }: Branch): boolean {
  return isAtWork(child) || below.some(hasWork);
}

export function rowsOf(
  branches: readonly Branch[],
  isOpen: (branch: Branch) => boolean,
  level = 1,
  parent: string | null = null,
): readonly ChildRow[] {
  return branches.flatMap((branch, at) => {
    const { child, below } = branch;
    const opened = below.length === 0 ? null : isOpen(branch);
    const row = { child, level, place: at + 1, of: branches.length, isOpen: opened, parent };
    return opened === true ? [row, ...rowsOf(below, isOpen, level + 1, child.key)] : [row];
  });
}

/** The row to go to, or one to open or close; null: the key is none of the tree's. */
type TreeStep =
  | { readonly to: string }
  | { readonly open: readonly string[] }
  | { readonly close: string }
  | null;

export function treeStep(rows: readonly ChildRow[], at: string, key: string): TreeStep {
  const index = rows.findIndex(({ child }) => child.key === at);
  const here = rows[index];
  if (here === undefined) return null;
  const to = (row: ChildRow | undefined): TreeStep => ({ to: row?.child.key ?? at });
  switch (key) {
    case "ArrowDown":
      return to(rows[index + 1]);
    case "ArrowUp":
      return to(rows[index - 1]);
    case "Home":
      return to(rows[0]);
    case "End":
      return to(rows.at(-1));
    case "ArrowRight":
      if (here.isOpen === null) return { to: at };
      return here.isOpen ? to(rows[index + 1]) : { open: [at] };
    case "ArrowLeft":
      return here.isOpen === true ? { close: at } : { to: here.parent ?? at };
    case "*":
      return {
        open: rows.flatMap(({ child, parent, isOpen }) =>
          parent === here.parent && isOpen === false ? [child.key] : [],
        ),
      };
    default:
      return null;
  }
}
