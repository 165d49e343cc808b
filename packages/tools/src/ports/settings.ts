// The port to the config file and the daemon.
import type { Json, JsonObject } from "@parley/protocol";
import type { ToolScope } from "../tool.ts";

/** The config file and the daemon, as far as the owner's agent may use them. */
export interface Settings {
  /**
   * `value`: the file as written, with its secrets, to compare and never to show. `shown`: the file without
   * them.
   */
  read(): Promise<{ readonly value: JsonObject; readonly shown: Json; readonly hash: string }>;
  /** The JSON Schema of one path ("messages.queue"); null when there is no such key. */
  schema(path: string): Promise<Json>;
  /**
   * Validates, then writes the whole file; `basedOn` must still be the file's hash. Throws Fault("invalid")
   * with the problems, Fault("conflict").
   */
  write(value: JsonObject, basedOn: string): Promise<{ readonly restart: boolean }>;
  /** Restarts once this turn's answer is stored. */
  restart(scope: ToolScope, reason: string): Promise<void>;
  /** In words: whether there is a newer version, or why nobody knows. Changes nothing. */
  checkUpdate(): Promise<string>;
  /** Updates Parley; the session is told how it ended. `to`: a version, the newest when absent. */
  update(scope: ToolScope, to: string | undefined): Promise<void>;
}
