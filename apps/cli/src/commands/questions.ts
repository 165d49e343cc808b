// `parley questions`: what agents asked people, who may answer, and what was answered.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

type Listed = MethodResult<"questions.list">;

export async function questionsList(terminal: Console, all: boolean): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("questions.list", { all }));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  if (found.questions.length === 0)
    line(terminal.out, all ? "Nothing was asked in the last days." : "No question waits for an answer.");
  for (const text of found.questions.flatMap(questionLines)) line(terminal.out, text);
  return exitCodes.ok;
}

function questionLines(asked: Listed["questions"][number]): string[] {
  const { id, state, session, question, options, people, expiresAtMs, answer } = asked;
  const until = state === "open" ? ` until ${new Date(expiresAtMs).toISOString()}` : "";
  return [
    `${id}  ${state}${until}  ${session}`,
    ...question.split("\n").map((text) => `  ${text}`),
    ...options.map((option, index) => `  ${index + 1}. ${option}`),
    `  for: ${people.join(", ")}`,
    ...(answer === null ? [] : [`  answered by ${answer.by}: ${answer.text}`]),
  ];
}
