// `parley memory forget`: takes something out of notes, index and transcripts, after it was shown what goes.
import type { MethodResult } from "@parley/protocol";
import { createInterface } from "node:readline/promises";
import { type Console, words, document, line } from "../../console.ts";
import { type ExitCode, exitCodes } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";
import { named } from "./memory.ts";

type Forgotten = MethodResult<"memory.forget">;

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
    line(
      terminal.out,
      `Forgotten: ${done.lines.length} ${done.lines.length === 1 ? "line" : "lines"} of notes${stored}.`,
    );
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
