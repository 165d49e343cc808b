// Says what one message path tells its hooks, and what it gets from them: the port of receive, commands,
// delivery and operators.
import type { BootstrapHook } from "@parley/agent";
import type { HookPort, Inbound, Json, Receipt, SessionKey } from "@parley/protocol";
import type { DeliveryView, Session } from "@parley/store";
import type { HookProcesses } from "./hook-process.ts";
import type { HookRegistry } from "./hook-registry.ts";
import type { HookRunnerOptions } from "./hook-runner.ts";

/** What hooks need outside a message path; absent in a process that runs none. */
export interface HookParts {
  readonly registry: HookRegistry;
  readonly processes: HookProcesses;
  readonly counted: HookRunnerOptions["counted"];
  /** The state folder. */
  readonly home: string;
}

/** A conversation that ended, and the one in its place. */
export interface BegunAnew {
  readonly session: Session;
  readonly previous: Session;
}

export interface PathHooks {
  readonly port: HookPort;
  /** Passes the workspace files through the hooks before they enter a prompt. */
  readonly bootstrap: readonly BootstrapHook[];
  /** Starts a new epoch of the session. `by`: "/new", "daily", for example. */
  beginAnew(key: SessionKey, by: string): Promise<BegunAnew>;
  /** A person's command ended a conversation: waits for the hooks, and returns what they say to them. */
  ended(name: string, session: SessionKey, inbound: Inbound, begun: BegunAnew): Promise<readonly string[]>;
  /** Any other command: nobody waits, and what hooks say comes as a message of its own. */
  command(name: string, session: SessionKey, inbound: Inbound): void;
  /** An operator ended a conversation. */
  reset(session: SessionKey, begun: BegunAnew): Promise<void>;
  /** An operator changed a session's settings. */
  patched(session: Session, patch: { readonly [field: string]: Json }): void;
  received(session: SessionKey, inbound: Inbound): void;
  sent(delivery: DeliveryView, part: number, receipt: Receipt): void;
  failed(delivery: DeliveryView, reason: string): void;
}
