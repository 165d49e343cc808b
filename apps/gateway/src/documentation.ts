// Where Parley is described and run from here: what lies beside this program. It has no public address yet, so none is told.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DocumentationFacts } from "@parley/agent";

const root = fileURLToPath(new URL("../../../", import.meta.url)).replace(/\/$/, "");

/** Undefined where no docs lie beside the program. */
export function documentation(folder: string = root): DocumentationFacts | undefined {
  const path = join(folder, "docs");
  if (!existsSync(join(path, "ARCHITECTURE.md"))) return undefined;
  // A bundle has no sources to look into.
  return { path, ...(existsSync(join(folder, "packages/agent/src")) ? { source: folder } : {}) };
}

export function commandLine(folder: string = root): string | undefined {
  const path = join(folder, "bin/parley");
  return existsSync(path) ? path : undefined;
}
