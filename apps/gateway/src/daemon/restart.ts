// Restarts in place: the drained daemon becomes a new one in the same process (execve). A terminal,
// supervisor or container keeps the process it watches, nothing forks, and two daemons never meet.

/** The signal that asks for it. */
export const restartSignal = "SIGUSR2";

/**
 * Runs bin/parley again in a checkout (`PARLEY_LAUNCHER`), which sets up what a new version needs; else the
 * same command. Everything must be closed: the current program is gone at once.
 */
export function startAgain(env: NodeJS.ProcessEnv): never {
  const launcher = env["PARLEY_LAUNCHER"] ?? "";
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const [program = process.execPath, ...args] =
    launcher === "" ? again : [launcher, "start", ...process.argv.slice(2)];
  if (process.execve === undefined)
    throw new Error("this system cannot restart a program in place: start the daemon again");
  return process.execve(program, [program, ...args], env);
}
