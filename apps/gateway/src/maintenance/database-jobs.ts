// Starts database jobs from the daemon, reads their answers, and ends them when the daemon stops.
import { spawn } from "node:child_process";
import { Fault } from "@parley/protocol";
import type { JobAnswer } from "./database-job.ts";

export interface DatabaseJobs {
  /**
   * Checks every page and index entry, read-only. Resolves with the findings; empty when the file is sound.
   */
  check(path: string): Promise<readonly string[]>;
  /**
   * Copies the database to the new file `to`, encrypted where there is a passphrase; resolves with its size
   * in bytes. Rejects with the Fault of `backupDatabase`.
   */
  backup(from: string, to: string, passphrase?: string): Promise<number>;
  /** Ends running jobs, which reject with Fault("aborted"). */
  stop(): void;
}

/** `program`: the gateway's own entry, run again with `--database-job`. */
export function databaseJobs(program: string): DatabaseJobs {
  const stopped = new AbortController();

  function run(args: readonly string[], input = ""): Promise<Extract<JobAnswer, { ok: true }>> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ["--disable-sigusr1", program, "--database-job", ...args], {
        stdio: ["pipe", "pipe", "ignore"],
        env: {},
      });
      const end = (): void => void child.kill("SIGKILL");
      stopped.signal.addEventListener("abort", end);
      let text = "";
      // A child that died has closed it; how it ended is told below.
      child.stdin.on("error", () => {});
      child.stdin.end(input);
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      child.on("error", (cause) =>
        reject(
          new Fault("unavailable", `the database job could not be started: ${cause.message}`, { cause }),
        ),
      );
      child.on("close", (code, signal) => {
        stopped.signal.removeEventListener("abort", end);
        if (stopped.signal.aborted) return reject(new Fault("aborted", "the gateway stops"));
        if (code !== 0)
          return reject(new Fault("unavailable", `the database job ended with ${signal ?? code}`));
        const answer = answerOf(text);
        if (answer === null)
          return reject(new Fault("unavailable", "the database job's answer cannot be read"));
        if (answer.ok) return resolve(answer);
        return reject(
          answer.code === "internal" ? new Error(answer.message) : new Fault(answer.code, answer.message),
        );
      });
    });
  }

  return {
    check: async (path) => (await run(["check", path])).findings,
    backup: async (from, to, passphrase) =>
      passphrase === undefined
        ? (await run(["backup", from, to])).bytes
        : (await run(["seal", from, to], passphrase)).bytes,
    stop: () => stopped.abort(),
  };
}

function answerOf(text: string): JobAnswer | null {
  try {
    return JSON.parse(text) as JobAnswer;
  } catch {
    // The child was cut off while it wrote, so there is no answer.
    return null;
  }
}
