// `parley import openclaw`: the gateway's program does it, while no gateway runs, and this prints what became
// of everything that it met.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { document, line, styled, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { gatewayProgram } from "../gateway-program.ts";

interface Met {
  readonly what: string;
  readonly name: string;
  readonly fate: "carried" | "changed" | "there" | "refused" | "unknown";
  readonly to?: string;
  readonly why?: string;
}

type Answer =
  | { readonly error: { readonly code: string; readonly message: string } }
  | {
      readonly from: string;
      readonly home: string;
      readonly applied: boolean;
      readonly changes: boolean;
      readonly met: readonly Met[];
      readonly todo: readonly string[];
    };

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
  else show(terminal, answer, all);
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

const kinds: { readonly [what: string]: string } = {
  key: "Config",
  variable: "Variables",
  file: "Files",
  owner: "Owners",
  person: "People",
  job: "Schedules",
  session: "Conversations",
  other: "Not looked into",
};

function show(terminal: Console, answer: Exclude<Answer, { readonly error: unknown }>, all: boolean): void {
  const { out, env } = terminal;
  const { applied, changes, met, todo } = answer;
  for (const [what, title] of Object.entries(kinds)) {
    const found = met.filter((each) => each.what === what);
    if (found.length === 0) continue;
    const plain = found.filter(({ fate }) => fate === "carried" || fate === "there");
    line(out, styled(out, env, "bold", title));
    // Hundreds of files that are as they were would hide what a person must look at.
    const isShort = !all && (what === "file" || what === "key");
    for (const each of isShort ? found.filter((one) => !plain.includes(one)) : found) line(out, lineOf(each));
    if (isShort && plain.length > 0) line(out, `  ${plain.length} as they are (--all shows them)`);
  }
  const left = met.filter(({ fate }) => fate === "refused" || fate === "unknown").length;
  if (left > 0) line(out, `${left} things are not carried; each has its reason above.`);
  for (const each of todo) line(out, `To do: ${each}`);
  if (!changes) line(out, "Nothing is left to carry: everything is there already.");
  else if (applied) line(out, `Carried into ${answer.home}. Start it: parley start`);
  else line(out, "This was a dry run: nothing was written. Stop both gateways and add --apply to do it.");
}

function lineOf({ name, fate, to, why }: Met): string {
  const where = to === undefined || to === name ? "" : ` -> ${to}`;
  return `  ${fate.padEnd(8)} ${name}${where}${why === undefined ? "" : `: ${why}`}`;
}
