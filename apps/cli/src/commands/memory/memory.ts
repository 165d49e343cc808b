// `parley memory search|get|status|why|forget|reindex`: the notes that agents keep, as they find them.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { document, line, styled, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Found = MethodResult<"memory.search">;
type Status = MethodResult<"memory.status">;
type Why = MethodResult<"memory.why">;

export interface MemoryChoice {
  readonly agent?: string;
  readonly max?: string;
  readonly minScore?: string;
  readonly from?: string;
  readonly lines?: string;
}

export const named = (agent: string | undefined): { agent?: string } =>
  agent === undefined ? {} : { agent };

export async function memorySearch(
  terminal: Console,
  query: string,
  { agent, max, minScore }: MemoryChoice,
): Promise<ExitCode> {
  const params: MethodParams<"memory.search"> = {
    ...named(agent),
    query,
    ...(max === undefined ? {} : { maxResults: numberIn("--max", max, 1, 50) }),
    ...(minScore === undefined ? {} : { minScore: numberIn("--min-score", minScore, 0, 1) }),
  };
  const found = await withState(terminal, (client) => client.request("memory.search", params));
  if (terminal.json) document(terminal.out, found);
  else for (const text of foundLines(found, terminal)) words(terminal.out, text);
  return exitCodes.ok;
}

export async function memoryGet(
  terminal: Console,
  path: string,
  { agent, from, lines }: MemoryChoice,
): Promise<ExitCode> {
  const params: MethodParams<"memory.get"> = {
    ...named(agent),
    path,
    ...(from === undefined ? {} : { from: wholeIn("--from", from) }),
    ...(lines === undefined ? {} : { lines: wholeIn("--lines", lines) }),
  };
  const read = await withState(terminal, (client) => client.request("memory.get", params));
  if (terminal.json) document(terminal.out, read);
  else {
    const place = `${read.path}#L${read.startLine}-L${read.endLine} of ${read.totalLines} lines`;
    words(terminal.out, styled(terminal.out, terminal.env, "dim", place));
    words(terminal.out, read.text);
  }
  return exitCodes.ok;
}

export async function memoryStatus(terminal: Console, agent: string | undefined): Promise<ExitCode> {
  return show(terminal, await withState(terminal, (client) => client.request("memory.status", named(agent))));
}

export async function memoryReindex(terminal: Console, agent: string | undefined): Promise<ExitCode> {
  return show(
    terminal,
    await withState(terminal, (client) => client.request("memory.reindex", named(agent))),
  );
}

export async function memoryWhy(
  terminal: Console,
  text: string,
  agent: string | undefined,
): Promise<ExitCode> {
  const params = { ...named(agent), line: text };
  const found = await withState(terminal, (client) => client.request("memory.why", params));
  if (terminal.json) document(terminal.out, found);
  else if (found.lines.length === 0) line(terminal.out, "No line of the notes says that.");
  else for (const each of found.lines) for (const told of whyLines(each)) words(terminal.out, told);
  return exitCodes.ok;
}

function whyLines({ path, line: at, text, writtenBy }: Why["lines"][number]): readonly string[] {
  return [
    `${path}#L${at}: ${text}`,
    ...writtenBy.map(
      ({ session, turn, by, atMs, tool, untrusted }) =>
        `    ${new Date(atMs).toISOString()}  ${tool}, for ${by.join(", ") || "nobody that is stored"}, in ${session} (parley why ${turn})${untrusted === undefined ? "" : `; untrusted: it had read ${untrusted}`}`,
    ),
    ...(writtenBy.length === 0
      ? ["    no stored turn wrote it: a person or a program did, or its turn is gone"]
      : []),
  ];
}

function show(terminal: Console, found: Status): ExitCode {
  if (terminal.json) document(terminal.out, found);
  else for (const each of found.agents) for (const text of statusLines(each)) line(terminal.out, text);
  return exitCodes.ok;
}

function foundLines({ results, mode, notes }: Found, { out, env }: Console): readonly string[] {
  const told = notes.map((note) => styled(out, env, "yellow", `note: ${note}`));
  if (results.length === 0) return ["Nothing found.", ...told];
  return [
    ...results.flatMap(({ path, startLine, endLine, score, heading, scope, snippet, turn, untrusted }) => [
      styled(
        out,
        env,
        "bold",
        turn === undefined ? `${path}#L${startLine}-L${endLine}` : `${path} turn ${turn}`,
      ) +
        `  ${score.toFixed(2)}  ${turn === undefined ? scope : "session"}${heading === "" ? "" : `  ${heading}`}`,
      ...(untrusted === undefined
        ? []
        : [
            styled(
              out,
              env,
              "yellow",
              `    untrusted: ${turn === undefined ? "noted" : "said"} after reading ${untrusted}`,
            ),
          ]),
      ...snippet.split("\n").map((each) => `    ${each}`),
    ]),
    styled(out, env, "dim", `${results.length} found (${mode} search)`),
    ...told,
  ];
}

function statusLines(status: Status["agents"][number]): readonly string[] {
  const {
    agent,
    enabled,
    workspace,
    index,
    provider,
    model,
    files,
    chunks,
    vectors,
    vectorsLeft,
    filesLeft,
  } = status;
  const megabytes = (status.bytes / 1_048_576).toFixed(1);
  return [
    `${agent}: ${files} files, ${chunks} passages${enabled ? "" : " (memorySearch.enabled is false)"}`,
    `  notes    ${workspace}`,
    `  index    ${index} (${megabytes} MB)`,
    `  vectors  ${provider === "none" ? "none: words alone are searched" : `${vectors} by ${provider}/${model ?? ""}${vectorsLeft === 0 ? "" : `, ${vectorsLeft} to come`}`}`,
    ...(filesLeft === 0 ? [] : [`  ${filesLeft} files are not indexed yet`]),
    ...status.problems.map(({ path, reason }) => `  problem  ${path}: ${reason}`),
    ...status.notes.map((note) => `  note     ${note}`),
  ];
}

export function numberIn(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= least && value <= most))
    throw new CommandFailure("invalid", `${name} is a number from ${least} to ${most}`, exitCodes.usage);
  return value;
}

export function wholeIn(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new CommandFailure("invalid", `${name} is a whole number from 1`, exitCodes.usage);
  return value;
}
