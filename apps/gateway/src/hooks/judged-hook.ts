// Says of one hook, found in a folder or named in the config, whether it runs and why it does not: the
// config, what it requires, and for a hook that an operator enabled, whether it is still what they looked
// at.
import { basename, dirname } from "node:path";
import {
  hasSetting,
  hookFolderHash,
  judgeSkill,
  skillId,
  type FoundHook,
  type HookSource,
} from "@parley/agent";
import { expandPath, type Config, type HookEntryConfig } from "@parley/config";

export interface JudgedHooksOptions {
  readonly config: Config;
  readonly configPath: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** Node's name of the platform. */
  readonly platform: string;
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

export function judgedHooks({ config, configPath, env, platform }: JudgedHooksOptions) {
  const { internal } = config.hooks;

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

  return { entryOf, hookOf, moduleHook };
}

/** A folder that went away meanwhile is not what was enabled. */
export async function hashOf(folder: string): Promise<string | null> {
  return hookFolderHash(folder).catch(() => null);
}
