// Brings files of an older version to this one's by pure steps. Loading does it in memory; the daemon also
// rewrites the file at its start, keeps its comments, and leaves the old file beside it. A step must leave
// alone what is written in the new way already, because a file that names no version counts as one of the
// first.
import { stat } from "node:fs/promises";
import { Fault, type Json, type JsonObject } from "@parley/protocol";
import { parseDocument } from "./document.ts";
import { editConfig } from "./edit.ts";
import { changesTo } from "./merge.ts";
import { textFile } from "./read-text.ts";
import { replaceFile } from "./write.ts";

export interface Migration {
  /** The version that it leads to, from the one before. */
  readonly to: number;
  /** For the log: what became of which key. */
  readonly says: string;
  /** Pure: a new value. What is malformed it leaves to the schema. */
  readonly migrate: (file: JsonObject) => JsonObject;
}

/** In order, without gaps. None yet: version 1 is the first. */
export const migrations: readonly Migration[] = [];

export interface Migrated {
  readonly value: unknown;
  /** Null when there was nothing to do. */
  readonly from: number | null;
  readonly steps: readonly Migration[];
}

/** Files of a newer version are left as they are. */
export function migrated(value: unknown, known: readonly Migration[] = migrations): Migrated {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { value, from: null, steps: [] };
  const file = value as JsonObject;
  const stated: Json | undefined = file["configVersion"];
  const from = typeof stated === "number" ? stated : 1;
  const steps = known.filter(({ to }) => to > from);
  const last = steps.at(-1);
  if (last === undefined) return { value, from: null, steps };
  return {
    value: { ...steps.reduce((now, { migrate }) => migrate(now), file), configVersion: last.to },
    from,
    steps,
  };
}

export interface Rewritten {
  readonly from: number;
  /** The file as it was. */
  readonly backup: string;
  readonly says: readonly string[];
}

/**
 * Null when the file is of this version, or is not there. Throws Fault("unavailable") when the folder cannot
 * be written.
 */
export async function rewriteMigrated(
  path: string,
  known: readonly Migration[] = migrations,
): Promise<Rewritten | null> {
  const text = await textFile(path).catch((error: Error) => {
    throw new Fault("unavailable", `${path} cannot be read: ${error.message}`, { cause: error });
  });
  if (text === null) return null;
  const { value, problems } = parseDocument(text);
  if (problems.length > 0 || text.trim() === "") return null;
  const next = migrated(value, known);
  if (next.from === null) return null;
  const backup = `${path}.v${next.from}.bak`;
  // The first one is the one that a person wrote.
  if ((await stat(backup).catch(() => null)) === null) await replaceFile(backup, text);
  await replaceFile(
    path,
    editConfig(text, changesTo(value, next.value as JsonObject, { as: "whole" }), path),
  );
  return { from: next.from, backup, says: next.steps.map(({ says }) => says) };
}
