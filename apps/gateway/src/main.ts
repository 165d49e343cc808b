// Runs the daemon's process: arguments and environment in, exit code out; daemon.ts does the rest. Exit
// codes: 0 stopped as asked, 1 failed (a supervisor should start it again), 78 a person must act first
// (config, lock, database).
import { text } from "node:stream/consumers";
import { fileFault, hostEnv, loadConfig } from "@parley/config";
import { isFault, systemClock, systemIds } from "@parley/protocol";
import { bundleAgain } from "./daemon/bundle-again.ts";
import type { Daemon } from "./daemon/daemon.ts";
import { startWords } from "./daemon/start-words.ts";
import { onHangUp } from "./daemon/hang-up.ts";
import { leaveStopToSystem, restartSignal, signalsHeard, startAgain } from "./daemon/restart.ts";

const needsPerson = 78;

// A closed pipe or a full disk behind standard output must not end the daemon, because nobody may read it any
// more.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});

// Node would open its inspector, which runs what anybody on this machine sends to its port. Launchers pass
// --disable-sigusr1 as well, for the time before this line; this line is for a daemon started without them.
process.on("SIGUSR1", () => {});

/**
 * Runs the daemon without a mode: `--role`, `--node` and `--port` set its part among several. `--once`
 * answers an operator's frames on standard input; `--import` moves another gateway in; `--database-job` is
 * the daemon's own helper.
 */
async function run(words: readonly string[]): Promise<void> {
  const [mode, ...args] = words;
  if (mode === "--database-job") {
    const { databaseJob } = await import("./maintenance/database-job.ts");
    process.stdout.write(JSON.stringify(await databaseJob(args, () => text(process.stdin), systemIds())));
    return;
  }
  if (mode === "--once") {
    const { onceConfig, runOnce } = await import("./offline/once.ts");
    const { stdin: input, stdout: output } = process;
    const env = hostEnv();
    return runOnce({
      ...(await onceConfig(env)),
      input,
      output,
      env,
      clock: systemClock(),
      ids: systemIds(),
    });
  }
  if (mode === "--import") {
    const { importOnce } = await import("./import/import-once.ts");
    process.exitCode = await importOnce(args, process.stdout, hostEnv());
    return;
  }
  const env = hostEnv();
  const loaded = await loadConfig({ env, ...(mode === "--migrate" ? {} : { wouldStart: "start" }) });
  if (mode === "--migrate") {
    const { migrate } = await import("./maintenance/migrate.ts");
    return migrate({
      ...loaded,
      to: args[0],
      output: process.stdout,
      clock: systemClock(),
      ids: systemIds(),
    });
  }
  const chosen = startWords(words);
  const { startDaemon } = await import("./daemon/daemon.ts");
  const starting = startDaemon({
    ...loaded,
    ...chosen,
    env,
    program: process.argv[1] ?? "",
    clock: systemClock(),
    ids: systemIds(),
    pretty: process.stderr.isTTY === true,
    onFatal: () => process.exit(1),
    restart: () => process.kill(process.pid, restartSignal),
  });
  stopOnSignal(starting);
  const daemon = await starting;
  bundleAgain({ program: process.argv[1] ?? "", launcher: env["PARLEY_LAUNCHER"], clock: systemClock() });
  process.stdout.write(
    `\nParley is ready. Open this page to talk to it (the link works once, for ten minutes):\n\n  ${daemon.loginUrl}\n\n`,
  );
}

/**
 * The first signal drains, also while the daemon starts; a second one exits at once. SIGUSR2 drains and
 * starts again, unless a new start would fail or somebody asks for a stop meanwhile.
 */
function stopOnSignal(starting: Promise<Daemon>): void {
  let stopping = false;
  let restarting = false;
  const end = (signal: NodeJS.Signals): void => {
    starting
      .then((daemon) => daemon.stop(signal))
      .then(
        async () => {
          await signalsHeard();
          if (stopping) process.exit(0);
          leaveStopToSystem();
          startAgain(process.env);
        },
        (error: unknown) => {
          process.stderr.write(`could not stop in order: ${String(error)}\n`);
          process.exit(1);
        },
      );
  };
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    if (!restarting) end(signal);
  };
  onHangUp(starting, stop);
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on(restartSignal, (signal) => {
    if (stopping || restarting) return;
    restarting = true;
    const stay = (why: string): void => {
      restarting = false;
      process.stderr.write(`not restarted, it would not come up again:\n${why}\n`);
      if (stopping) end("SIGTERM");
    };
    starting
      .then((daemon) => daemon.restartTrouble())
      .then(
        (why) => (why === null ? end(signal) : stay(why)),
        (error: unknown) => stay(error instanceof Error ? error.message : String(error)),
      );
  });
}

process.on("uncaughtException", (error) => fail(error, 1));
process.on("unhandledRejection", (error) => fail(error, 1));

/** Prints a refusal's message alone; anything else is a bug, so its stack is printed too. */
function fail(error: unknown, code: number, isRefusal = false): never {
  const text = !(error instanceof Error) ? String(error) : isRefusal ? error.message : error.stack;
  process.stderr.write(`${text}\n`);
  process.exit(code);
}

// A failure that passes by itself, such as a full disk or a lock, is worth another start; the rest needs a
// person.
run(process.argv.slice(2)).catch((thrown: unknown) => {
  const error = fileFault(thrown) ?? thrown;
  fail(error, isFault(error) && error.code !== "unavailable" ? needsPerson : 1, isFault(error));
});
