// Declares the world that an update works on: the gateway that runs, the version that is in force, each
// version's own programs, and the database's copies. The command line makes it; tests make one that fails.
import type { Clock } from "@parley/protocol";
import type { RanAs, UpdateRecord } from "./update-record.ts";

export interface GatewayNow {
  readonly bootId: string;
  readonly version: string;
  /** As in `parley status`. */
  readonly state: string;
  readonly reasons: readonly string[];
  /** Accounts that hear, on this node or on another one. */
  readonly up: readonly string[];
}

/** The gateway of this state folder. */
export interface WatchedGateway {
  /** Null: none runs. "silent": one runs and does not answer. */
  now(): Promise<GatewayNow | "silent" | null>;
  /** A process of it is there, whether or not it listens yet. */
  isThere(): Promise<boolean>;
  /** How it was started; null when none runs. */
  ranAs(): Promise<RanAs | null>;
  /** Drains and starts again in its place. Throws Fault with the reason when it refuses. */
  restart(): Promise<void>;
  /** Drains and ends, whatever would start it again. */
  stop(): Promise<void>;
  /** As it ran: under its service, else as a process of its own; `ran` absent: how is not known. */
  start(ran?: RanAs): Promise<void>;
  /** Why its page cannot be opened; null when it can. */
  pageTrouble(): Promise<string | null>;
}

/** What is in force, and how that changes. */
export interface InForce {
  readonly now: () => string;
  /** Brings what is needed; nothing in force changes. */
  prepare(record: UpdateRecord): Promise<void>;
  /** What is there to look after the new version from outside; called before the swap. */
  begin(record: UpdateRecord): void;
  /** Atomic: `ref` is in force afterwards, or what was before. */
  swapTo(ref: string): Promise<void>;
  /** Where a swap takes several steps: whole again after a kill in the middle of one. */
  settle?(record: UpdateRecord): Promise<void>;
  /** Everything ended: nothing is being tried any more. */
  end(record: UpdateRecord): void;
  /** The files of a version can only be asked once they are in force. */
  readonly checkedAfterSwap: boolean;
}

/** Asked of one version's own program. */
export interface VersionPrograms {
  /** Why the version would not start with this config; null when it would. */
  configTrouble(ref: string): Promise<string | null>;
  /** Brings a copy of the database to the version's schema; why that fails, null when it does not. */
  rehearsal(ref: string, backup: string): Promise<string | null>;
  /** True when the version would refuse the database as it is now: a newer one wrote it. */
  refusesDatabase(ref: string): Promise<boolean>;
  /** Puts the file in the database's place; returns what was there. `goOn`: nobody has worked on it since. */
  restore(ref: string, file: string, goOn: boolean): Promise<string | null>;
}

export interface UpdateWorld {
  readonly gateway: WatchedGateway;
  readonly inForce: InForce;
  readonly programs: VersionPrograms;
  /** Copies the database; null where its store is elsewhere. */
  backUp(record: UpdateRecord): Promise<string | null>;
  /** The newest copy since then that a version made of the database before it changed its schema. */
  schemaCopy(sinceMs: number): string | null;
  /** No start of the gateway, which may have begun the same, puts a database in place meanwhile. */
  aloneWithDatabase<T>(work: () => Promise<T>): Promise<T>;
  /** As it stands in the state folder: a start of the gateway may have ended the update. */
  read(): UpdateRecord | null;
  write(record: UpdateRecord): void;
  readonly clock: Clock;
  say(words: string): void;
}
