// Content hashes decide whether set-up has work: times lie after a checkout, contents do not.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { at, root } from "./places.mjs";

const left = new Set(["node_modules", "dist", ".turbo", ".git"]);

/** Every file below `folder` (relative to the root), sorted, without what is installed or built. */
export function filesBelow(folder) {
  if (!existsSync(at(folder))) return [];
  return readdirSync(at(folder), { withFileTypes: true })
    .filter((entry) => !left.has(entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory() ? filesBelow(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`],
    );
}

/** One hash over names and contents; a missing file counts as such. */
export function hashOf(files, salt = "") {
  const hash = createHash("sha256").update(salt);
  for (const file of files) {
    const full = path.join(root, file);
    hash.update(`\0${file}\0`).update(existsSync(full) ? readFileSync(full) : "absent");
  }
  return hash.digest("hex");
}
