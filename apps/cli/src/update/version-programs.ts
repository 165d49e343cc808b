// Asks the program of one version: whether it would start with the config, and what it makes of the database.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { placesIn, type Env } from "@parley/config";
import type { VersionPrograms } from "@parley/update";
import { CommandFailure } from "../exit.ts";

/** A full check reads every page of the database. */
const withinMs = 1_800_000;

interface Told {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** `programOf`: the path of a version's `bin/parley`. `hasFile`: the store is a file of the state folder. */
export function versionPrograms(
  env: Env,
  programOf: (ref: string) => string,
  hasFile: () => Promise<boolean>,
): VersionPrograms {
  const { home } = placesIn(env);
  const database = join(home, "state.db");

  function ask(ref: string, args: readonly string[]): Promise<Told> {
    return new Promise((resolve) => {
      const child = execFile(
        programOf(ref),
        args,
        { env: { ...env }, timeout: withinMs, maxBuffer: 16_000_000 },
        (error, out, err) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, out, err: err === "" && error !== null ? error.message : err });
        },
      );
      child.stdin?.end();
    });
  }

  async function job(ref: string, ...args: readonly string[]): Promise<JobAnswer> {
    const told = await ask(ref, ["start", "--database-job", ...args]);
    try {
      return JSON.parse(told.out) as JobAnswer;
    } catch {
      return { ok: false, code: "unavailable", message: wordsOf(told) };
    }
  }

  return {
    async configTrouble(ref) {
      const told = await ask(ref, ["config", "validate"]);
      return told.code === 0 ? null : wordsOf(told);
    },
    async rehearsal(ref, backup) {
      const answer = await job(ref, "rehearse", backup, `${backup}.rehearsal`);
      if (!answer.ok) return answer.message;
      return answer.findings.length === 0 ? null : answer.findings.slice(0, 3).join("; ");
    },
    async refusesDatabase(ref) {
      if (!existsSync(database) || !(await hasFile())) return false;
      const answer = await job(ref, "schema", database);
      return !answer.ok && answer.code === "unsupported";
    },
    async restore(ref, file, goOn) {
      const told = await ask(ref, ["restore", file, "--json", ...(goOn ? ["--resume-work"] : [])]);
      if (told.code !== 0)
        throw new CommandFailure("unavailable", `${file} could not be restored: ${wordsOf(told)}`);
      return (JSON.parse(told.out) as { readonly keptAs: string | null }).keptAs;
    },
  };
}

type JobAnswer =
  | { readonly ok: true; readonly findings: readonly string[] }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** The last lines: before them a program may warn of what is no matter here. */
function wordsOf({ out, err, code }: Told): string {
  const said = `${out}\n${err}`.trim().split("\n").slice(-3).join("; ");
  return said === "" ? `it ended with ${code}` : said.slice(0, 1_000);
}
