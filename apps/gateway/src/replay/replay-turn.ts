// Runs a recorded turn again in memory: the prompt is compiled from the facts of now, the model is asked, its
// calls are answered from the record. Nothing is sent and nothing is stored.
import { diff, openContextWindow, runLoop, tokensOfText, type Journal, type LoopEnd } from "@parley/agent";
import type { Config } from "@parley/config";
import {
  addUsage,
  deadline,
  Fault,
  noUsage,
  parseConversationKey,
  parseSessionKey,
  type Clock,
  type ConversationKey,
  type Entry,
  type JsonObject,
  type Log,
  type MethodResult,
  type SavedTurn,
  type SessionKey,
  type UserEntry,
} from "@parley/protocol";
import {
  agentIn,
  modelField,
  thinkingOf,
  type ModelCatalog,
  type PromptNow,
  type TurnPreparer,
} from "@parley/runner";
import { callsIn, recordedTools } from "./recorded-tools.ts";
import { failuresOf, movedIn, type Replayed } from "./compare-turns.ts";

/** What a turn runs with: the gateway's own, or those of another config file. */
export interface ReplayWorld {
  readonly config: Config;
  readonly turnPreparer: Pick<TurnPreparer, "prompt">;
  readonly modelCatalog: Pick<ModelCatalog, "find">;
}

type Side = MethodResult<"turns.replay">["before"];
type Comparable = Parameters<typeof diff>[0];

export interface ReplayPorts {
  readonly clock: Clock;
  readonly log: Log;
}

export async function replayTurn(
  saved: SavedTurn,
  world: ReplayWorld,
  how: { readonly model?: string | undefined; readonly ask: boolean },
  { clock, log }: ReplayPorts,
): Promise<Omit<MethodResult<"turns.replay">, "saved">> {
  const { config, turnPreparer, modelCatalog } = world;
  const { agent: id } = parseSessionKey(saved.session);
  const agent = agentIn(config)(id);
  const fields = { ...saved.fields } as { [field: string]: never };
  if (how.model !== undefined) {
    const found = await modelCatalog.find(agent, how.model);
    if (!("ref" in found))
      throw new Fault(
        "invalid",
        `no model is called "${how.model}"${found.nearest.length === 0 ? "" : `: did you mean ${found.nearest.join(", ")}?`}`,
      );
    fields[modelField] = found.ref as never;
  }
  const session = {
    key: saved.session as SessionKey,
    epoch: 1,
    lastSeq: saved.history.length,
    fields,
    createdAtMs: saved.startedAtMs,
    updatedAtMs: saved.startedAtMs,
  };
  const { place, by } = saved;
  const now = await turnPreparer.prompt({
    agent: id,
    session,
    place:
      place === null
        ? null
        : {
            address: parseConversationKey(place.conversation),
            ...(place.guild === undefined ? {} : { guild: place.guild }),
            ...(place.parent === undefined ? {} : { parent: place.parent }),
          },
    ...(by === null ? {} : { by }),
  });
  const entries = saved.entries as unknown as readonly Entry[];
  const before = sideOf(entries, saved.tookMs);
  const prompt = saved.prompt === null ? null : diff(saved.prompt as unknown as Comparable, now.explanation);
  const thinking = thinkingOf({ config, agent, session, model: now.model });
  const ran = how.ask ? await run(saved, now, thinking, config, { clock, log }) : null;
  const replayed: Replayed = { before, after: ran?.side ?? null, prompt, unanswered: ran?.unanswered ?? [] };
  return structuredClone({
    turn: saved.turn,
    session: saved.session,
    ...replayed,
    moved: [...movedIn(replayed)],
    failures: ran === null ? [] : [...failuresOf(saved.expect, replayed)],
  }) as Omit<MethodResult<"turns.replay">, "saved">;
}

async function run(
  saved: SavedTurn,
  { model, compiled, here }: PromptNow,
  thinking: Parameters<typeof runLoop>[0]["thinking"],
  config: Config,
  { clock, log }: ReplayPorts,
): Promise<Pick<Replayed, "unanswered"> & { readonly side: Side }> {
  const entries = saved.entries as unknown as readonly Entry[];
  const history = saved.history as unknown as readonly Entry[];
  // What joined the turn while it ran is told at its beginning.
  const incoming = entries.filter((entry): entry is UserEntry => entry.type === "user");
  const record = recordedTools(here.tools, entries);
  const { stable, volatile } = compiled;
  const timeout = deadline(clock, config.agents.defaults.timeoutSeconds * 1_000, "the replay");
  const startedMs = clock.mono();
  const schemas = here.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const { contextPruning, compaction } = config.agents.defaults;
  const context = openContextWindow({
    history: history.map((entry, at) => ({ seq: at + 1, entry })),
    lastSeq: history.length,
    windowTokens: model.contextWindow,
    maxTokens: model.maxTokens,
    overheadTokens: tokensOfText(stable + volatile + JSON.stringify(schemas)),
    pruning: contextPruning,
    compaction,
    prunedThroughSeq: 0,
    summarise: async () => ({ ok: false, reason: "a replay makes no summary", usage: noUsage }),
    pinnedSections: async () => "",
    flush: async () => noUsage,
    clock,
    log,
  });
  let end: LoopEnd | null = null;
  try {
    const events = runLoop(
      {
        system: { stable, volatile },
        history,
        incoming,
        thinking,
        cacheKey: `${saved.session}#replay`,
        finalPass: saved.place === null || parseConversationKey(saved.place.conversation).kind === "dm",
      },
      {
        model,
        tools: record.tools,
        loaded: async () => record.tools.flatMap(({ name, deferred }) => (deferred === true ? [name] : [])),
        scope: {
          session: saved.session as SessionKey,
          agent: parseSessionKey(saved.session).agent,
          turn: saved.turn,
          conversation: (saved.place?.conversation ?? "") as ConversationKey,
          by: saved.by ?? { owner: false, senders: [] },
          authority: "replay",
          workspace: "",
          env: {},
        },
        journal: memoryJournal(),
        context,
        spill: async () => "(the whole text is not kept in a replay)",
        somebodyWrote: async () => false,
        signal: timeout.signal,
        clock,
        log,
      },
    );
    for await (const event of events) if (event.type === "end") end = event;
  } finally {
    timeout.cancel();
  }
  if (end === null) throw new Fault("unavailable", "the replay ended without an end");
  const side = sideOf(end.entries, Math.round(clock.mono() - startedMs), end);
  return { side, unanswered: record.unanswered };
}

/** Nothing outlives the replay. */
function memoryJournal(): Journal {
  return { steps: [], checkpoint: async () => {}, absorb: async () => [] };
}

function sideOf(entries: readonly Entry[], tookMs: number | null, end?: LoopEnd): Side {
  const answers = entries.filter((entry) => entry.type === "assistant");
  const last = answers.at(-1);
  const usage = end?.usage ?? answers.reduce((sum, entry) => addUsage(sum, entry.usage), noUsage);
  const said = last?.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("") ?? "";
  return {
    model: last?.model ?? "",
    stop: end === undefined ? (last?.stop ?? "none") : end.stop,
    answer: end?.error === undefined ? said : `${end.error.kind}: ${end.error.message}`,
    calls: callsIn(entries).map(({ name, args }) => ({ name, args: args as JsonObject })),
    steps: answers.length,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens: usage.cacheReadTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    costUsd: usage.costUsd ?? null,
    tookMs,
  };
}
