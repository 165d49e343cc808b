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
  readonly cells: Pick<Cells, "get" | "put" | "list">;
  /** Names this process among those that share a store: each tells of its own updates alone. */
  readonly node: string;
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
  /**
   * Begins; whoever asked hears how it ended, also when it did not begin. `to`: a version; absent: the
   * newest. Throws Fault("conflict") while another update runs.
   */
  begin(askedBy: string, to: string | undefined): Promise<void>;
  /** For a chat: the answer; null when this request was made before and is done. */
  ask(by: Pick<Inbound, "id" | "address">, to: string | undefined): Promise<string | null>;
  /** Goes on with what a dead process left, and tells of what ended. `told`: for who is no chat. */
  look(told?: (ended: EndedUpdate) => Promise<void>): Promise<void>;
}

/** `askedBy`: the message of a chat, or what `begin` was given. */
export type EndedUpdate = Pick<UpdateRecord, "askedBy" | "state" | "from" | "to" | "reason">;

/** Kept until the end was told, so that whoever asked hears it also after a crash. */
interface Asked {
  /** Null for who is no chat. */
  readonly address: Address | null;
  readonly isOver: boolean;
  /** This and the time are absent in what an older version kept. */
  readonly node?: string;
  readonly atMs?: number;
}

/** Longer than a platform redelivers a message. */
const lifeMs = 86_400_000;
const lookEveryMs = 2_000;
/** An update that cannot go on is the operator's. */
const mostResumes = 2;
const checkWithinMs = 60_000;
/** Longer than a release source may take to answer: a program that wrote no record until then has failed. */
const beginsWithinMs = 300_000;
/** More than ask for an update within a day. */
const mostAsked = 1_000;

