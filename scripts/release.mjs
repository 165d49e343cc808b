// Makes a release from a clean checkout: the same commit gives the same bytes. What is in it, and how it is installed: docs/releases.md.
//   npm run release -- [--out DIR] [--version V] [--only npm,tarball,deb,image] [--platforms linux-x64,...] [--allow-dirty]
// PARLEY_RELEASE_KEY names a file with an Ed25519 key (PEM) that signs release.json and SHA256SUMS.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nodePin, setUp } from "./bootstrap/set-up.mjs";
import { byBytes, inOrder, sha256Of, writeTarGz } from "./release/archive.mjs";
import { checkImage } from "./release/check-image.mjs";
import { writeDeb } from "./release/deb.mjs";
import { readLockfile } from "./release/lockfile.mjs";
import { debianRoot, writeImage } from "./release/oci.mjs";
import { bill, provenance, releaseText, signed, sums } from "./release/papers.mjs";
import { NotPublished } from "./release/registry.mjs";
import { bringNode, bundleFor, emptyFolder, npmTree, platforms, tarballTree } from "./release/trees.mjs";
import { migrations } from "../packages/store/src/sqlite/schema.ts";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const here = join(dirname(fileURLToPath(import.meta.url)), "release");
const own = `${process.platform}-${process.arch}`;
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** What docs/releases.md promises of the image, unpacked. */
const mostImageBytes = 150_000_000;

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "release") },
    version: { type: "string" },
    only: { type: "string", default: "npm,tarball,deb,image" },
    platforms: { type: "string", default: Object.keys(platforms).join(",") },
    "allow-dirty": { type: "boolean", default: false },
  },
});
const out = resolve(values.out);
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const version = values.version ?? manifest.version;
if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version)) fail(`${version} is no version: write 1.2.3`);
const kinds = values.only.split(",");
const wanted = values.platforms
  .split(",")
  .filter(
    (name) =>
      platforms[name] !== undefined || fail(`${name} is no platform: ${Object.keys(platforms).join(", ")}`),
  );

const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const dirty = git("status", "--porcelain") !== "";
if (dirty && !values["allow-dirty"])
  fail(
    "the checkout has changes that no commit has: commit them, or say --allow-dirty (and release it to nobody)",
  );
const commit = git("rev-parse", "HEAD");
const seconds = Number(git("log", "-1", "--format=%ct"));
const time = new Date(seconds * 1000).toISOString();

setUp({ web: true });
mkdirSync(out, { recursive: true });
const work = emptyFolder(join(out, ".work"));
const found = readLockfile(root);
const lock = {
  ...found,
  /** The one version of a package that has one. */
  versions: (name) => found.packages.find((each) => each.name === name),
};
const bundle = join(work, "bundle");
const packed = spawnSync(process.execPath, [join(root, "scripts/bundle.mjs"), bundle, "--version", version], {
  cwd: root,
  encoding: "utf8",
});
if (packed.status !== 0) fail(`the bundle failed:\n${packed.stderr}`);

const files = [];
const nodes = [];
const notes = [];
const add = (name, kind, platform, detail) => {
  const path = join(out, name);
  files.push({
    name,
    kind,
    ...(platform === undefined ? {} : { platform }),
    bytes: statSync(path).size,
    sha256: sha256Of(path),
  });
  console.log(
    `${name.padEnd(44)} ${megabytes(statSync(path).size).padStart(9)}${detail === undefined ? "" : `  ${detail}`}`,
  );
};
const facts = (kind, platform) => ({
  kind,
  version,
  commit,
  ...(platform === undefined ? {} : { platform }),
});
const sizeOf = (entries) => entries.reduce((sum, { size }) => sum + size, 0);

/** Node for a platform, and why there is none. */
const nodeFolders = new Map();
function nodeOf(platform) {
  const before = nodeFolders.get(platform);
  if (before !== undefined) return before;
  const folder = join(work, `node-${platform}`);
  let result;
  try {
    const brought = bringNode(platform, nodePin, folder, own);
    nodes.push({ name: platforms[platform].node, version: nodePin, ...brought });
    result = { folder };
  } catch (error) {
    if (!(error instanceof NotPublished)) throw error;
    result = { missing: error.message };
  }
  nodeFolders.set(platform, result);
  return result;
}

const usable = wanted.filter((platform) => {
  const node = nodeOf(platform);
  if (node.missing !== undefined) notes.push(`no tarball for ${platform}: ${node.missing}`);
  return node.missing === undefined;
});

if (kinds.includes("npm")) {
  const nodePackages = Object.fromEntries(
    nodes.map(({ name, integrity }) => [
      Object.keys(platforms).find((each) => platforms[each].node === name),
      { name, integrity },
    ]),
  );
  const entries = inOrder(
    npmTree({
      bundle,
      version,
      facts: facts("npm"),
      lock,
      nodePackages,
      nodeVersion: nodePin,
      here,
      manifest,
    }),
  );
  // npm wants its manifest early and knows no entries for folders.
  const flat = entries.filter(({ kind }) => kind === "file");
  const name = `parley-${version}.tgz`;
  await writeTarGz(join(out, name), flat, { seconds });
  add(name, "npm", undefined, `${megabytes(sizeOf(flat))} unpacked, its native parts beside`);
}

