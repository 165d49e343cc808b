// Finds the copies of the database that an update or a change of schema left behind, and which of them an
// older version may go back to. Nothing is changed where there is none.
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { placesIn } from "@parley/config";
import type { UpdateRecord, UpdateWorld } from "@parley/update";
import type { Console } from "../../console.ts";
import { CommandFailure } from "../../exit.ts";
import type { UpdateFlags } from "./update-flags.ts";

const backupsKept = 3;

/** The newest first. */
export function schemaCopies(home: string): readonly { readonly path: string; readonly atMs: number }[] {
  return readdirSync(home)
    .flatMap((name) => {
      const found = /^state\.db\.schema-\d+-(\d+)$/.exec(name);
      return found === null ? [] : [{ path: join(home, name), atMs: Number(found[1]) }];
    })
    .toSorted((a, b) => b.atMs - a.atMs);
}

function updateBackups(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => /^update-.*-\d+\.db$/.test(name))
    .map((name) => join(folder, name))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
}

export function pruneBackups(folder: string): void {
  for (const path of updateBackups(folder).slice(backupsKept)) rmSync(path);
}

/**
 * For an older version that does not know the database: a copy from before that it knows, if the operator
 * wants it. Null where the database may stay. Throws where it may not, and nothing is changed.
 */
export async function copyFor(
  terminal: Console,
  { restoreBackup }: UpdateFlags,
  world: UpdateWorld,
  record: UpdateRecord,
): Promise<string | null> {
  const { home } = placesIn(terminal.env);
  const end = (reason: string): never => {
    world.write({ ...record, state: "failed", reason, endedAtMs: world.clock.now() });
    throw new CommandFailure("unsupported", reason);
  };
  try {
    await world.inForce.prepare(record);
  } catch (error) {
    return end(error instanceof Error ? error.message : String(error));
  }
  // The files of another commit are asked once they are in force; what they refuse goes back by itself.
  if (!world.inForce.checkedAfterSwap && !(await world.programs.refusesDatabase(record.toRef))) return null;
  const backups = join(home, "backups");
  const copies = [
    ...schemaCopies(home).map(({ path }) => path),
    ...(readdirSync(home).includes("backups") ? updateBackups(backups) : []),
  ];
  for (const path of copies) {
    if (!world.inForce.checkedAfterSwap && (await world.programs.rehearsal(record.toRef, path)) !== null)
      continue;
    if (restoreBackup === true) return path;
    return end(
      `Version ${record.to} does not know the database that ${record.from} wrote. --restore-backup goes back to ${path}: what was said since then stays in a file beside it, and is not known to ${record.to}.`,
    );
  }
  return end(
    `Version ${record.to} does not know the database that ${record.from} wrote, and there is no copy from before.`,
  );
}
