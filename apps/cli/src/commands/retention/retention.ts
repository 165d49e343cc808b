// `parley retention`: the rules of what is kept how long, and how much they take.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Told = MethodResult<"retention.run">;

export async function runRetention(
  terminal: Console,
  { yes = false, dryRun = false }: { readonly yes?: boolean; readonly dryRun?: boolean },
): Promise<ExitCode> {
  if (yes && dryRun)
    throw new CommandFailure("usage", "--dry-run and --yes say opposite things: give one", exitCodes.usage);
  const told = await withState(terminal, (client) => client.request("retention.run", { confirm: yes }));
  if (terminal.json) document(terminal.out, told);
  else for (const text of linesOf(told)) line(terminal.out, text);
  return exitCodes.ok;
}

function* linesOf({ done, rules }: Told): Generator<string> {
  const verb = done ? "went" : "to go";
  for (const { name, rule, keys, count, unit, bytes } of rules) {
    const size = bytes === null || bytes === 0 ? "" : ` (${(bytes / 1_000_000).toFixed(1)} MB)`;
    const told = count === null ? "by themselves" : `${count} ${unit}${size} ${verb}`;
    yield `${name.padEnd(12)} ${told.padEnd(28)} ${rule}${keys.length === 0 ? "" : ` (${keys.join(", ")})`}`;
  }
  if (!done)
    yield "Nothing is changed. The gateway does it by itself as it runs; to do it now, run it again with --yes.";
}
