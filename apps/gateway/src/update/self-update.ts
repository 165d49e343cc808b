// Lets the daemon ask for an update of itself and look for one: the command line's program does both, in a
// process of its own that outlives the daemon's restart. The daemon starts it again where it died, and tells
// whoever asked how it ended, once.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  Fault,
  version,
  type Address,
  type Clock,
  type Inbound,
  type Log,
  type MethodResult,
} from "@parley/protocol";
import type { Cells, Outbox } from "@parley/store";
import { textDelivery } from "@parley/delivery";
import type { UpdateRecord } from "@parley/update";
import { commandLine } from "../installation.ts";

export interface SelfUpdateOptions {
  readonly home: string;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cells: Pick<Cells, "get" | "put">;
  readonly outbox: Pick<Outbox, "post">;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts `parley update` with these words; the command line's own program when absent. */
  readonly start?: (args: readonly string[]) => void;
}

export interface SelfUpdate {
  /** With `look` false no source is asked. */
  check(look?: boolean): Promise<MethodResult<"update.check">>;
  /** For a chat: which version is there. */
  checkInWords(): Promise<string>;
  /** Begins; whoever asked hears how it ended. `to`: a version; absent: the newest. */
  begin(askedBy: string, to: string | undefined): void;
  /** For a chat: the answer; null when this request was made before and is done. */
  ask(by: Pick<Inbound, "id" | "address">, to: string | undefined): Promise<string | null>;
  /** Goes on with what a dead process left, and tells of what ended. `told`: for who is no chat. */
  look(told?: (record: UpdateRecord) => Promise<void>): Promise<void>;
}

interface Asked {
  readonly address: Address;
  readonly isOver: boolean;
}

/** Longer than a platform redelivers a message. */
const lifeMs = 86_400_000;
const lookEveryMs = 2_000;
/** An update that cannot go on is the operator's. */
const mostResumes = 2;
const checkWithinMs = 60_000;
/** Longer than a release source may take to answer: a program that wrote no record until then has failed. */
const beginsWithinMs = 300_000;

