// `parley models list|test`: which models there are, and whether one really answers and calls tools.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

type Listed = MethodResult<"models.list">["models"][number];
type Tested = MethodResult<"models.test">;

export async function modelsList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("models.list", {}));
  if (terminal.json) document(terminal.out, found);
  else for (const text of found.models.flatMap(listedLines)) line(terminal.out, text);
  return exitCodes.ok;
}

/** Fails when the model does not answer; without tool calling it says so and succeeds. */
export async function modelsTest(terminal: Console, id: string | undefined): Promise<ExitCode> {
  const tested = await withState(terminal, (client) => client.request("models.test", id === undefined ? {} : { id }));
  if (terminal.json) document(terminal.out, tested);
  else for (const text of testedLines(tested)) line(terminal.out, text);
  return tested.ok ? exitCodes.ok : exitCodes.failed;
}

function listedLines({
  id,
  alias,
  trouble,
  contextWindow,
  maxTokens,
  vision,
  thinking,
  reasoning,
  price,
  usedBy,
  uncappedFor,
}: Listed): string[] {
  const facts = [
    `${contextWindow} tokens, answers of ${maxTokens}`,
    ...(vision ? ["sees images"] : []),
    reasoning ? `thinks: ${thinking.join(", ")}` : "thinks in tags",
    price === null ? "price unknown" : `$${price.input} in, $${price.output} out per million`,
  ];
  return [
    `${id}${alias === null ? "" : ` (${alias})`}${usedBy.length === 0 ? "" : `  [${usedBy.join("; ")}]`}`,
    `  ${facts.join("; ")}`,
    ...(trouble === null ? [] : [`  cannot be called: ${trouble}`]),
    ...(uncappedFor.length === 0
      ? []
      : [`  the spending limit in dollars of ${uncappedFor.join(", ")} does not hold it: set its cost, or limit tokens`]),
  ];
}

function testedLines({ id, ok, error, firstTokenMs, totalMs, toolCalling, text, inputTokens, outputTokens, costUsd }: Tested): string[] {
  const cost = costUsd === null ? "price unknown" : `$${costUsd.toFixed(6)}`;
  if (!ok) {
    const status = error?.status === undefined ? "" : ` (HTTP ${error.status})`;
    return [`${id}: failed after ${totalMs} ms`, `  ${error?.kind ?? "error"}${status}: ${error?.message ?? ""}`];
  }
  return [
    `${id}: answered in ${totalMs} ms, the first token came after ${firstTokenMs ?? totalMs} ms`,
    `  tool calling: ${toolCalling ? "works" : `does not work; it said ${JSON.stringify(text)}`}`,
    `  used: ${inputTokens} tokens in, ${outputTokens} out, ${cost}`,
  ];
}
