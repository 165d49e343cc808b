// What one turn runs with: the agent's model, tools and workspace, and the prompt compiled from the facts of this moment (turn-facts.ts).
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bootstrapFiles, compile, promptBudget, promptSections, type BootstrapHook, type CompiledPrompt } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { AgentConfig, Config } from "@parley/config";
import { withFallbacks, type Cooldowns, type Model, type Models } from "@parley/models";
import { accountKey, Fault, type Clock, type Ids, type Log } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { Tool } from "@parley/tools";
import type { Place, PlaceRules } from "../inbound/place-rules.ts";
import type { TurnSetup } from "./agent-turn.ts";
import { turnFacts } from "./turn-facts.ts";

export interface SetUpOptions {
  readonly config: Config;
  readonly models: Models;
  readonly cooldowns: Cooldowns;
  readonly tools: readonly Tool[];
  readonly channel: (account: string) => Channel | null;
  /** What the config says of a shared place; null for accounts that it does not have. */
  readonly rules: (place: Place) => Pick<PlaceRules, "tools" | "skills" | "systemPrompt"> | null;
  readonly hooks: readonly BootstrapHook[];
  /** The user's login shell, for the runtime line. */
  readonly shell: string | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface SetUpRequest extends Place {
  readonly agent: string;
  readonly session: Session;
  /** The turn's own, so that lines about its model calls name its rows. */
  readonly log?: Log;
}

export interface SetUp {
  forTurn(request: SetUpRequest): Promise<TurnSetup>;
  /** The prompt that a turn in this session would get now. */
  prompt(request: SetUpRequest): Promise<CompiledPrompt>;
}

export function setUp(options: SetUpOptions): SetUp {
  const { config, log } = options;
  const { defaults } = config.agents;
  const caps = { fileChars: defaults.bootstrapMaxChars, totalChars: defaults.bootstrapTotalMaxChars };
  const files = bootstrapFiles({ caps, hooks: options.hooks, log });

  function agentOf(id: string): AgentConfig {
    const found = config.agents.list.find((agent) => agent.id === id);
    if (found === undefined) throw new Fault("missing", `there is no agent "${id}" in agents.list any more`);
    return found;
  }

  async function modelOf(agent: AgentConfig, log = options.log): Promise<Model> {
    const [primary, ...fallbacks] = await Promise.all([agent.model.primary, ...agent.model.fallbacks].map((id) => options.models.get(id)));
    if (primary === undefined) throw new Fault("invalid", `agent "${agent.id}" has no model`);
    const { clock, ids, cooldowns } = options;
    return withFallbacks([primary, ...fallbacks], { clock, ids, log, cooldowns });
  }

  function rulesOf(place: Place): Pick<PlaceRules, "tools" | "skills" | "systemPrompt"> {
    return (place.address.kind === "dm" ? null : options.rules(place)) ?? {};
  }

  /** Those of the agent that its place leaves it. */
  function toolsAt(place: Place): readonly Tool[] {
    const { tools: allowed } = rulesOf(place);
    return allowed === undefined ? options.tools : options.tools.filter((tool) => allowed.includes(tool.name));
  }

  async function compiled(request: SetUpRequest, agent: AgentConfig, model: Model): Promise<CompiledPrompt> {
    const { session, address } = request;
    const audience = address.kind === "dm" ? "private" : "shared";
    const snapshot = await files.load({
      workspace: agent.workspace,
      mode: "full",
      audience,
      heartbeats: false,
      agent: agent.id,
      session: session.key,
    });
    const facts = turnFacts({
      config,
      agent,
      model,
      audience,
      tools: toolsAt(request),
      files: snapshot,
      session,
      address,
      channel: options.channel(accountKey(address)),
      placeText: rulesOf(request).systemPrompt,
      shell: options.shell,
    });
    return compile(promptSections, facts, promptBudget(model.contextWindow));
  }

  return {
    async forTurn(request) {
      const agent = agentOf(request.agent);
      const model = await modelOf(agent, request.log);
      const prompt = await compiled(request, agent, model);
      log.debug(
        { session: request.session.key, prompt: prompt.hash, stable: prompt.stableHash, chars: prompt.text.length },
        "prompt compiled",
      );
      return {
        model,
        system: { stable: prompt.stable, volatile: prompt.volatile },
        tools: toolsAt(request),
        workspace: agent.workspace,
        thinking: "off",
        timeoutMs: defaults.timeoutSeconds * 1000,
        spill: (callId, text) => spill(agent.workspace, callId, text),
      };
    },
    async prompt(request) {
      const agent = agentOf(request.agent);
      return compiled(request, agent, await modelOf(agent));
    },
  };
}

/** Call ids are made by models and providers, so only their harmless characters become part of a file's name. */
async function spill(workspace: string, callId: string, text: string): Promise<string> {
  const name = `${callId.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)}.txt`;
  const folder = join(workspace, ".parley", "results");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), text);
  return join(".parley", "results", name);
}
