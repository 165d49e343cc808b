// Defines the only tool of the memory flush: it appends to the day's notes in the workspace and can do
// nothing else. The path is fixed when the tool is made, and links that lead out of the workspace are
// refused.
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { stripChatTokens } from "@parley/agent";
import { Fault } from "@parley/protocol";
import type { Tool } from "@parley/tools";
import { z } from "zod";
import { memoryFolder, type NotesPlace } from "./notes-place.ts";

const noteChars = 8_000;
const noteArgs = z.object({ text: z.string().min(1).max(noteChars) });
/** A day's notes may not grow further, because other code reads the file whole. */
const fileBytes = 1_000_000;

export interface NoteChecks {
  readonly isSecret: (text: string) => boolean;
  /** Records whose note it is, before it is written. */
  readonly stamp: (text: string) => Promise<void>;
  /** Keeps the change in the history, before it is written. Null: there is no file yet. */
  readonly changing?: (path: string, before: string | null, after: string) => Promise<void>;
}

export function memoryNote(
  workspace: string,
  place: Pick<NotesPlace, "folder" | "heading" | "added">,
  day: string,
  beforeFirst: () => Promise<void>,
  { isSecret, stamp, changing }: NoteChecks = { isSecret: () => false, stamp: async () => {} },
): Tool {
  const file = `${place.folder}/${day}.md`;
  let first = true;
  return {
    name: "append_note",
    summary: `Append to ${file}`,
    description: `Appends Markdown to ${file}. The file is created when it does not exist; nothing in it is ever changed.`,
    parameters: {
      type: "object",
      properties: {
        text: { type: "string", description: "Short Markdown bullets.", minLength: 1, maxLength: noteChars },
      },
      required: ["text"],
      additionalProperties: false,
    },
    effect: "writes",
    parse(sent) {
      const parsed = noteArgs.safeParse(sent);
      return parsed.success
        ? { ok: true, args: parsed.data }
        : { ok: false, reason: z.prettifyError(parsed.error) };
    },
    async run(args) {
      const { text } = noteArgs.parse(args);
      if (isSecret(text))
        throw new Fault("denied", "it holds a key or password that Parley knows; note it without");
      if (first) await beforeFirst();
      first = false;
      const written = stripChatTokens(text.trim());
      await stamp(written);
      await append(workspace, place, `${day}.md`, written, changing);
      return { content: [{ type: "text", text: `Appended to ${file}.` }] };
    },
  };
}

/** True when notes can be written: to the folder, or to the workspace in which it would be made. */
export async function isWritable(workspace: string): Promise<boolean> {
  const may = (path: string): Promise<boolean> =>
    access(path, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false, // Any error here means that no note can be written.
    );
  return (
    (await may(join(workspace, memoryFolder))) ||
    ((await isMissing(join(workspace, memoryFolder))) && (await may(workspace)))
  );
}

function isMissing(path: string): Promise<boolean> {
  return access(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT",
  );
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function ignoringThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function append(
  workspace: string,
  { folder: below, heading, added }: Pick<NotesPlace, "folder" | "heading" | "added">,
  name: string,
  text: string,
  changing: NoteChecks["changing"],
): Promise<void> {
  const root = await realpath(workspace);
  let real = root;
  // Folders are made one by one, because a link in between could lead anywhere.
  for (const part of below.split("/")) {
    await mkdir(join(real, part)).catch(ignoringThere);
    real = await realpath(join(real, part));
    if (!real.startsWith(root + sep)) throw new Fault("denied", `${below}/ leads out of the workspace`);
  }
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(join(real, name), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Fault("denied", `${below}/${name} is not a file`);
    if (stat.nlink > 1)
      throw new Fault(
        "denied",
        `${below}/${name} has another name (a hard link), which may lie outside the workspace`,
      );
    if (stat.size + Buffer.byteLength(text) > fileBytes)
      throw new Fault("denied", `${below}/${name} is full`);
    const before = await handle.readFile();
    const opening = before.length > 0 ? "\n" : heading === null ? "" : `${heading}\n\n`;
    const more = Buffer.from(`${opening}${text}\n`);
    await changing?.(
      `${below}/${name}`,
      before.length === 0 ? null : before.toString("utf8"),
      Buffer.concat([before, more]).toString("utf8"),
    );
    await added(`${below}/${name}`, hashOf(before), hashOf(Buffer.concat([before, more])));
    // Appends in one write, so that a crash leaves all or only the beginning of it and never touches earlier
    // text.
    await handle.appendFile(more);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
