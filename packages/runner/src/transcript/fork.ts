// Implements `chat.fork` in the new conversation's lane: copies another session's transcript through one
// entry, in one commit. Whatever is said there meanwhile waits behind it. People cannot call it: it has no
// typed name and no menu entry.
import { longLog, type Placed } from "@parley/agent";
import type { SessionKey } from "@parley/protocol";
import type { Sessions } from "@parley/store";
import { z } from "zod";
import { readEntry, standsFromField } from "./history.ts";
import type { LaneCommand } from "../run-command.ts";

export const forkName = "fork";

export interface Fork {
  /** The session that is copied. */
  readonly from: string;
  readonly epoch: number;
  readonly throughSeq: number;
  /** Fields that the new session takes over. */
  readonly fields: { readonly [field: string]: string };
}

const forkSchema: z.ZodType<Fork> = z.object({
  from: z.string(),
  epoch: z.number().int(),
  throughSeq: z.number().int(),
  fields: z.record(z.string(), z.string()),
});
const pageEntries = 250;
const most = { entries: longLog.entries * 2, chars: longLog.bytes * 2 };

export function forkCommand(sessions: Pick<Sessions, "open" | "transcript">): LaneCommand {
  return {
    name: forkName,
    async run({ key, args }) {
      const fork = forkSchema.parse(JSON.parse(args));
      const { lastSeq } = await sessions.open(key);
      const copied = await readBack(sessions, fork);
      /** Where an entry of the other session stands in this one. */
      const placeOf = (seq: number): number => lastSeq + copied.filter((each) => each.seq <= seq).length;
      const entries = copied.map(({ entry }) =>
        entry.type === "summary" ? { ...entry, throughSeq: placeOf(entry.throughSeq) } : entry,
      );
      const summary = entries.findLast(({ type }) => type === "summary");
      const stands = summary?.type === "summary" ? { [standsFromField]: summary.throughSeq } : {};
      return {
        answer: null,
        entries: entries.map((entry) => JSON.stringify(entry)),
        patch: { ...fork.fields, ...stands },
      };
    },
  };
}

/** The newest that a turn could see, oldest first. */
async function readBack(
  sessions: Pick<Sessions, "transcript">,
  { from, epoch, throughSeq }: Fork,
): Promise<readonly Placed[]> {
  const pages: Placed[][] = [];
  let before = throughSeq + 1;
  let entries = 0;
  let chars = 0;
  while (before > 1 && entries < most.entries && chars < most.chars) {
    const afterSeq = Math.max(0, before - 1 - pageEntries);
    const limit = before - 1 - afterSeq;
    const read = await sessions.transcript(from as SessionKey, { epoch, afterSeq, limit });
    const page = read.filter(({ seq }) => seq < before);
    // Seqs count on through all epochs, so an empty page is the beginning of this one.
    if (page.length === 0) break;
    pages.push(
      page.flatMap(({ seq, body }) => {
        const entry = readEntry(body);
        return entry === null ? [] : [{ seq, entry }];
      }),
    );
    entries += page.length;
    chars += page.reduce((sum, { body }) => sum + body.length, 0);
    before = afterSeq + 1;
  }
  return pages.toReversed().flat();
}
