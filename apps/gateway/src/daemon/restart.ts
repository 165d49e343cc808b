// A restart in place: the drained daemon becomes a new one in the same process (execve). A terminal, a
// supervisor or a container keeps what it watches, nothing forks, and no second daemon is ever there to meet
// the first.

/** Asks for it. */
export const restartSignal = "SIGUSR2";

/**
 * From a checkout by way of bin/parley (`PARLEY_LAUNCHER`), which sets up what a new version needs; else the
 * same command again. Everything must be closed: what runs now is gone at once.
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
