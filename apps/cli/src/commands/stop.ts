// `parley stop`: asks the running gateway to end and waits for it, saying what it waits for. A service
// manager would start it again, so then the manager is asked. What could not be finished resumes at the next
// start.
import { sleep, systemClock } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { isAlive } from "../is-alive.ts";
import { gatewayProcess, look, signal, waitsFor } from "../gateway-process.ts";
import { secondsOf } from "../seconds.ts";
import { supervising } from "../unit/supervisor.ts";

const lookEveryMs = 200;
/** Told to end, it has said nothing for this long, not even to a look: it will not end by itself. */
const hangsAfterMs = 10_000;

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
  const endedHard = await gone(terminal, pid, withinMs);
  if (terminal.json) document(terminal.out, { stopped: true, pid });
  else
    line(
      terminal.out,
      `The gateway (process ${pid}) ${endedHard ? "hung and was ended" : "has stopped"}.${supervisor === null ? "" : ` ${supervisor.words} starts it again at the next boot.`}`,
    );
  return exitCodes.ok;
}

/**
 * Resolves when the process has ended, with whether it had to be killed; what it still does is said on
 * standard error.
 */
async function gone(terminal: Console, pid: number, withinMs: number): Promise<boolean> {
  const clock = systemClock();
  const begunMono = clock.mono();
  let last: string | null = null;
  let heardMono = begunMono;
  let killed = false;
  while (isAlive(pid)) {
    if (clock.mono() - begunMono > withinMs) {
      const words = `The gateway (process ${pid}) still runs after ${withinMs / 1000} s.`;
      throw new CommandFailure("unavailable", `${words} A second SIGTERM ends it at once: kill ${pid}`);
    }
    const status = await look(terminal).catch(() => null);
    if (status !== "silent") heardMono = clock.mono();
    else if (clock.mono() - heardMono > hangsAfterMs && !killed) {
      line(terminal.err, "It does not answer. It is killed; the next start goes on where it stood ...");
      killed = true;
      signal(pid, "SIGKILL");
    }
    const words = status === null || status === "silent" ? null : waitsFor(status);
    if (words !== null && words !== last) line(terminal.err, `Waiting for ${words} ...`);
    last = words;
    await sleep(clock, lookEveryMs);
  }
  return killed;
}
