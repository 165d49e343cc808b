// Defines the stored record of a command, which tells a process that starts after a crash about it.
import type { SessionKey } from "@parley/protocol";

export type CommandState = "running" | "exited" | "killed" | "timed out" | "lost";

export interface CommandRecord {
  readonly id: string;
  readonly session: SessionKey;
  readonly agent: string;
  /** The turn that started it. */
  readonly turn: string;
  /** For people and the model: one line. */
  readonly command: string;
  /** The folder below which `log` lies: the agent's, or a sandbox's own. */
  readonly root: string;
  readonly log: string;
  readonly pid: number;
  /** Tells this process from a later one of the same number. */
  readonly began: string | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly state: CommandState;
  /** Null while it runs, and when a signal ended it. */
  readonly code: number | null;
  /** The call that started it did not wait for its end. */
  readonly background: boolean;
  /** All who spoke in the turn that started it were owners. */
  readonly owner: boolean;
}

/** Stores records; the gateway's implementation uses the store. */
export interface CommandRecords {
  load(): Promise<readonly CommandRecord[]>;
  save(record: CommandRecord): Promise<void>;
  remove(id: string): Promise<void>;
}
