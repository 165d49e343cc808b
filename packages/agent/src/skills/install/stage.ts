// A folder that takes a skill's files one by one, each checked before a byte of it is written: a path that
// stays below, no name twice however a file system compares names, no links, bounded sizes. Files are created
// anew and never through a link (CVE-2026-28452, -32044).
import { mkdir, open } from "node:fs/promises";
import { constants } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "@parley/protocol";
import { installLimits } from "./limits.ts";

interface IncomingFile {
  /** With "/", as the archive has it. */
  readonly path: string;
  readonly executable: boolean;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface Stage {
  /** Throws Fault("invalid") with the reason for what is refused. */
  add(file: IncomingFile): Promise<void>;
  /** Checks a path that needs no bytes, such as a folder's. */
  check(path: string): void;
  readonly files: readonly string[];
}

/** `folder` exists and is empty. */
export function stage(folder: string): Stage {
  const files: string[] = [];
  // Folders too: a file "a" and a file "a/b" cannot both be.
  const taken = new Map<string, "file" | "folder">();
  let totalBytes = 0;

  function claim(path: string): void {
    const parts = path.split("/");
    for (let length = 1; length < parts.length; length += 1) {
      const above = folded(parts.slice(0, length).join("/"));
      if (taken.get(above) === "file") throw refusal(path, "a file stands where it needs a folder");
      taken.set(above, "folder");
    }
    if (taken.has(folded(path))) throw refusal(path, "the name is there twice, perhaps in another case");
    taken.set(folded(path), "file");
  }

  return {
    files,
    check: (path) => void safePath(path),
    async add({ path: raw, executable, content }) {
      const path = safePath(raw);
      claim(path);
      if (files.length >= installLimits.files)
        throw new Fault("invalid", `it has more than ${installLimits.files} files`);
      const target = join(folder, ...path.split("/"));
      await mkdir(dirname(target), { recursive: true });
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const handle = await open(target, flags, executable ? 0o755 : 0o644);
      try {
        let bytes = 0;
        for await (const chunk of content) {
          bytes += chunk.length;
          totalBytes += chunk.length;
          if (bytes > installLimits.fileBytes)
            throw refusal(path, `it has more than ${installLimits.fileBytes} bytes`);
          if (totalBytes > installLimits.totalBytes)
            throw new Fault("invalid", `it holds more than ${installLimits.totalBytes} bytes in all`);
          await handle.writeFile(chunk);
        }
      } finally {
        await handle.close();
      }
      files.push(path);
    },
  };
}

/**
 * The path in its plain form; throws Fault("invalid") for one that could lead anywhere else or means
 * something to a file system.
 */
function safePath(raw: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this refuses
  if (/[\u0000-\u001f\u007f]/.test(raw)) throw refusal(raw, "its name has control characters");
  if (raw.includes("\\")) throw refusal(raw, 'its name has a "\\"');
  if (raw.startsWith("/") || /^[A-Za-z]:/.test(raw)) throw refusal(raw, "its path is absolute");
  const parts = raw.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw refusal(raw, "its path leads out of the skill");
  if (parts.length === 0) throw refusal(raw, "it has no name");
  if (parts.length > installLimits.depth)
    throw refusal(raw, `it lies more than ${installLimits.depth} folders deep`);
  const path = parts.join("/");
  if (path.length > installLimits.pathChars)
    throw refusal(raw, `its path has more than ${installLimits.pathChars} characters`);
  return path;
}

/**
 * A stream as a file's content. It may fail before anybody reads it, and a failure that nobody listens to
 * ends the process: so it is listened to from the start, and whoever reads is told.
 */
export function contentOf(
  stream: AsyncIterable<unknown> & { on(event: "error", listener: () => void): unknown },
): AsyncIterable<Uint8Array> {
  stream.on("error", () => {});
  return stream as AsyncIterable<Uint8Array>;
}

/** What package tools and systems leave behind; never part of a skill. */
export function isLitter(path: string): boolean {
  return path
    .split("/")
    .some((part) => [".git", "node_modules", "__MACOSX", ".DS_Store", "__pycache__"].includes(part));
}

export function refusal(path: string, reason: string): Fault {
  return new Fault("invalid", `${JSON.stringify(path.slice(0, 200))}: ${reason}`);
}

function folded(path: string): string {
  return path.normalize("NFKC").toLowerCase();
}
