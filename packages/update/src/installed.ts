// Finds out how this Parley was installed, from the files beside its program: what `parley update` may do
// follows from it.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

/**
 * `npm`, `tarball` and `checkout` can be updated from here. `folder` is a bundle that somebody made by hand.
 */
type InstallKind = "checkout" | "npm" | "npx" | "tarball" | "deb" | "container" | "folder";

export interface Installed {
  readonly kind: InstallKind;
  /** The folder with the launcher `bin/parley`. */
  readonly root: string;
  /** What this program says of itself. */
  readonly version: string;
  /** As "linux-x64"; null where one fits all. */
  readonly platform: string | null;
}

/** Written beside the program by `npm run release`. */
const facts = z.object({
  kind: z.enum(["npm", "tarball", "deb", "container"]),
  platform: z.string().optional(),
});

/** `folder` holds `apps/` and `bin/` of the running program. */
export function installedAt(folder: string, version: string, inContainer = isContainer()): Installed {
  const found = factsIn(folder);
  if (found !== null) {
    const isVersionFolder = basename(dirname(folder)) === "versions";
    const root = isVersionFolder ? dirname(dirname(folder)) : folder;
    const kind = found.kind === "npm" && root.includes("/_npx/") ? "npx" : found.kind;
    return { kind, root, version, platform: found.platform ?? null };
  }
  const base = { root: folder, version, platform: null };
  if (existsSync(join(folder, ".git")) && existsSync(join(folder, "scripts/dev.mjs")))
    return { ...base, kind: "checkout" };
  return { ...base, kind: inContainer ? "container" : "folder" };
}

function factsIn(folder: string): z.infer<typeof facts> | null {
  try {
    const read = facts.safeParse(JSON.parse(readFileSync(join(folder, "install.json"), "utf8")));
    return read.success ? read.data : null;
  } catch {
    // Not made by a release, or not readable: the rest decides.
    return null;
  }
}

function isContainer(): boolean {
  return existsSync("/.dockerenv") || existsSync("/run/.containerenv");
}

/** What to do where Parley does not update itself; null where it does. */
export function byHand({ kind, root }: Pick<Installed, "kind" | "root">, to: string): string | null {
  switch (kind) {
    case "checkout":
    case "npm":
    case "tarball":
      return null;
    case "npx":
      return `npx runs the version that it is told: npx --package parley-${to}.tgz parley start`;
    case "deb":
      return `dpkg installed it: apt install ./parley_${to}_<architecture>.deb, which stops, replaces and starts the service. Back up before: parley backup FILE`;
    case "container":
      return `a container is replaced, not changed: take the image ${to}, and start it on the same volume. Back up before: parley backup FILE`;
    case "folder":
      return `${root} was made by hand (npm run bundle): make it anew from the version that you want, and restart`;
  }
}
