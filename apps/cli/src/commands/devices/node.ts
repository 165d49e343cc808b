// `parley node run`: makes this computer a device of a gateway that runs here or elsewhere.
import { join, resolve } from "node:path";
import { placesIn } from "@parley/config";
import type { Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { runNode } from "../../node/run-node.ts";

export interface NodeFlags {
  readonly url?: string;
  readonly code?: string;
  readonly allow?: readonly string[];
  readonly folder?: string;
  readonly screenshot?: boolean;
  readonly state?: string;
}

export async function nodeRun(terminal: Console, flags: NodeFlags): Promise<ExitCode> {
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const { url, code, allow = [], folder, screenshot = false, state } = flags;
  try {
    await runNode(terminal, {
      ...(url === undefined ? {} : { url }),
      ...(code === undefined ? {} : { code }),
      folder: resolve(state ?? join(placesIn(terminal.env).home, "device")),
      offers: { allow, screenshot, ...(folder === undefined ? {} : { folder: resolve(folder) }) },
      signal: ending.signal,
    });
    return exitCodes.ok;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}
