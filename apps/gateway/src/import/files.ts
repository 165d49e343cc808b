// Plans which files of the source are copied where: workspaces with their memory, and skills. A file that is
// there and says something else stays as it is, and links are not followed, so that a copy never brings in
// what lies outside of the source.
import { accessSync, constants, existsSync, lstatSync, readFileSync, readdirSync } from "node:fs";
import { chmod, copyFile, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import type { Met } from "./report.ts";
import { mostMegabytes, unreadable } from "./source-files.ts";

export interface FileCopy {
  readonly from: string;
  readonly to: string;
}

export interface FilePlan {
  readonly copies: readonly FileCopy[];
  readonly met: readonly Met[];
}

const leftOut: { readonly [name: string]: string } = {
  ".git": "a repository is not copied: move it by hand, if its history is wanted",
  ".openclaw": "it is OpenClaw's own",
  node_modules: "packages are installed anew where they are needed",
};

export interface FilePlanOptions {
  readonly from: string;
  readonly to: string;
  /** Parley's default files: where the present one is still this, the source's takes its place. */
  readonly templates: string | null;
  /** Copied by an earlier import: what is gone since was removed by somebody. */
  readonly isKnown: (to: string) => boolean;
  /** Why a file or folder is no part of what is copied; null where it is. */
  readonly apart?: (path: string) => string | null;
  /** Somebody named the folder, so that it is told where it cannot be read. */
  readonly isExpected?: boolean;
}

export function planFiles({
  from,
  to,
  templates,
  isKnown,
  apart = () => null,
  isExpected = false,
}: FilePlanOptions): FilePlan {
  const copies: FileCopy[] = [];
  const met: Met[] = [];
  const look = (folder: string): void => {
    if (!isReadable(folder, constants.R_OK | constants.X_OK))
      return void met.push({ what: "file", name: folder, fate: "refused", why: unreadable });
    for (const entry of readdirSync(folder, { withFileTypes: true }).toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const path = join(folder, entry.name);
      const target = join(to, relative(from, path));
      const why = (Object.hasOwn(leftOut, entry.name) ? leftOut[entry.name] : null) ?? apart(path);
      if (why !== null) met.push({ what: "file", name: path, fate: "refused", why });
      else if (entry.isDirectory()) look(path);
      else if (!entry.isFile())
        met.push({
          what: "file",
          name: path,
          fate: "refused",
          why: "it is a link or no file, which is not followed",
        });
      else met.push(fileFate(path, target));
    }
  };
  const fileFate = (path: string, target: string): Met => {
    const named = { what: "file", name: path, to: target } as const;
    const megabytes = lstatSync(path).size / 1e6;
    if (megabytes > mostMegabytes)
      return {
        ...named,
        fate: "refused",
        why: `it has ${Math.round(megabytes)} MB: copy it by hand, if it is wanted`,
      };
    if (!isReadable(path)) return { ...named, fate: "refused", why: unreadable };
    if (!existsSync(target)) {
      if (isKnown(target)) return { ...named, fate: "there", why: "it was carried before and removed since" };
      copies.push({ from: path, to: target });
      return { ...named, fate: "carried" };
    }
    if (!lstatSync(target).isFile()) return { ...named, fate: "refused", why: "something else has its name" };
    const own = readFileSync(target);
    if (own.equals(readFileSync(path))) return { ...named, fate: "there", why: "it is there already" };
    const template = templates === null ? null : join(templates, basename(target));
    if (
      template !== null &&
      dirname(target) === to &&
      existsSync(template) &&
      own.equals(readFileSync(template))
    ) {
      copies.push({ from: path, to: target });
      return { ...named, fate: "changed", why: "it takes the place of Parley's default file" };
    }
    return isKnown(target)
      ? { ...named, fate: "there", why: "it was carried before and changed since" }
      : { ...named, fate: "refused", why: "a file of this name says something else, which stays" };
  };
  const there = lstatSync(from, { throwIfNoEntry: false });
  if (there?.isDirectory() === true) look(from);
  else if (isExpected) {
    const why =
      there === undefined
        ? "the folder is not there: its files stay behind"
        : "it is a link or no folder, which is not followed: name the folder that it leads to in the source";
    met.push({ what: "file", name: from, fate: "refused", why });
  }
  return { copies, met };
}

function isReadable(path: string, how = constants.R_OK): boolean {
  try {
    accessSync(path, how);
    return true;
  } catch {
    // It is told; the rest is carried.
    return false;
  }
}

export async function copyFiles(copies: readonly FileCopy[]): Promise<void> {
  for (const { from, to } of copies) {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    // Under its name only once it is whole: a part left by a crash would pass for somebody's own file.
    const draft = join(dirname(to), `.${basename(to)}.importing`);
    await rm(draft, { force: true });
    await copyFile(from, draft);
    // A source that nobody may write must not make notes that the agent cannot add to.
    await chmod(draft, lstatSync(from).mode & 0o111 ? 0o700 : 0o600);
    await rename(draft, to);
  }
}
