// Reads the files that go along with a message, in the form in which a frame carries them.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { MethodParams } from "@parley/protocol";
import { CommandFailure, exitCodes } from "./exit.ts";

export type AttachedFile = NonNullable<MethodParams<"chat.send">["files"]>[number];

/** A frame holds 2 MB, and base64 makes four of three. */
const mostBytes = 1_400_000;
const mostFiles = 10;

/** Throws CommandFailure("invalid") for what cannot be read, and for more than one message carries. */
export async function attachedFiles(
  paths: readonly string[],
  voice: string | undefined,
): Promise<readonly AttachedFile[]> {
  const wanted = [
    ...paths.map((path) => ({ path, voice: false })),
    ...(voice === undefined ? [] : [{ path: voice, voice: true }]),
  ];
  if (wanted.length > mostFiles)
    throw failure(`${wanted.length} files are too many: one message carries ${mostFiles}.`);
  let bytes = 0;
  const files: AttachedFile[] = [];
  for (const { path, voice: isSpoken } of wanted) {
    const read = await readFile(path).catch((error: unknown) => {
      throw failure(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    });
    bytes += read.length;
    if (bytes > mostBytes)
      throw failure(`With ${path} they are more than the 1.4 MB that one message carries.`);
    files.push({
      name: basename(path).slice(-255),
      ...(isSpoken ? { voice: true } : {}),
      data: read.toString("base64"),
    });
  }
  return files;
}

function failure(say: string): CommandFailure {
  return new CommandFailure("invalid", say, exitCodes.usage);
}
