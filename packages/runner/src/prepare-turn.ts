// Prepares one turn: the agent's model with its fallbacks, its tools and workspace, and the prompt compiled
// from the facts of this moment (prompt/prompt-facts.ts). When the stable zone of a session's prompt changed
// since its last turn, the log names the section (I12). The loop then runs with this result.
// Next: packages/agent/src/loop/loop.ts.
import { diff, readsWorkspace, warnOnce, type PromptExplanation } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import type { Model } from "@parley/models";
import { Fault, type Log, type SessionKey } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { Speakers, Place } from "@parley/access";
import { allows } from "@parley/tools";
import { askedModels } from "./models/asked-models.ts";
import { contextSettings } from "./context/context-settings.ts";
import type { Wanted } from "./models/directives.ts";
import { keepResult } from "./result-files.ts";
import { modelCatalog, modelField } from "./models/model-catalog.ts";
import { notesPlace } from "./memory/notes-place.ts";
import { promptFor, type ModelPrompt, type PromptNeeds } from "./prompt/turn-prompt.ts";
import { startupNotes } from "./memory/startup-memory.ts";
import { toolsHash } from "./prompt/prompt-history.ts";
import { skillTurn } from "./skills/skill-call.ts";
import { unsupportedThinking } from "./models/thinking.ts";
import type { ToolsHere } from "./tools/tools-here.ts";
import type { PrepareTurn } from "./prepared-turn.ts";
import type { Services } from "./turn-scope.ts";

/** An operator may ask for a session's prompt without an address. */
interface PromptRequest {
  readonly agent: string;
  readonly session: Session;
  readonly place: Place | null;
  readonly wanted?: Wanted;
  readonly by?: Speakers;
}

export type PromptNow = Pick<ModelPrompt, "compiled" | "explanation" | "facts" | "model" | "here">;

export interface TurnPreparer {
  readonly forTurn: PrepareTurn;
  /** Returns the prompt that a turn in this session would get now. */
  prompt(request: PromptRequest): Promise<PromptNow>;
  /**
   * Counts the turns since the start whose session's stable zone changed, by the section that changed;
   * `tools` are the schemas.
   */
  stableMoves(): ReadonlyMap<string, number>;
}

const truncationField = "truncationTold";
/**
 * The epoch in which anyone but an owner spoke, because notes of that conversation are not the owner's own.
 */
const othersField = "othersSpoke";

/** A command line without a running gateway has these too. */
export type PreparerNeeds = PromptNeeds &
  Pick<Services, "models" | "cooldowns" | "prompts" | "stableMoves" | "clock" | "ids">;

