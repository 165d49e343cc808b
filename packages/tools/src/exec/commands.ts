// All commands that run or ran lately. Each has a record that survives a crash: whoever starts next ends what the dead process left running,
// lists it as lost, and still has its output. Bounded in number, in output and in time.
import { Fault, sleep, type Clock, type Ids, type Log, type SessionKey } from "@parley/protocol";
import type { Rooted } from "../files/rooted.ts";
import { aftermath } from "./aftermath.ts";
import { killGroup, killMarked, markName } from "../process-group.ts";
import type { CommandRecord, CommandRecords, CommandState } from "./command-record.ts";
import { leftoverMs, processBegan, startChild, type Child, type ChildRequest } from "./child.ts";
import { watchNumber } from "./watch-number.ts";
import { logFolder, openOutputFile, pruneLogs, removeLog, type OutputFile } from "./output-file.ts";

export interface CommandsOptions {
  readonly records: CommandRecords;
  /** A background command ended: wake its session. Not called for what is lost; `list` tells that. */
  readonly onEnd: (record: CommandRecord) => Promise<void>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

interface StartRequest extends Pick<ChildRequest, "argv" | "cwd" | "env" | "pty" | "input"> {
  readonly session: SessionKey;
  readonly agent: string;
  readonly turn: string;
  readonly command: string;
  readonly owner: boolean;
  readonly files: Rooted;
  /** Files of `files` that it was let run with as they are. */
  readonly bound: readonly string[];
  readonly timeoutMs: number;
  /** What ends it for good where signals do not reach: a container. */
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
  /** Bytes of output that were told already. */
  told: number;
  /** Resolves when it ended, or after `forMs`, or when the signal aborts. */
  ended(forMs: number, signal?: AbortSignal): Promise<void>;
  /** The same, and also when there is more output than `told`. */
  spoke(forMs: number, signal?: AbortSignal): Promise<void>;
  /** The call does not wait for it any longer: its end will be told. Nothing happens when it ended already. */
  background(): Promise<void>;
  write(text: string): void;
  closeInput(): void;
  /** Resolves when it ended. */
  kill(): Promise<void>;
}

export interface Commands {
  /** Throws Fault("invalid") when it cannot be started, Fault("rate_limited") when the session runs too many. */
  start(request: StartRequest): Promise<Command>;
  /** Of this session, oldest first. `filesOf` opens the folder of one from before a restart. */
  list(session: SessionKey): Promise<readonly CommandRecord[]>;
  get(session: SessionKey, id: string): Promise<Command | null>;
  forget(session: SessionKey, id: string): Promise<void>;
  /** The command of this process that runs now and was let run with this file of this folder as it is. */
  boundTo(root: string, path: string): string | null;
  /** Ends all that run: of one session, or all. */
  end(session?: SessionKey): Promise<void>;
}

const mostRunning = 16;
const mostEnded = 50;
const keepEndedMs = 24 * 3_600_000;

/** `filesAt` gives access to the folder of a record from before a restart. */
export async function openCommands(
  options: CommandsOptions,
  filesAt: (root: string) => Rooted,
): Promise<Commands> {
  const { records, clock, ids, log } = options;
  const known = new Map<string, Command>();
  for (const record of await records.load()) {
    if (record.state !== "running") {
      known.set(record.id, ended(record, filesAt(record.root)));
      continue;
    }
    await endLeftover(record);
    const lost: CommandRecord = { ...record, state: "lost", endedAtMs: clock.now() };
    await records.save(lost);
    known.set(record.id, ended(lost, filesAt(record.root)));
  }

  async function prune(): Promise<void> {
    const over = [...known.values()].filter(({ record }) => record.state !== "running");
    const surplus = over.length - mostEnded;
    const old = over.filter(
      ({ record }, index) => index < surplus || clock.now() - (record.endedAtMs ?? 0) > keepEndedMs,
    );
    for (const { record } of old) await drop(record.id);
  }

  async function drop(id: string): Promise<void> {
    known.delete(id);
    await records.remove(id);
  }

  return {
    async start(request) {
      const { session, files } = request;
      const running = [...known.values()].filter(
        ({ record }) => record.session === session && record.state === "running",
      );
      if (running.length >= mostRunning)
        throw new Fault("rate_limited", `${running.length} commands run already; end one with process first`);
      await prune();
      await pruneLogs(files);
      const id = ids.code("abcdefghjkmnpqrstuvwxyz23456789", 8);
      const spool = await openOutputFile(files, `${logFolder}/${clock.now().toString(36)}-${id}.log`);
      const waiting = new Set<() => void>();
      let child: Child;
      try {
        child = await startChild({
          ...request,
          env: { ...request.env, [markName]: id },
          clock,
          async onOutput(chunk) {
            await spool.write(chunk);
            for (const wake of waiting) wake();
          },
        });
      } catch (error) {
        await spool.close();
        await removeLog(files, spool.path);
        throw error;
      }
      const record: CommandRecord = {
        id,
        session,
        agent: request.agent,
        turn: request.turn,
        command: request.command,
        owner: request.owner,
        root: files.root,
        log: spool.path,
        pid: child.pid,
        began: await processBegan(child.pid),
        startedAtMs: clock.now(),
        endedAtMs: null,
        state: "running",
        code: null,
        background: false,
      };
      const command = follow(record, request, child, spool, waiting);
      known.set(id, command);
      await command.saved();
      return command;
    },
    async list(session) {
      await prune();
      return [...known.values()]
        .map(({ record }) => record)
        .filter((record) => record.session === session && record.background);
    },
    async get(session, id) {
      const found = known.get(id);
      return found?.record.session === session ? found : null;
    },
    async forget(session, id) {
      const found = known.get(id);
      if (found === undefined || found.record.session !== session || found.record.state === "running") return;
      await drop(id);
      await removeLog(found.files, found.record.log);
    },
    boundTo(root, path) {
      const runs = ({ record, bound }: Command): boolean =>
        record.state === "running" && record.root === root && bound.includes(path);
      return [...known.values()].find(runs)?.record.id ?? null;
    },
    async end(session) {
      const all = [...known.values()].filter(
        ({ record }) => record.state === "running" && (session ?? record.session) === record.session,
      );
      await Promise.all(all.map((command) => command.kill()));
    },
  };

  function follow(
    first: CommandRecord,
    request: StartRequest,
    child: Child,
    spool: OutputFile,
    waiting: Set<() => void>,
  ): Command & { saved(): Promise<void> } {
    let record = first;
    let why: CommandState = "exited";
    // One write after the other: the end of a short command must not be overtaken by its beginning.
    let saved = records.save(first);
    const save = (write: () => Promise<void>): Promise<void> => (saved = saved.then(write));
    const stop = (state: CommandState): void => {
      why = state;
      child.kill();
      const { ends } = request;
      if (ends !== undefined)
        void startChild({ ...quiet, argv: ends, cwd: "/", env: request.env, clock }).catch(() => undefined);
    };
    const timer = clock.after(request.timeoutMs, () => stop("timed out"));
    const most = request.mostProcesses;
    const tooMany = (count: number): void => {
      void spool
        .write(Buffer.from(`\n[${count} processes; ended, because more than ${most} may not run]\n`))
        .catch(() => undefined);
      stop("killed");
    };
    const unwatch = most === undefined ? () => undefined : watchNumber(first.id, most, clock, tooMany);
    const done = child.ended.then(async ({ code }) => {
      timer.cancel();
      unwatch();
      if (why === "exited") clock.after(leftoverMs, () => void killMarked(first.id));
      else await killMarked(first.id);
      await spool.write(Buffer.from(await aftermath(request.after, record.id, log))).catch(() => undefined); // The log has it.
      await spool
        .close()
        .catch((error: unknown) =>
          log.warn({ err: error, command: record.id }, "the output of a command was not kept whole"),
        );
      record = { ...record, state: why, code: why === "exited" ? code : null, endedAtMs: clock.now() };
      for (const wake of waiting) wake();
      await save(() => (record.background ? records.save(record) : drop(record.id)));
      if (record.background) await options.onEnd(record);
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
        until(forMs, signal, () => record.state !== "running" || spool.bytes > command.told),
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

  function ended(record: CommandRecord, files: Rooted): Command {
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
}

function isOver({ id, state }: CommandRecord): Fault {
  return new Fault("missing", `the command ${id} is over: ${state}`);
}

const quiet = { pty: false, input: false, onOutput: async () => undefined } as const;

/** Only the very process that was started, never another that got its number. */
async function endLeftover({ id, pid, began }: CommandRecord): Promise<void> {
  if (began !== null && (await processBegan(pid)) === began) killGroup(pid, "SIGKILL");
  await killMarked(id);
}
