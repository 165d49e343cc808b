// One SKILL.md as it lies on disk: a regular file inside its root, of bounded size, as text. Read again only
// when it changed: device, inode, size and times stand for the content, so a turn costs a stat for each skill
// and no watcher can miss a change.
import { createHash } from "node:crypto";
import { constants, lstatSync, type BigIntStats } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { basename, dirname, sep } from "node:path";
import { frontMatter } from "./front-matter.ts";
import { skillManifest, type SkillManifest } from "./manifest.ts";

export type SkillReading =
  | { readonly ok: true; readonly manifest: SkillManifest; readonly notes: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/** `sha256` is that of the file's bytes; "" where they were not read. */
type SkillFile = SkillReading & { readonly sha256: string };

export interface SkillFiles {
  /** Null when the file went away. Never rejects for what is wrong with the file. */
  read(place: SkillPlace, mostBytes: number): Promise<SkillFile | null>;
  /** How often contents were read from disk; for reports. */
  readonly reads: number;
}

export interface SkillPlace {
  readonly root: string;
  /** Absolute. */
  readonly path: string;
  /** In a workspace, a file with another name (a hard link) may be one from outside. */
  readonly ownNameOnly?: boolean;
}

/** Files that are remembered; the oldest go first. */
const remembered = 2_000;

export function skillFiles(): SkillFiles {
  const seen = new Map<string, { readonly stamp: string; readonly reading: SkillFile }>();
  let reads = 0;

  return {
    get reads() {
      return reads;
    },
    async read(place, mostBytes) {
      const { path } = place;
      const known = seen.get(path);
      const found = await skillText(place, mostBytes, known?.stamp);
      if (found.kind === "missing") {
        seen.delete(path);
        return null;
      }
      if (found.kind === "unchanged") return known?.reading ?? null;
      if (found.kind === "refused") return { ok: false, reason: found.reason, sha256: "" };
      reads += 1;
      const reading = { ...readingOf(found.text, basename(dirname(path))), sha256: found.sha256 };
      seen.delete(path);
      seen.set(path, { stamp: found.stamp, reading });
      for (const oldest of seen.keys()) {
        if (seen.size <= remembered) break;
        seen.delete(oldest);
      }
      return reading;
    },
  };
}

export function readingOf(text: string | null, folderName: string): SkillReading {
  if (text === null) return { ok: false, reason: "it is not text" };
  const matter = frontMatter(text);
  return matter.ok ? skillManifest(matter, folderName) : matter;
}

export type SkillText =
  | { readonly kind: "text"; readonly text: string | null; readonly sha256: string; readonly stamp: string }
  | { readonly kind: "unchanged" }
  | { readonly kind: "missing" }
  | { readonly kind: "refused"; readonly reason: string };

/** `text` is null for what is no text. `unless`: the stamp of what the caller has. */
export async function skillText(
  { root, path, ownNameOnly }: SkillPlace,
  mostBytes: number,
  unless?: string,
): Promise<SkillText> {
  try {
    const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return { kind: "missing" };
    // One short call tells of nearly every file of nearly every turn that nothing changed.
    if (unless !== undefined && found.isFile() && stampOf(found) === unless) return { kind: "unchanged" };
    const real = found.isSymbolicLink() ? await realpath(path) : path;
    if (real !== path && !real.startsWith((await realpath(root)) + sep)) {
      return { kind: "refused", reason: "it is a link that leads out of its root" };
    }
    // NONBLOCK: a FIFO must not hang the turn. NOFOLLOW: links are resolved already.
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat({ bigint: true });
      if (!stat.isFile()) return { kind: "refused", reason: "it is not a regular file" };
      if (ownNameOnly === true && stat.nlink > 1n)
        return {
          kind: "refused",
          reason: "it has another name (a hard link), which may lie outside the workspace",
        };
      if (stat.size > BigInt(mostBytes))
        return { kind: "refused", reason: `it has ${stat.size} bytes, more than ${mostBytes}` };
      const stamp = stampOf(stat);
      if (stamp === unless) return { kind: "unchanged" };
      const bytes = Buffer.alloc(Number(stat.size));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      const read = bytes.subarray(0, bytesRead);
      return {
        kind: "text",
        text: textOf(read),
        sha256: createHash("sha256").update(read).digest("hex"),
        stamp,
      };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
    return { kind: "refused", reason: `it cannot be read: ${code ?? String(error)}` };
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

/** UTF-8, or UTF-16 where its mark says so; null for anything else that no editor would write. */
export function textOf(bytes: Uint8Array): string | null {
  const wide =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? "utf-16le"
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? "utf-16be"
        : null;
  const text = new TextDecoder(wide ?? "utf-8").decode(bytes);
  return text.includes("\0") ? null : text;
}
