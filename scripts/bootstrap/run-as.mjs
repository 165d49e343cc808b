// Runs a command as if it were this process: same terminal, same signals, same exit code.
import { spawn } from "node:child_process";
import { toolEnv } from "./places.mjs";
import { SetupProblem } from "./problem.mjs";

const passedOn = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"];

/** Never resolves before the command ended; then this process ends the way the command did. */
export function runAs(command, args) {
  return new Promise((_, reject) => {
    const child = spawn(command, args, { stdio: "inherit", env: toolEnv() });
    for (const signal of passedOn) {
      // A terminal sends ^C to everyone in the group by itself; passing it on would make it two.
      process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY) || child.kill(signal));
    }
    child.on("error", (error) => reject(new SetupProblem(`cannot run "${command}": ${error.message}`)));
    child.on("exit", (code, signal) => {
      if (signal === null) process.exit(code);
      for (const name of passedOn) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    });
  });
}
