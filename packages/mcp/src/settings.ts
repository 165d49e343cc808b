// Defines what the operator's config says of one server, with its secrets revealed, and the two hashes that
// decide what a change means: another connection is a restart, another identity makes every tool ask again.
import { createHash } from "node:crypto";
import type { ToolRules } from "@parley/tools";

export interface OAuthSettings {
  /** Of a client that was registered by hand; absent: the server registers us. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly scope?: string | undefined;
}

export interface ServerSettings {
  readonly enabled: boolean;
  /** A program of this machine; absent: the server is reached by `url`. */
  readonly command?: string | undefined;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  /** Absolute; absent: a folder of its own in the state folder. */
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string };
  readonly oauth: OAuthSettings;
  readonly transport: "stdio" | "http" | "sse";
  /** Longest time of one call. */
  readonly timeoutMs: number;
  /** Longest time until a server that was started has listed its tools. */
  readonly startTimeoutMs: number;
  /** A server that nobody calls is ended after this long. */
  readonly idleMs: number;
  readonly tools: ToolRules;
  /** `auto`: sandboxed where the agent is. `off`: always on the host. */
  readonly sandbox: "auto" | "off";
}

/** All servers of a config, and what holds for all of them. */
export interface McpSettings {
  readonly servers: { readonly [name: string]: ServerSettings };
  /** True: also the first tools of a new server wait for an approval. */
  readonly approveFirst: boolean;
}

/**
 * What a server is: tools of another program or another address are other tools, whatever they are called.
 */
export function identityOf({ command, args, url }: ServerSettings): string {
  return hashOf(command === undefined ? ["url", url ?? ""] : ["command", command, ...args]);
}

/** Everything that a running server was started with. */
export function connectionOf(settings: ServerSettings): string {
  const { tools: _tools, idleMs: _idle, timeoutMs: _timeout, ...rest } = settings;
  return hashOf(rest);
}

/** Hex sha256 over JSON whose keys are sorted, so that equal values have equal hashes. */
export function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value, sorted) ?? "null")
    .digest("hex");
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
