// Joins an update to what it works on: the gateway of this state folder, its database, the programs of both
// versions and the record.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadBlocks, placesIn } from "@parley/config";
import { systemClock } from "@parley/protocol";
import {
  aloneWithDatabase,
  lookAfterTrial,
  readRecord,
  resumeUpdate,
  versionFolders,
  writeRecord,
  type InForce,
  type Installed,
  type UpdateRecord,
  type UpdateWorld,
} from "@parley/update";
import type { Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { checkoutInForce } from "../../update/checkout.ts";
import { foldersInForce, shippedVersion } from "../../update/in-force.ts";
import { versionPrograms } from "../../update/version-programs.ts";
import { watchedGateway } from "../../update/watched-gateway.ts";
import { withState } from "../../with-gateway.ts";
import { pruneBackups, schemaCopies } from "./database-copies.ts";
import { saying } from "./update-words.ts";

export function worldOf(terminal: Console, installed: Installed, inForce: InForce): UpdateWorld {
  const { home } = placesIn(terminal.env);
  const launcher = join(installed.root, "bin/parley");
  const clock = systemClock();
  const hasFile = async (): Promise<boolean> =>
    (await loadBlocks(terminal.env, ["store"]))?.config.store.driver !== "redis";
  const programOf = (ref: string): string =>
    installed.kind === "checkout" ? launcher : join(installed.root, "versions", ref, "bin/parley");
  const say = saying(terminal);
  return {
    gateway: watchedGateway(terminal, launcher),
    inForce,
    programs: versionPrograms(terminal.env, programOf, hasFile),
    async backUp({ from, to, begunAtMs }) {
      if (!(await hasFile())) {
        say("The store is Redis: back it up there.");
        return null;
      }
      const names = readdirSync(home);
      if (!names.includes("state.db")) return null;
      const folder = join(home, "backups");
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const plain = (text: string): string => text.replaceAll(/[^\w.-]+/g, "_");
      const path = join(folder, `update-${plain(from)}-to-${plain(to)}-${begunAtMs}.db`);
      await withState(terminal, (client) => client.request("backup", { path }));
      pruneBackups(folder);
      return path;
    },
    aloneWithDatabase: (work) => aloneWithDatabase(home, work),
    schemaCopy: (sinceMs) => schemaCopies(home).find(({ atMs }) => atMs >= sinceMs)?.path ?? null,
    read: () => readRecord(home),
    write: (record) => writeRecord(home, record),
    clock,
    say,
  };
}

export async function resumed(
  terminal: Console,
  installed: Installed,
  record: UpdateRecord,
): Promise<UpdateRecord> {
  const { home } = placesIn(terminal.env);
  const say = saying(terminal);
  const inForce =
    installed.kind === "checkout"
      ? checkoutInForce(installed.root, say)
      : foldersInForce({ installed: { ...installed, root: record.root }, home, release: null, say });
  return resumeUpdate(record, worldOf(terminal, { ...installed, root: record.root }, inForce));
}

/** Before each start while a version is tried; the launcher of the version before it asks for this. */
export async function atStart(terminal: Console, root: string, installed: Installed): Promise<ExitCode> {
  const { home } = placesIn(terminal.env);
  const say = saying(terminal);
  const hasFile = async (): Promise<boolean> =>
    (await loadBlocks(terminal.env, ["store"]))?.config.store.driver !== "redis";
  await lookAfterTrial({
    folders: versionFolders(root, shippedVersion({ ...installed, root })),
    home,
    programs: versionPrograms(terminal.env, (ref) => join(root, "versions", ref, "bin/parley"), hasFile),
    read: () => readRecord(home),
    write: (record) => writeRecord(home, record),
    aloneWithDatabase: (work) => aloneWithDatabase(home, work),
    schemaCopy: (sinceMs) => schemaCopies(home).find(({ atMs }) => atMs >= sinceMs)?.path ?? null,
    nowMs: () => systemClock().now(),
    say,
  });
  return exitCodes.ok;
}
