// Makes the Debian package: the bundle with its Node below /usr/lib/parley, the hardened unit, a system user. Stopping before the
// files change and starting afterwards is dpkg's order: a daemon never runs with half of its files replaced.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { arOf, inOrder, linkTo, parentsOf, textAt, writeTarGz } from "./archive.mjs";
import { bundleTree, isOfAnother, nodeEntries } from "./trees.mjs";

const conffile = "/etc/default/parley";

/** @returns {Promise<{ bytes: number, installedKilobytes: number }>} */
export async function writeDeb(
  path,
  { bundle, node, platform, architecture, version, facts, root, seconds, work },
) {
  const files = (name) => readFileSync(join(root, "deploy/debian", name), "utf8");
  const entries = [
    ...bundleTree({
      bundle,
      facts,
      prefix: "usr/lib/parley/",
      keep: (at) => !isOfAnother(at, platform),
      inside: nodeEntries(node),
    }),
    linkTo("usr/bin/parley", "../lib/parley/bin/parley"),
    textAt("lib/systemd/system/parley.service", files("parley.service")),
    textAt("etc/default/parley", files("default"), 0o600),
    textAt("usr/share/doc/parley/copyright", files("copyright")),
    {
      ...textAt("usr/share/doc/parley/changelog.gz", ""),
      ...gzipped(
        `parley (${version}) stable; urgency=medium\n\n  * Release ${version}.\n\n -- ${files("maintainer").trim()}  ${rfcDate(seconds)}\n`,
      ),
    },
    textAt("usr/share/lintian/overrides/parley", files("lintian-overrides")),
  ];
  const data = inOrder([...entries.flatMap((entry) => parentsOf(entry.path)), ...entries]);
  const kilobytes = Math.ceil(data.reduce((sum, { size }) => sum + Math.ceil(size / 1024), 0));
  const md5sums = data
    .filter(({ kind }) => kind === "file")
    .map(
      (entry) =>
        `${createHash("md5")
          .update(entry.bytes ?? readFileSync(entry.file))
          .digest("hex")}  ${entry.path}\n`,
    );
  const control = files("control")
    .replace("@VERSION@", version)
    .replace("@ARCHITECTURE@", architecture)
    .replace("@MAINTAINER@", files("maintainer").trim())
    .replace("@KILOBYTES@", String(kilobytes));
  const scripts = ["postinst", "prerm", "postrm"].map((name) => textAt(name, files(name), 0o755));
  const [controlFile, dataFile] = [join(work, "control.tar.gz"), join(work, "data.tar.gz")];
  const options = { seconds, prefix: "./" };
  await writeTarGz(
    controlFile,
    inOrder([
      textAt("control", control),
      textAt("conffiles", `${conffile}\n`),
      textAt("md5sums", md5sums.join("")),
      ...scripts,
    ]),
    options,
  );
  await writeTarGz(dataFile, data, options);
  const bytes = arOf(
    [
      { name: "debian-binary", bytes: Buffer.from("2.0\n") },
      { name: "control.tar.gz", bytes: readFileSync(controlFile) },
      { name: "data.tar.gz", bytes: readFileSync(dataFile) },
    ],
    seconds,
  );
  writeFileSync(path, bytes);
  rmSync(controlFile);
  rmSync(dataFile);
  return { bytes: bytes.length, installedKilobytes: kilobytes };
}

function gzipped(text) {
  const bytes = gzipSync(text, { level: 9 });
  return { bytes, size: bytes.length };
}

const rfcDate = (seconds) => new Date(seconds * 1000).toUTCString().replace("GMT", "+0000");
