// Says which hooks there are under one config, where they come from, and why one does not run: those of the
// state folder, of more folders, those that Parley brings, those of workspaces, and single modules of the
// config. The folders are looked through again when somebody asks, at most every two seconds, so that a hook
// that was put in, changed or removed counts without a restart. Nothing of a hook is loaded here.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  hasSetting,
  hookFolderHash,
  hookShelf,
  judgeSkill,
  skillId,
  type FoundHook,
  type HookRoot,
  type HookShelf,
  type HookSource,
} from "@parley/agent";
import { expandPath, isSecret, type Config, type HookEntryConfig } from "@parley/config";
import { isUnsafeEnvName, type Clock, type HookEvent } from "@parley/protocol";

export interface HookRegistryOptions {
  readonly config: Config;
  readonly configPath: string;
  /** The state folder. */
  readonly home: string;
  /** The folder of the hooks that come with Parley. */
  readonly bundled: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** Node's name of the platform. */
  readonly platform: string;
  readonly clock: Pick<Clock, "mono">;
}

type HookState =
  | { readonly status: "ready" }
  | { readonly status: "disabled" | "unmet" | "changed"; readonly reason: string };

/** Of a hook that runs, or could. */
export interface Hook {
  readonly name: string;
  readonly key: string;
  readonly description: string;
  readonly emoji: string | null;
  readonly homepage: string | null;
  readonly source: HookSource | "config";
  /** Null: it hears the events of every agent. */
  readonly agent: string | null;
  readonly events: readonly string[];
  /** HOOK.md, or the module that the config names. */
  readonly file: string;
  /** Null for those that Parley brings. */
  readonly handler: string | null;
  readonly exportName: string;
  readonly requires: readonly HookNeed[];
  readonly always: boolean;
  /** All that it requires is there. */
  readonly eligible: boolean;
  readonly timeoutMs: number | null;
  readonly state: HookState;
  readonly notes: readonly string[];
}

interface HookNeed {
  readonly kind: "os" | "bin" | "anyBins" | "env" | "config";
  readonly what: string;
  readonly satisfied: boolean;
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
  const { config, configPath, home, bundled, env, platform, clock } = options;
  const { internal } = config.hooks;
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

  function entryOf({ name, key }: Pick<Hook, "name" | "key">): HookEntryConfig | null {
    const { entries } = internal;
    for (const each of [name, key]) {
      const id = skillId(each);
      const found = Object.entries(entries).find(([known]) => skillId(known) === id);
      if (found !== undefined) return found[1];
    }
    return null;
  }

  async function hookOf(found: FoundHook): Promise<Hook> {
    const { manifest, source, file, folder, handler, notes, agent } = found;
    const entry = entryOf(manifest);
    const own = new Set(Object.keys(entry?.env ?? {}));
    // A workspace's hook is given nothing that its operator did not write down for it: an agent could have
    // named the variable.
    const hasEnv = (name: string): boolean => source !== "workspace" && (env[name] ?? "") !== "";
    const verdict = judgeSkill(manifest, {
      platform,
      path: env["PATH"] ?? "/usr/bin:/bin",
      hasEnv: (name) => own.has(name) || hasEnv(name),
      hasConfig: (path) => hasSetting(config, path),
      entry: () => null,
    });
    const { gates } = manifest;
    const unmet = verdict.status === "unmet" ? verdict.unmet : [];
    const need = (kind: HookNeed["kind"], what: string): HookNeed => ({
      kind,
      what,
      satisfied: !unmet.some((each) => each.kind === kind && each.what === what),
    });
    return {
      name: manifest.name,
      key: manifest.key,
      description: manifest.description,
      emoji: manifest.emoji ?? null,
      homepage: manifest.homepage ?? null,
      source,
      agent: agent ?? null,
      events: manifest.events,
      file,
      handler,
      exportName: manifest.exportName,
      requires: [
        ...(gates.os.length === 0 ? [] : [need("os", gates.os.join(" or "))]),
        ...gates.bins.map((what) => need("bin", what)),
        ...(gates.anyBins.length === 0 ? [] : [need("anyBins", gates.anyBins.join(" or "))]),
        ...gates.env.map((what) => need("env", what)),
        ...gates.config.map((what) => need("config", what)),
      ],
      always: gates.always,
      eligible: verdict.status === "ready",
      timeoutMs: entry?.timeoutMs ?? null,
      state:
        (await offState(found, entry)) ??
        (verdict.status === "unmet" ? { status: "unmet", reason: verdict.reason } : { status: "ready" }),
      notes,
    };

    async function offState(
      { source: from }: FoundHook,
      said: HookEntryConfig | null,
    ): Promise<HookState | null> {
      if (!internal.enabled) return { status: "disabled", reason: "hooks.internal.enabled is false" };
      const at = `hooks.internal.entries.${manifest.name}`;
      if (said?.enabled === false) return { status: "disabled", reason: `${at}.enabled is false` };
      const needsWord = from === "bundled" || from === "workspace";
      if (needsWord && said?.enabled !== true)
        return {
          status: "disabled",
          reason: `it is off until \`parley hooks enable ${manifest.name}\``,
        };
      if (said?.sha256 === undefined || said.sha256 === (await hashOf(folder))) return null;
      return {
        status: "changed",
        reason: `it is not what was enabled: look at ${folder}, then \`parley hooks enable ${manifest.name}\``,
      };
    }
  }

  function moduleHook(
    { event, module, export: exportName }: Config["hooks"]["internal"]["handlers"][number],
    index: number,
  ): Hook {
    const file = expandPath(module, dirname(configPath));
    return {
      name: `handlers[${index}]`,
      key: `handlers[${index}]`,
      description: basename(file),
      emoji: null,
      homepage: null,
      source: "config",
      agent: null,
      events: [event],
      file,
      handler: file,
      exportName,
      requires: [],
      always: false,
      eligible: true,
      timeoutMs: null,
      state: internal.enabled
        ? { status: "ready" }
        : { status: "disabled", reason: "hooks.internal.enabled is false" },
      notes: [],
    };
  }

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

/** A folder that went away meanwhile is not what was enabled. */
async function hashOf(folder: string): Promise<string | null> {
  return hookFolderHash(folder).catch(() => null);
}
