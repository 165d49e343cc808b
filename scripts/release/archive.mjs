// Writes archives that are the same bytes for the same content: names in order, one time for all, nobody's user and group.
import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";

const block = 512;

/**
 * @typedef {{ path: string, mode: number, kind: "file" | "folder" | "link", to?: string, file?: string, bytes?: Buffer, size: number,
 *   uid?: number, gid?: number }} Entry
 */

/** What lies below `folder`, under `prefix`: folders before what is in them. @returns {Entry[]} */
export function entriesOf(folder, prefix, keep = () => true) {
  const found = [];
  const walk = (at, path) => {
    for (const name of readdirSync(at).sort(byBytes)) {
      const from = join(at, name);
      const to = `${path}${name}`;
      const stat = lstatSync(from);
      if (!keep(to)) continue;
      if (stat.isSymbolicLink()) found.push({ ...linkTo(to, readlinkSync(from)) });
      else if (stat.isDirectory()) {
        found.push(folderAt(to));
        walk(from, `${to}/`);
      } else {
        const runs = (stat.mode & 0o111) !== 0;
        found.push({ path: to, mode: runs ? 0o755 : 0o644, kind: "file", file: from, size: stat.size });
      }
    }
  };
  walk(folder, prefix);
  return found;
}

export const folderAt = (path, mode = 0o755) => ({ path, mode, kind: "folder", size: 0 });
export const linkTo = (path, to) => ({ path, mode: 0o777, kind: "link", to, size: 0 });
export function textAt(path, text, mode = 0o644) {
  const bytes = Buffer.from(text);
  return { path, mode, kind: "file", bytes, size: bytes.length };
}

/** Folders of `paths` that no entry names yet, outermost first. */
export function parentsOf(path) {
  const words = path.split("/");
  return words.slice(1).map((_, n) => folderAt(words.slice(0, n + 1).join("/")));
}

export const byBytes = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Sorts by path and drops what is named twice: the last one stays. */
export function inOrder(entries) {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  return [...byPath.values()].sort((a, b) => byBytes(a.path, b.path));
}

/**
 * Writes `entries` as a gzipped tar. `prefix` stands before every name: dpkg wants "./".
 * @returns {Promise<{ bytes: number, sha256: string, plain: string, plainBytes: number }>} of the file, and of the tar in it
 */
export async function writeTarGz(path, entries, { seconds, prefix = "" }) {
  const gzip = createGzip({ level: 6 });
  const out = createWriteStream(path);
  const packed = createHash("sha256");
  const plain = createHash("sha256");
  let bytes = 0;
  let plainBytes = 0;
  gzip.on("data", (chunk) => {
    packed.update(chunk);
    bytes += chunk.length;
  });
  gzip.pipe(out);
  const put = async (chunk) => {
    plain.update(chunk);
    plainBytes += chunk.length;
    if (!gzip.write(chunk)) await new Promise((resolve) => gzip.once("drain", resolve));
  };
  for (const entry of entries) {
    for (const header of headersOf(entry, prefix, seconds)) await put(header);
    if (entry.kind !== "file") continue;
    let written = 0;
    if (entry.bytes !== undefined) {
      await put(entry.bytes);
      written = entry.bytes.length;
    } else
      for await (const chunk of createReadStream(entry.file, { highWaterMark: 1 << 20 })) {
        await put(chunk);
        written += chunk.length;
      }
    if (written !== entry.size) throw new Error(`${entry.path} changed while it was packed`);
    await put(Buffer.alloc((block - (entry.size % block)) % block));
  }
  await put(Buffer.alloc(2 * block));
  gzip.end();
  await finished(out);
  return { bytes, sha256: packed.digest("hex"), plain: plain.digest("hex"), plainBytes };
}

function headersOf(entry, prefix, seconds) {
  const path = `${prefix}${entry.path}${entry.kind === "folder" ? "/" : ""}`;
  const split = splitPath(path);
  if (split !== null && Buffer.byteLength(entry.to ?? "") <= 100) return [headerOf(entry, split, seconds)];
  // POSIX pax: what the old fields cannot hold stands in a record before.
  const records = [
    ...(split === null ? [record("path", path)] : []),
    ...(Buffer.byteLength(entry.to ?? "") > 100 ? [record("linkpath", entry.to)] : []),
  ].join("");
  const body = Buffer.from(records);
  const pax = { path: "pax", mode: 0o644, kind: "pax", size: body.length };
  return [
    headerOf(pax, { name: "././@PaxHeader", prefix: "" }, seconds),
    Buffer.concat([body, Buffer.alloc((block - (body.length % block)) % block)]),
    headerOf(
      { ...entry, to: (entry.to ?? "").slice(0, 100) },
      split ?? { name: path.slice(-100), prefix: "" },
      seconds,
    ),
  ];
}

function record(key, value) {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let size = rest + 1;
  while (String(size).length + rest !== size) size = String(size).length + rest;
  return `${size} ${key}=${value}\n`;
}

const kinds = { file: "0", link: "2", folder: "5", pax: "x" };

function headerOf({ kind, mode, size, to = "", uid = 0, gid = 0 }, { name, prefix }, seconds) {
  const header = Buffer.alloc(block);
  const put = (text, at) => void header.write(text, at, "utf8");
  const octal = (value, digits) => `${value.toString(8).padStart(digits, "0")}\0`;
  put(name, 0);
  put(octal(mode, 7), 100);
  put(octal(uid, 7), 108);
  put(octal(gid, 7), 116);
  put(octal(size, 11), 124);
  put(octal(seconds, 11), 136);
  put(" ".repeat(8), 148);
  put(kinds[kind], 156);
  put(to, 157);
  put("ustar\u000000", 257);
  put(uid === 0 ? "root" : "", 265);
  put(gid === 0 ? "root" : "", 297);
  put(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** Null where the old fields cannot hold it. */
function splitPath(path) {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: "" };
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (name !== "" && Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100)
      return { name, prefix };
  }
  return null;
}

/** The archive that a Debian package is: ar(5) with one time and nobody's user. */
export function arOf(files, seconds) {
  const field = (text, width) => String(text).padEnd(width, " ");
  return Buffer.concat([
    Buffer.from("!<arch>\n"),
    ...files.flatMap(({ name, bytes }) => [
      Buffer.from(
        `${field(name, 16)}${field(seconds, 12)}${field(0, 6)}${field(0, 6)}${field("100644", 8)}${field(bytes.length, 10)}\`\n`,
      ),
      bytes,
      Buffer.alloc(bytes.length % 2, "\n"),
    ]),
  ]);
}

export function sha256Of(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
