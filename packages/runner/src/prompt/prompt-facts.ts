// Gathers the facts for one turn's prompt from config, place, session and machine, one fact a line. It reads
// no files itself. The stable half must not depend on the channel (I12), so it gets no address, channel or
// session.
import { arch, hostname, platform } from "node:os";
import {
  builtInOverlay,
  hashedIds,
  promptFacts,
  type Audience,
  type BootstrapSnapshot,
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
import type { ExecPolicy, Speech, Tool } from "@parley/tools";
import { speechHint } from "../speech/speech-mode.ts";
import { announceSkip } from "../sessions/asked-rows.ts";
import { depthOf, worksInThread } from "../sessions/child-registry.ts";
import type { InstallationFacts } from "../installation-facts.ts";
import { channelFacts, reactionLevel, type Surface } from "./channel-facts.ts";

interface StableSources {
  readonly config: Config;
  readonly installation: InstallationFacts;
  readonly agent: AgentConfig;
  readonly mode: PromptMode;
  readonly model: Model;
  readonly audience: Audience;
  /** The effective tools, after policy. */
  readonly tools: readonly Tool[];
  /** Where commands run; undefined means on the host. */
  readonly sandbox: SandboxFacts | undefined;
  readonly files: BootstrapSnapshot;
  /** Skills that the agent may use here, within their budget. */
  readonly skills: SkillListing;
  /** Owners that the config names or that paired. */
  readonly owners: readonly string[];
}

export interface SurfaceSources extends StableSources {
  readonly session: Session;
  /** Null for turns without a conversation. */
  readonly address: Address | null;
  readonly surface: Surface | null;
  /** Absent: nothing is spoken. */
  readonly speech: Speech | undefined;
  /** The config's text for a shared place. */
  readonly placeText: string | undefined;
  readonly execPolicy: Pick<ExecPolicy, "mode" | "ask">;
  readonly repo: string | undefined;
  readonly thinking: ThinkingLevel;
  readonly reasoning: ReasoningLevel;
}

export function turnFacts(sources: SurfaceSources): PromptFacts {
  return promptFacts(stableFacts(sources), surfaceFacts(sources));
}

/** The prompt explains heartbeats and reads HEARTBEAT.md only where they are sent. */
export function tellsHeartbeats({ heartbeat }: Pick<AgentConfig, "heartbeat">): boolean {
  const { every, includeSystemPromptSection } = heartbeat;
  return includeSystemPromptSection && Number.parseInt(every, 10) > 0;
}

/** A model without a separate reasoning stream thinks in tags when it is told to think. */
export function needsReasoningTags({ model, thinking }: Pick<SurfaceSources, "model" | "thinking">): boolean {
  return thinking !== "off" && !model.reasoning;
}

function stableFacts({
  config,
  installation,
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
    docs: installation.docs,
    sandbox,
    cli: installation.cli,
    owners: shownOwners(owners, config, installation),
    timeZone: config.agents.defaults.userTimezone,
  };
}

function surfaceFacts(sources: SurfaceSources): SurfaceFacts {
  const {
    config,
    installation,
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
    // A shared place's text is for those who talk there.
    context: sources.mode === "full" ? placeText : subagentContext(session.key, tools),
    ttsHint: speechHint(sources),
    reactions: address === null ? "off" : reactionLevel(config, address, tools),
    silence: silenceAt(address, config),
    contextTellsSilence: placeText !== undefined && /\bNO_REPLY\b/iu.test(placeText),
    heartbeatPrompt: tellsHeartbeats(agent) ? agent.heartbeat.prompt : undefined,
    reasoningTags: needsReasoningTags(sources),
    reasoning,
    thinking,
    host: hostname(),
    repo: sources.sandbox === undefined ? repo : undefined,
    os: platform(),
    arch: arch(),
    node: process.version,
    shell: installation.shell,
    model: model.id,
    defaultModel: agent.model.primary,
  };
}

/**
 * A person in private waits for words. A webhook's caller gets none, and a session without a conversation has
 * nobody to answer.
 */
function silenceAt(address: Address | null, { agents }: Config): SurfaceFacts["silence"] {
  if (address === null || address.channel === "hook") return "free";
  if (address.kind === "dm") return "none";
  return agents.defaults.silentReply.group === "allow" ? "free" : "unasked";
}

/** Sorted, so that reordering lines in the config does not change the prompt. */
function aliases({ agents }: Config): StableInput["modelAliases"] {
  const named = Object.entries(agents.defaults.models).flatMap(([model, { alias }]) =>
    alias === undefined ? [] : [{ alias, model }],
  );
  return named.toSorted((a, b) => (a.alias < b.alias ? -1 : 1));
}

/** Without a key no owner is shown, rather than all of them in clear text. */
function shownOwners(
  owners: readonly string[],
  { commands }: Config,
  { ownerKey }: InstallationFacts,
): readonly string[] {
  const ids = owners.toSorted();
  if (commands.ownerDisplay === "raw") return ids;
  return ownerKey === undefined ? [] : hashedIds(ids, ownerKey);
}

/** With `ask: "off"` what is not allowed is refused, and with `mode: "full"` everything runs. */
function asksPeople({ mode, ask }: Pick<ExecPolicy, "mode" | "ask">): boolean {
  return mode !== "deny" && (ask === "always" || (ask === "on-miss" && mode === "allowlist"));
}

/** A model's id without its provider. */
function familyOf({ id }: Model): string {
  return id.slice(id.indexOf("/") + 1);
}

/** Tells a sub-agent what it is; its task is its first message. */
function subagentContext(session: string, tools: readonly Tool[]): string {
  const has = (name: string): boolean => tools.some((tool) => tool.name === name);
  const result = worksInThread(session)
    ? [
        "You work in a thread of your own. Do that task; your last message is the result: people see it in the thread and that session is told it by itself, so make it whole, short and true, and say what you could not do.",
        "People may write to you in the thread: answer them there.",
      ]
    : [
        "Do that task and nothing else. Your last message is the result: it goes to that session by itself and to nobody else, so make it whole, short and true, and say what you could not do.",
        `If nothing need be told, answer with ${announceSkip} alone.`,
      ];
  return [
    `You are a sub-agent, ${depthOf(session)} deep: another session gave you a task and waits for its result.`,
    ...result,
    ...(has("sessions_spawn")
      ? ["You may spawn sub-agents of your own for parts of it; their results come to you by themselves."]
      : []),
  ].join("\n");
}
