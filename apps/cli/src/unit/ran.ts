// Runs a program of the service manager to its end.
import { spawn } from "node:child_process";
import type { Console } from "../console.ts";
import { CommandFailure } from "../exit.ts";

/** Throws CommandFailure with the program's own words. */
export function ran({ env }: Pick<Console, "env">, program: string, args: readonly string[]): Promise<void> {
  const shown = [program, ...args].join(" ");
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let told = "";
    child.stdout.on("data", (chunk: Buffer) => (told += chunk.toString("utf8")));
    child.stderr.on("data", (chunk: Buffer) => (told += chunk.toString("utf8")));
    child.once("error", (cause) =>
      reject(
        new CommandFailure("unavailable", `\`${shown}\` could not be run: ${cause.message}`, undefined, {
          cause,
        }),
      ),
    );
    child.once("close", (code) => {
      if (code === 0) resolve();
      else
        reject(
          new CommandFailure("unavailable", `\`${shown}\` failed: ${told.trim() || `exit code ${code}`}`),
        );
    });
  });
}
