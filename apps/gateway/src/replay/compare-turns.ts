// Says in words what moved between a turn and its replay, and what a saved turn expects that did not happen.
import { isDeepStrictEqual } from "node:util";
import type { PromptDiff } from "@parley/agent";
import type { MethodResult, SavedTurn } from "@parley/protocol";
import type { Unanswered } from "./recorded-tools.ts";

type Result = MethodResult<"turns.replay">;
type Side = Result["before"];
export type Replayed = Pick<Result, "before" | "after"> & {
  readonly prompt: PromptDiff | null;
  readonly unanswered: readonly Unanswered[];
};

const dollars = (usd: number): string => `$${usd.toFixed(4)}`;
const tokensOf = (side: Side): number =>
  side.inputTokens + side.outputTokens + side.cacheReadTokens + side.cacheWriteTokens;
/** Loops end in "stop" where answers do. */
const failed = (side: Side): boolean => !["stop", "length", "cut", "steps", "loop"].includes(side.stop);

export function* movedIn({ before, after, prompt, unanswered }: Replayed): Generator<string> {
  if (prompt !== null) {
    for (const { id, zone, change, charsBefore, charsAfter } of prompt.moves)
      yield `prompt: ${id} (${zone}) ${change}, ${charsBefore} to ${charsAfter} characters`;
    if (prompt.files.length > 0) yield `files: ${prompt.files.join(", ")}`;
    if (prompt.tools.length > 0) yield `tools: ${prompt.tools.join(", ")}`;
  }
  if (after === null) return;
  if (before.model !== after.model) yield `model: ${before.model} to ${after.model}`;
  if (failed(after)) yield `end: ${before.stop} to ${after.stop}`;
  if (!isDeepStrictEqual(before.calls, after.calls))
    yield `calls: ${callsTold(before)} to ${callsTold(after)}`;
  for (const { name, given } of unanswered)
    yield given === "another"
      ? `${name} was called with other arguments: it was given the recorded result of another call`
      : `${name} was called, and the record has no result of it`;
  if (before.answer.trim() !== after.answer.trim()) yield "answer: other words";
  const [was, is] = [tokensOf(before), tokensOf(after)];
  if (was !== is) yield `tokens: ${was} to ${is}${was === 0 ? "" : ` (${percent(was, is)})`}`;
  if (before.costUsd !== after.costUsd)
    yield `cost: ${before.costUsd === null ? "unknown" : dollars(before.costUsd)} to ${after.costUsd === null ? "unknown" : dollars(after.costUsd)}`;
  if (before.tookMs !== null && after.tookMs !== null && before.tookMs !== after.tookMs)
    yield `time: ${before.tookMs} ms to ${after.tookMs} ms`;
}

export function* failuresOf(expect: SavedTurn["expect"], { before, after }: Replayed): Generator<string> {
  if (after === null) return;
  if (failed(after)) yield `it ended as "${after.stop}": ${after.answer}`;
  const names = (side: Side): readonly string[] => side.calls.map(({ name }) => name);
  if (expect.calls === "names" && !isDeepStrictEqual(names(before), names(after)))
    yield `other tools: ${callsTold(before)} to ${callsTold(after)}`;
  if (expect.calls === "same" && !isDeepStrictEqual(before.calls, after.calls))
    yield `other calls: ${JSON.stringify(before.calls)} to ${JSON.stringify(after.calls)}`;
  const { same = false, includes = [], excludes = [] } = expect.answer;
  if (same && before.answer.trim() !== after.answer.trim())
    yield `other words: ${JSON.stringify(before.answer)} to ${JSON.stringify(after.answer)}`;
  for (const words of includes)
    if (!after.answer.includes(words)) yield `the answer does not say ${JSON.stringify(words)}`;
  for (const words of excludes)
    if (after.answer.includes(words)) yield `the answer says ${JSON.stringify(words)}`;
  const most = expect.tokens === undefined ? Infinity : expect.tokens * tokensOf(before);
  if (tokensOf(after) > most) yield `${tokensOf(after)} tokens, of at most ${Math.floor(most)}`;
}

const callsTold = ({ calls }: Side): string =>
  calls.length === 0 ? "none" : calls.map(({ name }) => name).join(", ");

function percent(was: number, is: number): string {
  const change = Math.round((is / was - 1) * 100);
  return `${change < 0 ? "" : "+"}${change} %`;
}
