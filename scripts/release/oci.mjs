// Makes an OCI image layout without a container engine: Debian's C library and busybox, Node, the bundle; a user who owns nothing but
// the state folder. The root may be read-only.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { byBytes, entriesOf, folderAt, inOrder, linkTo, textAt, writeTarGz } from "./archive.mjs";
import { bundleTree, emptyFolder, isOfAnother, nodeEntries } from "./trees.mjs";

/** What Node is linked with, a shell for what agents run, and an init that ends what tools leave behind. */
const debianPackages = ["busybox", "libc6", "libgcc-s1", "libstdc++6", "tini"];

const user = 1000;

/**
 * Debian's packages from its archive, unpacked. Null with a reason where this machine cannot bring them.
 * @returns {{ folder: string, packages: { name: string, version: string, sha256: string }[] } | { missing: string }}
 */
export function debianRoot(work) {
  const debs = emptyFolder(join(work, "debs"));
  const run = spawnSync("apt-get", ["-qq", "download", ...debianPackages], { cwd: debs, encoding: "utf8" });
  if (run.error !== undefined) return { missing: "this machine is no Debian (apt-get is missing)" };
  if (run.status !== 0) return { missing: `apt-get download failed: ${run.stderr.trim()}` };
  const folder = emptyFolder(join(work, "rootfs"));
  const packages = readdirSync(debs)
    .sort(byBytes)
    .map((file) => {
      const path = join(debs, file);
      const unpacked = spawnSync("dpkg-deb", ["-x", path, folder], { encoding: "utf8" });
      if (unpacked.status !== 0) throw new Error(`${file} cannot be unpacked:\n${unpacked.stderr}`);
      const field = (name) => spawnSync("dpkg-deb", ["-f", path, name], { encoding: "utf8" }).stdout.trim();
      const sum = spawnSync("sha256sum", [path], { encoding: "utf8" }).stdout.slice(0, 64);
      return { name: field("Package"), version: field("Version"), sha256: sum };
    });
  return { folder, packages };
}

/** Tables of other alphabets, languages and manuals; parts of the C library that nothing here is linked with; what debuggers load. Licences stay. */
const unused =
  /\/(?:gconv|locale|man|info|lintian|bug|gcc|gdb|initramfs-tools)(?:\/|$)|\/(?:libmvec|libnsl|libanl|libBrokenLocale|libnss_compat|libnss_hesiod|libthread_db|libc_malloc_debug|libmemusage|libpcprofile)\.so|\/tini-static$|^usr\/share\/doc\/[^/]+\/(?!copyright$)/;

/** Programs that a shell script expects; busybox is all of them. */
const applets =
  "sh ash awk base64 basename cat chmod cp cut date dirname du echo env expr false find grep gunzip gzip head hostname id kill ln ls mkdir mktemp mv nc nslookup od ping printf ps pwd readlink realpath rm rmdir sed seq sha256sum sleep sort stat tail tar tee test timeout touch tr true uname uniq unzip vi wc wget which whoami xargs".split(
    " ",
  );

