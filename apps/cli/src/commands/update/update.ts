// `parley update`: finds out how Parley was installed and what a release source has, and runs the update to
// its end, from wherever a dead process left it.
import {
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { loadBlocks, placesIn } from "@parley/config";
import { systemClock, systemIds, version } from "@parley/protocol";
import {
  byHand,
  checkedSource,
  chosen,
  compareVersions,
  hasEnded,
  installedAt,
  isRunning,
  isVersion,
  lookAfterTrial,
  readRecord,
  releasesAt,
  resumeUpdate,
  runUpdate,
  versionFolders,
  writeRecord,
  type InForce,
  type Installed,
  type Release,
  type UpdateRecord,
  type UpdateWorld,
} from "@parley/update";
import { document, line, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { gatewayProgram } from "../../gateway-program.ts";
import {
  checkoutInForce,
  checkoutNow,
  checkoutTarget,
  foldersInForce,
  shippedVersion,
} from "../../update/in-force.ts";
import { versionPrograms } from "../../update/version-programs.ts";
import { watchedGateway } from "../../update/watched-gateway.ts";
import { secondsOf } from "../../seconds.ts";
import { withState } from "../../with-gateway.ts";

export interface UpdateFlags {
  readonly check?: boolean;
  readonly to?: string;
  readonly from?: string;
  readonly watch?: string;
  readonly restoreBackup?: boolean;
  readonly askedBy?: string;
  readonly resume?: boolean;
  readonly atStart?: string;
}

const backupsKept = 3;

export async function update(terminal: Console, flags: UpdateFlags): Promise<ExitCode> {
  const installed = installedAt(resolve(dirname(gatewayProgram), "../../.."), version);
  const { home } = placesIn(terminal.env);
  if (flags.atStart !== undefined) return atStart(terminal, flags.atStart, installed);
  const watchMs = secondsOf("--watch", flags.watch ?? "60");
  const isWrong = flags.to !== undefined && installed.kind !== "checkout" && !isVersion(flags.to);
  const wrongVersion = `--to takes a version, as 1.2.3, not "${flags.to ?? ""}"`;
  if (isWrong && flags.askedBy === undefined)
    throw new CommandFailure("invalid", wrongVersion, exitCodes.usage);
  if (flags.check === true) return check(terminal, flags, installed);

  /** Whoever asked from elsewhere reads in the record that there is no update. */
  const refuse = (reason: string): void => {
    if (flags.askedBy === undefined) return;
    const nowMs = systemClock().now();
    const to = flags.to ?? installed.version;
    const refs = { from: installed.version, to, fromRef: installed.version, toRef: to };
    writeRecord(home, {
      ...freshRecord(installed, flags, refs, watchMs),
      state: "failed",
      reason,
      endedAtMs: nowMs,
    });
  };
  const unlock = lock(home);
  try {
    const unfinished = readRecord(home);
    if (unfinished !== null && !hasEnded(unfinished)) {
      const ended = await resumed(terminal, installed, unfinished);
      if (flags.resume === true || !hasEnded(ended)) return told(terminal, ended);
      line(terminal.err, `An update to ${ended.to} was not finished: ${wordsOfEnd(ended)}`);
    } else if (flags.resume === true) return exitCodes.ok;
    if (isWrong) {
      refuse(wrongVersion.replace("--to takes", "it takes"));
      throw new CommandFailure("invalid", wrongVersion, exitCodes.usage);
    }
    const planned = await plan(terminal, flags, installed).catch((error: unknown) => {
      refuse(error instanceof Error ? error.message : String(error));
      throw error;
    });
    if ("nothing" in planned) {
      refuse(planned.nothing);
      if (terminal.json)
        document(terminal.out, {
          ok: true,
          state: "none",
          version: planned.version,
          message: planned.nothing,
        });
      else line(terminal.out, planned.nothing);
      return exitCodes.ok;
    }
    const record = freshRecord(installed, flags, planned.refs, watchMs);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeRecord(home, record);
    const world = worldOf(terminal, installed, planned.inForce);
    const restore = planned.isOlder ? await copyFor(terminal, flags, world, record) : null;
    return told(terminal, await runUpdate({ ...record, restore }, world));
  } finally {
    unlock();
  }
}

function freshRecord(
  { root }: Installed,
  { askedBy }: UpdateFlags,
  refs: Pick<UpdateRecord, "from" | "to" | "fromRef" | "toRef">,
  watchMs: number,
): UpdateRecord {
  return {
    id: systemIds().uuid(),
    root,
    ...refs,
    state: "preparing",
    reason: null,
    backup: null,
    restore: null,
    replaced: null,
    kept: null,
    worked: null,
    watchMs,
    askedBy: askedBy ?? null,
    driver: process.pid,
    before: null,
    begunAtMs: systemClock().now(),
    endedAtMs: null,
  };
}

/** Looks at the source and at the installation; reads, and nothing else. */
async function check(terminal: Console, flags: UpdateFlags, installed: Installed): Promise<ExitCode> {
  const { home } = placesIn(terminal.env);
  const shown = { kind: installed.kind, version: installed.version, root: installed.root };
  const last = readRecord(home);
  const history =
    last === null ? null : { from: last.from, to: last.to, state: last.state, reason: last.reason };
  if (installed.kind === "checkout") {
    const now = checkoutNow(installed.root);
    const target = checkoutTarget(installed.root, flags.to, flags.from);
    const isNew = target.ref !== now.ref;
    if (terminal.json)
      document(terminal.out, {
        installed: { ...shown, version: now.version },
        newest: target.version,
        update: isNew,
        last: history,
      });
    else
      line(
        terminal.out,
        isNew
          ? `${target.version} is there; this is ${now.version}. parley update brings it.`
          : `This is ${now.version}: there is nothing newer.`,
      );
    return exitCodes.ok;
  }
  const { releases, source } = await releasesOf(terminal, flags);
  const newest = chosen(releases, flags.to);
  const isNew = compareVersions(newest.version, installed.version) > 0;
  const todo = byHand(installed, newest.version);
  if (terminal.json)
    document(terminal.out, {
      installed: shown,
      source,
      newest: newest.version,
      releasedAt: newest.time,
      available: releases.map((each) => each.version),
      update: isNew,
      byHand: todo,
      last: history,
    });
  else {
    line(
      terminal.out,
      isNew
        ? `Version ${newest.version} of ${newest.time.slice(0, 10)} is there; this is ${installed.version} (${installed.kind}).`
        : `This is ${installed.version} (${installed.kind}): there is nothing newer.`,
    );
    if (isNew) line(terminal.out, todo ?? "parley update brings it.");
  }
  return exitCodes.ok;
}

type Planned =
  | { readonly nothing: string; readonly version: string }
  | {
      readonly inForce: InForce;
      readonly refs: Pick<UpdateRecord, "from" | "to" | "fromRef" | "toRef">;
      /** Its database may be of a newer version. */
      readonly isOlder: boolean;
    };

async function plan(terminal: Console, flags: UpdateFlags, installed: Installed): Promise<Planned> {
  const say = saying(terminal);
  if (installed.kind === "checkout") {
    const now = checkoutNow(installed.root);
    const target = checkoutTarget(installed.root, flags.to, flags.from);
    if (target.ref === now.ref) return { nothing: `This is ${now.version} already.`, version: now.version };
    const refs = { from: now.version, to: target.version, fromRef: now.ref, toRef: target.ref };
    return { inForce: checkoutInForce(installed.root, say), refs, isOlder: flags.restoreBackup === true };
  }
  const { home } = placesIn(terminal.env);
  const inForce = (release: Release | null) => foldersInForce({ installed, home, release, say });
  const current = inForce(null).folders.current();
  const kept = flags.to !== undefined && flags.from === undefined && inForce(null).folders.has(flags.to);
  const release = kept ? null : chosen((await releasesOf(terminal, flags)).releases, flags.to);
  const to = release?.version ?? flags.to ?? current;
  const todo = byHand(installed, to);
  if (todo !== null) throw new CommandFailure("unsupported", `Parley does not update itself here: ${todo}.`);
  if (to === current) return { nothing: `Version ${to} is in force already.`, version: to };
  const isOlder = compareVersions(to, current) < 0;
  if (isOlder && flags.to === undefined)
    return { nothing: `This is ${current}: there is nothing newer.`, version: current };
  return { inForce: inForce(release), refs: { from: current, to, fromRef: current, toRef: to }, isOlder };
}

async function releasesOf(
  terminal: Console,
  { from }: UpdateFlags,
): Promise<{ readonly releases: readonly Release[]; readonly source: string }> {
  const config = (await loadBlocks(terminal.env, ["update"]))?.config.update;
  const named = from === undefined || /^https?:/i.test(from) ? from : resolve(from);
  const source = named ?? config?.url;
  if (source === undefined)
    throw new CommandFailure(
      "missing",
      "There is no release source: set update.url to a folder or an https address, or name one with --from.",
      exitCodes.usage,
    );
  const releases = await releasesAt(checkedSource(source), config?.publicKey ?? null);
  return { releases, source };
}

function worldOf(terminal: Console, installed: Installed, inForce: InForce): UpdateWorld {
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
      prune(folder);
      return path;
    },
    schemaCopy: (sinceMs) => schemaCopies(home).find(({ atMs }) => atMs >= sinceMs)?.path ?? null,
    read: () => readRecord(home),
    write: (record) => writeRecord(home, record),
    clock,
    say,
  };
}

