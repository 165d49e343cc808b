// `parley eval FOLDER`: the turns that `parley replay --save` wrote, run again one after the other; each is
// held to what its file expects.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { savedTurn, type MethodResult, type SavedTurn } from "@parley/protocol";
import { document, line, styled, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";
import { worldOf, type ReplayChoice } from "./replay-turn.ts";

interface Result {
  readonly file: string;
  readonly ok: boolean;
  readonly failures: readonly string[];
  readonly moved: readonly string[];
  readonly replay: Omit<MethodResult<"turns.replay">, "saved"> | null;
}

export async function evalTurns(terminal: Console, folder: string, choice: ReplayChoice): Promise<ExitCode> {
  const files = turnFiles(folder);
  const results: Result[] = [];
  for (const file of files) {
    const result = await evalFile(terminal, join(folder, file), file, choice);
    results.push(result);
    if (!terminal.json) for (const text of linesOf(terminal, result)) line(terminal.out, text);
  }
  const failed = results.filter(({ ok }) => !ok).length;
  if (terminal.json)
    document(terminal.out, { ok: failed === 0, passed: results.length - failed, failed, results });
  else line(terminal.out, `${results.length - failed} passed, ${failed} failed`);
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
}

function turnFiles(folder: string): readonly string[] {
  let files: readonly string[];
  try {
    files = readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .toSorted();
  } catch (cause) {
    const isAway = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const says = isAway ? `there is no folder ${folder}` : `${folder} cannot be read: ${String(cause)}`;
    throw new CommandFailure("missing", says, exitCodes.usage);
  }
  if (files.length > 0) return files;
  throw new CommandFailure(
    "missing",
    `${folder} has no turns: write some with \`parley replay TURN --save ${join(folder, "NAME.json")}\``,
    exitCodes.usage,
  );
}

async function evalFile(
  terminal: Console,
  path: string,
  file: string,
  choice: ReplayChoice,
): Promise<Result> {
  const saved = turnIn(path);
  if (typeof saved === "string") return { file, ok: false, failures: [saved], moved: [], replay: null };
  try {
    const { saved: _saved, ...replay } = await withState(terminal, (client) =>
      client.request("turns.replay", { saved, ...worldOf(choice) }),
    );
    const { failures, moved } = replay;
    return { file, ok: failures.length === 0, failures, moved, replay };
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code === "unavailable") throw error;
    return { file, ok: false, failures: [error.message], moved: [], replay: null };
  }
}

function turnIn(path: string): SavedTurn | string {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    return `it cannot be read: ${String(error)}`;
  }
  const read = savedTurn.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  return `it is no saved turn: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trim();
}

function* linesOf({ out, env }: Console, { file, ok, failures, moved }: Result): Generator<string> {
  yield `${ok ? styled(out, env, "green", "pass") : styled(out, env, "red", "FAIL")}  ${file}`;
  for (const failure of failures) yield `      ${failure}`;
  for (const each of moved) yield styled(out, env, "dim", `      ${each}`);
}