export function selfUpdate({ home, env, cells, outbox, clock, log, start }: SelfUpdateOptions): SelfUpdate {
  const run = start ?? ownProgram;
  const cellOf = (id: string): string => `chat-update:${id}`;
  const begins = "I look for the new version, back up, and restart into it. I say here how it ended.";
  let resumes = 0;
  let isLooking = false;
  /** Asked for in this process, and not begun yet as far as the record says. */
  let awaited: { readonly by: string; readonly sinceMono: number } | null = null;
  let tell: (record: UpdateRecord) => Promise<void> = async () => undefined;

  function ownProgram(args: readonly string[]): void {
    const program = programHere();
    mkdirSync(join(home, "logs"), { recursive: true, mode: 0o700 });
    // The shell ends at once, so that the process belongs to nobody who could end it or leave it as a zombie.
    const script = 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null &';
    spawn("/bin/sh", ["-c", script, "update", join(home, "logs/update.log"), program, "update", ...args], {
      env: { ...env, PARLEY_HOME: home },
      detached: true,
      stdio: "ignore",
    }).unref();
  }

  async function answer(record: UpdateRecord): Promise<void> {
    const { askedBy } = record;
    if (askedBy === null) return;
    if (!(await answerChat(askedBy, wordsOfEnd(record, home)))) await tell(record);
  }

  /** False for who is no chat. */
  async function answerChat(askedBy: string, words: string): Promise<boolean> {
    const cell = await cells.get(cellOf(askedBy));
    if (cell === null) return false;
    const { address, isOver } = JSON.parse(cell.value) as Asked;
    if (isOver) return true;
    await outbox.post([textDelivery(`updated:${askedBy}`, address, words, askedBy)]);
    await cells.put(cellOf(askedBy), JSON.stringify({ address, isOver: true } satisfies Asked), {
      ttlMs: lifeMs,
    });
    return true;
  }

  async function look(): Promise<void> {
    const { readRecord, hasEnded, isRunning } = await import("@parley/update");
    const record = readRecord(home);
    if (awaited !== null && record?.askedBy === awaited.by) awaited = null;
    if (awaited !== null && clock.mono() - awaited.sinceMono > beginsWithinMs) {
      log.error(
        { askedBy: awaited.by },
        "an update did not begin: logs/update.log of the state folder says why",
      );
      await answerChat(
        awaited.by,
        "I did not update: it did not begin. My operator finds why in logs/update.log.",
      );
      awaited = null;
    }
    if (record === null && awaited === null) {
      isLooking = false;
      return;
    }
    if (record !== null && hasEnded(record) && awaited === null) {
      isLooking = false;
      return answer(record);
    }
    if (record !== null && !hasEnded(record) && !isRunning(record.driver) && resumes < mostResumes) {
      resumes += 1;
      log.warn({ update: record.id, to: record.to }, "an update was not finished; it is gone on with");
      run(["--resume"]);
    }
    clock.after(lookEveryMs, again);
  }

  const again = (): void =>
    void look().catch((error: unknown) => log.error({ error }, "the end of an update could not be told"));

  function follow(): void {
    if (isLooking) return;
    isLooking = true;
    clock.after(lookEveryMs, again);
  }

  function begin(askedBy: string, to: string | undefined): void {
    run(["--asked-by", askedBy, ...(to === undefined ? [] : [`--to=${to}`])]);
    awaited = { by: askedBy, sinceMono: clock.mono() };
    log.info({ askedBy, to }, "an update was asked for");
    follow();
  }

  /** Of a process that runs, or that is about to. */
  async function isUpdating(): Promise<boolean> {
    if (awaited !== null) return true;
    const { readRecord, hasEnded } = await import("@parley/update");
    const record = readRecord(home);
    return record !== null && !hasEnded(record);
  }

  /** A crash may have come between the request and its beginning. */
  async function hasBegun(askedBy: string): Promise<boolean> {
    if (awaited?.by === askedBy) return true;
    const { readRecord } = await import("@parley/update");
    return readRecord(home)?.askedBy === askedBy;
  }

  /** What the command line finds at the release source. */
  async function askSource(): Promise<
    Partial<MethodResult<"update.check">> & { readonly error?: { readonly message: string } }
  > {
    const said = await new Promise<string>((resolve, reject) => {
      execFile(
        programHere(),
        ["update", "--check", "--json"],
        { env: { ...env, PARLEY_HOME: home }, timeout: checkWithinMs },
        (error, out) => (out.trim() === "" && error !== null ? reject(error) : resolve(out)),
      );
    });
    return JSON.parse(said);
  }

  const updates: SelfUpdate = {
    begin,
    async checkInWords() {
      const { installed, newest, update, byHand, problem } = await updates.check();
      if (problem !== null) return `I cannot look for a new version: ${problem.replaceAll(`${home}/`, "")}`;
      if (!update || newest === null)
        return `I am Parley ${installed?.version ?? ""}: there is nothing newer.`;
      const here = `Parley ${newest} is there; I am ${installed?.version ?? ""}.`;
      return `${here} ${byHand === null ? "/update brings it." : "My operator brings it by hand."}`;
    },
    async check(look = true) {
      const { installedAt, readRecord } = await import("@parley/update");
      const { kind, root } = installedAt(dirname(dirname(programHere())), version);
      const record = readRecord(home);
      const here = {
        installed: { kind, version, root },
        last:
          record === null
            ? null
            : { from: record.from, to: record.to, state: record.state, reason: record.reason },
      };
      const found = look ? await askSource() : {};
      return {
        installed: found.installed ?? here.installed,
        newest: found.newest ?? null,
        update: found.update ?? false,
        available: found.available ?? [],
        byHand: found.byHand ?? null,
        problem: found.error?.message ?? null,
        last: found.last ?? here.last,
      };
    },
    async ask({ id, address }, to) {
      const before = await cells.get(cellOf(id));
      if (before !== null) {
        if ((JSON.parse(before.value) as Asked).isOver) return null;
        if (!(await hasBegun(id))) begin(id, to);
        return begins;
      }
      if (await isUpdating()) return "An update runs already; whoever asked for it hears how it ended.";
      await cells.put(cellOf(id), JSON.stringify({ address, isOver: false } satisfies Asked), {
        ttlMs: lifeMs,
      });
      begin(id, to);
      return begins;
    },
    async look(told) {
      if (told !== undefined) tell = told;
      // Nothing is loaded where there never was an update.
      if (!existsSync(join(home, "update.json"))) return;
      isLooking = true;
      await look();
    },
  };
  return updates;
}

/** In words for chats: no paths of this machine. */
function wordsOfEnd({ state, from, to, reason }: UpdateRecord, home: string): string {
  const why = (reason ?? "").replaceAll(`${home}/`, "");
  if (state === "done") return `I am updated: Parley ${to} runs, ${from} before it.`;
  if (state === "went-back") return `The update to ${to} did not do (${why}). Parley ${from} runs again.`;
  return `I did not update: ${why}`;
}

function programHere(): string {
  const program = commandLine();
  if (program === undefined) throw new Fault("unsupported", "there is no command line beside this program");
  return program;
}
