// Puts a skill from a folder or an archive into the managed root: staged beside it, checked as a whole, then
// moved in by one rename, so that a kill leaves the old skill or the new one. Nothing of it is run, and being
// installed grants it nothing.
import { createHash } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault, isFault } from "@parley/protocol";
import type { SkillManifest } from "../manifest.ts";
import { lookOf, skillId } from "../skill-name.ts";
import { readingOf, skillText, textOf } from "../skill-file.ts";
import { defaultSkillLimits, skillShelves } from "../skill-loader.ts";
import { riskSignsIn } from "../risk-signs.ts";
import { stageFolder } from "./from-folder.ts";
import { installLimits } from "./limits.ts";
import { stage, type Stage } from "./stage.ts";

export interface InstallRequest {
  /** Absolute: a folder, or a .zip, .tar.gz, .tgz or .tar file. */
  readonly from: string;
  /** The managed root. */
  readonly into: string;
  /** Replaces a skill of the same name. */
  readonly force: boolean;
  /** Names the folder of this run. */
  readonly run: string;
  readonly nowMs: number;
}

export interface InstalledSkill {
  readonly manifest: SkillManifest;
  readonly folder: string;
  readonly files: number;
  /** Of all names and contents: equal skills have equal hashes. */
  readonly sha256: string;
  readonly replaced: boolean;
  readonly notes: readonly string[];
  /** What its files contain that a person should look at: `<file> <words>`. */
  readonly warnings: readonly string[];
}

const leftoverMs = 3_600_000;
const scannedBytes = 1_048_576;

/**
 * Throws Fault: "missing" without a source, "invalid" for what is refused, "conflict" for a name that is
 * taken.
 */
export async function installSkill({
  from,
  into,
  force,
  run,
  nowMs,
}: InstallRequest): Promise<InstalledSkill> {
  await mkdir(into, { recursive: true, mode: 0o700 });
  await clearLeftovers(into, nowMs);
  const staging = join(into, `.staging-${run}`);
  const old = join(into, `.old-${run}`);
  await mkdir(staging, { mode: 0o700 });
  try {
    const staged = stage(staging);
    await fill(from, staged);
    const below = skillFolderOf(staged.files);
    const folder = join(staging, below);
    const { manifest, notes } = await checked(folder, below === "" ? stem(from) : basename(below));
    const { target, replaced } = await place(into, manifest, force);
    const { sha256, warnings, files } = await looked(folder, staged.files, below);
    if (replaced) await rename(target, old);
    try {
      await rename(folder, target);
    } catch (error) {
      if (replaced) await rename(old, target);
      throw error;
    }
    return { manifest, folder: target, files, sha256, replaced, notes, warnings };
  } catch (error) {
    if (isFault(error)) throw new Fault(error.code, `not installed: ${error.message}`, { cause: error });
    throw error;
  } finally {
    await rm(staging, { recursive: true, force: true });
    await rm(old, { recursive: true, force: true });
  }
}

async function fill(from: string, staged: Stage): Promise<void> {
  const source = await stat(from).catch(() => null);
  if (source === null) throw new Fault("missing", `there is no ${from}`);
  if (source.isDirectory()) return stageFolder(from, staged);
  if (!source.isFile()) throw new Fault("invalid", `${from} is neither a folder nor an archive`);
  if (source.size > installLimits.archiveBytes)
    throw new Fault("invalid", `the archive has more than ${installLimits.archiveBytes} bytes`);
  switch (await kindOf(from)) {
    case "zip":
      return (await import("./from-zip.ts")).stageZip(from, staged);
    case "gzip":
      return (await import("./from-tar.ts")).stageTar(from, true, staged);
    case "tar":
      return (await import("./from-tar.ts")).stageTar(from, false, staged);
    case null:
      throw new Fault(
        "invalid",
        `${from} is no folder and no archive: .zip, .tar.gz, .tgz and .tar are taken`,
      );
  }
}

/** By what it holds; names lie. */
async function kindOf(file: string): Promise<"zip" | "gzip" | "tar" | null> {
  const handle = await open(file);
  try {
    const head = Buffer.alloc(512);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    if (head[0] === 0x50 && head[1] === 0x4b) return "zip";
    if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
    return bytesRead === 512 && head.toString("latin1", 257, 262) === "ustar" ? "tar" : null;
  } finally {
    await handle.close();
  }
}

