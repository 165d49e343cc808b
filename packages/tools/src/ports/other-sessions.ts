// The ports to sessions beside the one that the scope of a call names.
import type { SessionKind, ThinkingLevel } from "@parley/protocol";
import type { ToolResult, ToolScope } from "../tool.ts";
import type { Done } from "./done.ts";

export interface SessionsRequest {
  /** Absent: all. */
  readonly kinds?: readonly SessionKind[] | undefined;
  readonly activeMinutes?: number | undefined;
  readonly limit: number;
  /** Last words of each that are shown. */
  readonly messages: number;
  readonly maxBytes: number;
}

export interface HistoryRequest {
  /** A key, or the id or label of a sub-agent. */
  readonly session: string;
  /** Only entries before this one. */
  readonly before?: number | undefined;
  readonly limit: number;
  /** With tool calls and their results. */
  readonly calls: boolean;
  readonly maxBytes: number;
}

export interface SendRequest {
  /** A key, or the id or label of a sub-agent. */
  readonly session: string;
  readonly message: string;
  readonly reply: "wait" | "push" | "none";
  /** How long `wait` waits. */
  readonly timeoutSeconds: number;
}

/** `waitsFor`: the answer has not come yet. */
export type Sent = Done & Pick<ToolResult, "waitsFor" | "untrusted">;

/** `untrusted`: what is told may come of text of strangers that stands in the session. */
export type Told = Pick<Done, "text"> & Pick<ToolResult, "untrusted">;

/** Sessions beside the one that a call's scope names, as far as it may see them. Throws Fault. */
export interface OtherSessions {
  list(scope: ToolScope, request: SessionsRequest): Promise<Told>;
  history(scope: ToolScope, request: HistoryRequest): Promise<Told>;
  send(scope: ToolScope, request: SendRequest): Promise<Sent>;
}

export interface SpawnRequest {
  readonly task: string;
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly model?: string | undefined;
  readonly thinking?: ThinkingLevel | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** `fork`: the child is told the conversation so far. */
  readonly context: "isolated" | "fork";
  /** Paths in the workspace. */
  readonly attachments: readonly string[];
  /** `session`: it may be given more work later. */
  readonly mode: "run" | "session";
  /** It works in a new thread of the conversation, where people talk with it. */
  readonly thread?: boolean | undefined;
}

/** Sub-agents of the session that a call's scope names; `child` is an id or a label. Throws Fault. */
export interface Children {
  spawn(scope: ToolScope, request: SpawnRequest): Promise<Done>;
  list(scope: ToolScope): Promise<string>;
  log(scope: ToolScope, child: string, limit: number): Promise<Told>;
  steer(scope: ToolScope, child: string, message: string): Promise<Done>;
  /** Ids of the agents that sub-agents may be here, the session's own first. */
  agents(scope: ToolScope): readonly string[];
  /** Ends it and its own sub-agents. `all`: every one of the session. */
  kill(scope: ToolScope, child: string): Promise<string>;
}
