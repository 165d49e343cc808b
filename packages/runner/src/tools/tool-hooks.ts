// Calls the modules that the config names for `tool:before` and `tool:after`. A before-hook may block a call
// with a reason but never allow what the policy refuses; one that is broken, slow or returns a wrong value
// blocks too (fail closed). An after-hook is told the result and changes nothing.
import { dirname } from "node:path";
import { expandPath, type Config } from "@parley/config";
import type { Clock, JsonObject, Log, ToolCall } from "@parley/protocol";
import type { Tool, ToolResult, ToolScope } from "@parley/tools";
import { handlerOf, withinTime } from "../hooks/hook-modules.ts";

export interface ToolHooks {
  /** Returns why the call may not start; null when no hook objects. */
  before(call: ToolCall, tool: Tool, scope: HookScope): Promise<string | null>;
  /** Returns the tool, whose results the after-hooks are told. */
  watched(tool: Tool): Tool;
}

export interface ToolHooksOptions {
  readonly config: Config;
  readonly configPath: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call must not wait for a hook that never ends. */
const hookMs = 15_000;

type HookScope = Pick<ToolScope, "session" | "agent" | "turn" | "workspace">;

/** The event that a handler gets, as a copy. */
interface ToolEvent {
  readonly type: "tool";
  readonly action: "before" | "after";
  readonly sessionKey: string;
  readonly context: {
    readonly toolName: string;
    readonly params: unknown;
    readonly toolCallId: string;
    readonly turnId: string;
    readonly agentId: string;
    readonly workspaceDir: string;
    /** For after-hooks only. */
    readonly result?: { readonly text: string; readonly isError: boolean };
    readonly durationMs?: number;
  };
}

export function toolHooks({ config, configPath, clock, log }: ToolHooksOptions): ToolHooks {
  const { enabled, handlers } = config.hooks.internal;
  const of = (wanted: "tool:before" | "tool:after") =>
    (enabled ? handlers : [])
      .filter(({ event }) => event === wanted)
      .map(({ module, export: name }) => ({ path: expandPath(module, dirname(configPath)), name }));
  const [befores, afters] = [of("tool:before"), of("tool:after")];

  async function call(
    hook: { readonly path: string; readonly name: string },
    event: ToolEvent,
  ): Promise<unknown> {
    return withinTime(
      clock,
      async () => (await handlerOf(hook.path, hook.name))(structuredClone(event)),
      hookMs,
    );
  }

  async function tellAfter(event: ToolEvent): Promise<void> {
    for (const hook of afters) {
      await call(hook, event).catch((error: unknown) =>
        log.error({ hook: hook.path, error }, "a tool:after hook failed"),
      );
    }
  }

  return {
    async before({ id, args }, { name }, scope) {
      for (const hook of befores) {
        try {
          const reason = blockOf(await call(hook, { action: "before", ...eventOf(name, id, args, scope) }));
          if (reason !== null) return `Not run: a rule of the operator blocks it: ${reason}`;
        } catch (error) {
          log.error({ hook: hook.path, tool: name, error }, "a tool:before hook failed; the call is blocked");
          return "Not run: a check of the operator failed, and without it nothing runs. The operator can see why in the log.";
        }
      }
      return null;
    },
    watched(tool) {
      if (afters.length === 0) return tool;
      return {
        ...tool,
        async run(args, scope) {
          const fromMs = clock.mono();
          const told = (result: ToolEvent["context"]["result"]): void => {
            const event = eventOf(tool.name, scope.callId, args, scope);
            const context = {
              ...event.context,
              ...(result === undefined ? {} : { result }),
              durationMs: clock.mono() - fromMs,
            };
            void tellAfter({ action: "after", ...event, context });
          };
          try {
            const result = await tool.run(args, scope);
            told({ text: textOf(result), isError: result.isError === true });
            return result;
          } catch (error) {
            told({ text: error instanceof Error ? error.message : String(error), isError: true });
            throw error;
          }
        },
      };
    },
  };
}

function eventOf(
  toolName: string,
  toolCallId: string,
  args: unknown,
  scope: HookScope,
): Omit<ToolEvent, "action"> {
  const { session, agent, turn, workspace } = scope;
  const params = args as JsonObject;
  return {
    type: "tool",
    sessionKey: session,
    context: { toolName, params, toolCallId, turnId: turn, agentId: agent, workspaceDir: workspace },
  };
}

/**
 * Accepts nothing or `{ block, blockReason }`; any other value blocks, because the hook may have meant to.
 */
function blockOf(returned: unknown): string | null {
  if (returned === undefined || returned === null) return null;
  if (typeof returned !== "object")
    throw new Error(`it returned ${typeof returned}, which is no { block, blockReason }`);
  const { block, blockReason } = returned as { readonly block?: unknown; readonly blockReason?: unknown };
  if (block === undefined || block === false) return null;
  if (block !== true) throw new Error("its block is neither true nor false");
  return typeof blockReason === "string" && blockReason !== "" ? blockReason : "no reason was given";
}

function textOf({ content }: ToolResult): string {
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}
