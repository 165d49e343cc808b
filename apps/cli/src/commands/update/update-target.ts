// Finds what an update would bring: a version of a release source, one that is kept here, or a commit of a
// checkout. Looking changes nothing.
import { resolve } from "node:path";
import { loadBlocks, placesIn } from "@parley/config";
import {
  byHand,
  checkedSource,
  chosen,
  compareVersions,
  readRecord,
  releasesAt,
  type InForce,
  type Installed,
  type Release,
  type UpdateRecord,
} from "@parley/update";
import { document, line, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { checkoutInForce, checkoutNow, checkoutTarget, ownWork, standing } from "../../update/checkout.ts";
import { foldersInForce } from "../../update/in-force.ts";
import type { UpdateFlags } from "./update-flags.ts";
import { saying } from "./update-words.ts";

/** Looks at the source and at the installation; reads, and nothing else. */
export async function check(terminal: Console, flags: UpdateFlags, installed: Installed): Promise<ExitCode> {
  const { home } = placesIn(terminal.env);
  const shown = { kind: installed.kind, version: installed.version, root: installed.root };
  const last = readRecord(home);
  const history =
    last === null ? null : { from: last.from, to: last.to, state: last.state, reason: last.reason };
  if (installed.kind === "checkout") {
    const now = checkoutNow(installed.root);
    const target = checkoutTarget(installed.root, flags.to, flags.from);
    // What the branch follows and the checkout has already is nothing new.
    const stands = standing(installed.root, now.ref, target.ref);
    const isNew = stands !== "same" && (stands !== "older" || flags.to !== undefined);
    const handWork = isNew ? ownWork(installed.root, now.ref, target.ref) : null;
    if (terminal.json)
      document(terminal.out, {
        installed: { ...shown, version: now.version },
        newest: target.version,
        update: isNew,
        byHand: handWork,
        last: history,
      });
    else
      line(
        terminal.out,
        isNew
          ? `${target.version} is there; this is ${now.version}. ${handWork === null ? "parley update brings it." : `parley update does not bring it: ${handWork}`}`
          : `This is ${now.version}: there is nothing newer.`,
      );
    return exitCodes.ok;
  }
  const { releases, source } = await releasesOf(terminal, flags);
  const newest = chosen(releases, flags.to);
  const isNew = compareVersions(newest.version, installed.version) > 0;
  const handWork = byHand(installed, newest.version);
  if (terminal.json)
    document(terminal.out, {
      installed: shown,
      source,
      newest: newest.version,
      releasedAt: newest.time,
      available: releases.map((each) => each.version),
      update: isNew,
      byHand: handWork,
      last: history,
    });
  else {
    line(
      terminal.out,
      isNew
        ? `Version ${newest.version} of ${newest.time.slice(0, 10)} is there; this is ${installed.version} (${installed.kind}).`
        : `This is ${installed.version} (${installed.kind}): there is nothing newer.`,
    );
    if (isNew) line(terminal.out, handWork ?? "parley update brings it.");
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

export async function plan(terminal: Console, flags: UpdateFlags, installed: Installed): Promise<Planned> {
  const say = saying(terminal);
  if (installed.kind === "checkout") {
    const now = checkoutNow(installed.root);
    const target = checkoutTarget(installed.root, flags.to, flags.from);
    const stands = standing(installed.root, now.ref, target.ref);
    if (stands === "same") return { nothing: `This is ${now.version} already.`, version: now.version };
    if (stands === "older" && flags.to === undefined)
      return { nothing: `This is ${now.version}: there is nothing newer.`, version: now.version };
    const refs = { from: now.version, to: target.version, fromRef: now.ref, toRef: target.ref };
    return { inForce: checkoutInForce(installed.root, say), refs, isOlder: flags.restoreBackup === true };
  }
  const { home } = placesIn(terminal.env);
  const inForce = (release: Release | null) => foldersInForce({ installed, home, release, say });
  const current = inForce(null).folders.current();
  const kept = flags.to !== undefined && flags.from === undefined && inForce(null).folders.has(flags.to);
  const release = kept ? null : chosen((await releasesOf(terminal, flags)).releases, flags.to);
  const to = release?.version ?? flags.to ?? current;
  const handWork = byHand(installed, to);
  if (handWork !== null)
    throw new CommandFailure("unsupported", `Parley does not update itself here: ${handWork}.`);
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
