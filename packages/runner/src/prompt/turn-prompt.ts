// Builds the prompt of a turn for each of its models: gathers once what is the same for all of them, and
// compiles the rest for each.
import {
  bootstrapFiles,
  compile,
  explain,
  promptBudget,
  promptSections,
  type BootstrapSnapshot,
  type CompiledPrompt,
  type PromptExplanation,
  type PromptFacts,
  type PromptMode,
} from "@parley/agent";
import type { AgentConfig } from "@parley/config";
import type { Model } from "@parley/models";
import { accountKey, parseSessionKey, type ReasoningLevel } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { PlaceRules, Speakers, Place } from "@parley/access";
import type { OwnRequest } from "../models/asked-models.ts";
import type { Surface } from "./channel-facts.ts";
import type { Wanted } from "../models/directives.ts";
import { repoRoots } from "./repo-root.ts";
import { markedLines } from "../memory/untrusted-lines.ts";
import type { SkillsHere } from "../skills/skill-registry.ts";
import { reasoningOf, thinkingOf } from "../models/thinking.ts";
import type { ToolsHere } from "../tools/tools-here.ts";
import type { Services } from "../turn-scope.ts";
import { needsReasoningTags, tellsHeartbeats, turnFacts } from "./prompt-facts.ts";

/**
 * A command line without a running gateway has these too, with what is known of channels that it did not
 * open.
 */
export type PromptNeeds = Pick<
  Services,
  | "config"
  | "tools"
  | "speakers"
  | "owners"
  | "rules"
  | "hooks"
  | "installation"
  | "skills"
  | "origins"
  | "speech"
  | "cells"
  | "log"
> & { readonly channel: (account: string) => Surface | null };

export interface Asking {
  readonly agent: AgentConfig;
  readonly session: Session;
  readonly place: Place | null;
  /** Directives of the turn's messages so far. */
  readonly wanted: () => Wanted;
  /** The messages' authors; absent means everyone who writes there. */
  readonly by?: Speakers | undefined;
  /** No conversation sees the answer. */
  readonly unseen?: boolean | undefined;
  /** Without the workspace's files, or with HEARTBEAT.md alone. */
  readonly light?: boolean | "heartbeat" | undefined;
}

/** The part that is the same for every model. */
export interface Situation {
  readonly speakers: Speakers;
  readonly files: BootstrapSnapshot;
  readonly skills: SkillsHere;
  readonly reasoning: ReasoningLevel;
  /** `within`: the tools that it may have at most; absent: all. */
  for(model: Model, within?: (tool: string) => boolean): Promise<ModelPrompt>;
}

export interface ModelPrompt extends OwnRequest {
  readonly compiled: CompiledPrompt;
  readonly explanation: PromptExplanation;
  readonly facts: PromptFacts;
  readonly here: ToolsHere;
  /** True when the model was told to answer inside `<final>`. */
  readonly finalOnly: boolean;
}

export function promptFor(services: PromptNeeds): (asking: Asking) => Promise<Situation> {
  const { config } = services;
  const { defaults } = config.agents;
  const caps = { fileChars: defaults.bootstrapMaxChars, totalChars: defaults.bootstrapTotalMaxChars };
  const files = bootstrapFiles({
    caps,
    templates: services.installation.templates,
    hooks: services.hooks,
    log: services.log,
  });
  const repoRootOf = repoRoots();

  return async ({ agent, session, place, wanted, by, unseen = false, light = false }) => {
    const { kind } = parseSessionKey(session.key);
    const mode: PromptMode = kind === "subagent" ? "minimal" : "full";
    const isShared = place === null ? kind === "group" || kind === "channel" : place.address.kind !== "dm";
    const audience = isShared ? "shared" : "private";
    const rules: Partial<PlaceRules> =
      (place === null || place.address.kind === "dm" ? null : services.rules(place)) ?? {};
    const originOf = await services.origins?.of(agent.workspace);
    const [snapshot, skills, speakers, owners] = await Promise.all([
      files.load({
        workspace: agent.workspace,
        mode: light === true ? "none" : mode,
        audience,
        heartbeats: tellsHeartbeats(agent),
        ...(light === "heartbeat" ? { only: "HEARTBEAT.md" as const } : {}),
        agent: agent.id,
        session: session.key,
        ...(originOf === undefined ? {} : { originOf }),
        marked: (name, text) => markedLines(services.cells, agent.workspace, name, text),
      }),
      services.skills.at(agent, rules.skills),
      by ?? (place === null ? nobody : services.speakers(place)),
      services.owners(),
    ]);
    const reasoning = reasoningOf({ agent, session }, wanted());
    return {
      speakers,
      files: snapshot,
      skills,
      reasoning,
      async for(model, within) {
        const all = await services.tools.at({
          agent,
          session: session.key,
          places: rules.tools ?? [],
          by: speakers,
          model,
        });
        const tools = all.tools.filter(({ name }) => within?.(name) ?? true);
        const here: ToolsHere = { ...all, tools };
        const thinking = thinkingOf({ config, agent, session, model }, wanted());
        const facts = turnFacts({
          config,
          installation: services.installation,
          agent,
          mode,
          model,
          audience,
          tools,
          sandbox: here.sandbox,
          files: snapshot,
          skills: skills.listing,
          owners,
          execPolicy: here.execPolicy,
          session,
          address: place?.address ?? null,
          surface: place === null || unseen ? null : services.channel(accountKey(place.address)),
          speech: services.speech,
          placeText: rules.systemPrompt,
          repo: defaults.repoRoot ?? repoRootOf(agent.workspace),
          thinking,
          reasoning,
        });
        const compiled = compile(promptSections, facts, promptBudget(model.contextWindow));
        const schemas = tools
          .filter(({ deferred }) => deferred !== true)
          .map(({ name, description, parameters }) => ({ name, description, parameters }));
        return {
          model,
          here,
          tools,
          facts,
          compiled,
          explanation: explain(compiled, schemas),
          // Providers insert the blank line between the zones or send two blocks, so the model sees
          // `compiled.text` either way.
          system: { stable: compiled.stable, volatile: compiled.volatile.replace(/^\n\n/, "") },
          thinking: () => thinkingOf({ config, agent, session, model }, wanted()),
          finalOnly: needsReasoningTags({ model, thinking }),
        };
      },
    };
  };
}

const nobody: Speakers = { owner: false, senders: [] };
