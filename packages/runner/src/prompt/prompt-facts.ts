// What the prompt of one turn may know, gathered from config, place, session and machine: a line per fact. It reads nothing itself; the
// stable half must not look at the surface (I12), so it is handed no address, no channel and no session.
import { arch, hostname, platform } from "node:os";
import {
  builtInOverlay,
  hashedIds,
  promptFacts,
  type Audience,
  type BootstrapSnapshot,
  type DocumentationFacts,
  type PromptFacts,
  type PromptMode,
  type SandboxFacts,
  type SkillListing,
  type StableInput,
  type SurfaceFacts,
} from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import type { Model } from "@parley/models";
import { type Address, type ReasoningLevel, type ThinkingLevel, version } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { ExecPolicy, Tool } from "@parley/tools";
import { channelFacts, reactionLevel, type Surface } from "./channel-facts.ts";

/** What is the same for every turn of this installation. */
export interface InstallationFacts {
  readonly docs?: DocumentationFacts | undefined;
  /** The program by which a command on this machine reaches the daemon. */
  readonly cli?: string | undefined;
  /** Folder of the default workspace files. */
  readonly templates?: string;
  /** Key of the codes that stand for owner ids under `commands.ownerDisplay: "hash"`. */
  readonly ownerKey?: string;
  /** The user's login shell. */
  readonly shell?: string | undefined;
}

/** The prompt names the docs, so the read tool opens them. */
export function docsRoots({ docs }: InstallationFacts): readonly string[] {
  return docs === undefined ? [] : [docs.path];
}

interface StableSources {
  readonly config: Config;
  readonly house: InstallationFacts;
  readonly agent: AgentConfig;
  readonly mode: PromptMode;
  readonly model: Model;
  readonly audience: Audience;
  /** The effective ones, after policy. */
  readonly tools: readonly Tool[];
  /** Where commands run; undefined: on the host. */
  readonly sandbox: SandboxFacts | undefined;
  readonly files: BootstrapSnapshot;
  /** Those that the agent may use here, within their budget. */
  readonly skills: SkillListing;
  /** Configured, or paired. */
  readonly owners: readonly string[];
}

export interface SurfaceSources extends StableSources {
  readonly session: Session;
  /** Null for turns without a conversation. */
  readonly address: Address | null;
  readonly surface: Surface | null;
  /** The configured text of a shared place. */
  readonly placeText: string | undefined;
  readonly execPolicy: Pick<ExecPolicy, "mode" | "ask">;
  readonly repo: string | undefined;
  readonly thinking: ThinkingLevel;
  readonly reasoning: ReasoningLevel;
}

export function turnFacts(sources: SurfaceSources): PromptFacts {
  return promptFacts(stableFacts(sources), surfaceFacts(sources));
}

/** Heartbeats are explained, and HEARTBEAT.md is read, only where they are sent. */
export function tellsHeartbeats({ agents }: Config): boolean {
  const { every, includeSystemPromptSection } = agents.defaults.heartbeat;
  return includeSystemPromptSection && Number.parseInt(every, 10) > 0;
}

/** A model without a channel for its reasoning, told to think, thinks in tags. */
export function needsReasoningTags({ model, thinking }: Pick<SurfaceSources, "model" | "thinking">): boolean {
  return thinking !== "off" && !model.reasoning;
}

function stableFacts({
  config,
  house,
  agent,
  mode,
  model,
  audience,
  tools,
  sandbox,
  files,
  skills,
  owners,
}: StableSources): StableInput {
  return {
    version,
    agent: agent.id,
    mode,
    audience,
    modelFamily: familyOf(model),
    provider: builtInOverlay(model.id),
    tools,
    skills: skills.facts,
    skillsNote: skills.note,
    citations: config.memory.citations,
    modelAliases: aliases(config),
    workspace: agent.workspace,
    files,
    warnTruncation: config.agents.defaults.bootstrapPromptTruncationWarning === "always",
    docs: house.docs,
    sandbox,
    cli: house.cli,
    owners: shownOwners(owners, config, house),
    timeZone: config.agents.defaults.userTimezone,
  };
}

function surfaceFacts(sources: SurfaceSources): SurfaceFacts {
  const {
    config,
    house,
    agent,
    model,
    tools,
    session,
    address,
    surface,
    placeText,
    repo,
    thinking,
    reasoning,
  } = sources;
  return {
    session: session.key,
    approvals: asksPeople(sources.execPolicy),
    channel: address === null || surface === null ? undefined : channelFacts(config, address, surface),
    // A place's text is for those who talk there; what a subagent is for, nobody hands over yet.
    context: sources.mode === "full" ? placeText : undefined,
    reactions: address === null ? "off" : reactionLevel(config, address, tools),
    silence: silenceAt(address, config),
    contextTellsSilence: placeText !== undefined && /\bNO_REPLY\b/iu.test(placeText),
    heartbeatPrompt: tellsHeartbeats(config) ? config.agents.defaults.heartbeat.prompt : undefined,
    reasoningTags: needsReasoningTags(sources),
    reasoning,
    thinking,
    host: hostname(),
    repo: sources.sandbox === undefined ? repo : undefined,
    os: platform(),
    arch: arch(),
    node: process.version,
    shell: house.shell,
    model: model.id,
    defaultModel: agent.model.primary,
  };
}

/** Whoever writes in private waits for words; a webhook's caller hears none, and a session without a conversation has nobody to answer. */
function silenceAt(address: Address | null, { agents }: Config): SurfaceFacts["silence"] {
  if (address === null || address.channel === "hook") return "free";
  if (address.kind === "dm") return "none";
  return agents.defaults.silentReply.group === "allow" ? "free" : "unasked";
}

/** In an order of their own: moving lines in the config must not move the prompt. */
function aliases({ agents }: Config): StableInput["modelAliases"] {
  const named = Object.entries(agents.defaults.models).flatMap(([model, { alias }]) =>
    alias === undefined ? [] : [{ alias, model }],
  );
  return named.toSorted((a, b) => (a.alias < b.alias ? -1 : 1));
}

/** Without a key nobody is shown, rather than everybody in clear. */
function shownOwners(
  owners: readonly string[],
  { commands }: Config,
  { ownerKey }: InstallationFacts,
): readonly string[] {
  const ids = owners.toSorted();
  if (commands.ownerDisplay === "raw") return ids;
  return ownerKey === undefined ? [] : hashedIds(ids, ownerKey);
}

/** With `ask: "off"` what is not allowed is refused, with `mode: "full"` everything runs. */
function asksPeople({ mode, ask }: Pick<ExecPolicy, "mode" | "ask">): boolean {
  return mode !== "deny" && (ask === "always" || (ask === "on-miss" && mode === "allowlist"));
}

/** A model's id without its provider. */
function familyOf({ id }: Model): string {
  return id.slice(id.indexOf("/") + 1);
}
