// `parley replay TURN`: what a past turn would be now, beside what it was.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { document, line, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Replayed = MethodResult<"turns.replay">;

export interface ReplayChoice {
  readonly model?: string;
  readonly config?: string;
  readonly ask?: boolean;
  readonly save?: string;
}

export async function replayTurn(terminal: Console, id: string, choice: ReplayChoice): Promise<ExitCode> {
  const { save, ask = true } = choice;
  const told = await withState(terminal, (client) =>
    client.request("turns.replay", { id, ...worldOf(choice), ask, save: save !== undefined }),
  );
  if (save !== undefined) return saveTurn(terminal, told, resolve(save));
  if (terminal.json) document(terminal.out, told);
  else for (const text of linesOf(told)) words(terminal.out, text);
  return told.after === null || told.failures.every((each) => !each.startsWith("it ended as"))
    ? exitCodes.ok
    : exitCodes.failed;
}

export function worldOf({ model, config }: ReplayChoice): {
  readonly model?: string;
  readonly config?: string;
} {
  return {
    ...(model === undefined ? {} : { model }),
    ...(config === undefined ? {} : { config: resolve(config) }),
  };
}

function saveTurn(terminal: Console, { saved, turn }: Replayed, path: string): ExitCode {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(saved, null, 2)}\n`, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    // A file in the place of its folder is no turn that is there.
    const isThere = code === "EEXIST" && syscall === "open";
    throw new CommandFailure(
      isThere ? "conflict" : "unavailable",
      isThere
        ? `${path} is there already`
        : `${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  }
  if (terminal.json) document(terminal.out, { turn, path });
  else
    line(terminal.out, `Wrote ${turn} to ${path}. It holds what was said: keep it as private as the chats.`);
  return exitCodes.ok;
}

function* linesOf({ turn, before, after, prompt, moved }: Replayed): Generator<string> {
  yield `Turn       ${turn}`;
  if (prompt === null) yield "Prompt     the report of the old one is kept no longer";
  const rows: readonly (readonly [string, (side: Replayed["before"]) => string])[] = [
    ["Model", ({ model }) => model],
    ["Calls", ({ calls }) => (calls.length === 0 ? "none" : calls.map(({ name }) => name).join(", "))],
    [
      "Tokens",
      (side) =>
        `${side.inputTokens + side.cacheReadTokens + side.cacheWriteTokens} in, ${side.outputTokens} out`,
    ],
    ["Cost", ({ costUsd }) => (costUsd === null ? "unknown" : `$${costUsd.toFixed(4)}`)],
    ["Time", ({ tookMs }) => (tookMs === null ? "unknown" : `${tookMs} ms`)],
  ];
  for (const [name, tell] of rows)
    yield `${name.padEnd(10)} ${tell(before)}${after === null ? "" : `  ->  ${tell(after)}`}`;
  yield `Was        ${before.answer.replaceAll("\n", "\n           ")}`;
  if (after !== null) yield `Is         ${after.answer.replaceAll("\n", "\n           ")}`;
  yield moved.length === 0 ? "Nothing moved." : "Moved:";
  for (const each of moved) yield `  ${each}`;
}
