// Locates the files beside this program: documentation, command line, the default workspace, the shipped
// skills and hooks, and the built web page. This file must not move: the paths count from here, in a checkout
// as in a bundle.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DocumentationFacts } from "@parley/agent";
import { type Config, gatewayTokenIn } from "@parley/config";
import type { Ids } from "@parley/protocol";
import type { InstallationFacts } from "@parley/runner";

const root = fileURLToPath(new URL("../../../", import.meta.url)).replace(/\/$/, "");

/** The default workspace. */
export const templatesFolder = join(root, "config/templates");
export const skillsFolder = join(root, "config/skills");
export const hooksFolder = join(root, "config/hooks");
const webFolder = join(root, "apps/web/dist");
/** Null until the page is built. */
export const webRoot = existsSync(webFolder) ? webFolder : null;

/** Null where the program has no docs beside it. */
export const docsFolder = existsSync(join(root, "docs/README.md")) ? join(root, "docs") : null;

function documentation(): DocumentationFacts | undefined {
  if (docsFolder === null) return undefined;
  // A bundle has no sources to look into.
  return { path: docsFolder, ...(existsSync(join(root, "packages/agent/src")) ? { source: root } : {}) };
}

export function commandLine(folder: string = root): string | undefined {
  const path = join(folder, "bin/parley");
  return existsSync(path) ? path : undefined;
}

/**
 * Makes and stores a key where none is configured: another key would change the codes, and with them the
 * stable prompt (I12).
 */
export async function installationFacts(
  { commands }: Config,
  home: string,
  shell: string | undefined,
  ids: Ids,
): Promise<InstallationFacts> {
  const base: InstallationFacts = {
    docs: documentation(),
    cli: commandLine(),
    templates: templatesFolder,
    shell,
  };
  if (commands.ownerDisplay === "raw") return base;
  return {
    ...base,
    ownerKey:
      commands.ownerDisplaySecret?.reveal() ?? (await gatewayTokenIn(join(home, "owner-display-key"), ids)),
  };
}
