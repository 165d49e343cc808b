// Reads the config again on request or when its files change. A config with an error is refused whole, with
// the line of the error, and the last good one stays in force; the next good file clears the error (I10).
import {
  changedKeys,
  ConfigFault,
  describeProblem,
  loadConfig,
  restartKeys,
  textFile,
  type Env,
  type LoadedConfig,
} from "@parley/config";
import { isFault, type Clock, type Log } from "@parley/protocol";
import { watchFiles } from "./watch-files.ts";
import type { TakeUp } from "./take-up.ts";

export interface ReloaderOptions {
  /** The config that the daemon started with. */
  readonly loaded: LoadedConfig;
  readonly env: Env;
  readonly takeUp: TakeUp;
  readonly clock: Clock;
  readonly log: Log;
}

interface Reloaded {
  readonly outcome: "taken" | "unchanged" | "refused";
  /** Keys that differ. */
  readonly changed: readonly string[];
  /** Accounts whose channel was stopped, started or both. */
  readonly restarted: readonly string[];
  /** Changes since the start that only the next start takes up. */
  readonly restartNeeded: readonly string[];
  /** Why it was refused, one line each, with file and line. */
  readonly problems: readonly string[];
}

export interface ConfigState {
  /** When the current config came into force. */
  readonly takenAtMs: number;
  /** Why the current files were refused; empty when they are in force. */
  readonly problems: readonly string[];
  readonly restartNeeded: readonly string[];
}

export interface Reloader {
  /** Reloads run one at a time; never rejects. */
  reload(cause: string): Promise<Reloaded>;
  state(): ConfigState;
  /** Counts of accepted and refused configs. */
  counts(): { readonly taken: number; readonly refused: number };
  /** Resolves once a running reload is done. */
  stop(): Promise<void>;
}

/** The one cause that is not a request. */
const fileChanged = "the file changed";

export function reloader({ loaded, env, takeUp, clock, log }: ReloaderOptions): Reloader {
  const { path, places } = loaded;
  let current = loaded.config;
  let takenAtMs = clock.now();
  let problems: readonly string[] = [];
  let hadText = loaded.reads.length > 0 && !loaded.isBlank;
  let counts = { taken: 0, refused: 0 };
  let last: Promise<unknown> = Promise.resolve();
  let stopped = false;
  const watcher = watchFiles({ files: loaded.reads, clock, log, onChange: () => void reload(fileChanged) });

  const restartNeeded = (): readonly string[] => restartKeys(changedKeys(loaded.config, current));

  /** An editor may leave a file empty for a moment while it writes: that must not turn everything off. */
  async function read(): Promise<LoadedConfig> {
    const seen: string[] = [path];
    try {
      const fresh = await loadConfig({
        env,
        home: places.home,
        wouldStart: "again",
        readFile: (file) => {
          seen.push(file);
          return textFile(file);
        },
      });
      if (fresh.isBlank && hadText)
        throw new ConfigFault(path, [
          { path: "", message: "the file is empty or gone", fix: "Write {} into it to mean every default" },
        ]);
      return fresh;
    } finally {
      // Watches the files of a refused config too, because correcting one of them corrects the config.
      watcher.watch(seen);
    }
  }

  async function run(cause: string): Promise<Reloaded> {
    if (stopped)
      return {
        outcome: "refused",
        changed: [],
        restarted: [],
        restartNeeded: [],
        problems: ["the gateway is stopping"],
      };
    let fresh: LoadedConfig;
    try {
      fresh = await read();
      const changed = changedKeys(current, fresh.config);
      if (changed.length === 0) {
        if (problems.length > 0) log.info({ cause }, "the config is in order again; nothing changed");
        else if (cause !== fileChanged) log.info({ cause }, "the config was read again; nothing changed");
        problems = [];
        return { outcome: "unchanged", changed, restarted: [], restartNeeded: restartNeeded(), problems };
      }
      const taken = await takeUp(current, fresh.config);
      current = fresh.config;
      hadText = !fresh.isBlank;
      takenAtMs = clock.now();
      problems = [];
      counts = { ...counts, taken: counts.taken + 1 };
      for (const warning of fresh.warnings) log.warn({}, describeProblem(path, warning));
      log.info({ cause, ...taken }, "the config was taken up");
      if (taken.restartNeeded.length > 0)
        log.warn({ keys: taken.restartNeeded }, "these keys need a restart");
      return { outcome: "taken", ...taken, restartNeeded: restartNeeded(), problems };
    } catch (error) {
      return refused(cause, error);
    }
  }

  function refused(cause: string, error: unknown): Reloaded {
    const told = problemsOf(error, path);
    counts = { ...counts, refused: counts.refused + 1 };
    // A repeated error is not logged again.
    if (told.join("\n") !== problems.join("\n"))
      log.error(
        { cause, problems: told, ...(isFault(error) ? {} : { error }) },
        "the config was refused; the last good one stays in force",
      );
    problems = told;
    return { outcome: "refused", changed: [], restarted: [], restartNeeded: restartNeeded(), problems };
  }

  function reload(cause: string): Promise<Reloaded> {
    const mine = last.then(() => run(cause));
    last = mine;
    return mine;
  }

  return {
    reload,
    state: () => ({ takenAtMs, problems, restartNeeded: restartNeeded() }),
    counts: () => counts,
    async stop() {
      stopped = true;
      watcher.stop();
      await last;
    },
  };
}

function problemsOf(error: unknown, path: string): readonly string[] {
  if (error instanceof ConfigFault) return error.problems.map((problem) => describeProblem(path, problem));
  return [`${path}: ${isFault(error) ? error.message : "it could not be taken up; the log says why"}`];
}