/** Where the one SKILL.md lies; below another skill's folder it is part of that one. */
function skillFolderOf(files: readonly string[]): string {
  const folders = files
    .filter((file) => /^skill\.md$/i.test(basename(file)))
    .map((file) => (file.includes("/") ? dirname(file) : ""))
    .toSorted((a, b) => a.length - b.length);
  const own = folders.filter(
    (folder) =>
      !folders.some((other) => other !== folder && (other === "" || folder.startsWith(`${other}/`))),
  );
  const [first, second] = own;
  if (first === undefined) throw new Fault("invalid", "there is no SKILL.md in it");
  if (second !== undefined) {
    throw new Fault(
      "invalid",
      `it holds ${own.length} skills (${own.slice(0, 5).join(", ")}); install them one by one, each from its own folder`,
    );
  }
  return first;
}

async function checked(
  folder: string,
  named: string,
): Promise<{ readonly manifest: SkillManifest; readonly notes: readonly string[] }> {
  const file = (await readdir(folder)).find((name) => /^skill\.md$/i.test(name)) ?? "SKILL.md";
  if (file !== "SKILL.md") await rename(join(folder, file), join(folder, "SKILL.md"));
  const found = await skillText(
    { root: folder, path: join(folder, "SKILL.md") },
    defaultSkillLimits.maxSkillFileBytes,
  );
  if (found.kind === "refused") throw new Fault("invalid", `its SKILL.md: ${found.reason}`);
  const reading = readingOf(found.kind === "text" ? found.text : null, named);
  if (!reading.ok) throw new Fault("invalid", `its SKILL.md: ${reading.reason}`);
  return reading;
}

/** The folder that it goes to. A skill's name never becomes a path: only its plain letters do. */
async function place(
  into: string,
  { name }: SkillManifest,
  force: boolean,
): Promise<{ readonly target: string; readonly replaced: boolean }> {
  const shelf = await skillShelves().load([{ source: "managed", path: into }], {
    ...defaultSkillLimits,
    maxCandidatesPerRoot: 10_000,
    maxSkillsLoadedPerSource: 10_000,
  });
  const same = shelf.skills.find((skill) => skillId(skill.manifest.name) === skillId(name));
  if (same !== undefined && same.folder !== into) {
    if (!force)
      throw new Fault(
        "conflict",
        `a skill "${same.manifest.name}" is installed already in ${same.folder}; --force replaces it`,
      );
    return { target: same.folder, replaced: true };
  }
  const alike = shelf.skills.find((skill) => skill !== same && lookOf(skill.manifest.name) === lookOf(name));
  if (alike !== undefined) {
    throw new Fault(
      "conflict",
      `its name looks like that of the skill "${alike.manifest.name}" in ${alike.folder}; rename one of them`,
    );
  }
  const target = join(into, folderName(name));
  if ((await lstat(target).catch(() => null)) === null) return { target, replaced: false };
  if (!force) throw new Fault("conflict", `${target} is there already; --force replaces it`);
  return { target, replaced: true };
}

function folderName(name: string): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
  return plain === ""
    ? `skill-${createHash("sha256").update(skillId(name)).digest("hex").slice(0, 12)}`
    : plain;
}

async function looked(
  folder: string,
  staged: readonly string[],
  below: string,
): Promise<{ readonly sha256: string; readonly warnings: readonly string[]; readonly files: number }> {
  const hash = createHash("sha256");
  const warnings: string[] = [];
  const own = staged
    .filter((file) => below === "" || file.startsWith(`${below}/`))
    .map((file) => (below === "" ? file : file.slice(below.length + 1)));
  const names = own
    .map((file) => (/^skill\.md$/i.test(file) ? "SKILL.md" : file))
    .toSorted((a, b) => (a < b ? -1 : 1));
  for (const name of names) {
    const bytes = await readFile(join(folder, name));
    hash.update(`${name}\0${bytes.length}\0`).update(bytes);
    const text = bytes.length <= scannedBytes ? textOf(bytes) : null;
    if (text !== null) warnings.push(...riskSignsIn(text).map((words) => `${name} ${words}`));
  }
  return { sha256: hash.digest("hex"), warnings, files: names.length };
}

/** Of runs that were killed. */
async function clearLeftovers(into: string, nowMs: number): Promise<void> {
  for (const name of await readdir(into)) {
    if (!/^\.(?:staging|old)-/.test(name)) continue;
    const path = join(into, name);
    const found = await lstat(path).catch(() => null);
    if (found !== null && nowMs - found.mtimeMs > leftoverMs)
      await rm(path, { recursive: true, force: true });
  }
}

/** What stands in for a missing name: the source's own, without its ending. */
function stem(path: string): string {
  return basename(path).replace(/\.(?:zip|tar\.gz|tgz|tar)$/i, "");
}
