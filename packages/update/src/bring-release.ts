// Brings the file of a release and unpacks its version folder: under a name that says it is unfinished until
// size and hash are right and every file is written.
import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Readable, Transform } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Fault } from "@parley/protocol";
import { extract } from "tar-stream";
import { answered, isAddress, type Release, type ReleaseFile } from "./releases.ts";

/** Far above what a release has: a wrong file ends early. */
const mostUnpackedBytes = 1_000_000_000;
const slowestMs = 1_800_000;

/** Which file of a release is for this installation. Throws Fault("missing"). */
export function fileFor({ files, version }: Release, kind: string, platform: string | null): ReleaseFile {
  const found = files.find((file) => file.kind === kind && (kind === "npm" || file.platform === platform));
  if (found !== undefined) return found;
  throw new Fault("missing", `version ${version} has no ${kind} for ${platform ?? "this machine"}`);
}

/** Copies the file to `to`, whole and checked, or not at all. Throws Fault("invalid") when it is another. */
export async function bringFile({ at }: Release, file: ReleaseFile, to: string): Promise<void> {
  const free = statfsSync(dirname(to));
  if (free.bavail * free.bsize < file.bytes * 4)
    throw new Fault(
      "unavailable",
      `there is too little space in ${dirname(to)}: free ${Math.ceil((file.bytes * 4) / 1e6)} MB`,
    );
  const hash = createHash("sha256");
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      hash.update(chunk);
      done(bytes > file.bytes ? wrong(file, "it is longer than the release says") : null, chunk);
    },
  });
  const write = (from: Readable): Promise<void> =>
    pipeline(from, counted, createWriteStream(to, { mode: 0o600 }));
  try {
    await streamed(at, file.name, write);
    if (bytes !== file.bytes) throw wrong(file, `it has ${bytes} bytes, not ${file.bytes}`);
    if (hash.digest("hex") !== file.sha256) throw wrong(file, "its SHA-256 is another");
  } catch (error) {
    rmSync(to, { force: true });
    throw error instanceof Fault
      ? error
      : new Fault("unavailable", `${file.name} could not be brought: ${String(error)}`, { cause: error });
  }
}

const wrong = (file: ReleaseFile, why: string): Fault =>
  new Fault("invalid", `${file.name} is not the file of the release: ${why}`);

async function streamed(at: string, name: string, write: (from: Readable) => Promise<void>): Promise<void> {
  const path = isAddress(at) ? `${at}/${name}` : join(at, name);
  const missing = new Fault("missing", `there is no ${path}`);
  if (!isAddress(at)) {
    if (!existsSync(path)) throw missing;
    return write(createReadStream(path));
  }
  const done = await answered(path, slowestMs, async ({ body }) => {
    if (body === null) throw missing;
    await write(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]));
    return true;
  });
  if (done === null) throw missing;
}

/**
 * Unpacks what lies below `prefix` in the archive to the new folder `to`, and returns what the file `aside`
 * of the archive says. Throws Fault("invalid") for an archive with anything that leads out of it.
 */
export async function unpackVersion(
  archive: string,
  prefix: string,
  to: string,
  aside: string,
): Promise<string | null> {
  const unpack = extract();
  let said: string | null = null;
  let bytes = 0;
  const reading = pipeline(createReadStream(archive), createGunzip(), unpack).catch((cause: unknown) => {
    throw new Fault("invalid", `${archive} cannot be unpacked: ${String(cause)}`, { cause });
  });
  // What the archive says wrong is thrown below, where it is read.
  reading.catch(() => undefined);
  for await (const entry of unpack) {
    const { name, type, size, mode } = entry.header;
    const path = name.replace(/\/$/, "");
    bytes += size;
    if (bytes > mostUnpackedBytes) throw new Fault("invalid", `${archive} unpacks to too much`);
    const inside = path.startsWith(prefix) ? path.slice(prefix.length) : null;
    if (path === aside) said = await textOf(entry);
    else if (inside === null || inside === "") entry.resume();
    else {
      if (normalize(inside) !== inside || inside.startsWith("../") || inside.startsWith("/"))
        throw new Fault("invalid", `${archive} has ${name}, which leads out of its folder`);
      const target = join(to, inside);
      if (type === "directory") mkdirSync(target, { recursive: true });
      else if (type === "file") {
        mkdirSync(dirname(target), { recursive: true });
        const out = createWriteStream(target, { mode: (mode & 0o111) === 0 ? 0o644 : 0o755, flush: true });
        entry.pipe(out);
        await finished(out);
        continue;
      } else throw new Fault("invalid", `${archive} has ${name}, which is no plain file`);
      entry.resume();
    }
  }
  await reading;
  return said;
}

async function textOf(entry: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The folder gets its name when all of it is there. */
export function settleFolder(draft: string, to: string): void {
  if (existsSync(to)) rmSync(draft, { recursive: true, force: true });
  else renameSync(draft, to);
}
