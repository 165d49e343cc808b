// Manages background commands of this session: reads their output, sends them input, and ends them.
import { Fault, visibleText } from "@parley/protocol";
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import type { CommandRecord } from "../exec/command-record.ts";
import type { Command } from "../exec/command.ts";
import type { Commands } from "../exec/commands.ts";
import { excerpt, since } from "../exec/output-file.ts";
import { resultRoom } from "../result-size.ts";
import type { Tool, ToolResult, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  action: z.enum(["list", "poll", "log", "write", "kill", "remove"]),
  id: z.string().optional().describe("The command, as exec or list named it. Not for list."),
  timeout: z
    .number()
    .default(0)
    .transform((ms) => Math.min(Math.max(ms, 0), 30_000))
    .describe("poll: wait this many milliseconds, at most 30000, for more output or the end."),
  data: z.string().max(100_000).optional().describe("write: the text to send, with its newline."),
  eof: z.boolean().default(false).describe("write: close the input afterwards."),
});

export const processListing: ToolListing = {
  name: "process",
  label: "Process",
  section: "runtime",
  profiles: ["coding"],
  effect: "writes",
  summary: "Manage background exec sessions",
};

export function process(context: ToolContext): Tool | Unavailable {
  const { exec: ports, clock, owner } = context;
  const room = resultRoom(context);
  if (ports === undefined) return { unavailable: "commands cannot be run here" };
  if (ports.policy.mode === "deny") return { unavailable: 'tools.exec.mode is "deny"' };
  const { commands } = ports;
  return defineTool({
    ...processListing,
    description:
      "Background commands of this session: list them, poll for new output, log for the beginning and end of all output, write to the input of one that " +
      "was started with background or pty, kill one, remove one that is over. What a restart of the gateway ended is listed as lost.",
    args,
    outside: ({ action, id, data = "" }) =>
      action === "write" ? `write to ${visibleText(id ?? "")}\n${visibleText(data)}` : null,
    async run({ action, id, timeout, data, eof }, scope) {
      if (action === "list") return listed(await commands.list(scope.session), clock.now());
      const command = await found(commands, id, scope);
      if (action === "poll") return polled(command, timeout, room, scope.signal);
      if (action === "log") return logged(command, room);
      if (action === "write") {
        if (data === undefined && !eof) throw new Fault("invalid", "write needs data or eof");
        if (command.record.owner && !owner)
          throw new Fault(
            "denied",
            `an owner's turn began it, so only an owner's turn writes to ${command.record.id}`,
          );
        if (data !== undefined) command.write(data);
        if (eof) command.closeInput();
        return textResult(`Sent to ${command.record.id}.`);
      }
      if (action === "kill") {
        await command.kill();
        return textResult(`${command.record.id} ${state(command.record)}.`);
      }
      if (command.record.state === "running")
        throw new Fault("conflict", `${command.record.id} still runs; kill it first`);
      await commands.forget(scope.session, command.record.id);
      return textResult(`Removed ${command.record.id} and its output.`);
    },
  });
}

async function found(commands: Commands, id: string | undefined, { session }: ToolScope): Promise<Command> {
  const command = id === undefined ? null : await commands.get(session, id);
  if (command !== null) return command;
  const ids = (await commands.list(session)).map((record) => record.id).join(", ");
  throw new Fault(
    "missing",
    `there is no command "${id ?? ""}" of this session; there are: ${ids === "" ? "none" : ids}`,
  );
}

function listed(records: readonly CommandRecord[], nowMs: number): ToolResult {
  if (records.length === 0) return textResult("No background commands in this session.");
  return textResult(
    records
      .map((record) => {
        const seconds = Math.round(((record.endedAtMs ?? nowMs) - record.startedAtMs) / 1_000);
        return `${record.id} ${state(record)}, ${seconds} s: ${record.command.slice(0, 120)}`;
      })
      .join("\n"),
  );
}

async function polled(
  command: Command,
  timeoutMs: number,
  room: number,
  signal: AbortSignal,
): Promise<ToolResult> {
  await command.spoke(timeoutMs, signal);
  signal.throwIfAborted();
  const more = await since(command.files, command.record.log, command.told, room);
  command.told = more?.total ?? command.told;
  return textResult(withState(more?.text ?? "(its output is gone)\n", command.record));
}

async function logged({ record, files }: Command, room: number): Promise<ToolResult> {
  const all = await excerpt(files, record.log, room);
  const where = all?.whole === false ? ` All ${all.total} bytes: ${record.log}` : "";
  return textResult(withState(all?.text ?? "(its output is gone)\n", record) + where);
}

function withState(text: string, record: CommandRecord): string {
  return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}[${record.id} ${state(record)}]`;
}

function state({ state: is, code }: CommandRecord): string {
  if (is === "exited") return code === null ? "was ended by a signal" : `exited with code ${code}`;
  if (is === "lost") return "was lost: the gateway stopped while it ran, and it was ended";
  return is === "running" ? "runs" : is === "killed" ? "was killed" : "timed out and was ended";
}
