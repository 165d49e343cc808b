// Writes what goes with a release: what it is made of (CycloneDX), how it was made (in-toto, SLSA), sums, and what `parley update` reads.
import { createHash, createPrivateKey, sign } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { byBytes } from "./archive.mjs";

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** An id that the same content always gets. */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  const variant = ((parseInt(hex[16], 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const purlOf = (name, version) => `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

/** CycloneDX 1.6, from the lockfile: packages that the programs are made of, the Node inside, and the image's Debian packages. */
export function bill({ lock, version, commit, time, node, debian, root }) {
  const npm = lock.packages.map(({ id, name, version: of, integrity, optional }) => ({
    type: "library",
    "bom-ref": id,
    name: name.replace(/^@[^/]+\//, ""),
    ...(name.startsWith("@") ? { group: name.split("/")[0] } : {}),
    version: of,
    scope: optional ? "optional" : "required",
    ...(integrity?.startsWith("sha512-")
      ? { hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.slice(7), "base64").toString("hex") }] }
      : {}),
    ...licenceOf(root, name, of),
    purl: purlOf(name, of),
  }));
  const others = [
    {
      type: "platform",
      "bom-ref": `node@${node.version}`,
      name: "node",
      version: node.version,
      licenses: [{ license: { id: "MIT" } }],
      purl: purlOf("node", node.version),
    },
    ...debian.map(({ name, version: of, sha256 }) => ({
      type: "library",
      "bom-ref": `deb:${name}@${of}`,
      name,
      version: of,
      scope: "optional",
      hashes: [{ alg: "SHA-256", content: sha256 }],
      purl: `pkg:deb/debian/${name}@${encodeURIComponent(of)}?arch=amd64`,
    })),
  ];
  const own = `parley@${version}`;
  const body = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: time,
      component: {
        type: "application",
        "bom-ref": own,
        name: "parley",
        version,
        licenses: [{ license: { id: "MIT" } }],
        purl: purlOf("parley", version),
        properties: [{ name: "parley:commit", value: commit }],
      },
    },
    components: [...npm, ...others],
    dependencies: [
      { ref: own, dependsOn: [...npm, ...others].map((each) => each["bom-ref"]) },
      ...lock.packages.map(({ id, needs }) => ({ ref: id, dependsOn: [...new Set(needs)].sort(byBytes) })),
    ],
  };
  const serial = uuidOf(JSON.stringify(body));
  return json({
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    ...body,
    serialNumber: `urn:uuid:${serial}`,
  });
}

function licenceOf(root, name, version) {
  const store = join(root, "node_modules/.pnpm");
  const folder = join(store, `${name.replace("/", "+")}@${version}`, "node_modules", name, "package.json");
  if (!existsSync(folder)) return {};
  const { license } = JSON.parse(readFileSync(realpathSync(folder), "utf8"));
  if (typeof license !== "string") return {};
  return {
    licenses: [
      / (?:OR|AND|WITH) |^\(/.test(license)
        ? { expression: license }
        : { license: { [/^[\w.+-]+$/.test(license) ? "id" : "name"]: license } },
    ],
  };
}

/** in-toto Statement v1 with a SLSA provenance v1 predicate. It is not signed by itself: SHA256SUMS.sig covers it. */
export function provenance({ files, commit, time, version, dirty, node, debian, lockfile, tools }) {
  return json({
    _type: "https://in-toto.io/Statement/v1",
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:parley:npm-run-release:v1",
        externalParameters: { version, command: "npm run release" },
        internalParameters: { clean: !dirty, ...tools },
        resolvedDependencies: [
          { uri: "git:parley", digest: { gitCommit: commit } },
          { uri: "file:pnpm-lock.yaml", digest: { sha256: lockfile } },
          ...node.map(({ name, version: of, integrity }) => ({
            uri: purlOf(name, of),
            digest: { sha512: Buffer.from(integrity.slice(7), "base64").toString("hex") },
          })),
          ...debian.map(({ name, version: of, sha256 }) => ({
            uri: `pkg:deb/debian/${name}@${encodeURIComponent(of)}?arch=amd64`,
            digest: { sha256 },
          })),
        ],
      },
      runDetails: {
        builder: { id: "urn:parley:checkout" },
        // The commit's time: two runs say the same.
        metadata: { invocationId: commit, startedOn: time, finishedOn: time },
      },
    },
  });
}

export const sums = (files) => files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");

/** What `parley update` reads: each file with its size and hash, and which database the version knows. */
export const releaseText = (facts) => json(facts);

/** Ed25519 by a key in PEM, in base64. */
export function signed(text, keyFile) {
  const key = createPrivateKey(readFileSync(keyFile));
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`${keyFile} is no Ed25519 key`);
  return `${sign(null, Buffer.from(text), key).toString("base64")}\n`;
}
