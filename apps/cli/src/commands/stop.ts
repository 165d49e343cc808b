// `parley stop`: asks the running gateway to end and waits for it, saying what it waits for. A service manager would start it again, so then
// the manager is asked. What could not be finished resumes at the next start.
import { sleep, systemClock } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { isAlive } from "../is-alive.ts";
import { gatewayProcess, signal, statusNow, waitsFor } from "../gateway-process.ts";
import { secondsOf } from "../seconds.ts";
import { supervising } from "../unit/supervisor.ts";

const lookEveryMs = 200;

export async function stop(terminal: Console, { timeout }: { readonly timeout?: string }): Promise<ExitCode> {
  const withinMs = secondsOf("--timeout", timeout ?? "90");
  const found = await gatewayProcess(terminal);
  if (found === null) {
    result(terminal, { stopped: false, pid: null }, "The gateway is not running.");
    return exitCodes.ok;
  }
  const { pid } = found;
  const supervisor = await supervising(terminal, pid);
  if (supervisor === null) signal(pid, "SIGTERM");
  else await supervisor.stop();
  await gone(terminal, pid, withinMs);
  if (terminal.json) document(terminal.out, { stopped: true, pid });
  else
    line(
      terminal.out,
      `The gateway (process ${pid}) has stopped.${supervisor === null ? "" : ` ${supervisor.words} starts it again at the next boot.`}`,
    );
  return exitCodes.ok;
}

/** Resolves when the process has ended; what it still does is said on standard error. */
async function gone(terminal: Console, pid: number, withinMs: number): Promise<void> {
  const clock = systemClock();
  const untilMono = clock.mono() + withinMs;
  let last: string | null = null;
  while (isAlive(pid)) {
    if (clock.mono() > untilMono) {
      throw new CommandFailure(
        "unavailable",
        `The gateway (process ${pid}) still runs after ${withinMs / 1000} s. A second SIGTERM ends it at once: kill ${pid}`,
      );
    }
    const status = await statusNow(terminal).catch(() => null);
    const words = status === null ? null : waitsFor(status);
    if (words !== null && words !== last) line(terminal.err, `Waiting for ${words} ...`);
    last = words;
    await sleep(clock, lookEveryMs);
  }
}
