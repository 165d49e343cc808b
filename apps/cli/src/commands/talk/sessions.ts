// `parley sessions list|show|tree|reset|compact|forget`: the conversations that the gateway keeps.
import { systemIds, type MethodResult } from "@parley/protocol";
import { document, line, result, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withGateway, withState } from "../../with-gateway.ts";

type Session = MethodResult<"sessions.list">["sessions"][number];

export async function sessionsList(
  terminal: Console,
  flags: { readonly agent?: string; readonly limit?: string },
): Promise<ExitCode> {
  const params = {
    ...(flags.agent === undefined ? {} : { agent: flags.agent }),
    limit: limitOf(flags.limit ?? "100"),
  };
  const found = await withState(terminal, (client) => client.request("sessions.list", params));
  if (terminal.json) document(terminal.out, found);
  else if (found.sessions.length === 0) line(terminal.out, "There is no session yet.");
  else for (const session of found.sessions) line(terminal.out, sessionLine(session));
  return exitCodes.ok;
}

export async function sessionsShow(
  terminal: Console,
  key: string,
  flags: { readonly limit?: string },
): Promise<ExitCode> {
  const found = await withState(terminal, (client) =>
    client.request("sessions.show", { key, limit: limitOf(flags.limit ?? "50") }),
  );
  if (terminal.json) document(terminal.out, found);
  else {
    line(terminal.out, sessionLine(found));
    for (const { atMs, type, text } of found.entries)
      words(
        terminal.out,
        `${new Date(atMs).toISOString()}  ${type.padEnd(10)}  ${text}`.replaceAll("\n", "\n    "),
      );
  }
  return exitCodes.ok;
}

export async function sessionsTree(terminal: Console, key?: string): Promise<ExitCode> {
  const params = key === undefined ? {} : { key };
  const found = await withState(terminal, (client) => client.request("sessions.tree", params));
  if (terminal.json) document(terminal.out, found);
  else if (found.sessions.length === 0) line(terminal.out, "No session has sub-agents.");
  else for (const node of found.sessions) line(terminal.out, nodeLine(node));
  return exitCodes.ok;
}

export async function sessionsReset(terminal: Console, key: string): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("sessions.reset", { key }));
  result(terminal, found, `${found.key} begins anew. Nothing was deleted.`);
  return exitCodes.ok;
}

export async function sessionsCompact(terminal: Console, key: string, focus: string): Promise<ExitCode> {
  const asked = { key, ...(focus === "" ? {} : { focus }), idempotencyKey: systemIds().uuid() };
  const row = await withGateway(terminal, (client) => client.request("sessions.compact", asked));
  result(terminal, row, `It stands in the conversation's queue: parley why ${row.id}`);
  return exitCodes.ok;
}

export async function sessionsForget(terminal: Console, key: string): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("sessions.forget", { key }));
  const words = `${found.entries} entries left the transcript of ${found.key} for good. It begins anew.`;
  result(terminal, found, words);
  return exitCodes.ok;
}

function nodeLine({
  key,
  depth,
  label,
  state,
  reason,
  startedAtMs,
  endedAtMs,
  tokens,
}: MethodResult<"sessions.tree">["sessions"][number]): string {
  const why = reason === null ? "" : ` (${reason})`;
  const ran = endedAtMs === null ? "" : `, took ${Math.round((endedAtMs - startedAtMs) / 1_000)} s`;
  const name = label === null ? "" : `${JSON.stringify(label)}  `;
  const since = `since ${new Date(startedAtMs).toISOString()}`;
  return `${"  ".repeat(depth)}${name}${key}  ${state}${why}, ${since}${ran}, ${tokens} tokens`;
}

function sessionLine({
  key,
  epoch,
  updatedAtMs,
  name,
  model,
  working,
  inputTokens,
  outputTokens,
}: Session): string {
  const facts = [
    // A gateway of an earlier version tells no names.
    ...(typeof name === "string" ? [JSON.stringify(name)] : []),
    `since ${new Date(updatedAtMs).toISOString()}`,
    ...(epoch > 1 ? [`epoch ${epoch}`] : []),
    ...(model === null ? [] : [model]),
    `${inputTokens} tokens in, ${outputTokens} out`,
    ...(working ? ["working"] : []),
  ];
  return `${key}  ${facts.join(", ")}`;
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw new CommandFailure(
    "invalid",
    `--limit takes a number from 1 to 1000, not "${text}"`,
    exitCodes.usage,
  );
}
