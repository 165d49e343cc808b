// Restarts in place: the drained daemon becomes a new one in the same process (execve). A terminal,
// supervisor or container keeps the process it watches, nothing forks, and two daemons never meet.

/** The signal that asks for it. */
export const restartSignal = "SIGUSR2";

/**
 * Resolves once listeners have heard every signal that came so far. After execve nobody would know of them: a
 * stop would be lost, and the daemon up again.
 */
export async function signalsHeard(): Promise<void> {
  // The first callback may belong to the turn that goes on; the loop reads signals between the two.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** From here on the system itself ends this process, in which everything is closed, when it is told to. */
export function leaveStopToSystem(): void {
  for (const signal of ["SIGTERM", "SIGINT"]) process.removeAllListeners(signal);
}

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