/** The newest first. */
function schemaCopies(home: string): readonly { readonly path: string; readonly atMs: number }[] {
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

function prune(folder: string): void {
  for (const path of updateBackups(folder).slice(backupsKept)) rmSync(path);
}

/**
 * For an older version that does not know the database: a copy from before that it knows, if the operator
 * wants it. Null where the database may stay. Throws where it may not, and nothing is changed.
 */
async function copyFor(
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

async function resumed(terminal: Console, installed: Installed, record: UpdateRecord): Promise<UpdateRecord> {
  const { home } = placesIn(terminal.env);
  const say = saying(terminal);
  const inForce =
    installed.kind === "checkout"
      ? checkoutInForce(installed.root, say)
      : foldersInForce({ installed: { ...installed, root: record.root }, home, release: null, say });
  return resumeUpdate(record, worldOf(terminal, { ...installed, root: record.root }, inForce));
}

/** Before each start while a version is tried; the launcher of the version before it asks for this. */
async function atStart(terminal: Console, root: string, installed: Installed): Promise<ExitCode> {
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
    schemaCopy: (sinceMs) => schemaCopies(home).find(({ atMs }) => atMs >= sinceMs)?.path ?? null,
    nowMs: () => systemClock().now(),
    say,
  });
  return exitCodes.ok;
}