for (const platform of usable) {
  let from = bundle;
  if (platform !== own) {
    from = join(work, `bundle-${platform}`);
    const missing = bundleFor(platform, { bundle, to: from, lock, own });
    if (missing !== null) {
      notes.push(`nothing for ${platform}: ${missing}`);
      continue;
    }
  }
  const node = nodeOf(platform).folder;
  const made = { bundle: from, version, node, platform };
  if (kinds.includes("tarball")) {
    const entries = inOrder(tarballTree({ ...made, facts: facts("tarball", platform) }));
    const name = `parley-${version}-${platform}.tar.gz`;
    await writeTarGz(join(out, name), entries, { seconds });
    add(name, "tarball", platform, `${megabytes(sizeOf(entries))} unpacked, Node ${nodePin} inside`);
  }
  const { deb: architecture } = platforms[platform];
  if (kinds.includes("deb") && architecture !== undefined) {
    const name = `parley_${version}_${architecture}.deb`;
    const { installedKilobytes } = await writeDeb(join(out, name), {
      ...made,
      architecture,
      facts: facts("deb", platform),
      root,
      seconds,
      work,
    });
    add(name, "deb", platform, `${megabytes(installedKilobytes * 1024)} installed`);
  }
}

let debian = [];
if (kinds.includes("image") && usable.includes("linux-x64") && own === "linux-x64") {
  const base = debianRoot(work);
  if (base.missing !== undefined) notes.push(`no image: ${base.missing}`);
  else {
    debian = base.packages;
    const name = `parley-${version}-oci`;
    const layout = join(out, name);
    const image = await writeImage(layout, {
      debian: base.folder,
      bundle,
      node: nodeOf("linux-x64").folder,
      platform: "linux-x64",
      version,
      facts: facts("container", "linux-x64"),
      commit,
      seconds,
    });
    const trouble = checkImage(layout);
    if (trouble.length > 0) fail(`the image is not what the specification says:\n${trouble.join("\n")}`);
    console.log(
      `${`${name}/`.padEnd(44)} ${megabytes(image.bytes).padStart(9)}  ${megabytes(image.fileBytes)} unpacked, ${image.digest}`,
    );
    if (image.fileBytes > mostImageBytes)
      notes.push(
        `the image has ${megabytes(image.fileBytes)}, and was to have ${megabytes(mostImageBytes)} at most`,
      );
    for (const path of ["index.json", "oci-layout"])
      files.push({
        name: `${name}/${path}`,
        kind: "image",
        platform: "linux-x64",
        bytes: statSync(join(layout, path)).size,
        sha256: sha256Of(join(layout, path)),
      });
  }
}

const write = (name, text, kind) => {
  writeFileSync(join(out, name), text);
  if (kind !== undefined) add(name, kind);
};
const node = { version: nodePin };
write(`parley-${version}.cdx.json`, bill({ lock, version, commit, time, node, debian, root }), "sbom");
files.sort((a, b) => byBytes(a.name, b.name));
const text = releaseText({
  format: 1,
  product: "parley",
  version,
  commit,
  time,
  // The database that this version writes: an older one is brought to it, a newer one refused.
  schema: migrations.length,
  node: ">=24.11",
  files,
});
write("release.json", text);
files.push({
  name: "release.json",
  kind: "release",
  bytes: Buffer.byteLength(text),
  sha256: sha256Of(join(out, "release.json")),
});
write(
  `parley-${version}.provenance.json`,
  provenance({
    files,
    commit,
    time,
    version,
    dirty,
    node: nodes,
    debian,
    lockfile: sha256Of(join(root, "pnpm-lock.yaml")),
    tools: { node: process.version, stripped: nodes.some(({ stripped }) => stripped) },
  }),
  "provenance",
);
files.sort((a, b) => byBytes(a.name, b.name));
const sumsText = sums(files);
write("SHA256SUMS", sumsText);
const key = process.env.PARLEY_RELEASE_KEY;
if (key !== undefined && key !== "") {
  write("release.json.sig", signed(text, key));
  write("SHA256SUMS.sig", signed(sumsText, key));
}
rmSync(work, { recursive: true, force: true });
for (const note of notes) console.log(`note: ${note}`);
if (dirty) console.log("note: the checkout had changes that no commit has");
console.log(`Parley ${version} (${commit.slice(0, 12)}) stands in ${out}`);

function fail(words) {
  console.error(`release: ${words}`);
  rmSync(join(out, ".work"), { recursive: true, force: true });
  process.exit(1);
}
