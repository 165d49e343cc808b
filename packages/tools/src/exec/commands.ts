// Keeps all commands that run or ran lately. Each has a record that survives a crash: the next process ends
// what the dead one left running, lists it as lost, and still has its output. Bounded in number, output and
// time (I9).
import { Fault, type Clock, type Ids, type Log, type SessionKey } from "@parley/protocol";
import type { Rooted } from "../files/rooted.ts";
import { killGroup, killMarked, markName } from "../process-group.ts";
import { processBegan, startChild, type Child } from "./child.ts";
import type { CommandRecord, CommandRecords } from "./command-record.ts";
import {
  endedCommand,
  runningCommand,
  type Command,
  type RunningCommandPorts,
  type StartRequest,
} from "./command.ts";
import { logFolder, openOutputFile, pruneLogs, removeLog } from "./output-file.ts";

export interface CommandsOptions {
  readonly records: CommandRecords;
  /**
   * Wakes the session of a background command that ended. Not called for lost commands, which `list` reports.
   */
  readonly onEnd: (record: CommandRecord) => Promise<void>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface Commands {
  /**
   * Throws Fault("invalid") when it cannot be started, Fault("rate_limited") when the session runs too many.
   */
  start(request: StartRequest): Promise<Command>;
  /** Returns the session's commands, oldest first. */
  list(session: SessionKey): Promise<readonly CommandRecord[]>;
  get(session: SessionKey, id: string): Promise<Command | null>;
  forget(session: SessionKey, id: string): Promise<void>;
  /** Finds this process's running command that was allowed with this file of this folder as it is. */
  boundTo(root: string, path: string): string | null;
  /** Ends all running commands, of one session or of all. */
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
      known.set(record.id, endedCommand(record, filesAt(record.root)));
      continue;
    }
    await endLeftover(record);
    const lost: CommandRecord = { ...record, state: "lost", endedAtMs: clock.now() };
    await records.save(lost);
    known.set(record.id, endedCommand(lost, filesAt(record.root)));
  }

  const ports: RunningCommandPorts = { records, onEnd: options.onEnd, drop, clock, log };

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
      const output = await openOutputFile(files, `${logFolder}/${clock.now().toString(36)}-${id}.log`);
      const waiting = new Set<() => void>();
      let child: Child;
      try {
        child = await startChild({
          ...request,
          env: { ...request.env, [markName]: id },
          clock,
          async onOutput(chunk) {
            await output.write(chunk);
            for (const wake of waiting) wake();
          },
        });
      } catch (error) {
        await output.close();
        await removeLog(files, output.path);
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
        log: output.path,
        pid: child.pid,
        began: await processBegan(child.pid),
        startedAtMs: clock.now(),
        endedAtMs: null,
        state: "running",
        code: null,
        background: false,
      };
      const command = runningCommand(ports, record, request, child, output, waiting);
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
}

/** Only the very process that was started, never another that got its number. */
async function endLeftover({ id, pid, began }: CommandRecord): Promise<void> {
  if (began !== null && (await processBegan(pid)) === began) killGroup(pid, "SIGKILL");
  await killMarked(id);
}
