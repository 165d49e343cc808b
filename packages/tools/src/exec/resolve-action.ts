// Resolves the model's call to the canonical action: it splits words, finds the program, resolves the folder
// and checks the environment.
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import { walk, type ChangeRules, type Folder } from "../files/walk.ts";
import type { WorkspaceFiles } from "../files/workspace-files.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { whatRuns } from "./bound-files.ts";
import { readCommandLine } from "./command-line.ts";
import { checkedEnv, type CommandEnv } from "./environment.ts";
import type { ExecAction } from "./exec-action.ts";
import { findProgram } from "../find-program.ts";
import { outsideWords } from "./outside-words.ts";

export interface ExecRequest {
  /** Words, or one string: a string that only a shell can read goes to /bin/sh. */
  readonly command: string | readonly string[];
  readonly workdir: string;
  readonly env: CommandEnv;
  readonly pty: boolean;
  readonly interactive: boolean;
}

export interface ExecPlace {
  readonly files: Pick<WorkspaceFiles, "own" | "readable">;
  readonly sandbox: Sandbox;
  /** By which the turn's file tools change the workspace. */
  readonly rules: () => Promise<Pick<ChangeRules, "refusal">>;
  /** The search path on the host. */
  readonly path: string;
  /** A person may be asked, so what is run is bound to its files. */
  readonly asks: boolean;
}

const shell = "/bin/sh";

/**
 * Calls `use` with the action and its open folder, so that a command starts in the very folder that was
 * resolved. Throws Fault.
 */
export function workOut<T>(
  request: ExecRequest,
  place: ExecPlace,
  use: (action: ExecAction, folder: Folder) => Promise<T>,
): Promise<T> {
  const { files, sandbox, rules, asks } = place;
  return walk(files.own, `${request.workdir}/.`, false, async ({ folder }) => {
    const cwd = join(sandbox.inside, folder.path);
    const line =
      typeof request.command === "string"
        ? readCommandLine(request.command)
        : { kind: "words" as const, argv: request.command };
    const find = (name: string): Promise<string> => programFor(name, cwd, place);
    const found = async (argv: readonly string[]): Promise<readonly string[]> => {
      const [name = "", ...args] = argv;
      return [await find(name), ...args];
    };
    // A part of a shell's line may be one of its own commands: then its name stays as it is.
    const parts =
      line.kind === "words"
        ? [await found(line.argv)]
        : line.parts === null
          ? null
          : await Promise.all(line.parts.map(found));
    const argv = line.kind === "words" ? (parts?.[0] ?? []) : [shell, "-c", String(request.command)];
    const env = checkedEnv(request.env);
    const { interactive, pty } = request;
    const writes = line.kind === "shell" ? line.writes : [];
    const { touches, ...ran } = asks
      ? await whatRuns({
          parts,
          line: argv.at(-1) ?? "",
          writes,
          folder: folder.path,
          files: files.own,
          find,
        })
      : { files: [], closed: true, touches: [] };
    const action: ExecAction = {
      kind: "exec",
      argv,
      shell: line.kind === "shell",
      parts,
      cwd,
      env,
      sandbox: sandbox.rules,
      interactive: interactive || pty,
      ...ran,
      // A sandbox shows only what may be read and written there.
      outside:
        sandbox.kind === "none"
          ? await outsideWords({ touches, parts: parts ?? [], folder: folder.path, files, rules })
          : [],
    };
    return use(action, folder);
  });
}

async function programFor(name: string, cwd: string, { sandbox, path }: ExecPlace): Promise<string> {
  if (name === "") throw new Fault("invalid", "the command is empty");
  if (name.startsWith("/")) return name;
  if (name.includes("/")) return join(cwd, name);
  const searched = sandbox.kind === "none" ? path : sandbox.path;
  if (searched === null) return name; // Only the container knows.
  return (await findProgram(name, searched)) ?? name;
}
