// Locates the state folder and the config file in it. No other file reads PARLEY_HOME and PARLEY_CONFIG.
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";

export type Env = { readonly [name: string]: string | undefined };

/**
 * The environment of this process, and below it what `env` in the state folder says, one NAME=value a line: a
 * start by hand finds the keys that a service is given. Programs take it from here and hand it on, so that
 * nothing else reads it.
 */
export function hostEnv(): Env {
  return { ...envFile(join(placesIn(process.env).home, "env")), ...process.env };
}

function envFile(path: string): Env {
  try {
    // A pipe would be waited for, by every command.
    return statSync(path).isFile() ? parseEnv(readFileSync(path, "utf8")) : {};
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // What may not be read is for the daemon's user.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" || code === "EACCES") return {};
    throw error;
  }
}

export interface Places {
  /** `PARLEY_HOME`, when absent or empty `~/.parley`: state.db, workspace/, media/, logs/. */
  readonly home: string;
  /** `PARLEY_CONFIG`, default `<home>/parley.json5`. */
  readonly configPath: string;
  /** The gateway's token when the config names none; written by the gateway, mode 0600. */
  readonly tokenPath: string;
  /**
   * "<port> <process id> <gateway.bind> <token>" of the gateway that runs: the config may say otherwise by
   * now. The token is this run's own, for commands of whoever may read this file. Written by the gateway,
   * mode 0600.
   */
  readonly portPath: string;
}

/** `home` wins over the environment: for tests. */
export function placesIn(env: Env, home?: string): Places {
  const root = home ?? expandPath(env["PARLEY_HOME"] || join(homedir(), ".parley"), process.cwd());
  const named = env["PARLEY_CONFIG"] || join(root, "parley.json5");
  return {
    home: root,
    configPath: expandPath(named, process.cwd()),
    tokenPath: join(root, "gateway-token"),
    portPath: join(root, "gateway-port"),
  };
}

/** Absolute: `~/x` under the user's home, a relative path under `from`. */
export function expandPath(path: string, from: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : resolve(from, path);
}
