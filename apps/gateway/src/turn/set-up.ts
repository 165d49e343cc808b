// What one turn runs with: the agent's model, tools and workspace, and the prompt compiled from the facts of this moment (turn-facts.ts).
// Watches I12: when the stable zone of a session moved since its last turn, the log says which section moved it.
import {
  bootstrapFiles,
  compile,
  diff,
  explain,
  promptBudget,
  promptSections,
  warnOnce,
  type BootstrapHook,
  type BootstrapSnapshot,
  type CompiledPrompt,
  type PromptExplanation,
  type PromptFacts,
  type PromptMode,
} from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import { withFallbacks, type Cooldowns, type Model, type Models } from "@parley/models";
import { accountKey, Fault, parseSessionKey, type Clock, type Ids, type Log, type ReasoningLevel, type SessionKey } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { PolicyDecision } from "@parley/tools";
import type { Speakers } from "../inbound/authority.ts";
import type { Place, PlaceRules } from "../inbound/place-rules.ts";
import type { SkillCall } from "../inbound/row-payload.ts";
import type { Surface } from "./channel-facts.ts";
import { contextSettings } from "./context-settings.ts";
import type { Wanted } from "./directives.ts";
import { keepResult } from "./long-results.ts";
import { modelBook } from "./model-book.ts";
import { notesPlace } from "./notes-place.ts";
import type { OriginBook } from "./origin-book.ts";
import { startupNotes } from "./startup-memory.ts";
import { toolsHash, type PromptBook } from "./prompt-book.ts";
import { repoRoots } from "./repo-root.ts";
import { skillTurn } from "./skill-call.ts";
import type { SkillBook, SkillsHere } from "./skills.ts";
import { reasoningOf, thinkingOf, unsupportedThinking } from "./thinking.ts";
import { needsReasoningTags, tellsHeartbeats, turnFacts, type House } from "./turn-facts.ts";
import type { ToolBook, ToolsHere } from "./tool-book.ts";
import type { TurnSetup } from "./turn-setup.ts";

