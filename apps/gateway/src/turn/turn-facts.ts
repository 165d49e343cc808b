// What the prompt of one turn may know, gathered from config, place, session and machine: a line per fact. It reads nothing itself; the
// stable half must not look at the surface (I12), so it is handed no address, no channel and no session.
import { arch, hostname, platform } from "node:os";
import {
  builtInOverlay,
  promptFacts,
  type Audience,
  type BootstrapSnapshot,
  type ChannelFacts,
  type PromptFacts,
  type StableInput,
  type SurfaceFacts,
} from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { AgentConfig, Config } from "@parley/config";
import type { Model } from "@parley/models";
import type { Address } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { Tool } from "@parley/tools";
import { version } from "../version.ts";

export interface StableSources {
  readonly config: Config;
  readonly agent: AgentConfig;
  readonly model: Model;
  readonly audience: Audience;
  /** The effective ones, after policy. */
  readonly tools: readonly Tool[];
  readonly files: BootstrapSnapshot;
}

export interface SurfaceSources extends StableSources {
  readonly session: Session;
  readonly address: Address;
  readonly channel: Channel | null;
  /** The configured text of a shared place. */
  readonly placeText: string | undefined;
  readonly shell: string | undefined;
}

export function turnFacts(sources: SurfaceSources): PromptFacts {
  return promptFacts(stableFacts(sources), surfaceFacts(sources));
}

function stableFacts({ config, agent, model, audience, tools, files }: StableSources): StableInput {
  const { defaults } = config.agents;
  const family = familyOf(model);
  return {
    version,
    agent: agent.id,
    mode: "full",
    audience,
    modelFamily: family,
    provider: builtInOverlay(family),
    tools,
    skills: [],
    citations: "auto",
    modelAliases: [],
    workspace: agent.workspace,
    files,
    warnTruncation: defaults.bootstrapPromptTruncationWarning === "always",
    owners: config.commands.ownerAllowFrom,
    timeZone: defaults.userTimezone,
  };
}

function surfaceFacts({ agent, model, session, address, channel, placeText, shell }: SurfaceSources): SurfaceFacts {
  return {
    session: session.key,
    channel: channel === null ? undefined : channelFacts(address, channel),
    context: placeText,
    reactions: "off",
    contextTellsSilence: false,
    reasoningTags: false,
    reasoning: "off",
    thinking: "off",
    host: hostname(),
    os: platform(),
    arch: arch(),
    node: process.version,
    shell,
    model: model.id,
    defaultModel: agent.model.primary,
  };
}

function channelFacts(address: Address, { name, capabilities, actions = [] }: Channel): ChannelFacts {
  return {
    name,
    kind: address.kind,
    threaded: address.thread !== undefined,
    capabilities,
    actions,
    buttons: capabilities.inlineButtons ? "on" : "unsupported",
    approvals: "none",
  };
}

/** A model's id without its provider. */
function familyOf({ id }: Model): string {
  return id.slice(id.indexOf("/") + 1);
}
