// `parley start`: runs the gateway in the foreground, as a child that shares the terminal; signals go to it
// and its exit code comes back.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { CommandFailure } from "../exit.ts";
import { gatewayProgram } from "../gateway-program.ts";

/** Resolves with the gateway's exit code; 128 + n when the signal n ended it, as shells say it. */
export function start(words: readonly string[] = [], program = gatewayProgram): Promise<number> {
  const child = spawn(process.execPath, ["--disable-sigusr1", program, ...words], { stdio: "inherit" });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  // A terminal's Ctrl-C reaches the child by itself, as it is in the same process group: here it only must
  // not end this process first.
  const stay = (): void => {};
  process
    .on("SIGTERM", forward)
    .on("SIGHUP", forward)
    .on("SIGINT", process.stdin.isTTY ? stay : forward);
  return new Promise<number>((resolve, reject) => {
    child.once("error", (cause) =>
      reject(
        new CommandFailure("internal", `The gateway could not be started: ${cause.message}`, 1, { cause }),
      ),
    );
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  }).finally(() => {
    process.off("SIGTERM", forward).off("SIGHUP", forward).off("SIGINT", forward).off("SIGINT", stay);
  });
}
