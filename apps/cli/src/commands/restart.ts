// `parley restart`: the gateway drains and begins anew in its own process, under whatever runs it. A config
// that it could not start with is refused before anything ends. What was at work resumes where it stood.
import { sleep, systemClock } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { statusNow, waitsFor, type Status } from "../gateway-process.ts";
import { isAlive } from "../is-alive.ts";
import { secondsOf } from "../seconds.ts";
import { withGateway } from "../with-gateway.ts";

const lookEveryMs = 200;
/** Gone for this long, nobody has started it again. */
const deadForMs = 10_000;

export interface RestartFlags {
  readonly timeout?: string;
  readonly wait?: boolean;
}

export async function restart(terminal: Console, { timeout, wait }: RestartFlags): Promise<ExitCode> {
  const withinMs = secondsOf("--timeout", timeout ?? "120");
  const clock = systemClock();
  const begunMono = clock.mono();
  const before = await withGateway(terminal, async (client) => {
    const status = await client.request("status", {});
    // The running gateway looks whether it would come up again, with its own environment.
    await client.request("restart", { reason: "parley restart" }).catch((error: unknown) => {
      if (!(error instanceof CommandFailure) || error.code !== "invalid") throw error;
      throw new CommandFailure("invalid", error.message, exitCodes.config, { cause: error });
    });
    return status;
  });
  if (wait === false) {
    result(terminal, { asked: true, pid: before.pid }, `Process ${before.pid} was asked to restart.`);
    return exitCodes.ok;
  }
  const after = await back(terminal, before, withinMs);
  const tookMs = Math.round(clock.mono() - begunMono);
  if (terminal.json)
    document(terminal.out, {
      pid: after.pid,
      bootId: after.bootId,
      version: after.version,
      state: after.state,
      tookMs,
    });
  else {
    line(
      terminal.out,
      `Parley ${after.version} is back after ${(tookMs / 1000).toFixed(1)} s: ${after.state} (process ${after.pid}).`,
    );
    for (const reason of after.reasons) line(terminal.out, `  ${reason}`);
  }
  return exitCodes.ok;
}

/** The status of the next boot; what the old one still does is said on standard error. */
async function back(terminal: Console, before: Status, withinMs: number): Promise<Status> {
  const clock = systemClock();
  const untilMono = clock.mono() + withinMs;
  let last: string | null = null;
  let aliveMono = clock.mono();
  const tell = (words: string): void => {
    if (words !== last) line(terminal.err, words);
    last = words;
  };
  for (;;) {
    const status = await statusNow(terminal).catch(() => null);
    if (status !== null && status.bootId !== before.bootId && status.state !== "starting") return status;
    const left = status?.bootId === before.bootId ? waitsFor(status) : null;
    if (left !== null) tell(`Waiting for ${left} ...`);
    else if (status === null) tell("Starting ...");
    const nowMono = clock.mono();
    if (status !== null || isAlive(before.pid)) aliveMono = nowMono;
    const why =
      nowMono > untilMono
        ? `after ${withinMs / 1000} s`
        : nowMono - aliveMono > deadForMs
          ? "and its process is gone"
          : null;
    if (why !== null) {
      throw new CommandFailure(
        "unavailable",
        `The gateway is not back ${why}. Look at \`parley logs\`, then run \`parley start\`.`,
      );
    }
    await sleep(clock, lookEveryMs);
  }
}
