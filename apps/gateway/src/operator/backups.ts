// Lists the backups that were made by themselves, with how often that is.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { backupFolder, backupName } from "../maintenance/scheduled-backups.ts";
import type { ConfigPorts } from "./ports.ts";

type Backup = MethodResult<"backups.list">["backups"][number];

const mostListed = 500;

export function backupMethods({ configNow, home }: Pick<ConfigPorts, "configNow" | "home">) {
  return {
    async "backups.list"(): Promise<MethodResult<"backups.list">> {
      const { backup } = configNow();
      const folder = backupFolder(home, backup);
      const names = await readdir(folder).catch((error: unknown) => {
        // The folder is made with the first one.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
        throw error;
      });
      const made = names
        .filter((name) => backupName.test(name))
        .toSorted()
        .toReversed();
      const backups = await Promise.all(
        made.slice(0, mostListed).map(async (name): Promise<Backup[]> => {
          const path = join(folder, name);
          const [, day, hour, minute, second] = backupName.exec(name) ?? [];
          const atMs = Date.parse(`${day}T${hour}:${minute}:${second}Z`);
          const file = await stat(path).catch(() => null);
          // It went while they were listed.
          return file === null
            ? []
            : [{ name, path, bytes: file.size, atMs, sealed: name.endsWith(".sealed") }];
        }),
      );
      return { folder, everyHours: backup.everyHours ?? null, keep: backup.keep, backups: backups.flat() };
    },
  };
}
