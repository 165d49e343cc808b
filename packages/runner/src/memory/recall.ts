// Opens an agent's memory to the people of one conversation. The scopes are decided before anything is
// searched: what is private stays out of shared places, and notes on talk with one person out of talk with
// another. A model chooses words and never scopes.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { AgentConfig, Config } from "@parley/config";
import type {
  Forgetting,
  MemoryEngine,
  MemoryHit,
  MemoryScope,
  MemoryTarget,
  SearchRequest,
} from "@parley/memory";
import type { Clock } from "@parley/protocol";
import type { Redaction } from "@parley/agent";
import type { Cells, Sessions } from "@parley/store";
import type { AgentMemory, ToolScope } from "@parley/tools";
import { agentIn } from "../prepare-turn.ts";
import { answersToMany } from "./recall-places.ts";
import { sessionsOf, talkFeed } from "./talk.ts";
import { untrustedIn } from "./untrusted-lines.ts";

/** What one search of an agent's notes may return to a model. */
const getChars = 12_000;

export interface AgentMemoryOptions {
  readonly memory: MemoryParts;
  /** The state folder. */
  readonly home: string;
  readonly config: Config;
  /** Everybody who is an owner, as `<channel>:<id>`. */
  readonly owners: () => Promise<readonly string[]>;
  readonly cells: Pick<Cells, "get">;
  readonly sessions: Pick<Sessions, "list" | "transcript">;
  readonly redaction: Redaction;
  readonly clock: Clock;
}

/** The memory of this process, whatever the config. */
export interface MemoryParts {
  readonly engine: MemoryEngine;
  /** Makes the name of a person's folder. */
  readonly personFolder: (person: string) => string;
  /** Reads the scope of a path of the workspace; null where nothing is private by its place. */
  readonly scopeOfPlace: (path: string) => MemoryScope | null;
  /** Decides which lines a question means; null when it says too little. */
  readonly forgetting: (query: string) => Forgetting | null;
}

export function memoryTarget(home: string, agent: AgentConfig): MemoryTarget {
  const { chunking, embedder, sources } = agent.memorySearch;
  return {
    workspace: agent.workspace,
    indexPath: join(home, "memory", `${agent.id}.sqlite`),
    chunking,
    embedder: embedder === null ? null : { ...embedder, apiKey: embedder.apiKey?.reveal() ?? null },
    talk: sources.includes("sessions"),
  };
}

/** How the agent's notes are searched, as its config says or as the question asks. */
export function searchSettings(
  { memorySearch: { query, sync } }: AgentConfig,
  asked: { readonly maxResults: number | undefined; readonly minScore: number | undefined },
): Pick<SearchRequest, "maxResults" | "minScore" | "hybrid" | "sync"> {
  return {
    maxResults: asked.maxResults ?? query.maxResults,
    minScore: asked.minScore ?? query.minScore,
    hybrid: query.hybrid,
    sync: sync.onSearch,
  };
}

const forgottenPrefix = "memory-last-forgotten:";

/** Tells the indexes of all nodes. */
export async function tellForgotten(cells: Pick<Cells, "put">, agent: string, nowMs: number): Promise<void> {
  await cells.put(`${forgottenPrefix}${agent}`, `${nowMs}`, {});
}

/** When something was last forgotten of an agent's memory. */
export async function lastForgotten(
  cells: Pick<Cells, "get">,
  agent: string,
): Promise<Pick<SearchRequest, "forgottenMs">> {
  const cell = await cells.get(`${forgottenPrefix}${agent}`);
  return cell === null ? {} : { forgottenMs: Number(cell.value) };
}

/** With where strangers' text came from, if the turn had read some that noted it. */
export async function withOrigin(
  cells: Pick<Cells, "get">,
  workspace: string,
  hit: MemoryHit,
): Promise<MemoryHit> {
  if (hit.source === "sessions") return hit;
  const untrusted = await untrustedIn(cells, workspace, hit.path, hit.snippet);
  return untrusted === null ? hit : { ...hit, untrusted };
}

export function agentMemory(options: AgentMemoryOptions): AgentMemory {
  const { memory, home, config, cells, clock } = options;
  const { engine } = memory;
  const feed = talkFeed({ ...options, engine });
  return {
    async search(scope, { query, maxResults, minScore }) {
      const agent = agentIn(config)(scope.agent);
      const target = memoryTarget(home, agent);
      const talk = target.talk ? await sessionsOf(scope, config, options.sessions) : [];
      const left = await feed.upToDate(target, talk);
      const answer = await engine.search(target, {
        ...searchSettings(agent, { maxResults, minScore }),
        query,
        ...(await lastForgotten(cells, agent.id)),
        scopes: await scopesOf(scope, options),
        sessions: talk.map(({ key }) => key),
        nowMs: clock.now(),
      });
      const hits = await Promise.all(answer.hits.map((hit) => withOrigin(cells, agent.workspace, hit)));
      const { citations } = config.memory;
      return {
        ...answer,
        notes:
          left === 0 ? answer.notes : [...answer.notes, `${left} conversations are not searched whole yet`],
        hits,
        citations: citations === "on" || (citations === "auto" && !answersToMany(scope)),
      };
    },
    async get(scope, { path, from, lines }) {
      const agent = agentIn(config)(scope.agent);
      const scopes = await scopesOf(scope, options);
      const read = await engine.get(memoryTarget(home, agent), {
        path,
        from,
        lines,
        maxChars: getChars,
        scopes,
      });
      const untrusted = await untrustedIn(cells, agent.workspace, read.path, read.text);
      return untrusted === null ? read : { ...read, untrusted };
    },
  };
}

type Asking = Pick<ToolScope, "session" | "conversation" | "by">;

export async function scopesOf(
  asking: Asking,
  { owners, memory: { personFolder } }: Pick<AgentMemoryOptions, "owners" | "memory">,
): Promise<readonly MemoryScope[]> {
  const mark = createHash("sha256").update(asking.session).digest("hex").slice(0, 16);
  const own: readonly MemoryScope[] = ["shared", `session:${mark}`];
  if (answersToMany(asking)) return own;
  const { owner, senders } = asking.by;
  const [person] = senders;
  const people: readonly MemoryScope[] =
    senders.length === 1 && person !== undefined ? [`person:${personFolder(person)}`] : [];
  // Their prompts show the curated files to everybody in private. The notes of the day are the owners', but
  // where nobody is an owner, they are of whoever may write.
  const daily: readonly MemoryScope[] = owner || (await owners()).length === 0 ? ["daily"] : [];
  return [...own, ...people, "curated", ...daily];
}