/** One update of a state folder at a time. Returns what gives it up. */
function lock(home: string): () => void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const path = join(home, "update.lock");
  for (;;) {
    try {
      const file = openSync(path, "wx", 0o600);
      writeFileSync(file, String(process.pid));
      closeSync(file);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = Number(readOr(path, "0"));
    if (holder > 0 && holder !== process.pid && isRunning(holder))
      throw new CommandFailure("conflict", `An update runs already (process ${holder}).`);
    rmSync(path, { force: true });
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

function told(terminal: Console, record: UpdateRecord): ExitCode {
  const { state, from, to, reason, backup } = record;
  const kept = record.kept ?? record.replaced;
  const ok = state === "done" || state === "trying";
  if (terminal.json) document(terminal.out, { ok, state, from, to, reason, backup, kept });
  else words(ok ? terminal.out : terminal.err, wordsOfEnd(record));
  return ok ? exitCodes.ok : exitCodes.failed;
}

function wordsOfEnd({ state, from, to, reason, backup, replaced, ...record }: UpdateRecord): string {
  const aside = record.kept ?? replaced;
  const kept = aside === null ? "" : ` The database that was there is kept as ${aside}.`;
  if (state === "done")
    return `Parley ${to} is in force, ${from} before it.${backup === null ? "" : ` Backup: ${backup}.`}${kept}`;
  if (state === "trying") return `Parley ${to} is in force and is watched at its next start.`;
  if (state === "went-back")
    return `Parley ${from} is in force again; ${to} did not do: ${reason ?? ""}.${kept}`;
  return `Nothing was changed: ${reason ?? ""}`;
}

function saying({ err }: Console): (text: string) => void {
  return (text) => line(err, text);
}
