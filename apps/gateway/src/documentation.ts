// Where Parley is described: the docs and sources that lie beside this program, or else their public places.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DocumentationFacts } from "@parley/agent";

/** The project has no address of its own yet; `.example` is reserved, so nobody can take it over. */
const publicDocs = "https://parley.example/docs";
const publicSource = "https://parley.example/source";

const root = fileURLToPath(new URL("../../../", import.meta.url));

export function documentation(folder: string = root): DocumentationFacts {
  const docs = `${folder}docs`;
  return {
    ...(existsSync(`${docs}/ARCHITECTURE.md`) ? { path: docs } : {}),
    publicUrl: publicDocs,
    // A bundle has no sources to look into.
    source: existsSync(`${folder}packages/agent/src`) ? folder.replace(/\/$/, "") : publicSource,
  };
}
