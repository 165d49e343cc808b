// `parley models list|test`: which models there are, and whether one really answers and calls tools.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Listed = MethodResult<"models.list">["models"][number];
type Tested = MethodResult<"models.test">;

export async function modelsList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("models.list", {}));
  if (terminal.json) document(terminal.out, found);
  else for (const text of found.models.flatMap(listedLines)) line(terminal.out, text);
  return exitCodes.ok;
}

/**
 * Fails when the model does not answer, does not think as configured, or does not work with tools that its
 * agent may use.
 */
export async function modelsTest(terminal: Console, id: string | undefined): Promise<ExitCode> {
  const tested = await withState(terminal, (client) =>
    client.request("models.test", id === undefined ? {} : { id }),
  );
  if (terminal.json) document(terminal.out, tested);
  else for (const text of testedLines(tested)) line(terminal.out, text);
  return worksAsConfigured(tested) ? exitCodes.ok : exitCodes.failed;
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
      : [
          `  the spending limit in dollars of ${uncappedFor.join(", ")} does not hold it: set its cost, or limit tokens`,
        ]),
  ];
}

export function worksAsConfigured({ ok, thinking, usesTools, toolCalling, roundTrip }: Tested): boolean {
  return ok && thinking.works && (!usesTools || (toolCalling && roundTrip === true));
}

function testedLines(tested: Tested): string[] {
  const { id, ok, error, firstTokenMs, totalMs, thinking, usesTools, inputTokens, outputTokens, costUsd } =
    tested;
  const cost = costUsd === null ? "price unknown" : `$${costUsd.toFixed(6)}`;
  const status = error?.status === undefined ? "" : ` (HTTP ${error.status})`;
  const reason = `${error?.kind ?? "error"}${status}: ${error?.message ?? ""}`;
  if (!ok) return [`${id}: failed after ${totalMs} ms`, `  ${reason}`];
  const seen = thinking.shown ? "; its thoughts came along" : "";
  const thinks = thinking.level === "off" ? "off, as configured" : `${thinking.level}, as configured${seen}`;
  return [
    `${id}: answered in ${totalMs} ms, the first token came after ${firstTokenMs ?? totalMs} ms`,
    `  thinking: ${thinking.works ? thinks : `${thinking.level} is refused (${reason}); set params.thinking of the model, or its compat.supportedReasoningEfforts`}`,
    `  tool calling: ${toolWords(tested)}${usesTools ? "" : " (its agent has no tools, so it needs none)"}`,
    `  used: ${inputTokens} tokens in, ${outputTokens} out, ${cost}`,
  ];
}

function toolWords({ toolCalling, roundTrip, text }: Tested): string {
  if (!toolCalling) return `does not work; it said ${JSON.stringify(text)}`;
  return roundTrip === true
    ? "works, and it goes on with the result"
    : "it calls, and has no word after the result";
}