/** @returns {Promise<{ bytes: number, fileBytes: number, digest: string }>} of the blobs, of the files in the layers, and of the manifest */
export async function writeImage(
  layout,
  { debian, bundle, node, platform, version, facts, commit, seconds },
) {
  const blobs = join(layout, "blobs/sha256");
  emptyFolder(layout);
  mkdirSync(blobs, { recursive: true });
  const created = new Date(seconds * 1000).toISOString();

  const layers = [];
  const addLayer = async (comment, entries) => {
    const draft = join(layout, "draft");
    const written = await writeTarGz(draft, inOrder(entries), { seconds });
    renameSync(draft, join(blobs, written.sha256));
    layers.push({ ...written, comment, fileBytes: entries.reduce((sum, { size }) => sum + size, 0) });
  };
  await addLayer("Debian's C library, busybox and tini", baseEntries(debian));
  await addLayer(
    "Node",
    nodeEntries(node).map((entry) => ({ ...entry, path: `app/${entry.path}` })),
  );
  await addLayer("Parley", [
    ...bundleTree({ bundle, facts, prefix: "app/", keep: (path) => !isOfAnother(path, platform) }),
    linkTo("usr/local/bin/parley", "../../../app/bin/parley"),
    linkTo("usr/local/bin/node", "../../../app/node/bin/node"),
  ]);

  const putJson = (value) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const hex = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(blobs, hex), bytes);
    return { digest: `sha256:${hex}`, size: bytes.length };
  };
  const labels = {
    "org.opencontainers.image.title": "Parley",
    "org.opencontainers.image.description": "A multi-channel chat gateway daemon",
    "org.opencontainers.image.licenses": "MIT",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": commit,
    "org.opencontainers.image.created": created,
  };
  const config = putJson({
    created,
    architecture: "amd64",
    os: "linux",
    config: {
      User: `${user}:${user}`,
      ExposedPorts: { "7275/tcp": {} },
      Env: [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "NODE_ENV=production",
        "HOME=/var/lib/parley",
        "PARLEY_HOME=/var/lib/parley",
        "NODE_COMPILE_CACHE=/tmp/parley-compile-cache",
      ],
      Entrypoint: ["/usr/bin/tini", "--", "/app/bin/parley"],
      Cmd: ["start"],
      Volumes: { "/var/lib/parley": {} },
      WorkingDir: "/var/lib/parley",
      Labels: labels,
      StopSignal: "SIGTERM",
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ plain }) => `sha256:${plain}`) },
    history: layers.map(({ comment }) => ({ created, created_by: "npm run release", comment })),
  });
  const manifest = putJson({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
    layers: layers.map(({ sha256, bytes }) => ({
      mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
      digest: `sha256:${sha256}`,
      size: bytes,
    })),
    annotations: labels,
  });
  const index = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        ...manifest,
        platform: { architecture: "amd64", os: "linux" },
        annotations: { "org.opencontainers.image.ref.name": version },
      },
    ],
  };
  writeFileSync(join(layout, "index.json"), JSON.stringify(index));
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return {
    bytes: readdirSync(blobs).reduce((sum, name) => sum + statSync(join(blobs, name)).size, 0),
    fileBytes: layers.reduce((sum, { fileBytes }) => sum + fileBytes, 0),
    digest: manifest.digest,
  };
}

function baseEntries(rootfs) {
  // Debian's older places are links into usr; an image without its base-files has to have them itself.
  const merged = entriesOf(rootfs, "", (path) => !unused.test(path)).map((entry) => {
    const [first] = entry.path.split("/");
    return ["bin", "sbin", "lib", "lib64"].includes(first) ? { ...entry, path: `usr/${entry.path}` } : entry;
  });
  const busybox = ["usr/bin/busybox", "bin/busybox"].find((path) => existsSync(join(rootfs, path)));
  if (busybox === undefined) throw new Error("Debian's busybox has no busybox");
  const people = [
    ["root", 0, "/root"],
    ["nobody", 65534, "/nonexistent"],
    ["parley", user, "/var/lib/parley"],
  ];
  return [
    ...merged,
    ...["bin", "sbin", "lib", "lib64"].map((name) => linkTo(name, `usr/${name}`)),
    ...["usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/local", "usr/local/bin"].map((path) =>
      folderAt(path),
    ),
    ...["etc", "proc", "sys", "dev", "run", "var", "var/lib", "app"].map((path) => folderAt(path)),
    folderAt("root", 0o700),
    folderAt("tmp", 0o1777),
    { ...folderAt("var/lib/parley", 0o700), uid: user, gid: user },
    ...applets.map((name) => linkTo(`usr/bin/${name}`, "busybox")),
    textAt(
      "etc/passwd",
      people.map(([name, id, home]) => `${name}:x:${id}:${id}::${home}:/bin/sh\n`).join(""),
    ),
    textAt("etc/group", people.map(([name, id]) => `${name}:x:${id}:\n`).join("")),
    textAt("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  ];
}
