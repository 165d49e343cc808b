// The config file through the running gateway, which reads it with its own environment and takes a change up
// at once; without one, directly.
import { dirname } from "node:path";
import {
  configEditor,
  makeFolder,
  placesIn,
  type ConfigEditor,
  type ConfigProblem,
  type ConfigReading,
  type parseConfigPath,
} from "@parley/config";
import type { MethodResult } from "@parley/protocol";
import type { Console } from "./console.ts";
import type { ControlClient } from "./control-client.ts";
import { CommandFailure } from "./exit.ts";
import { quietly, withGateway } from "./with-gateway.ts";

export type Reading = Pick<ConfigReading, "path" | "file" | "config" | "problems">;

export interface Verdict {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

export interface Change {
  readonly path: ReturnType<typeof parseConfigPath>;
  /** Absent: removed. */
  readonly value?: unknown;
}
export interface Written {
  readonly path: string;
  readonly changed: readonly string[];
  readonly backup: string | null;
  readonly warnings: Verdict["warnings"];
  /** Mistakes elsewhere that stay: nothing of the file is in force before they are mended. */
  readonly problems: Verdict["problems"];
  /** Whether a running gateway has it now, and what of it only its next start takes up. */
  readonly live: boolean;
  readonly restartNeeded: readonly string[];
}

/** As they come over the wire. */
function problemsOf(told: MethodResult<"config.validate">["problems"]): readonly ConfigProblem[] {
  return told.map(({ path, message, line, column, fix }) => ({
    path,
    message,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(fix === undefined ? {} : { fix }),
  }));
}

export function localConfigEditor({ env }: Pick<Console, "env">): ConfigEditor {
  return configEditor({ env, home: placesIn(env).home });
}

export function readConfig(terminal: Console): Promise<Reading> {
  return throughGateway<Reading>(
    terminal,
    async (client) => {
      const { path, file, config, problems } = await client.request("config.get", {});
      return { path, file, config, problems: problemsOf(problems) };
    },
    () => localConfigEditor(terminal).read(),
  );
}

/** The file's own text, comments too, with secrets masked; null where it cannot be read. */
export async function readConfigText(terminal: Console): Promise<string | null> {
  const { text } = await throughGateway<{ readonly text: string | null }>(
    terminal,
    (client) => client.request("config.text", {}),
    () => localConfigEditor(terminal).text({}),
  );
  return text;
}

export function checkConfig(terminal: Console): Promise<Verdict> {
  const local = async (): Promise<Verdict> => {
    const { problems, warnings } = await localConfigEditor(terminal).read();
    return { problems, warnings };
  };
  return throughGateway(
    terminal,
    async (client) => {
      const { problems, warnings } = await client.request("config.validate", {});
      return { problems: problemsOf(problems), warnings: problemsOf(warnings) };
    },
    local,
  );
}

/** All or nothing. Throws ConfigFault or CommandFailure when the result would be wrong. */
export function changeConfig(terminal: Console, changes: readonly Change[]): Promise<Written> {
  return throughGateway<Written>(
    terminal,
    async (client) => {
      const wire = changes.map(({ path, value }) => ({
        path: [...path],
        ...(value === undefined ? {} : { value: value as never }),
      }));
      const done = await client.request("config.set", { changes: wire });
      return {
        ...done,
        warnings: problemsOf(done.warnings),
        problems: problemsOf(done.problems ?? []),
        live: true,
      };
    },
    async () => {
      const edits = changes.map(({ path, value }) =>
        value === undefined ? { remove: path } : { set: path, to: value as never },
      );
      makeFolder(dirname(placesIn(terminal.env).configPath));
      return { ...(await localConfigEditor(terminal).change(edits)), live: false, restartNeeded: [] };
    },
  );
}

/**
 * A gateway of another state folder may listen at the address: it refuses the token, or its file is another
 * one.
 */
async function throughGateway<T>(
  terminal: Console,
  remote: (client: ControlClient) => Promise<T>,
  local: () => Promise<T>,
): Promise<T> {
  const here = placesIn(terminal.env).configPath;
  try {
    return await withGateway(quietly(terminal), async (client) => {
      const { configPath } = await client.request("status", {});
      if (configPath !== here) throw new Elsewhere();
      return remote(client);
    });
  } catch (error) {
    const isAway =
      error instanceof CommandFailure &&
      ["unavailable", "timeout", "unauthorized", "denied"].includes(error.code);
    if (isAway || error instanceof Elsewhere) return local();
    throw error;
  }
}

class Elsewhere extends Error {}
