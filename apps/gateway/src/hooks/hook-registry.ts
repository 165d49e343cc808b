// Says which hooks there are under one config, where they come from, and why one does not run: those of the
// state folder, of more folders, those that Parley brings, those of workspaces, and single modules of the
// config. The folders are looked through again when somebody asks, at most every two seconds, so that a hook
// that was put in, changed or removed counts without a restart. Nothing of a hook is loaded here.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { hookShelf, type HookRoot, type HookShelf, type HookSource } from "@parley/agent";
import { isSecret } from "@parley/config";
import { hashOf, judgedHooks, type Hook, type JudgedHooksOptions } from "./judged-hook.ts";
import { isUnsafeEnvName, type Clock, type HookEvent } from "@parley/protocol";

export interface HookRegistryOptions extends JudgedHooksOptions {
  /** The state folder. */
  readonly home: string;
  /** The folder of the hooks that come with Parley. */
  readonly bundled: string;
  readonly clock: Pick<Clock, "mono">;
}

interface HookSurvey {
  readonly enabled: boolean;
  readonly roots: readonly HookRoot[];
  readonly hooks: readonly Hook[];
  readonly shadowed: readonly {
    readonly name: string;
    readonly source: HookSource;
    readonly file: string;
    readonly by: string;
  }[];
  readonly refused: HookShelf["refused"];
}

export interface HookRegistry {
  /** Looks at the folders now. */
  survey(): Promise<HookSurvey>;
  /** The hooks that hear this event now: those of its family first, then those of the event alone. */
  hearing(event: Pick<HookEvent, "type" | "action" | "sessionKey">): Promise<readonly Hook[]>;
  /** Variables that the operator gives the hook, and those that it names and may have. */
  envOf(hook: Hook): { readonly [name: string]: string };
  /** What the config says of it beside what Parley reads. */
  settingsOf(hook: Pick<Hook, "name" | "key">): { readonly [key: string]: unknown };
  /** What `parley hooks enable` writes down of a workspace's hook; null for every other. */
  pinOf(hook: Hook): Promise<string | null>;
}

const freshMs = 2_000;
/** Of an entry, what Parley itself reads. */
const ownKeys: ReadonlySet<string> = new Set(["enabled", "env", "timeoutMs", "sha256"]);
/** Of every process that Parley starts for a hook. */
const plainEnv = /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TERM|PARLEY_HOME)$/;
/** Those that run in this process, by the code that calls them where they matter. */
const inProcess: ReadonlySet<string> = new Set(["agent:bootstrap", "tool:before", "tool:after"]);

export function hookRegistry(options: HookRegistryOptions): HookRegistry {
  const { config, home, bundled, env, clock } = options;
  const { internal } = config.hooks;
  const { entryOf, hookOf, moduleHook } = judgedHooks(options);
  let looked: { readonly atMs: number; readonly survey: Promise<HookSurvey> } | null = null;

  const roots: readonly HookRoot[] = [
    { source: "managed", path: join(home, "hooks") },
    ...internal.load.extraDirs.map((path): HookRoot => ({ source: "extra", path })),
    { source: "bundled", path: bundled },
    ...config.agents.list.map(({ id, workspace }): HookRoot => ({
      source: "workspace",
      path: join(workspace, "hooks"),
      agent: id,
    })),
  ];

  async function look(): Promise<HookSurvey> {
    const shelf = await hookShelf(roots);
    return {
      enabled: internal.enabled,
      roots,
      hooks: [...internal.handlers.map(moduleHook), ...(await Promise.all(shelf.hooks.map(hookOf)))],
      shadowed: shelf.shadowed.map(({ hook, by }) => ({
        name: hook.manifest.name,
        source: hook.source,
        file: hook.file,
        by: by.file,
      })),
      refused: shelf.refused,
    };
  }

  /** Most gateways have no hook, and their messages must not cost a look at every folder. */
  function mayBe(): boolean {
    const { entries, load, handlers } = internal;
    return (
      handlers.length + load.extraDirs.length > 0 ||
      Object.values(entries).some(({ enabled }) => enabled === true) ||
      existsSync(join(home, "hooks"))
    );
  }

  function fresh(): Promise<HookSurvey> {
    const atMs = clock.mono();
    if (looked === null || atMs - looked.atMs >= freshMs) looked = { atMs, survey: look() };
    return looked.survey;
  }

  return {
    survey() {
      looked = { atMs: clock.mono(), survey: look() };
      return looked.survey;
    },
    async hearing({ type, action, sessionKey }) {
      if (!internal.enabled || !mayBe()) return [];
      const name = `${type}:${action}`;
      const agent = /^agent:([^:]+):/.exec(sessionKey)?.[1] ?? null;
      const heard = (await fresh()).hooks.filter(
        (hook) =>
          hook.state.status === "ready" &&
          (hook.agent === null || agent === null || hook.agent === agent) &&
          !(hook.source === "config" && hook.events.some((event) => inProcess.has(event))),
      );
      return [
        ...heard.filter(({ events }) => events.includes(type)),
        ...heard.filter(({ events }) => !events.includes(type) && events.includes(name)),
      ];
    },
    envOf(hook) {
      const given = Object.entries(entryOf(hook)?.env ?? {}).map(
        ([name, value]) => [name, isSecret(value) ? value.reveal() : value] as const,
      );
      const named =
        hook.source === "workspace"
          ? []
          : hook.requires.flatMap(({ kind, what }) =>
              kind === "env" && !isUnsafeEnvName(what) ? [what] : [],
            );
      const own = Object.keys(env).filter((name) => plainEnv.test(name) || named.includes(name));
      return Object.fromEntries([...own.map((name) => [name, env[name] ?? ""] as const), ...given]);
    },
    settingsOf(hook) {
      return Object.fromEntries(Object.entries(entryOf(hook) ?? {}).filter(([key]) => !ownKeys.has(key)));
    },
    pinOf: async ({ source, file }) => (source === "workspace" ? hashOf(dirname(file)) : null),
  };
}
