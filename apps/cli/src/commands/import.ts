// `parley import openclaw`: the gateway's program does it, while no gateway runs, and this prints what became
// of everything that it met.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { document, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { gatewayProgram } from "../gateway-program.ts";
import { tellImport, type Imported } from "./import-words.ts";

type Answer = { readonly error: { readonly code: string; readonly message: string } } | Imported;

export interface ImportFlags {
  readonly apply?: boolean;
  readonly evenIfRunning?: boolean;
  readonly all?: boolean;
}

export async function importOpenclaw(
  terminal: Console,
  named: string | undefined,
  { apply = false, evenIfRunning = false, all = false }: ImportFlags,
): Promise<ExitCode> {
  const folder = named === undefined ? usualFolder() : resolve(named);
  const words = [folder, ...(apply ? ["--apply"] : []), ...(evenIfRunning ? ["--even-if-running"] : [])];
  const answer = await answerOf(terminal, words);
  if ("error" in answer) throw new CommandFailure(answer.error.code, answer.error.message);
  if (terminal.json) document(terminal.out, answer);
  else tellImport(terminal, answer, all);
  return exitCodes.ok;
}

/** Homes of before OpenClaw had its name are found too. */
function usualFolder(): string {
  const [usual, ...older] = [".openclaw", ".moltbot", ".clawdbot"].map((name) => join(homedir(), name));
  return [usual, ...older].find((folder) => folder !== undefined && existsSync(folder)) ?? usual ?? homedir();
}

async function answerOf(terminal: Console, words: readonly string[]): Promise<Answer> {
  const child = spawn(process.execPath, ["--disable-sigusr1", gatewayProgram, "--import", ...words], {
    env: { ...terminal.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, told] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (told += chunk));
  await new Promise<void>((done, fail) => {
    child.once("error", (cause) =>
      fail(new CommandFailure("internal", `The gateway's program could not be started: ${cause.message}`)),
    );
    child.once("close", () => done());
  });
  if (out.trim() === "")
    throw new CommandFailure("internal", told.trim() || "The import ended without an answer.");
  return JSON.parse(out) as Answer;
}