export function turnPreparer(services: PreparerNeeds): TurnPreparer {
  const { config, prompts, models, stableMoves: moves, clock, ids, cooldowns } = services;
  const { defaults } = config.agents;
  const agentOf = agentIn(config);
  const catalog = modelCatalog(config, models);
  const situationOf = promptFor(services);

  async function modelsOf(
    agent: AgentConfig,
    session: Session,
    others?: readonly string[],
  ): Promise<readonly [Model, ...Model[]]> {
    const choice = catalog.of(agent, session);
    // The config may have lost a model since a job was made.
    const allowed = others?.flatMap((ref) => catalog.named(agent, ref) ?? []);
    const [primary, ...fallbacks] = await Promise.all(
      [choice.primary, ...(allowed ?? choice.fallbacks)].map((id) => models.get(id)),
    );
    if (primary === undefined) throw new Fault("invalid", `agent "${agent.id}" has no model`);
    return [primary, ...fallbacks];
  }

  /**
   * A change is rare and costs the provider's cache of the whole prefix, so the log says which section caused
   * it.
   */
  async function watchStable(session: Session, explanation: PromptExplanation, log: Log): Promise<void> {
    const last = prompts.last(session);
    if (last === null || (last.stable === explanation.stableHash && last.tools === toolsHash(explanation)))
      return;
    const before = await prompts.explanation(last);
    const moved = before === null ? null : diff(before, explanation);
    const sections = moved?.moves.filter(({ zone }) => zone === "stable").map(({ id }) => id) ?? ["unknown"];
    const causes = [...sections, ...(moved !== null && moved.tools.length > 0 ? ["tools"] : [])];
    for (const cause of causes) moves.set(cause, (moves.get(cause) ?? 0) + 1);
    log.info(
      {
        moved: causes,
        files: moved?.files ?? [],
        tools: moved?.tools ?? [],
        stable: explanation.stableHash,
        was: last.stable,
      },
      "the stable prompt moved: this call will miss the provider's cache",
    );
  }

  return {
    async forTurn({
      agent: id,
      session,
      called = [],
      wanted = {},
      by,
      unseen = false,
      within,
      light = false,
      model,
      fallbacks: others,
      timeoutMs = defaults.timeoutSeconds * 1000,
      log = services.log,
      ...place
    }) {
      const agent = agentOf(id);
      const chosen = model === undefined ? null : catalog.named(agent, model);
      const [primary, ...fallbacks] = await modelsOf(
        agent,
        chosen === null ? session : { ...session, fields: { ...session.fields, [modelField]: chosen } },
        others,
      );
      /** Directives of the messages so far; messages that join may change them. */
      let wantedNow = wanted;
      const situation = await situationOf({
        agent,
        session,
        place,
        wanted: () => wantedNow,
        by,
        unseen,
        light,
      });
      const ready = await situation.for(
        primary,
        within === undefined ? undefined : (tool) => allows(within, tool),
      );
      const { compiled, explanation, here, system } = ready;
      const { tools } = here;
      const isThere = (tool: string): boolean => tools.some(({ name }) => name === tool);
      // The turn runs with the primary's tools, so a fallback may have fewer but never others.
      const asked = askedModels(ready, fallbacks, (model) => situation.for(model, isThere), {
        clock,
        ids,
        log,
        cooldowns,
      });
      const skill = await skillTurn(called, situation.skills, tools);
      log.debug(
        {
          session: session.key,
          prompt: compiled.hash,
          stable: compiled.stableHash,
          chars: compiled.text.length,
        },
        "prompt compiled",
      );
      await watchStable(session, explanation, log);
      const { workspace } = agent;
      const { owner, senders } = situation.speakers;
      const isOwners = owner && session.fields[othersField] !== session.epoch;
      const heard = { owner: isOwners, senders: owner ? [] : senders };
      const notes = notesPlace(workspace, session.key as SessionKey, heard, services.origins);
      const reads = readsWorkspace(ready.facts.stable);
      const warned = warnOnce(
        situation.files,
        defaults.bootstrapPromptTruncationWarning,
        toldIn(session),
        reads,
      );
      return {
        model: skill.model ?? asked.model,
        env: skill.env,
        skillBodies: skill.bodies,
        alone: skill.model !== null,
        system,
        tools,
        execPolicy: here.execPolicy,
        workspace,
        thinking: ready.thinking(),
        reasoning: situation.reasoning,
        thinkingFor(now) {
          wantedNow = now;
          return ready.thinking();
        },
        refusal: unsupportedThinking(primary, wanted.thinking),
        refuses: (tool) => refusalOf(asked.last().here, tool),
        timeoutMs,
        spill: (name, text) => keepResult(here.files, name, text),
        context: contextSettings(config, agent),
        keepsNotes: mayKeepNotes(here),
        notesPlace: notes,
        startupNotes: () =>
          startupNotes({
            workspace,
            notes,
            cells: services.cells,
            timeZone: defaults.userTimezone,
            nowMs: clock.now(),
            settings: defaults.startupContext,
            log,
          }),
        notes: warned.note === null ? [] : [warned.note],
        finalOnly: () => asked.last().finalOnly,
        tellsEmptyInGroups: defaults.silentReply.group === "deny",
        promptNote(turn) {
          const last = asked.last();
          const note = prompts.note(turn, place, session, last.compiled, last.explanation);
          const told =
            warned.note === null ? {} : { [truncationField]: { epoch: session.epoch, note: warned.note } };
          return {
            ...note,
            patch: { ...note.patch, ...told, ...(isOwners ? {} : { [othersField]: session.epoch }) },
          };
        },
      };
    },
    async prompt({ agent: id, session, place, wanted = {}, by }) {
      const agent = agentOf(id);
      const [primary] = await modelsOf(agent, session);
      return (await situationOf({ agent, session, place, wanted: () => wanted, by })).for(primary);
    },
    stableMoves: () => moves,
  };
}

/**
 * Notes are files of the workspace, so a rule or sandbox that keeps tools from writing there also stops the
 * memory flush.
 */
function mayKeepNotes({ decision, unavailable, sandbox }: ToolsHere): boolean {
  const isTaken = [...decision.removed, ...unavailable].some(({ tool }) => tool === "write");
  return !isTaken && sandbox?.access !== "none";
}

/** Returned once per conversation, because after /new the model has forgotten that it was told. */
function toldIn({ fields, epoch }: Session): string | undefined {
  const told = fields[truncationField] as { readonly epoch?: number; readonly note?: string } | undefined;
  return told?.epoch === epoch ? told.note : undefined;
}

/** Throws Fault("missing") for an agent that the config no longer has. */
export function agentIn({ agents }: Config): (id: string) => AgentConfig {
  return (id) => {
    const found = agents.list.find((agent) => agent.id === id);
    if (found === undefined) throw new Fault("missing", `there is no agent "${id}" in agents.list any more`);
    return found;
  };
}

/**
 * Returns why the model may not make this call, or null when it may; it may see a tool that only other people
 * may use.
 */
function refusalOf({ tools, refused }: ToolsHere, tool: string): string | null {
  if (!tools.some(({ name }) => name === tool)) return `Not run: the tool "${tool}" is not for this model.`;
  const reason = refused.get(tool);
  return reason === undefined ? null : `Not run: whoever asked may not use "${tool}" here: ${reason}.`;
}
