// Runs a command: what policy and approvals let through, exactly that, in the workspace or its sandbox. It
// may go on in the background; its end is pushed to the session. Its whole output is in a file from the first
// byte on.
import { Fault, visibleText } from "@parley/protocol";
import { z } from "zod";
import type { ExecPorts, ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import type { Command } from "../exec/command.ts";
import { commandEnv } from "../exec/environment.ts";
import { actionHash, describeAction, type ExecAction } from "../exec/exec-action.ts";
import { execDecision } from "../exec/exec-decision.ts";
import { guardGit } from "../exec/git-guard.ts";
import { excerpt, removeLog } from "../exec/output-file.ts";
import { workOut, type ExecPlace, type ExecRequest } from "../exec/resolve-action.ts";
import { originOf, turnRules } from "../files/change-rules.ts";
import { entryPath, type Folder } from "../files/walk.ts";
import {
  nothingGuarded,
  watchOnHost,
  watchReader,
  watchSandboxed,
  watchScratch,
  type Watched,
} from "../sandbox/guard-watch.ts";
import { resultRoom } from "../result-size.ts";
import type { Tool, ToolResult, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const word = z
  .string()
  .max(200_000)
  .regex(/^[^\0]*$/, "no NUL");
const args = z.object({
  command: z
    .union([word.min(1), z.array(word).min(1).max(4_096)])
    .describe(
      "The program and its arguments as a list; or one string, which a shell reads only if it has a shell's syntax.",
    ),
  workdir: z.string().default(".").describe("Folder of the workspace to run in."),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe("Added to the environment. PATH and what loaders read may not be set."),
  yieldMs: z
    .number()
    .default(10_000)
    .transform((ms) => Math.min(Math.max(ms, 10), 120_000))
    .describe("After this long, 10 to 120000, the command goes on in the background."),
  background: z
    .boolean()
    .default(false)
    .describe("Do not wait at all; its input stays open for process write."),
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("Ends the command after this long."),
  pty: z.boolean().default(false).describe("Give it a terminal, for programs that need one."),
});
type Args = z.output<typeof args>;

export const execListing: ToolListing = {
  name: "exec",
  label: "Exec",
  section: "runtime",
  profiles: ["coding"],
  effect: "writes",
  summary: "Run shell commands (pty for programs that need a terminal)",
};

export function exec(context: ToolContext): Tool | Unavailable {
  const { exec: ports, sandbox } = context;
  if (ports === undefined) return { unavailable: "commands cannot be run here" };
  if (ports.policy.mode === "deny") return { unavailable: 'tools.exec.mode is "deny"' };
  const where =
    sandbox.kind === "none"
      ? "on the gateway's machine"
      : `in a sandbox where the workspace is ${sandbox.inside}${sandbox.readOnly ? ", read-only" : ""}`;
  const asks = ports.policy.mode !== "full" || ports.policy.ask === "always";
  const placeFor = (scope: ToolScope): ExecPlace => ({
    files: context.files,
    sandbox,
    rules: () => turnRules(context, scope, "exec"),
    path: ports.host["PATH"] ?? "",
    asks,
  });
  return defineTool({
    ...execListing,
    description:
      `Runs a command ${where}. ` +
      (ports.policy.mode === "full"
        ? ""
        : "Prefer a list of the program and its arguments: a shell's line, and what is not allowed already, waits for a person's approval. ") +
      "What takes longer than yieldMs goes on in the background: its end will be told to you, so do not poll for it. The process tool has its output.",
    args,
    action: (asked, scope) => workOut(requestOf(asked), placeFor(scope), async (action) => action),
    async run(asked, scope) {
      scope.signal.throwIfAborted();
      // A command may look at files that an interrupted patch has left half done.
      if (!context.files.readOnly) await context.files.writable();
      const start = (): Promise<Command | string> =>
        workOut(requestOf(asked), placeFor(scope), async (action, folder) => {
          const refused = await refusal(action, ports, scope);
          return refused ?? startNow(asked, action, folder, context, ports, scope);
        });
      // No file tool changes what it runs between the last look at it and its start.
      const command = asks ? await context.files.own.exclusive(start) : await start();
      return typeof command === "string"
        ? textResult(command, true)
        : finish(command, asked, resultRoom(context), scope);
    },
  });
}

function requestOf({ command, workdir, env, pty, background }: Args): ExecRequest {
  return { command, workdir, env, pty, interactive: background };
}

/** Null when this action may start now. */
async function refusal(action: ExecAction, ports: ExecPorts, scope: ToolScope): Promise<string | null> {
  const decision = execDecision(action, ports.policy);
  if (decision.kind === "run") return null;
  if (decision.kind === "ask" && (await ports.approved?.(action, actionHash(action), scope)) === true)
    return null;
  const why =
    decision.kind === "ask"
      ? `it needs a person's approval, which it does not have: ${decision.reason}`
      : decision.reason;
  return `Not run: ${why}.\n${describeAction(action)}`;
}

async function startNow(
  asked: Args,
  action: ExecAction,
  folder: Folder,
  context: ToolContext,
  ports: ExecPorts,
  scope: ToolScope,
): Promise<Command> {
  const { sandbox, files } = context;
  const env = commandEnv(ports.host, scope.env, action.env);
  const { pty } = asked;
  const input = asked.background;
  const command =
    sandbox.kind === "none"
      ? await guardGit(action.argv, entryPath(folder, "."), env)
      : { argv: action.argv, env };
  const watched = await watch(context, scope);
  const guarded = watched?.view ?? nothingGuarded;
  const wrapped = sandbox.wrap({ ...command, cwd: folder.path, pty, input, guarded });
  // On Linux the folder that was resolved, whatever its path has become since; a terminal starts its command
  // in a way that needs the path.
  const cwd = sandbox.kind !== "none" ? "/" : pty ? action.cwd : entryPath(folder, ".");
  const started = ports.commands.start({
    session: scope.session,
    agent: scope.agent,
    turn: scope.turn,
    command: visibleText(typeof asked.command === "string" ? asked.command : asked.command.join(" ")).slice(
      0,
      500,
    ),
    owner: context.owner,
    files: files.own,
    bound: action.files.map(({ path }) => path),
    argv: wrapped.argv,
    env: wrapped.env,
    ends: wrapped.ends,
    mostProcesses: wrapped.mostProcesses,
    cwd,
    pty,
    input,
    timeoutMs: (asked.timeoutSeconds ?? ports.timeoutSeconds) * 1_000,
    ...(watched === null
      ? {}
      : { after: async () => [watched.note, await watched.end()].filter(Boolean).join("; ") }),
  });
  started.catch(() => watched?.end());
  return started;
}

/** Null for what needs no looking after: an owner's command on the host. */
async function watch(context: ToolContext, scope: ToolScope): Promise<Watched | null> {
  const { sandbox, owner, origins, promptPaths: alsoPrompt = [], files } = context;
  const hidden = files.own.forbidden ?? [];
  const request = { root: sandbox.workspace, origin: originOf(context, scope), alsoPrompt, hidden, origins };
  if (sandbox.kind !== "none") {
    if (sandbox.scratch) return watchScratch(sandbox.workspace);
    return sandbox.readOnly ? watchReader(request) : watchSandboxed(request, sandbox.kind === "docker");
  }
  return owner || origins === undefined ? null : watchOnHost(request);
}

async function finish(
  command: Command,
  { background, yieldMs }: Args,
  room: number,
  { signal }: ToolScope,
): Promise<ToolResult> {
  if (!background) await command.ended(yieldMs, signal);
  if (signal.aborted) {
    await command.kill();
    throw new Fault("aborted", "stopped while it ran");
  }
  await command.background();
  const { record, files } = command;
  const output = await excerpt(files, record.log, room);
  if (record.state === "running") {
    command.told = output?.total ?? 0;
    return textResult(
      lines(
        output?.text,
        `[goes on in the background as ${record.id}; its end will be told. All output: ${record.log}]`,
      ),
    );
  }
  const seconds = (((record.endedAtMs ?? 0) - record.startedAtMs) / 1_000).toFixed(1);
  const end =
    record.state === "exited"
      ? record.code === null
        ? "ended by a signal"
        : `exit code ${record.code}`
      : record.state;
  const kept = output?.whole === false ? ` All ${output.total} bytes of output: ${record.log}` : "";
  if (kept === "") await removeLog(files, record.log);
  // Not as an error even if its code is one: an error is cut to a sentence, and here the output tells what
  // went wrong.
  return textResult(lines(output?.text, `[${end}, ${seconds} s]${kept}`));
}

function lines(output: string | undefined, last: string): string {
  return output === undefined || output === "" ? last : `${output.replace(/\n$/, "")}\n${last}`;
}
