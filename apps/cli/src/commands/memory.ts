// `parley memory search|get|status|why|forget|reindex`: the notes that agents keep, as they find them.
import { createInterface } from "node:readline/promises";
import type { MethodParams, MethodResult } from "@parley/protocol";
import { document, line, styled, words, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

type Found = MethodResult<"memory.search">;
type Status = MethodResult<"memory.status">;
type Why = MethodResult<"memory.why">;
type Forgotten = MethodResult<"memory.forget">;

export interface MemoryChoice {
  readonly agent?: string;
  readonly max?: string;
  readonly minScore?: string;
  readonly from?: string;
  readonly lines?: string;
}

const named = (agent: string | undefined): { agent?: string } => (agent === undefined ? {} : { agent });

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

export interface HistoryChoice {
  readonly agent?: string;
  readonly path?: string;
  readonly max?: string;
}

export async function memoryHistory(
  terminal: Console,
  { agent, path, max }: HistoryChoice,
): Promise<ExitCode> {
  const found = await withState(terminal, (client) =>
    client.request("memory.history", {
      ...named(agent),
      ...(path === undefined ? {} : { path }),
      ...(max === undefined ? {} : { limit: numberIn("--max", max, 1, 500) }),
    }),
  );
  if (terminal.json) document(terminal.out, found);
  else if (found.changes.length === 0)
    line(
      terminal.out,
      `No turn has changed ${path === undefined ? "a note" : `"${path}"`} in the last 90 days.`,
    );
  else for (const change of found.changes) for (const text of changeLines(change)) words(terminal.out, text);
  return exitCodes.ok;
}

const shownLines = 6;

function changeLines({
  id,
  path,
  session,
  turn,
  by,
  tool,
  removed,
  added,
  undoneAtMs,
}: MethodResult<"memory.history">["changes"][number]): readonly string[] {
  const signed = (sign: string, text: string): readonly string[] => {
    const lines = text.split("\n").filter((each) => each.trim() !== "");
    const more = lines.length - shownLines;
    return [
      ...lines.slice(0, shownLines).map((each) => `    ${sign} ${each}`),
      ...(more > 0 ? [`    ${sign} … ${more} more lines`] : []),
    ];
  };
  const whose = tool === "undo" ? "the operator" : by.join(", ") || "nobody";
  return [
    `${id}  ${path}  ${tool}, for ${whose}, in ${session} (parley why ${turn})${undoneAtMs === undefined ? "" : "  undone"}`,
    ...signed("-", removed),
    ...signed("+", added),
  ];
}

export async function memoryUndo(
  terminal: Console,
  id: string | undefined,
  agent: string | undefined,
): Promise<ExitCode> {
  const params = { ...named(agent), ...(id === undefined ? {} : { id }) };
  const done = await withState(terminal, (client) => client.request("memory.undo", params));
  if (terminal.json) document(terminal.out, done);
  else
    line(
      terminal.out,
      done.changed
        ? `${done.path} is as it was before ${done.id}.`
        : `${done.path} was already as before ${done.id}.`,
    );
  return exitCodes.ok;
}

type Proposals = MethodResult<"memory.proposals">["proposals"];

export interface ProposalChoice {
  readonly agent?: string;
  readonly all?: boolean;
}

export async function memoryProposals(
  terminal: Console,
  { agent, all = false }: ProposalChoice,
): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("memory.proposals", named(agent)));
  const proposals = all ? found.proposals : found.proposals.filter(({ state }) => state === "open");
  if (terminal.json) document(terminal.out, { proposals });
  else if (proposals.length === 0)
    line(
      terminal.out,
      all ? "Nothing was proposed in the last 30 days." : "No proposal waits for a decision.",
    );
  else for (const each of proposals) for (const text of proposalLines(each)) words(terminal.out, text);
  return exitCodes.ok;
}

export async function memoryDecide(
  terminal: Console,
  decision: "accept" | "refuse",
  id: string,
  numbers: readonly string[],
): Promise<ExitCode> {
  const changes = numbers.map((number) => wholeIn("the number of a change", number));
  const params = { id, decision, ...(changes.length === 0 ? {} : { changes }) };
  const done = await withState(terminal, (client) => client.request("memory.decide", params));
  if (terminal.json) document(terminal.out, done);
  else words(terminal.out, `${done.id}: ${done.said}`);
  return exitCodes.ok;
}

function proposalLines(proposal: Proposals[number]): readonly string[] {
  const { id, agent, turn, createdAtMs, state, said, changes } = proposal;
  return [
    `${id}  ${new Date(createdAtMs).toISOString()}  ${state}, for the notes of ${agent} (parley why ${turn}): ${said}`,
    ...changes.flatMap(({ kind, lines, text, why, untrusted }, at) => [
      `  ${at + 1}. ${kind}${why === "" ? "" : `: ${why}`}${untrusted === undefined ? "" : `; untrusted: noted after reading ${untrusted}`}`,
      ...lines.map((each) => `     ${each.path}#L${each.line}: ${each.text.trim()}`),
      text === null ? "     => the others are marked as superseded by the first line" : `     => ${text}`,
    ]),
  ];
}

export interface ForgetChoice {
  readonly agent?: string;
  readonly yes?: boolean;
}

export async function memoryForget(
  terminal: Console,
  query: string,
  { agent, yes = false }: ForgetChoice,
): Promise<ExitCode> {
  const ask = (confirm: boolean): Promise<Forgotten> =>
    withState(terminal, (client) => client.request("memory.forget", { ...named(agent), query, confirm }));
  const plan = yes && terminal.json ? null : await ask(false);
  if (plan !== null && !terminal.json) for (const text of planLines(plan)) words(terminal.out, text);
  const confirmed = yes || (plan !== null && (await isConfirmed(terminal)));
  if (!confirmed) {
    if (terminal.json) document(terminal.out, plan);
    else line(terminal.out, "Nothing is changed. To do it, run it again with --yes.");
    return exitCodes.ok;
  }
  const done = await ask(true);
  if (terminal.json) document(terminal.out, done);
  else {
    const stored = done.history === null ? "" : ` and ${done.history} stored texts of conversations`;
    line(terminal.out, `Forgotten: ${done.lines.length} lines of notes${stored}.`);
    for (const note of done.notes) line(terminal.out, `  ${note}`);
  }
  return exitCodes.ok;
}

async function isConfirmed(terminal: Console): Promise<boolean> {
  if (terminal.json || terminal.input.isTTY !== true) return false;
  const asking = createInterface({ input: terminal.input, output: terminal.out });
  try {
    return /^y(?:es)?$/i.test((await asking.question("Forget this for good? [y/N] ")).trim());
  } finally {
    asking.close();
  }
}

function planLines({ lines }: Forgotten): readonly string[] {
  return [
    lines.length === 0
      ? "No line of the notes says that. What is stored of conversations would lose every line that does."
      : "These lines, and every line of stored conversations that says it:",
    ...lines.map(({ path, line: at, text }) => `  ${path}#L${at}: ${text}`),
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

function numberIn(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= least && value <= most))
    throw new CommandFailure("invalid", `${name} is a number from ${least} to ${most}`, exitCodes.usage);
  return value;
}

function wholeIn(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new CommandFailure("invalid", `${name} is a whole number from 1`, exitCodes.usage);
  return value;
}
