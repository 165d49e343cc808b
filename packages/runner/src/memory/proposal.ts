// Keeps what the nightly upkeep proposes for the notes, each proposal in a cell. Every change of state is a
// compare-and-set, so that of two owners who decide at once one is first. What was looked at and what an
// owner refused is remembered by hashes alone, so that the next night does not ask again.
import { createHash } from "node:crypto";
import type { Clock } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";
import { z } from "zod";
import { lineMark } from "./provenance.ts";

const lineSchema = z.object({ path: z.string(), line: z.number(), text: z.string() });

const proposalSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  agent: z.string(),
  /** The upkeep's own, as `parley why` knows it. */
  session: z.string(),
  turn: z.string(),
  changes: z.array(
    z.object({
      kind: z.enum(["merge", "contradiction"]),
      lines: z.array(lineSchema),
      /** What stands in place of the lines of a merge. */
      text: z.string().nullable(),
      why: z.string(),
      /** Where text of strangers came from that somebody had read who noted one of the lines. */
      untrusted: z.string().optional(),
    }),
  ),
  /** Conversations of owners in which it is shown. */
  shownIn: z.array(z.string()),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  /** `accepting`: decided, and the notes may not all be written yet. */
  state: z.enum(["open", "accepting", "accepted", "refused", "expired"]),
  by: z.object({ person: z.string(), name: z.string() }).optional(),
  /** The changes that were accepted, by their place from 0. */
  chosen: z.array(z.number()).optional(),
  /** What is written, fixed before the first note is. */
  plan: z
    .object({
      day: z.string(),
      files: z.array(z.object({ path: z.string(), before: z.string(), after: z.string() })),
      refused: z.array(z.string().nullable()),
    })
    .optional(),
  /** What was accepted and could not be done, in words. */
  left: z.array(z.string()).optional(),
  endedAtMs: z.number().optional(),
});

export type Proposal = z.infer<typeof proposalSchema>;
export type ProposedChange = Proposal["changes"][number];

export interface KeptProposal {
  readonly proposal: Proposal;
  readonly version: number;
}

export interface ProposalStore {
  get(id: string): Promise<KeptProposal | null>;
  /** The write that stores a new one, as part of a call's effects. */
  proposing(proposal: Proposal): CellWrite;
  /** Null when somebody else changed it meanwhile. */
  change(kept: KeptProposal, next: Partial<Proposal>): Promise<KeptProposal | null>;
  /** Newest first. */
  list(): Promise<readonly KeptProposal[]>;
  /** The writes that remember groups of lines for a while. */
  marking(kind: Remembered, agent: string, groups: readonly (readonly string[])[]): readonly CellWrite[];
  isMarked(kind: Remembered, agent: string, lines: readonly string[]): Promise<boolean>;
}

/** `looked`: shown to the upkeep, which proposed what it wanted. `refused`: by an owner. */
type Remembered = "looked" | "refused";

const prefix = "memory-proposal:";
const lifeMs = 30 * 86_400_000;
const remembered = { looked: 30 * 86_400_000, refused: 180 * 86_400_000 } as const;
const mostListed = 200;

export function proposalStore(cells: Pick<Cells, "get" | "put" | "list">, clock: Clock): ProposalStore {
  const read = (cell: { readonly value: string; readonly version: number }): KeptProposal => ({
    proposal: proposalSchema.parse(JSON.parse(cell.value)),
    version: cell.version,
  });
  const write = (proposal: Proposal): { key: string; value: string; ttlMs: number } => ({
    key: `${prefix}${proposal.id}`,
    value: JSON.stringify(proposal),
    ttlMs: lifeMs,
  });
  const markKey = (kind: Remembered, agent: string, lines: readonly string[]): string => {
    const marks = lines.map(lineMark).toSorted().join(" ");
    return `memory-${kind}:${agent}:${createHash("sha256").update(marks).digest("hex").slice(0, 32)}`;
  };
  return {
    async get(id) {
      const cell = await cells.get(`${prefix}${id}`);
      return cell === null ? null : read(cell);
    },
    proposing: (proposal) => ({ ...write(proposal), expect: 0 }),
    async change({ proposal, version }, next) {
      const { key, value, ttlMs } = write({ ...proposal, ...next });
      const cell = await cells.put(key, value, { ttlMs, expect: version });
      return cell === null ? null : read(cell);
    },
    async list() {
      const found = (await cells.list(prefix, mostListed)).map(read);
      return found.toSorted(
        (a, b) => b.proposal.createdAtMs - a.proposal.createdAtMs || (a.proposal.id < b.proposal.id ? -1 : 1),
      );
    },
    marking: (kind, agent, groups) =>
      groups.map((lines) => ({
        key: markKey(kind, agent, lines),
        value: `${clock.now()}`,
        ttlMs: remembered[kind],
      })),
    isMarked: async (kind, agent, lines) => (await cells.get(markKey(kind, agent, lines))) !== null,
  };
}
