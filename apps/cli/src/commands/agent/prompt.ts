// `parley prompt show|explain|diff`: what the agent is told, section by section: now, at an earlier turn, and
// what moved between.
import type { MethodResult, PromptIdentity, PromptMoves } from "@parley/protocol";
import { document, line, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

export interface PromptChoice {
  readonly session?: string;
  readonly turn?: string;
  readonly with?: string;
}

type Explained = MethodResult<"prompt.explain">;
type Section = Explained["explanation"]["sections"][number];

export async function promptShow(terminal: Console, choice: PromptChoice): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("prompt.show", which(choice)));
  if (terminal.json) document(terminal.out, found);
  else {
    // Standard output holds the text alone, byte for byte as far as a terminal can take it.
    line(
      terminal.err,
      `${place(found)}; the cache boundary is at character ${count(found.boundary)} of ${count(found.text.length)}`,
    );
    words(terminal.out, found.text);
  }
  return exitCodes.ok;
}

export async function promptExplain(terminal: Console, choice: PromptChoice): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("prompt.explain", which(choice)));
  if (terminal.json) document(terminal.out, found);
  else for (const text of explanationLines(found)) line(terminal.out, text);
  return exitCodes.ok;
}

export async function promptDiff(terminal: Console, choice: PromptChoice): Promise<ExitCode> {
  const other = choice.with === undefined ? {} : { with: choice.with };
  const found = await withState(terminal, (client) =>
    client.request("prompt.diff", { ...which(choice), ...other }),
  );
  if (terminal.json) document(terminal.out, found);
  else {
    line(terminal.out, `From ${place(found.before)}`);
    line(terminal.out, `to   ${place(found.after)}:`);
    for (const text of moveLines(found)) line(terminal.out, `  ${text}`);
  }
  return exitCodes.ok;
}

function which({ session, turn }: PromptChoice): { session?: string; turn?: number } {
  const n = turn === undefined ? undefined : turn === "last" ? -1 : Number(turn);
  if (n !== undefined && (!Number.isSafeInteger(n) || n === 0)) {
    throw new CommandFailure(
      "invalid",
      `--turn takes the number of a turn, "last", or -2 for the one before it, not "${turn}"`,
      exitCodes.usage,
    );
  }
  return { ...(session === undefined ? {} : { session }), ...(n === undefined ? {} : { turn: n }) };
}

function place({ session, turn, atMs }: PromptIdentity): string {
  if (turn === null) return `${session}, as its next turn would get it`;
  return `${session}, turn ${turn}${atMs === null ? "" : ` of ${new Date(atMs).toISOString()}`}`;
}

function explanationLines({ explanation: told, moved, ...identity }: Explained): string[] {
  const wide = Math.max(...told.sections.map(({ id }) => id.length));
  const lineOf = (section: Section): string => sectionLine(section, wide);
  const inZone = (zone: Section["zone"]): string[] =>
    told.sections.filter((section) => section.zone === zone).map(lineOf);
  const schemas = told.tools.reduce((sum, tool) => sum + tool.tokens, 0);
  return [
    place(identity),
    `${told.mode} mode, ${count(told.chars)} characters, about ${count(told.tokens)} tokens by ${told.estimator}: ` +
      `${count(told.stableTokens)} stable (${told.stableHash}), ${count(told.volatileTokens)} volatile`,
    "",
    ...inZone("stable"),
    `  ---  cache boundary, at character ${count(told.boundary)}`,
    ...inZone("volatile"),
    "",
    ...(told.files.length === 0 ? ["No workspace files."] : ["Workspace files, in characters:"]),
    ...told.files.map(fileLine),
    ...told.truncations.map(
      ({ section, how, rawChars, keptChars }) =>
        `  cut: ${section} ${how}, ${count(keptChars)} of ${count(rawChars)} characters are in`,
    ),
    told.tools.length === 0
      ? "No tools."
      : `Tool schemas, sent beside the prompt: ${told.tools.length}, about ${count(schemas)} tokens`,
    ...told.tools.map(
      ({ name, chars, tokens }) => `  ${name}: ${count(chars)} characters, about ${count(tokens)} tokens`,
    ),
    "",
    ...(moved === null
      ? ["No earlier turn is kept to compare it with."]
      : [`Since turn ${moved.since.turn}:`, ...moveLines(moved)]),
  ];
}

function sectionLine({ id, chars, tokens, hash, included, reason }: Section, wide: number): string {
  const size = included
    ? `${count(tokens).padStart(6)} tokens ${count(chars).padStart(7)} chars  ${hash}`
    : "";
  return `  ${included ? "in " : "out"}  ${id.padEnd(wide)}  ${included ? `${size}  ` : ""}${reason}`;
}

function fileLine({
  name,
  state,
  rawChars,
  injectedChars,
  truncated,
  note,
}: Explained["explanation"]["files"][number]): string {
  if (state === "missing") return `  ${name}: missing, a marker stands in its place`;
  if (state === "refused") return `  ${name}: there, but left out: ${note ?? "it may not be read"}`;
  return `  ${name}: ${count(rawChars)} raw, ${count(injectedChars)} injected${truncated ? ", cut" : ""}${note === undefined ? "" : `. ${note}`}`;
}

function moveLines({ stableMoved, moves, files, tools }: PromptMoves): string[] {
  if (moves.length === 0 && tools.length === 0) return ["nothing moved"];
  return [
    ...moves.map(
      ({ id, zone, change, charsBefore, charsAfter }) =>
        `${zone}  ${id}  ${change}, ${count(charsBefore)} -> ${count(charsAfter)} characters`,
    ),
    ...(files.length === 0 ? [] : [`workspace files: ${files.join(", ")}`]),
    ...(tools.length === 0 ? [] : [`tool schemas: ${tools.join(", ")}`]),
    stableMoved || tools.length > 0
      ? "what a provider caches moved: the next call pays for it in full"
      : "only what stands after the cache boundary moved",
  ];
}

function count(n: number): string {
  return n.toLocaleString("en-US");
}
