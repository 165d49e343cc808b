// Follows one command from its start to its recorded end: its timeout, its output, its background state and
// whoever waits for it. A command that is over answers from its record alone.
import { Fault, sleep, type Clock, type Log, type SessionKey } from "@parley/protocol";
import type { Rooted } from "../files/rooted.ts";
import { killMarked } from "../process-group.ts";
import { aftermath } from "./aftermath.ts";
import { leftoverMs, startChild, type Child, type ChildRequest } from "./child.ts";
import type { CommandRecord, CommandRecords, CommandState } from "./command-record.ts";
import type { OutputFile } from "./output-file.ts";
import { watchNumber } from "./watch-number.ts";

export interface StartRequest extends Pick<ChildRequest, "argv" | "cwd" | "env" | "pty" | "input"> {
  readonly session: SessionKey;
  readonly agent: string;
  readonly turn: string;
  readonly command: string;
  readonly owner: boolean;
  readonly files: Rooted;
  /** Files of `files` that it was let run with as they are. */
  readonly bound: readonly string[];
  readonly timeoutMs: number;
  /** The command that ends a container, which signals do not reach. */
  readonly ends?: readonly string[] | undefined;
  /** More processes than these end it. */
  readonly mostProcesses?: number | undefined;
  /** Once nothing of it runs any more. What it says is added to the output. */
  readonly after?: (() => Promise<string>) | undefined;
}

export interface Command {
  readonly record: CommandRecord;
  readonly files: Rooted;
  /** Files that it was let run with as they were; none once it is over, or on another node. */
  readonly bound: readonly string[];
  /** Bytes of output that were reported already. */
  told: number;
  /** Resolves when it ended, or after `forMs`, or when the signal aborts. */
  ended(forMs: number, signal?: AbortSignal): Promise<void>;
  /** The same, and also resolves when there is more output than `told`. */
  spoke(forMs: number, signal?: AbortSignal): Promise<void>;
  /**
   * Ends the call's wait: the session hears of the end later. Does nothing when the command ended already.
   */
  background(): Promise<void>;
  write(text: string): void;
  closeInput(): void;
  /** Resolves when it ended. */
  kill(): Promise<void>;
}

export interface RunningCommandPorts {
  readonly records: CommandRecords;
  readonly onEnd: (record: CommandRecord) => Promise<void>;
  /** Forgets the command and its record. */
  readonly drop: (id: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

export function runningCommand(
  { records, onEnd, drop, clock, log }: RunningCommandPorts,
  first: CommandRecord,
  request: StartRequest,
  child: Child,
  output: OutputFile,
  waiting: Set<() => void>,
): Command & { saved(): Promise<void> } {
  let record = first;
  let why: CommandState | null = null;
  // One write after the other: the end of a short command must not be overtaken by its beginning.
  let saved = records.save(first);
  const save = (write: () => Promise<void>): Promise<void> => (saved = saved.then(write));
  const stop = (state: CommandState): void => {
    // Whoever ends it a second time, or while its end is written down, changes nothing of why it ended.
    if (why === null) why = state;
    child.kill();
    const { ends } = request;
    if (ends !== undefined)
      void startChild({ ...quiet, argv: ends, cwd: "/", env: request.env, clock }).catch(() => undefined);
  };
  const timer = clock.after(request.timeoutMs, () => stop("timed out"));
  const most = request.mostProcesses;
  const tooMany = (count: number): void => {
    void output
      .write(Buffer.from(`\n[${count} processes; ended, because more than ${most} may not run]\n`))
      .catch(() => undefined);
    stop("killed");
  };
  const unwatch = most === undefined ? () => undefined : watchNumber(first.id, most, clock, tooMany);
  const done = child.ended.then(async ({ code }) => {
    timer.cancel();
    unwatch();
    const state = (why ??= "exited");
    if (state === "exited") clock.after(leftoverMs, () => void killMarked(first.id));
    else await killMarked(first.id);
    // The log has the error.
    await output.write(Buffer.from(await aftermath(request.after, record.id, log))).catch(() => undefined);
    await output
      .close()
      .catch((error: unknown) =>
        log.warn({ err: error, command: record.id }, "the output of a command was not kept whole"),
      );
    record = { ...record, state, code: state === "exited" ? code : null, endedAtMs: clock.now() };
    for (const wake of waiting) wake();
    await save(() => (record.background ? records.save(record) : drop(record.id)));
    if (record.background) await onEnd(record);
  });
  done.catch((error: unknown) =>
    log.error({ err: error, command: record.id }, "the end of a command was not recorded"),
  );
  const until = async (
    forMs: number,
    signal: AbortSignal | undefined,
    enough: () => boolean,
  ): Promise<void> => {
    if (enough() || signal?.aborted === true) return;
    const wait = new AbortController();
    const wake = (): void => {
      if (enough()) wait.abort();
    };
    const abort = (): void => wait.abort();
    waiting.add(wake);
    signal?.addEventListener("abort", abort, { once: true });
    await sleep(clock, forMs, wait.signal);
    signal?.removeEventListener("abort", abort);
    waiting.delete(wake);
  };
  const command = {
    get record() {
      return record;
    },
    saved: () => saved,
    files: request.files,
    bound: request.bound,
    told: 0,
    ended: (forMs: number, signal?: AbortSignal) => until(forMs, signal, () => record.state !== "running"),
    spoke: (forMs: number, signal?: AbortSignal) =>
      until(forMs, signal, () => record.state !== "running" || output.bytes > command.told),
    async background() {
      if (record.state !== "running") return;
      record = { ...record, background: true };
      const now = record;
      await save(() => records.save(now));
    },
    write(text: string) {
      if (record.state !== "running") throw isOver(record);
      child.write(text);
    },
    closeInput() {
      if (record.state !== "running") throw isOver(record);
      child.closeInput();
    },
    async kill() {
      if (record.state === "running") stop("killed");
      await done;
    },
  };
  return command;
}

export function endedCommand(record: CommandRecord, files: Rooted): Command {
  const over = (): never => {
    throw isOver(record);
  };
  const at = async (): Promise<void> => undefined;
  return {
    record,
    files,
    bound: [],
    told: 0,
    ended: at,
    spoke: at,
    background: at,
    write: over,
    closeInput: over,
    kill: at,
  };
}

function isOver({ id, state }: CommandRecord): Fault {
  return new Fault("missing", `the command ${id} is over: ${state}`);
}

const quiet = { pty: false, input: false, onOutput: async () => undefined } as const;
