// Decides which tools a turn has, by a chain of steps that can each only remove tools; in each, deny wins
// over allow. A pure function: it explains each removed tool by step and rule, and says why a result is empty
// before a model is asked.
import { catalogue, type CatalogueEntry } from "./catalogue.ts";
import type { ToolProfile } from "./tool-listing.ts";

/**
 * Names, groups ("group:fs") and patterns ("web_*"), in any case. `allow` absent: no limit; empty: nothing.
 */
export interface ToolRules {
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

interface ToolPolicy extends ToolRules {
  readonly profile?: ToolProfile | undefined;
  /** Added to what the profile has; it never reaches past a later step. */
  readonly alsoAllow?: readonly string[] | undefined;
}

/** By "PROVIDER/MODEL" or "PROVIDER"; the more exact one counts. */
interface ProviderPolicies {
  readonly [provider: string]: ToolPolicy;
}

export interface PolicyInput {
  readonly global: ToolPolicy & { readonly byProvider?: ProviderPolicies | undefined };
  readonly agent: ToolPolicy & { readonly byProvider?: ProviderPolicies | undefined };
  /** "PROVIDER/MODEL". */
  readonly model: string;
  /** Rules of the place, outermost first: channel, guild or group, thread. Each narrows. */
  readonly places: readonly { readonly name: string; readonly rules: ToolRules }[];
  /** Rules that name the senders. Each narrows. */
  readonly senders?: readonly ToolRules[] | undefined;
  /** Absent: not sandboxed. */
  readonly sandbox?: ToolRules | undefined;
  /** Absent: not a sub-agent. */
  readonly subagent?: ToolRules | undefined;
}

export interface PolicyStep {
  readonly step: string;
  /** The key in the config that the rules come from. */
  readonly key: string;
  readonly rules: ToolRules;
}

interface Removal {
  readonly tool: string;
  readonly step: string;
  readonly rule: string;
}

export interface PolicyDecision {
  readonly tools: readonly string[];
  readonly removed: readonly Removal[];
  /** Set when nothing is left although something was there. */
  readonly reason?: string;
}

const aliases: { readonly [name: string]: string } = {
  bash: "exec",
  "apply-patch": "apply_patch",
  "group:openclaw": "group:parley",
  "group:plugins": "group:mcp",
};

/** The whole chain in its order. Steps without rules are left out. */
export function policySteps(input: PolicyInput): readonly PolicyStep[] {
  const { global, agent, model } = input;
  const profile = agent.profile ?? global.profile ?? "full";
  const also = [...(global.alsoAllow ?? []), ...(agent.alsoAllow ?? [])];
  const globalProvider = ofProvider(global.byProvider, model);
  const agentProvider = ofProvider(agent.byProvider, model);
  const provided = agentProvider?.policy.profile ?? globalProvider?.policy.profile;
  const providedAlso = [
    ...(globalProvider?.policy.alsoAllow ?? []),
    ...(agentProvider?.policy.alsoAllow ?? []),
  ];
  const own = agent.profile === undefined ? "tools.profile" : "the agent's tools.profile";
  const steps: readonly (PolicyStep | null)[] = [
    { step: "profile", key: own, rules: profileRules(profile, also) },
    provided === undefined
      ? null
      : { step: "provider profile", key: "tools.byProvider", rules: profileRules(provided, providedAlso) },
    { step: "global", key: "tools", rules: global },
    globalProvider === null
      ? null
      : {
          step: "global provider",
          key: `tools.byProvider.${globalProvider.name}`,
          rules: globalProvider.policy,
        },
    { step: "agent", key: "the agent's tools", rules: agent },
    agentProvider === null
      ? null
      : {
          step: "agent provider",
          key: `the agent's tools.byProvider.${agentProvider.name}`,
          rules: agentProvider.policy,
        },
    ...input.places.map(({ name, rules }) => ({ step: "place", key: name, rules })),
    ...(input.senders ?? []).map((rules) => ({ step: "sender", key: "tools.toolsBySender", rules })),
    input.sandbox === undefined
      ? null
      : { step: "sandbox", key: "tools.sandbox.tools", rules: input.sandbox },
    input.subagent === undefined
      ? null
      : { step: "subagent", key: "tools.subagents.tools", rules: input.subagent },
  ];
  return steps.filter(
    (step) => step !== null && (step.rules.allow !== undefined || step.rules.deny !== undefined),
  ) as readonly PolicyStep[];
}

/** Returns the tools that the chain leaves. */
export function applyPolicy(tools: readonly string[], steps: readonly PolicyStep[]): PolicyDecision {
  const removed: Removal[] = [];
  let left = [...tools];
  for (const { step, key, rules } of steps) {
    left = left.filter((tool) => {
      const rule = against(tool, rules);
      if (rule !== null) removed.push({ tool, step, rule: `${key} ${rule}` });
      return rule === null;
    });
  }
  if (left.length > 0 || tools.length === 0) return { tools: left, removed };
  const last = removed.at(-1);
  return {
    tools: left,
    removed,
    reason: `no tool is left: the last, ${last?.tool}, was taken away by ${last?.rule}`,
  };
}

/** Patterns that name no tool of the catalogue and none of `tools`: likely misspelt. */
export function unknownPatterns(
  rules: ToolRules,
  tools: readonly string[] = [],
  servers: readonly string[] = [],
): readonly string[] {
  const known = [...catalogue.map(({ id }) => id), ...tools];
  return [...(rules.allow ?? []), ...(rules.deny ?? [])].filter(
    (pattern) =>
      !known.some((tool) => names(pattern, tool)) &&
      // The group is there also while no server is.
      groupIn(pattern) !== remoteGroup &&
      // Which tools a server has is known when it was listed; that there is such a server is known here.
      !servers.some(
        (server) => names(pattern.split("__")[0] ?? "", server) || names(pattern, `${server}__x`),
      ),
  );
}

/** True where one of these names, groups and patterns means the tool. */
export function allows(patterns: readonly string[], tool: string): boolean {
  return against(tool, { allow: patterns }) === null;
}

/** Returns why the tool goes: the denying pattern, or that no pattern allows it; null when it stays. */
function against(tool: string, { allow, deny }: ToolRules): string | null {
  const denied = deny?.find((pattern) => names(pattern, tool));
  if (denied !== undefined) return `denies "${denied}"`;
  if (allow === undefined || allow.some((pattern) => names(pattern, tool))) return null;
  // Whoever may write any file may also write it by a patch; to forbid writing says nothing of patches.
  if (sameName(tool, "apply_patch") && allow.some((pattern) => names(pattern, "write"))) return null;
  return "does not allow it";
}

/** Matches a wildcard or a plain name; case does not count. */
function names(pattern: string, tool: string): boolean {
  const group = groupIn(pattern);
  if (group !== null) return inGroup(group, tool);
  const wanted = wordIn(pattern);
  if (!wanted.includes("*")) return sameName(wanted, tool);
  const parts = wanted.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(tool.toLowerCase());
}

function groupIn(pattern: string): string | null {
  const word = wordIn(pattern);
  return word.startsWith("group:") ? word.slice("group:".length) : null;
}

function wordIn(pattern: string): string {
  const lower = pattern.trim().toLowerCase();
  return Object.hasOwn(aliases, lower) ? (aliases[lower] ?? lower) : lower;
}

/** True for a tool of another program, `<server>__<tool>`: no tool of ours has "__" in its name. */
export function isRemote(tool: string): boolean {
  return tool.includes("__");
}

const remoteGroup = "mcp";

function inGroup(group: string, tool: string): boolean {
  if (isRemote(tool)) return group === remoteGroup;
  const found = catalogue.find(({ id }) => sameName(id, tool));
  return found !== undefined && groupsOf(found).includes(group);
}

export function groupsOf({ section, own }: CatalogueEntry): readonly string[] {
  return own ? [section, "parley"] : [section];
}

function profileRules(profile: ToolProfile, also: readonly string[]): ToolRules {
  if (profile === "full") return {};
  const named = catalogue.filter(({ profiles }) => profiles.includes(profile)).map(({ id }) => id);
  // The operator added the servers on purpose; only the least profile leaves them out.
  const remote = profile === "minimal" ? [] : [`group:${remoteGroup}`];
  return { allow: [...named, ...remote, ...also] };
}

function ofProvider(
  policies: ProviderPolicies | undefined,
  model: string,
): { readonly name: string; readonly policy: ToolPolicy } | null {
  const [provider = ""] = model.split("/");
  for (const name of [model, provider]) {
    const key = Object.keys(policies ?? {}).find((each) => each.toLowerCase() === name.toLowerCase());
    const policy = key === undefined ? undefined : policies?.[key];
    if (key !== undefined && policy !== undefined) return { name: key, policy };
  }
  return null;
}

function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
