// Stores each approval in a cell. Every change of state is a compare-and-set, so that of two people who
// decide at once one is told that the other was first. Entries are bounded by time and number (I9).
import { type Clock } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";
import type { ExecGrant } from "@parley/tools";
import { createHash } from "node:crypto";
import { formatApproval, parseApproval, type Approval, type ApprovalEvent } from "./approval.ts";

export interface Kept {
  readonly approval: Approval;
  readonly version: number;
}

interface Granted extends ExecGrant {
  readonly id: string;
  readonly agent: string;
  readonly by: string;
  readonly atMs: number;
}

export interface ApprovalStore {
  get(id: string): Promise<Kept | null>;
  /** Returns the approval already stored under this id, if there is one. */
  open(approval: Approval): Promise<Kept>;
  /** Returns null when the approval changed meanwhile. */
  move(kept: Kept, to: Partial<Approval>, event: Omit<ApprovalEvent, "atMs">): Promise<Kept | null>;
  /**
   * Returns the change as part of another write, which the store refuses when the approval changed meanwhile.
   */
  moving(kept: Kept, to: Partial<Approval>, event: Omit<ApprovalEvent, "atMs">): CellWrite;
  /** Newest first. */
  list(): Promise<readonly Kept[]>;
  grant(agent: string, grant: ExecGrant, by: string): Promise<void>;
  grants(agent?: string): Promise<readonly Granted[]>;
  /** Returns false when no grant has this id. */
  revoke(id: string): Promise<boolean>;
}

const prefix = "approval:";
const grantPrefix = "exec-grant:";
/** Operators may ask this long afterwards who allowed what. */
const lifeMs = 90 * 86_400_000;
const mostKept = 1_000;

export function approvalStore(
  cells: Pick<Cells, "get" | "put" | "list" | "remove">,
  clock: Clock,
): ApprovalStore {
  const read = (cell: { readonly value: string; readonly version: number }): Kept => ({
    approval: parseApproval(cell.value),
    version: cell.version,
  });

  async function list(): Promise<readonly Kept[]> {
    const found = (await cells.list(prefix, mostKept * 2)).map(read);
    return found.toSorted((a, b) => b.approval.createdAtMs - a.approval.createdAtMs);
  }

  function moved({ approval }: Kept, to: Partial<Approval>, event: Omit<ApprovalEvent, "atMs">): Approval {
    return { ...approval, ...to, log: [...approval.log, { atMs: clock.now(), ...event }] };
  }

  async function prune(): Promise<void> {
    const closed = (await list()).filter(({ approval }) => approval.state !== "open");
    for (const { approval, version } of closed.slice(mostKept - 1))
      await cells.remove(prefix + approval.id, version);
  }

  return {
    async get(id) {
      const cell = await cells.get(prefix + id);
      return cell === null ? null : read(cell);
    },
    async open(approval) {
      await prune();
      const made = await cells.put(prefix + approval.id, formatApproval(approval), {
        expect: 0,
        ttlMs: lifeMs,
      });
      const cell = made ?? (await cells.get(prefix + approval.id));
      if (cell === null) throw new Error(`the approval ${approval.id} is there and is not there`);
      return read(cell);
    },
    async move(kept, to, event) {
      const next = moved(kept, to, event);
      const cell = await cells.put(prefix + next.id, formatApproval(next), {
        expect: kept.version,
        ttlMs: lifeMs,
      });
      return cell === null ? null : read(cell);
    },
    moving(kept, to, event) {
      const next = moved(kept, to, event);
      return { key: prefix + next.id, value: formatApproval(next), ttlMs: lifeMs, expect: kept.version };
    },
    list,
    async grant(agent, { argv, cwd, sandbox, files, outside }, by) {
      const id = createHash("sha256")
        .update(JSON.stringify([agent, argv, cwd, sandbox]))
        .digest("hex")
        .slice(0, 12);
      const granted: Granted = { id, agent, argv, cwd, sandbox, files, outside, by, atMs: clock.now() };
      await cells.put(`${grantPrefix}${agent}:${id}`, JSON.stringify(granted), {});
    },
    async grants(agent) {
      const found = await cells.list(agent === undefined ? grantPrefix : `${grantPrefix}${agent}:`, 10_000);
      // Grants stored before files were tracked are for commands without any files.
      return found.map(({ value }) =>
        Object.assign({ files: [], outside: [] }, JSON.parse(value) as Granted),
      );
    },
    async revoke(id) {
      const found = (await cells.list(grantPrefix, 10_000)).find(({ key }) => key.endsWith(`:${id}`));
      return found !== undefined && (await cells.remove(found.key));
    },
  };
}
