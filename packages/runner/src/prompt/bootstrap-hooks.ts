// Loads the modules that the config names for `agent:bootstrap` when a turn first needs them, and again when
// they changed on disk. A module that fails to load, throws, hangs or returns a wrong value is logged with
// its path, and the turn continues with the files it had.
import { dirname } from "node:path";
import { bootstrapNames, type BootstrapHook, type HookFile } from "@parley/agent";
import { expandPath, type Config } from "@parley/config";
import { Fault, type Clock, type HookPort } from "@parley/protocol";
import { handlerOf, withinTime } from "../hooks/hook-modules.ts";

/** The event that a handler gets. It may change `context.bootstrapFiles` in place, or return the files. */
interface BootstrapEvent {
  readonly type: "agent";
  readonly action: "bootstrap";
  readonly sessionKey: string;
  readonly context: {
    readonly workspaceDir: string;
    bootstrapFiles: BootstrapHookFile[];
    readonly cfg: Config;
    readonly sessionKey: string;
    readonly sessionId: string;
    readonly agentId: string;
  };
}

/** `name` must be one of the workspace files; others are dropped. */
interface BootstrapHookFile {
  name: string;
  path: string;
  content?: string;
  missing: boolean;
}

export function bootstrapHooks(config: Config, configPath: string, clock: Clock): readonly BootstrapHook[] {
  const { enabled, handlers } = config.hooks.internal;
  if (!enabled) return [];
  const own = handlers.filter(({ event }) => event === "agent:bootstrap");
  return own.map(({ module, export: name }) => {
    const path = expandPath(module, dirname(configPath));
    return async (files, { workspace, session, agent }) => {
      try {
        const handler = await handlerOf(path, name);
        const bootstrapFiles = files.map(eventFile);
        const context = {
          workspaceDir: workspace,
          bootstrapFiles,
          cfg: config,
          sessionKey: session,
          sessionId: session,
          agentId: agent,
        };
        const event: BootstrapEvent = { type: "agent", action: "bootstrap", sessionKey: session, context };
        const returned = await withinTime(clock, async () => handler(event));
        return readFiles(Array.isArray(returned) ? returned : event.context.bootstrapFiles, files);
      } catch (cause) {
        throw new Fault(
          "invalid",
          `the agent:bootstrap hook ${path} failed: ${cause instanceof Error ? cause.message : String(cause)}`,
          {
            cause,
          },
        );
      }
    };
  });
}

/** The same for the hooks of HOOK.md, which run elsewhere: what they leave is checked as a module's is. */
export function heardBootstrap(port: HookPort): BootstrapHook {
  return async (files, { workspace, session, agent }) => {
    const answer = await port.ask({
      type: "agent",
      action: "bootstrap",
      sessionKey: session,
      context: {
        workspaceDir: workspace,
        bootstrapFiles: files.map(eventFile),
        sessionKey: session,
        sessionId: session,
        agentId: agent,
      },
    });
    if (answer === null) return files;
    const { returned, bootstrapFiles } = answer.context;
    const left = Array.isArray(returned) ? returned : bootstrapFiles;
    if (!Array.isArray(left)) throw new Fault("invalid", "an agent:bootstrap hook left no list of files");
    return readFiles(left, files);
  };
}

function eventFile({ name, path, text }: HookFile): BootstrapHookFile {
  return { name, path, missing: text === null, ...(text === null ? {} : { content: text }) };
}

function readFiles(files: readonly unknown[], before: readonly HookFile[]): HookFile[] {
  const had = new Map(before.map((file) => [file.name as string, file]));
  return files.flatMap((file): HookFile[] => {
    if (typeof file !== "object" || file === null)
      throw new Error("it left something that is no file in bootstrapFiles");
    const { name, path, content, missing } = file as Partial<BootstrapHookFile>;
    const known = bootstrapNames.find((each) => each === name);
    if (known === undefined) return [];
    if (content !== undefined && typeof content !== "string")
      throw new Error(`the content of ${known} is no text`);
    const old = had.get(known);
    const at = typeof path === "string" ? path : (old?.path ?? known);
    if (content !== undefined && missing !== true) return [{ name: known, path: at, text: content }];
    return [
      { name: known, path: at, text: null, ...(old?.refused === undefined ? {} : { refused: old.refused }) },
    ];
  });
}
