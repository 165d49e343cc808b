// Tells people, and programs by --json, how an update went.
import type { UpdateRecord } from "@parley/update";
import { document, line, words, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";

export function told(terminal: Console, record: UpdateRecord): ExitCode {
  const { state, from, to, reason, backup } = record;
  const kept = record.kept ?? record.replaced;
  const ok = state === "done" || state === "trying";
  if (terminal.json) document(terminal.out, { ok, state, from, to, reason, backup, kept });
  else words(ok ? terminal.out : terminal.err, wordsOfEnd(record));
  return ok ? exitCodes.ok : exitCodes.failed;
}

export function wordsOfEnd({ state, from, to, reason, backup, replaced, ...record }: UpdateRecord): string {
  const aside = record.kept ?? replaced;
  const kept = aside === null ? "" : ` The database that was there is kept as ${aside}.`;
  if (state === "done")
    return `Parley ${to} is in force, ${from} before it.${backup === null ? "" : ` Backup: ${backup}.`}${kept}`;
  if (state === "trying") return `Parley ${to} is in force and is watched at its next start.`;
  if (state === "went-back")
    return `Parley ${from} is in force again; ${to} did not do: ${reason ?? ""}.${kept}`;
  return `Nothing was changed: ${reason ?? ""}`;
}

export function saying({ err }: Console): (text: string) => void {
  return (text) => line(err, text);
}
