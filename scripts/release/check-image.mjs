// Holds an image layout against the OCI image specification 1.1: every field that it has, digests, sizes, what the layers unpack to.
//   node scripts/release/check-image.mjs FOLDER
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const digestForm = /^sha256:[a-f0-9]{64}$/;
const mediaTypeForm = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/;
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

const text = (value) => typeof value === "string";
const number = (value) => Number.isSafeInteger(value) && value >= 0;
const texts = (value) => Array.isArray(value) && value.every(text);
const map = (of) => (value) => isObject(value) && Object.values(value).every(of);
const list = (of) => (value) => Array.isArray(value) && value.every(of);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const form = (pattern) => (value) => text(value) && pattern.test(value);
const empty = (value) => isObject(value) && Object.keys(value).length === 0;

const platform = {
  architecture: [text, true],
  os: [text, true],
  "os.version": [text],
  "os.features": [texts],
  variant: [text],
};
const descriptor = {
  mediaType: [form(mediaTypeForm), true],
  digest: [form(digestForm), true],
  size: [number, true],
  urls: [texts],
  annotations: [map(text)],
  data: [text],
  artifactType: [form(mediaTypeForm)],
  platform: [(value) => findings(value, platform, "platform").length === 0],
};
const isDescriptor = (value) => findings(value, descriptor, "descriptor").length === 0;
const schemas = {
  layout: { imageLayoutVersion: [(value) => value === "1.0.0", true] },
  index: {
    schemaVersion: [(value) => value === 2, true],
    mediaType: [(value) => value === "application/vnd.oci.image.index.v1+json"],
    artifactType: [form(mediaTypeForm)],
    subject: [isDescriptor],
    manifests: [list(isDescriptor), true],
    annotations: [map(text)],
  },
  manifest: {
    schemaVersion: [(value) => value === 2, true],
    mediaType: [(value) => value === "application/vnd.oci.image.manifest.v1+json"],
    artifactType: [form(mediaTypeForm)],
    config: [isDescriptor, true],
    subject: [isDescriptor],
    layers: [(value) => list(isDescriptor)(value) && value.length > 0, true],
    annotations: [map(text)],
  },
  config: {
    created: [form(timeForm)],
    author: [text],
    architecture: [text, true],
    variant: [text],
    os: [text, true],
    "os.version": [text],
    "os.features": [texts],
    config: [
      (value) =>
        findings(
          value,
          {
            User: [text],
            ExposedPorts: [map(empty)],
            Env: [list(form(/^[^=]+=/))],
            Entrypoint: [texts],
            Cmd: [texts],
            Volumes: [map(empty)],
            WorkingDir: [text],
            Labels: [map(text)],
            StopSignal: [form(/^SIG[A-Z0-9+-]+$|^\d+$/)],
            ArgsEscaped: [(flag) => typeof flag === "boolean"],
          },
          "config.config",
        ).length === 0,
    ],
    rootfs: [
      (value) =>
        findings(
          value,
          { type: [(type) => type === "layers", true], diff_ids: [list(form(digestForm)), true] },
          "rootfs",
        ).length === 0,
      true,
    ],
    history: [
      list(
        (value) =>
          findings(
            value,
            {
              created: [form(timeForm)],
              author: [text],
              created_by: [text],
              comment: [text],
              empty_layer: [(flag) => typeof flag === "boolean"],
            },
            "history",
          ).length === 0,
      ),
    ],
  },
};

function findings(value, schema, name) {
  if (!isObject(value)) return [`${name} is no object`];
  return [
    ...Object.entries(schema).flatMap(([key, [holds, isNeeded = false]]) => {
      if (value[key] === undefined) return isNeeded ? [`${name} has no ${key}`] : [];
      return holds(value[key]) ? [] : [`${name}.${key} is not what the specification says`];
    }),
    ...Object.keys(value)
      .filter((key) => schema[key] === undefined)
      .map((key) => `${name}.${key} is no field of the specification`),
  ];
}

/** @returns {string[]} what is wrong; empty for a sound image */
export function checkImage(layout) {
  const found = [];
  const json = (path) => JSON.parse(readFileSync(join(layout, path), "utf8"));
  for (const name of readdirSync(layout))
    if (!["oci-layout", "index.json", "blobs"].includes(name)) found.push(`${name} does not belong there`);
  found.push(...findings(json("oci-layout"), schemas.layout, "oci-layout"));
  const index = json("index.json");
  found.push(...findings(index, schemas.index, "index.json"));
  if (found.length > 0) return found;

  const used = new Set();
  const blob = ({ digest, size }) => {
    const path = join(layout, "blobs", ...digest.split(":"));
    if (!existsSync(path) || !lstatSync(path).isFile()) {
      found.push(`${digest} is missing`);
      return null;
    }
    const bytes = readFileSync(path);
    used.add(digest.slice(7));
    if (bytes.length !== size) found.push(`${digest} has ${bytes.length} bytes, not ${size}`);
    if (`sha256:${createHash("sha256").update(bytes).digest("hex")}` !== digest)
      found.push(`${digest} is other bytes`);
    return bytes;
  };
  for (const described of index.manifests) {
    const bytes = blob(described);
    if (bytes === null) continue;
    const manifest = JSON.parse(bytes.toString());
    found.push(...findings(manifest, schemas.manifest, "manifest"));
    const config = JSON.parse((blob(manifest.config) ?? Buffer.from("{}")).toString());
    found.push(...findings(config, schemas.config, "config"));
    const { diff_ids: ids = [] } = config.rootfs ?? {};
    if (ids.length !== manifest.layers.length) found.push("the config has another number of layers");
    if ((config.history ?? []).filter((each) => each.empty_layer !== true).length !== ids.length)
      found.push("the history has another number of layers");
    manifest.layers.forEach((layer, n) => {
      const packed = blob(layer);
      if (packed === null) return;
      const plain = gunzipSync(packed);
      if (`sha256:${createHash("sha256").update(plain).digest("hex")}` !== ids[n])
        found.push(`layer ${n} unpacks to other bytes`);
      found.push(...layerFindings(plain).map((words) => `layer ${n}: ${words}`));
    });
  }
  for (const name of readdirSync(join(layout, "blobs/sha256")))
    if (!used.has(name)) found.push(`blob ${name} is not used`);
  return found;
}

function layerFindings(tar) {
  const found = [];
  const seen = new Set();
  for (let at = 0; at < tar.length && tar[at] !== 0;) {
    const header = tar.subarray(at, at + 512);
    const field = (from, length) =>
      header
        .subarray(from, from + length)
        .toString()
        .replace(/\0.*$/s, "");
    const sum = header.reduce((total, byte, n) => total + (n >= 148 && n < 156 ? 32 : byte), 0);
    if (parseInt(field(148, 8), 8) !== sum) return [...found, `a header with another sum at ${at}`];
    const path = [field(345, 155), field(0, 100)].filter((word) => word !== "").join("/");
    const type = field(156, 1);
    if (path.startsWith("/") || path.split("/").includes("..")) found.push(`${path} leads out of the root`);
    if (seen.has(path)) found.push(`${path} is there twice`);
    if (type !== "x") seen.add(path);
    if ((parseInt(field(100, 8), 8) & 0o6000) !== 0) found.push(`${path} runs as another user`);
    if (!["0", "2", "5", "x"].includes(type)) found.push(`${path} is of the kind ${type}`);
    at += 512 + Math.ceil(parseInt(field(124, 12), 8) / 512) * 512;
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = checkImage(process.argv[2] ?? ".");
  for (const words of found) console.log(words);
  console.log(found.length === 0 ? "The image layout is sound." : `${found.length} findings.`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
