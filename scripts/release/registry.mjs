// Brings packages of npm's registry into a folder, each held against the integrity that the lockfile has for it.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Not there for this platform, as far as this registry knows. */
export class NotPublished extends Error {
  name = "NotPublished";
}

/**
 * Unpacks `name@version` into `folder`.
 * @returns {string} its integrity: what the lockfile says, or for a package that is not in it, what the registry said
 */
export function bringPackage(name, version, folder, wanted) {
  const pack = `${folder}.pack`;
  rmSync(pack, { recursive: true, force: true });
  mkdirSync(pack, { recursive: true });
  const run = spawnSync(
    "npm",
    ["pack", `${name}@${version}`, "--pack-destination", pack, "--json", "--loglevel=error"],
    { cwd: pack, encoding: "utf8", env: { ...process.env, npm_config_update_notifier: "false" } },
  );
  if (run.status !== 0) {
    if (/E404|ETARGET|notarget/.test(run.stderr + run.stdout))
      throw new NotPublished(`${name}@${version} is not in the registry`);
    throw new Error(`npm pack ${name}@${version} failed:\n${run.stderr}`);
  }
  const [file] = readdirSync(pack);
  const bytes = readFileSync(join(pack, file));
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (wanted !== undefined && wanted !== integrity)
    throw new Error(`${name}@${version} is ${integrity}, and the lockfile says ${wanted}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const unpacked = spawnSync("tar", ["xzf", join(pack, file), "--strip-components=1", "-C", folder], {
    encoding: "utf8",
  });
  if (unpacked.status !== 0) throw new Error(`${file} cannot be unpacked:\n${unpacked.stderr}`);
  rmSync(pack, { recursive: true, force: true });
  return integrity;
}
