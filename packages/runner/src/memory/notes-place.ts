// Chooses the folder of a turn's daily notes, and so which of them a new conversation is told. Notes of an
// owner's turn are in memory/ itself; those of a conversation with anyone else are in a folder of its session
// and are told in that session alone.
import { createHash } from "node:crypto";
import { ownersAlone, type OriginOf } from "@parley/agent";
import type { SessionKey } from "@parley/protocol";
import type { Speakers } from "@parley/access";
import type { FileOrigins } from "../file-origins.ts";

export const memoryFolder = "memory";

export interface NotesPlace {
  /** Relative to the workspace. */
  readonly folder: string;
  /** The first line of a new file; null for an owner's. */
  readonly heading: string | null;
  /** Called before notes grow, with hashes of the whole file, so that its origin stays known. */
  readonly added: (path: string, before: string, after: string) => Promise<void>;
  readonly originOf: () => Promise<OriginOf>;
}

export function notesPlace(
  workspace: string,
  session: SessionKey,
  { owner, senders }: Speakers,
  origins: Pick<FileOrigins, "of" | "added"> | undefined,
): NotesPlace {
  const mark = createHash("sha256").update(session).digest("hex").slice(0, 16);
  return {
    folder: owner ? memoryFolder : `${memoryFolder}/sessions/${mark}`,
    heading: owner
      ? null
      : `[Notes on talk with ${senders.join(", ") || "somebody"}, not an owner, in ${session}]`,
    added: async (path, before, after) => origins?.added(workspace, path, before, after),
    originOf: async () => (await origins?.of(workspace)) ?? ownersAlone,
  };
}
