// `parley forget person ID`: shows what is stored of somebody, and with --yes removes it.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Forgotten = MethodResult<"people.forget">;

export async function forgetPerson(
  terminal: Console,
  person: string,
  { yes = false }: { readonly yes?: boolean },
): Promise<ExitCode> {
  const told = await withState(terminal, (client) =>
    client.request("people.forget", { person, confirm: yes }),
  );
  if (terminal.json) document(terminal.out, told);
  else for (const text of linesOf(told)) line(terminal.out, text);
  return exitCodes.ok;
}

function* linesOf(told: Forgotten): Generator<string> {
  const { person, ids, done, counts, rewritten, sessions, shared, names, busy, notes } = told;
  const kinds = Object.entries(counts);
  if (kinds.length === 0 && rewritten === 0) {
    yield `Nothing is stored of ${person}.`;
    return;
  }
  const who = ids.length === 1 && ids[0] === person ? person : `${person} (${ids.join(", ")})`;
  yield done ? `Forgotten for good, of ${who}:` : `To be removed for good, of ${who}:`;
  for (const [kind, count] of kinds) yield `  ${String(count).padStart(6)}  ${kind}`;
  if (rewritten > 0) yield `  ${String(rewritten).padStart(6)}  records of others that name or quote them`;
  if (sessions.length > 0) yield `Sessions of theirs alone: ${sessions.join(", ")}`;
  if (shared.length > 0) yield `Their lines in shared sessions: ${shared.join(", ")}`;
  if (names.length > 0) yield `Names that go there: ${names.map((name) => JSON.stringify(name)).join(", ")}`;
  for (const note of notes) yield `note: ${note}`;
  if (done) return;
  if (busy.length > 0) yield `Still at work, so it would be refused now: ${busy.join(", ")}`;
  yield "Nothing is changed. To do it, run it again with --yes.";
}
