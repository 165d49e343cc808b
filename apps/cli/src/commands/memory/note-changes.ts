// `parley memory history
//  undo
//  proposals
//  accept
//  decline`: what was written into notes and taken out again, and what
// upkeep proposes to change.
import type { MethodResult } from "@parley/protocol";
import { type Console, document, line, words } from "../../console.ts";
import { type ExitCode, exitCodes } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";
import { named, numberIn, wholeIn } from "./memory.ts";

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