export interface SetUpOptions {
  readonly config: Config;
  readonly models: Models;
  readonly cooldowns: Cooldowns;
  readonly tools: ToolBook;
  /** Of a place whose next message nobody has written yet. */
  readonly speakers: (place: Place) => Promise<Speakers>;
  readonly channel: (account: string) => Surface | null;
  /** What the config says of a shared place; null for accounts that it does not have. */
  readonly rules: (place: Place) => Pick<PlaceRules, "tools" | "skills" | "systemPrompt"> | null;
  readonly hooks: readonly BootstrapHook[];
  readonly house: House;
  readonly prompts: PromptBook;
  readonly skills: SkillBook;
  /** Who wrote what enters prompts. Absent: that is not known. */
  readonly origins?: Pick<OriginBook, "of" | "added"> | undefined;
  /** Counted on for `stableMoves`. */
  readonly moves?: Map<string, number>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface SetUpRequest extends Place {
  readonly agent: string;
  readonly session: Session;
  /** Skills that the turn's messages call by command. */
  readonly called?: readonly SkillCall[];
  /** The turn's own, so that lines about its model calls name its rows. */
  readonly log?: Log;
  /** What the messages of the turn ask for. */
  readonly wanted?: Wanted;
  /** Who wrote them. Absent: whoever writes there. */
  readonly by?: Speakers;
}

/** A session may be asked for its prompt without being in a conversation. */
export interface PromptRequest {
  readonly agent: string;
  readonly session: Session;
  readonly place: Place | null;
  readonly wanted?: Wanted;
  readonly by?: Speakers;
}

export interface PromptNow {
  readonly compiled: CompiledPrompt;
  readonly explanation: PromptExplanation;
  readonly facts: PromptFacts;
  readonly model: Model;
  readonly here: ToolsHere;
}

export interface SetUp {
  forTurn(request: SetUpRequest): Promise<TurnSetup>;
  /** The prompt that a turn in this session would get now. */
  prompt(request: PromptRequest): Promise<PromptNow>;
  /** Turns since the start that found the stable zone of their session moved, by the section that moved; `tools` are the schemas. */
  stableMoves(): ReadonlyMap<string, number>;
}

interface Prepared extends PromptNow {
  readonly speakers: Speakers;
  readonly files: BootstrapSnapshot;
  readonly skills: SkillsHere;
  readonly thinking: TurnSetup["thinking"];
  readonly reasoning: ReasoningLevel;
}

const truncationField = "truncationTold";

export function setUp(options: SetUpOptions): SetUp {
  const { config, prompts } = options;
  const { defaults } = config.agents;
  const caps = { fileChars: defaults.bootstrapMaxChars, totalChars: defaults.bootstrapTotalMaxChars };
  const agentOf = agentIn(config);
  const files = bootstrapFiles({ caps, hooks: options.hooks, log: options.log });
  const repoRootOf = repoRoots();
  const book = modelBook({ config, declared: options.models.list, callable: options.models.get });
  const moves = options.moves ?? new Map<string, number>();

  async function modelOf(agent: AgentConfig, session: Session, log: Log): Promise<Model> {
    const choice = book.of(agent, session);
    const [primary, ...fallbacks] = await Promise.all([choice.primary, ...choice.fallbacks].map((id) => options.models.get(id)));
    if (primary === undefined) throw new Fault("invalid", `agent "${agent.id}" has no model`);
    const { clock, ids, cooldowns } = options;
    return withFallbacks([primary, ...fallbacks], { clock, ids, log, cooldowns });
  }

  function rulesOf(place: Place | null): Pick<PlaceRules, "tools" | "skills" | "systemPrompt"> {
    return (place === null || place.address.kind === "dm" ? null : options.rules(place)) ?? {};
  }

  async function prepared({ session, place, wanted, by, ...request }: PromptRequest, log = options.log): Promise<Prepared> {
    const agent = agentOf(request.agent);
    const { kind } = parseSessionKey(session.key);
    const mode: PromptMode = kind === "subagent" ? "minimal" : "full";
    const isShared = place === null ? kind === "group" || kind === "channel" : place.address.kind !== "dm";
    const audience = isShared ? "shared" : "private";
    const originOf = await options.origins?.of(agent.workspace);
    const [model, snapshot] = await Promise.all([
      modelOf(agent, session, log),
      files.load({
        workspace: agent.workspace,
        mode,
        audience,
        heartbeats: tellsHeartbeats(config),
        agent: agent.id,
        session: session.key,
        ...(originOf === undefined ? {} : { originOf }),
      }),
    ]);
    const speakers = by ?? (place === null ? nobody : await options.speakers(place));
    const [here, skills] = await Promise.all([
      options.tools.at({ agent, session: session.key, places: rulesOf(place).tools ?? [], by: speakers, model }),
      options.skills.at(agent, rulesOf(place).skills),
    ]);
    const { tools } = here;
    const thinking = thinkingOf({ config, agent, session, model }, wanted);
    const reasoning = reasoningOf({ agent, session }, wanted);
    const facts = turnFacts({
      config,
      house: options.house,
      agent,
      mode,
      model,
      audience,
      tools,
      sandbox: here.sandbox,
      files: snapshot,
      skills: skills.listing,
      session,
      address: place?.address ?? null,
      surface: place === null ? null : options.channel(accountKey(place.address)),
      placeText: rulesOf(place).systemPrompt,
      repo: defaults.repoRoot ?? repoRootOf(agent.workspace),
      thinking,
      reasoning,
    });
    const compiled = compile(promptSections, facts, promptBudget(model.contextWindow));
    const schemas = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
    return {
      compiled,
      explanation: explain(compiled, schemas),
      facts,
      model,
      here,
      speakers,
      files: snapshot,
      skills,
      thinking,
      reasoning,
    };
  }

  /** A move is rare and costs the whole prefix its cache, so it is worth a look at what was there before. */
  async function watchStable(session: Session, explanation: PromptExplanation, log: Log): Promise<void> {
    const last = prompts.last(session);
    if (last === null || (last.stable === explanation.stableHash && last.tools === toolsHash(explanation))) return;
    const before = await prompts.explanation(last);
    const moved = before === null ? null : diff(before, explanation);
    const sections = moved?.moves.filter(({ zone }) => zone === "stable").map(({ id }) => id) ?? ["unknown"];
    const causes = [...sections, ...(moved !== null && moved.tools.length > 0 ? ["tools"] : [])];
    for (const cause of causes) moves.set(cause, (moves.get(cause) ?? 0) + 1);
    log.info(
      { moved: causes, files: moved?.files ?? [], tools: moved?.tools ?? [], stable: explanation.stableHash, was: last.stable },
      "the stable prompt moved: this call will miss the provider's cache",
    );
  }

  return {
    async forTurn({ agent, session, called = [], wanted = {}, by, log = options.log, ...place }) {
      const ready = await prepared({ agent, session, place, wanted, ...(by === undefined ? {} : { by }) }, log);
      const { compiled, explanation, model, here, speakers, files: snapshot, skills, thinking, reasoning } = ready;
      const { tools, decision } = here;
      const skill = await skillTurn(called, skills, tools);
      log.debug(
        { session: session.key, prompt: compiled.hash, stable: compiled.stableHash, chars: compiled.text.length },
        "prompt compiled",
      );
      await watchStable(session, explanation, log);
      const ofAgent = agentOf(agent);
      const { workspace } = ofAgent;
      const told = toldIn(session);
      const notes = notesPlace(workspace, session.key as SessionKey, speakers, options.origins);
      const warned = warnOnce(snapshot, defaults.bootstrapPromptTruncationWarning, told);
      return {
        model: skill.model ?? model,
        env: skill.env,
        skillBodies: skill.bodies,
        alone: skill.model !== null,
        // Providers put the blank line between the zones themselves, or send two blocks: either way it is `compiled.text`.
        system: { stable: compiled.stable, volatile: compiled.volatile.replace(/^\n\n/, "") },
        tools,
        execPolicy: here.execPolicy,
        workspace,
        thinking,
        reasoning,
        thinkingFor: (now) => thinkingOf({ config, agent: agentOf(agent), session, model }, now),
        refusal: toolless(decision) ?? unsupportedThinking(model, wanted.thinking),
        timeoutMs: defaults.timeoutSeconds * 1000,
        spill: (name, text) => keepResult(here.files, name, text),
        context: contextSettings(config, ofAgent),
        keepsNotes: mayKeepNotes(here),
        notesPlace: notes,
        startupNotes: () =>
          startupNotes({
            workspace,
            notes,
            timeZone: defaults.userTimezone,
            nowMs: options.clock.now(),
            settings: defaults.startupContext,
            log,
          }),
        notes: warned.note === null ? [] : [warned.note],
        finalOnly: needsReasoningTags({ model, thinking }),
        tellsEmptyInGroups: defaults.silentReply.group === "deny",
        promptNote(turn) {
          const note = prompts.note(turn, place, session, compiled, explanation);
          return warned.note === null
            ? note
            : { ...note, patch: { ...note.patch, [truncationField]: { epoch: session.epoch, note: warned.note } } };
        },
      };
    },
    prompt: prepared,
    stableMoves: () => moves,
  };
}

/** Notes are files of the workspace: where the tools may not write them (a rule, a sandbox), neither may the turn that keeps them unasked. */
function mayKeepNotes({ decision, unavailable, sandbox }: ToolsHere): boolean {
  const isTaken = [...decision.removed, ...unavailable].some(({ tool }) => tool === "write");
  return !isTaken && sandbox?.access !== "none";
}

/** Once per conversation: after /new the model knows nothing of what it was told. */
function toldIn({ fields, epoch }: Session): string | undefined {
  const told = fields[truncationField] as { readonly epoch?: number; readonly note?: string } | undefined;
  return told?.epoch === epoch ? told.note : undefined;
}

/** Throws Fault("missing") for one that the config no longer has. */
export function agentIn({ agents }: Config): (id: string) => AgentConfig {
  return (id) => {
    const found = agents.list.find((agent) => agent.id === id);
    if (found === undefined) throw new Fault("missing", `there is no agent "${id}" in agents.list any more`);
    return found;
  };
}

/** A turn that could do nothing of what it was set up for must not pretend. */
function toolless({ reason }: PolicyDecision): string | null {
  return reason === undefined ? null : `I may use no tool here, so I did not begin: ${reason}. \`parley tools explain\` shows the rules.`;
}

const nobody: Speakers = { owner: false, senders: [] };
