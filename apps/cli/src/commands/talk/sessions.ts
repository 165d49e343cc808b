// `parley sessions list|show|set|tree|reset|compact|forget`: the conversations that the gateway keeps.
import { reasoningLevels, systemIds, thinkingLevels, type MethodResult } from "@parley/protocol";
import { document, line, result, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withGateway, withState } from "../../with-gateway.ts";

/** Takes a session's own setting back. */
const asAgent = "default";

type Session = MethodResult<"sessions.list">["sessions"][number];

export async function sessionsList(
  terminal: Console,
  flags: { readonly agent?: string; readonly limit?: string },
  words: readonly string[] = [],
): Promise<ExitCode> {
  const params = {
    ...(words.length === 0 ? {} : { find: words.join(" ") }),
    ...(flags.agent === undefined ? {} : { agent: flags.agent }),
    limit: limitOf(flags.limit ?? "100"),
  };
  const found = await withState(terminal, (client) => client.request("sessions.list", params));
  if (terminal.json) document(terminal.out, found);
  else if (found.sessions.length === 0)
    line(terminal.out, words.length === 0 ? "There is no session yet." : "No session has these words.");
  else for (const session of found.sessions) line(terminal.out, sessionLine(session));
  return exitCodes.ok;
}

export async function sessionsShow(
  terminal: Console,
  key: string,
  flags: { readonly limit?: string; readonly epoch?: string },
): Promise<ExitCode> {
  const epoch = flags.epoch === undefined ? {} : { epoch: epochOf(flags.epoch) };
  const found = await withState(terminal, (client) =>
    client.request("sessions.show", { key, limit: limitOf(flags.limit ?? "50"), ...epoch }),
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

/** What is not named stays as it is. */
export async function sessionsSet(
  terminal: Console,
  key: string,
  flags: { readonly model?: string; readonly thinking?: string; readonly reasoning?: string },
): Promise<ExitCode> {
  const { model, thinking, reasoning } = flags;
  if (model === undefined && thinking === undefined && reasoning === undefined)
    throw new CommandFailure(
      "invalid",
      "say what to set: --model, --thinking or --reasoning",
      exitCodes.usage,
    );
  const patch = {
    ...(model === undefined ? {} : { model: model === asAgent ? null : model }),
    ...(thinking === undefined ? {} : { thinking: levelOf("--thinking", thinkingLevels, thinking) }),
    ...(reasoning === undefined ? {} : { reasoning: levelOf("--reasoning", reasoningLevels, reasoning) }),
  };
  const found = await withState(terminal, (client) => client.request("sessions.patch", { key, ...patch }));
  const now = (value: string | null): string => value ?? "as its agent has it";
  result(
    terminal,
    found,
    `${found.key}: model ${now(found.model)}, thinking ${now(found.thinking)}, thoughts shown ${now(found.reasoning)}`,
  );
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

function levelOf<L extends string>(flag: string, levels: readonly L[], text: string): L | null {
  if (text === asAgent) return null;
  const level = levels.find((each) => each === text);
  if (level !== undefined) return level;
  throw new CommandFailure(
    "invalid",
    `${flag} takes ${levels.join(", ")} or ${asAgent}, not "${text}"`,
    exitCodes.usage,
  );
}

function epochOf(text: string): number {
  const epoch = Number(text);
  if (Number.isInteger(epoch) && epoch >= 1) return epoch;
  throw new CommandFailure("invalid", `--epoch takes a number from 1 on, not "${text}"`, exitCodes.usage);
}

export function limitOf(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw new CommandFailure(
    "invalid",
    `--limit takes a number from 1 to 1000, not "${text}"`,
    exitCodes.usage,
  );
}
