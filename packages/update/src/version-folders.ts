// The folders of an installation: versions beside each other, the link `current` that names the one in force,
// the link `previous`, and the mark `trial` of a version that is being tried. The link is replaced by a
// rename, so that at every instant one whole version is in force.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { Fault } from "@parley/protocol";
import { z } from "zod";
import { isVersion } from "./release-version.ts";
import { deniedFault, writeWhole } from "./update-record.ts";

interface Trial {
  /** The state folder whose gateway asked for the update. */
  readonly home: string;
  /** Starts of the gateway since. */
  readonly starts: number;
}

export interface VersionFolders {
  readonly root: string;
  /** What `current` names; what came with the installation where there is no link yet. */
  current(): string;
  has(version: string): boolean;
  folderOf(version: string): string;
  /** Where the version is unpacked until it is whole. */
  draftOf(version: string): string;
  /** Throws Fault("denied") where this user may not write. */
  swapTo(version: string): void;
  /** Names the version that looks after a trial. */
  setPrevious(version: string): void;
  readTrial(): Trial | null;
  writeTrial(trial: Trial): void;
  endTrial(): void;
  /** Removes all versions but these, and what was left half unpacked. */
  keepOnly(versions: readonly string[]): void;
}

const trialForm = z.object({ home: z.string(), starts: z.number().int() });

/** `shipped` is the version in force where no link names one. */
export function versionFolders(root: string, shipped: string): VersionFolders {
  const versions = join(root, "versions");
  const trialFile = join(root, "trial");
  const folderOf = (version: string): string => join(versions, version);

  function point(link: string, version: string): void {
    if (!existsSync(folderOf(version)))
      throw new Fault("missing", `version ${version} is not in ${versions}`);
    const draft = join(root, `.${link}.${process.pid}`);
    try {
      rmSync(draft, { force: true });
      symlinkSync(`versions/${version}`, draft);
      renameSync(draft, join(root, link));
    } catch (cause) {
      throw denied(root, cause);
    }
  }

  return {
    root,
    current() {
      try {
        return basename(readlinkSync(join(root, "current")));
      } catch {
        // As npm unpacks it: npm knows no links.
        return shipped;
      }
    },
    has: (version) => existsSync(join(folderOf(version), "bin/parley")),
    folderOf,
    draftOf: (version) => join(versions, `.${version}.part`),
    swapTo: (version) => point("current", version),
    setPrevious: (version) => point("previous", version),
    readTrial() {
      try {
        return trialForm.parse(JSON.parse(readFileSync(trialFile, "utf8")));
      } catch {
        return null;
      }
    },
    writeTrial: (trial) => writeWhole(trialFile, `${JSON.stringify(trial)}\n`),
    endTrial: () => rmSync(trialFile, { force: true }),
    keepOnly(kept) {
      for (const name of readdirSync(versions)) {
        const isOld = isVersion(name) && !kept.includes(name);
        if (isOld || name.endsWith(".part")) rmSync(join(versions, name), { recursive: true, force: true });
      }
    },
  };
}

/** A fresh, empty folder. Throws Fault("denied") where this user may not make it. */
export function freshFolder(path: string, root: string): string {
  try {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
    return path;
  } catch (cause) {
    throw denied(root, cause);
  }
}

function denied(root: string, cause: unknown): Fault {
  const { code } = cause as NodeJS.ErrnoException;
  if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS") throw cause;
  return deniedFault(root, cause);
}