export function selfUpdate(options: SelfUpdateOptions): SelfUpdate {
  const { home, env, cells, outbox, node, clock, log, start } = options;
  const run = start ?? ownProgram;
  const prefix = "chat-update:";
  const cellOf = (id: string): string => `${prefix}${id}`;
  const busyWords = "An update runs already; whoever asked for it hears how it ended.";
  const begins = "I look for the new version, back up, and restart into it. I say here how it ended.";
  let resumes = 0;
  let isLooking = false;
  /** Of the last look that failed: the same is said once. */
  let failure: string | null = null;
  /** Who asked since when, and nothing was begun for them yet as far as the record says. */
  const awaited = new Map<string, number>();
  /** Those of them that this process started the program for. */
  const started = new Set<string>();
  let tell: (ended: EndedUpdate) => Promise<void> = async () => undefined;

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

  async function keep(askedBy: string, address: Address | null, isOver: boolean): Promise<void> {
    const asked: Asked = { address, isOver, node, atMs: clock.now() };
    await cells.put(cellOf(askedBy), JSON.stringify(asked), { ttlMs: lifeMs });
  }

  /** Once; `ended.askedBy` may have heard it before. */
  async function answer(ended: EndedUpdate, endedAtMs: number | null): Promise<void> {
    const { askedBy } = ended;
    if (askedBy === null) return;
    const cell = await cells.get(cellOf(askedBy));
    // An older version kept nothing for who is no chat; what ended long ago was told then.
    if (cell === null && clock.now() - (endedAtMs ?? 0) >= lifeMs) return;
    const { address, isOver } =
      cell === null ? { address: null, isOver: false } : (JSON.parse(cell.value) as Asked);
    if (isOver) return;
    if (address === null) await tell(ended);
    else await outbox.post([textDelivery(`updated:${askedBy}`, address, wordsOfEnd(ended, home), askedBy)]);
    await keep(askedBy, address, true);
  }

  /** Another update may have had the lock, or a crash came before the program wrote its record. */
  async function giveUp(askedBy: string): Promise<void> {
    log.error({ askedBy }, "an update did not begin: logs/update.log of the state folder says why");
    const reason = "it did not begin. My operator finds why in logs/update.log";
    await answer({ askedBy, state: "failed", from: version, to: version, reason }, clock.now());
    awaited.delete(askedBy);
  }

  async function look(): Promise<void> {
    const { readRecord, hasEnded, isUpdating } = await import("@parley/update");
    const record = readRecord(home);
    awaited.delete(record?.askedBy ?? "");
    for (const [by, sinceMono] of awaited) if (clock.mono() - sinceMono > beginsWithinMs) await giveUp(by);
    if (record !== null && hasEnded(record)) await answer(record, record.endedAtMs);
    if ((record === null || hasEnded(record)) && awaited.size === 0) {
      isLooking = false;
      return;
    }
    if (record !== null && !hasEnded(record) && !isUpdating(home) && resumes < mostResumes) {
      resumes += 1;
      log.warn({ update: record.id, to: record.to }, "an update was not finished; it is gone on with");
      run(["--resume"]);
    }
    clock.after(lookEveryMs, again);
  }

  const again = (): void =>
    void look().then(
      () => (failure = null),
      (error: unknown) => {
        // A disk that was full, for example: whoever asked still waits for the answer.
        const words = error instanceof Error ? error.message : String(error);
        if (words !== failure) log.error({ error }, "the end of an update could not be told yet");
        failure = words;
        clock.after(lookEveryMs, again);
      },
    );

  function follow(): void {
    if (isLooking) return;
    isLooking = true;
    clock.after(lookEveryMs, again);
  }

  function starts(askedBy: string, to: string | undefined): void {
    run(["--asked-by", askedBy, ...(to === undefined ? [] : [`--to=${to}`])]);
    awaited.set(askedBy, clock.mono());
    started.add(askedBy);
    log.info({ askedBy, to }, "an update was asked for");
    follow();
  }

  /** Of a process that runs, or that is about to. */
  async function isBusy(): Promise<boolean> {
    if ([...awaited.keys()].some((by) => started.has(by))) return true;
    // Nothing is loaded, and no lock made, where there never was an update.
    if (!["update.guard", "update.json"].some((name) => existsSync(join(home, name)))) return false;
    const { readRecord, hasEnded, isUpdating } = await import("@parley/update");
    const record = readRecord(home);
    return (record !== null && !hasEnded(record)) || isUpdating(home);
  }

  /** A crash may have come between the request and its beginning. */
  async function hasBegun(askedBy: string): Promise<boolean> {
    if (started.has(askedBy)) return true;
    const { readRecord } = await import("@parley/update");
    return readRecord(home)?.askedBy === askedBy;
  }

  /** Those that the process before this one began for, and did not answer. */
  async function takeUp(): Promise<void> {
    for (const { key, value } of await cells.list(prefix, mostAsked)) {
      const asked = JSON.parse(value) as Asked;
      if (asked.isOver || asked.node !== node) continue;
      // Restarts make nobody wait longer for the word that it did not begin.
      const waitedMs = asked.atMs === undefined ? 0 : Math.max(0, clock.now() - asked.atMs);
      awaited.set(key.slice(prefix.length), clock.mono() - waitedMs);
    }
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
    async begin(askedBy, to) {
      if (await isBusy()) throw new Fault("conflict", busyWords);
      await keep(askedBy, null, false);
      starts(askedBy, to);
    },
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
        const asked = JSON.parse(before.value) as Asked;
        if (asked.isOver) return null;
        const isHere = asked.node === undefined || asked.node === node;
        if (!isHere || (await hasBegun(id))) return begins;
        await keep(id, address, false);
        starts(id, to);
        return begins;
      }
      if (await isBusy()) return busyWords;
      await keep(id, address, false);
      starts(id, to);
      return begins;
    },
    async look(told) {
      if (told !== undefined) tell = told;
      await takeUp();
      // Nothing is loaded where there never was an update.
      if (awaited.size === 0 && !existsSync(join(home, "update.json"))) return;
      isLooking = true;
      await look().catch((error: unknown) => {
        clock.after(lookEveryMs, again);
        throw error;
      });
    },
  };
  return updates;
}

/** In words for chats: no paths of this machine. */
function wordsOfEnd({ state, from, to, reason }: EndedUpdate, home: string): string {
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
