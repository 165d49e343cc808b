// Decides how a server's program is started: with a short list of harmless names from the gateway's
// environment and what the operator adds, in a folder of its own, or in the agent's sandbox.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "@parley/tools";
import type { StartedProgram } from "./connection.ts";
import type { ServerSettings } from "./settings.ts";

const fromHost = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"];

export interface ProgramPlace {
  /** Null: on the host. */
  readonly sandbox: Sandbox | null;
  /** Folders for servers that name none are made in here. */
  readonly folder: string;
  readonly host: { readonly [name: string]: string };
}

/** Null for a server that is reached by its address. */
export async function programOf(
  name: string,
  { command, args, env, cwd }: ServerSettings,
  { sandbox, folder, host }: ProgramPlace,
): Promise<StartedProgram | null> {
  if (command === undefined) return null;
  const inherited = Object.entries(host).filter(([key]) => fromHost.includes(key) || key.startsWith("LC_"));
  const own = { ...Object.fromEntries(inherited), ...env };
  const argv = [command, ...args];
  if (sandbox !== null) {
    // A server outlives the call whose guard would watch what it writes, so it only reads a workspace.
    const guarded = { readOnly: [], masked: [], all: !sandbox.scratch };
    const wrapped = sandbox.wrap({ argv, cwd: "", env: own, pty: false, input: true, guarded });
    return { argv: wrapped.argv, env: wrapped.env, cwd: sandbox.workspace };
  }
  const place = cwd ?? join(folder, name);
  if (cwd === undefined) await mkdir(place, { recursive: true, mode: 0o700 });
  return { argv, env: own, cwd: place };
}
