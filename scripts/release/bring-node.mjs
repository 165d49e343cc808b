// Brings the Node that Parley needs where the PATH's is too old, from npm's registry into the user's cache, and prints its path.
// Part of the npm package only. Runs on Node 18, so plain syntax; what comes is held against the hash of the release.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const { node: version, packages } = JSON.parse(
  readFileSync(new URL("./bring-node.json", import.meta.url), "utf8"),
);
const kind = `${process.platform}-${process.arch}`;
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "parley");
const folder = join(cache, `node-${version}-${kind}`);
const program = join(folder, "bin/node");

function give(words) {
  console.error(`parley: ${words}`);
  process.exit(78);
}

if (!existsSync(program)) {
  const wanted = packages[kind];
  if (wanted === undefined)
    give(
      `this needs Node ${version.split(".")[0]} or newer, and the one on the PATH is ${process.version} (https://nodejs.org)`,
    );
  console.error(`parley: bringing Node ${version} into ${folder} (the PATH's is ${process.version}) ...`);
  const draft = `${folder}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(join(draft, "bin"), { recursive: true, mode: 0o755 });
  const packed = spawnSync(
    "npm",
    ["pack", `${wanted.name}@${version}`, "--pack-destination", draft, "--loglevel=error"],
    { cwd: draft, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  );
  const file = readdirSync(draft).find((name) => name.endsWith(".tgz"));
  if (packed.status !== 0 || file === undefined)
    give(
      `npm could not bring ${wanted.name}@${version}; install Node ${version.split(".")[0]} or newer (https://nodejs.org)\n${packed.stderr || packed.error}`,
    );
  const bytes = readFileSync(join(draft, file));
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (integrity !== wanted.integrity)
    give(`${wanted.name}@${version} is not what this release was made with`);
  const unpacked = spawnSync("tar", ["xzf", file, "--strip-components=1", "package/bin/node"], {
    cwd: draft,
  });
  if (unpacked.status !== 0) give(`${file} cannot be unpacked: ${unpacked.stderr || unpacked.error}`);
  rmSync(join(draft, file));
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another start was quicker.
    if (!existsSync(program)) throw error;
    rmSync(draft, { recursive: true, force: true });
  }
}
process.stdout.write(program);
