// Serves the hooks to the operator: lists them with their source and why one does not run, and switches one
// on or off in the config file. It names missing settings but never shows their values. It needs only config
// and files, so it works without a daemon, which alone can tell what became of the calls.
import { skillId } from "@parley/agent";
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import type { Hook } from "../hooks/judged-hook.ts";
import type { ConfigPorts } from "./ports.ts";

export interface HookMethodPorts extends Pick<ConfigPorts, "hooks" | "hookCounts" | "configNow"> {
  readonly setConfig: (params: MethodParams<"config.set">) => Promise<MethodResult<"config.set">>;
}

type Shown = MethodResult<"hooks.list">["hooks"][number];

export function hookMethods({ hooks: registry, hookCounts, configNow, setConfig }: HookMethodPorts) {
  function shown(hook: Hook): Shown {
    const { name, description, emoji, source, agent, events, file, state, eligible, notes } = hook;
    const counts = hookCounts?.().get(name);
    const none = { runs: 0, failed: 0, timedOut: 0, dropped: 0, lastAtMs: null, lastError: null };
    return {
      name,
      description,
      emoji,
      source,
      agent,
      events: [...events],
      file,
      status: state.status,
      reason: state.status === "ready" ? null : state.reason,
      enabled: state.status !== "disabled",
      eligible,
      counts: hookCounts === null ? null : { ...none, ...counts },
      notes: [...notes],
    };
  }

  async function named(name: string): Promise<Hook> {
    const { hooks, refused } = await registry.survey();
    const wanted = skillId(name.trim());
    const found = hooks.find((hook) => skillId(hook.name) === wanted || skillId(hook.key) === wanted);
    if (found !== undefined) return found;
    const near = refused.filter(({ file }) => file.toLowerCase().includes(`/${wanted}/`));
    const why = near.map(({ file, reason }) => `\n${file} is refused: ${reason}`).join("");
    throw new Fault("missing", `there is no hook "${name}". \`parley hooks list\` shows them.${why}`);
  }

  /** Under the key that the config has for it already, if any. */
  function entryKey({ name, key }: Hook): string {
    const known = Object.keys(configNow().hooks.internal.entries);
    const ids = [name, key].map(skillId);
    return known.find((each) => ids.includes(skillId(each))) ?? name;
  }

  async function switched(hook: Hook, enabled: boolean): Promise<MethodResult<"config.set">> {
    if (hook.source === "config")
      throw new Fault("invalid", `${hook.name} is a line of hooks.internal.handlers: change it there`);
    const at = ["hooks", "internal", "entries", entryKey(hook)];
    const pin = enabled ? await registry.pinOf(hook) : null;
    if (enabled && hook.source === "workspace" && pin === null)
      throw new Fault(
        "invalid",
        `the folder of ${hook.file} holds links, or more than a hook has: nothing says what would run`,
      );
    return setConfig({
      changes: [
        { path: [...at, "enabled"], value: enabled },
        ...(pin === null ? [] : [{ path: [...at, "sha256"], value: pin }]),
      ],
    });
  }

  return {
    async "hooks.list"(_params: MethodParams<"hooks.list">): Promise<MethodResult<"hooks.list">> {
      const { enabled, roots, hooks, shadowed, refused } = await registry.survey();
      return {
        enabled,
        roots: roots.map(({ source, path }) => ({ source, path })),
        hooks: hooks.map(shown),
        shadowed: [...shadowed],
        rejected: [...refused],
      };
    },
    async "hooks.info"({ name }: MethodParams<"hooks.info">): Promise<MethodResult<"hooks.info">> {
      const hook = await named(name);
      const { key, homepage, handler, exportName, always, requires } = hook;
      return {
        ...shown(hook),
        key,
        homepage,
        handler,
        export: exportName,
        always,
        requirements: requires.map((need) => ({ ...need })),
      };
    },
    "hooks.enable": async ({ name }: MethodParams<"hooks.enable">): Promise<MethodResult<"hooks.enable">> =>
      switched(await named(name), true),
    "hooks.disable": async ({
      name,
    }: MethodParams<"hooks.disable">): Promise<MethodResult<"hooks.disable">> =>
      switched(await named(name), false),
  };
}
