// Serves the agents' memory to the operator, who may read all of it. The index is asked in its own process;
// nothing here needs the store.
import type { AgentConfig, Config } from "@parley/config";
import type { MemoryEngine, MemoryStatus } from "@parley/memory";
import { Fault, type Clock, type MethodParams, type MethodResult } from "@parley/protocol";
import { memoryTarget, searchSettings } from "@parley/runner";
import type { ConfigPorts } from "./ports.ts";

export interface MemoryPorts extends Pick<ConfigPorts, "memory" | "home"> {
  readonly config: Config;
  readonly clock: Clock;
}

const getLines = 120;
const getChars = 200_000;

export function memoryMethods({ config, memory, home, clock }: MemoryPorts) {
  const agentsAt = (id: string | undefined): readonly AgentConfig[] =>
    id === undefined ? config.agents.list : [agentAt(config, id)];

  const statusOf = async (
    agent: AgentConfig,
    ask: MemoryEngine["status"],
  ): Promise<MethodResult<"memory.status">["agents"][number]> => {
    const target = memoryTarget(home, agent);
    const { problems, notes, ...counts }: MemoryStatus = await ask(target);
    return {
      agent: agent.id,
      enabled: agent.memorySearch.enabled,
      workspace: agent.workspace,
      index: target.indexPath,
      provider: agent.memorySearch.embedder?.provider ?? "none",
      model: agent.memorySearch.embedder?.model ?? null,
      ...counts,
      problems: [...problems],
      notes: [...notes],
    };
  };

  return {
    async "memory.search"({
      agent: id,
      query,
      maxResults,
      minScore,
    }: MethodParams<"memory.search">): Promise<MethodResult<"memory.search">> {
      const agent = agentAt(config, id);
      const { hits, mode, notes } = await memory.search(memoryTarget(home, agent), {
        ...searchSettings(agent, { maxResults, minScore }),
        query,
        scopes: "all",
        nowMs: clock.now(),
      });
      return { agent: agent.id, mode, notes: [...notes], results: [...hits] };
    },
    async "memory.get"({
      agent,
      path,
      from = 1,
      lines = getLines,
    }: MethodParams<"memory.get">): Promise<MethodResult<"memory.get">> {
      const target = memoryTarget(home, agentAt(config, agent));
      return memory.get(target, { path, from, lines, maxChars: getChars, scopes: "all" });
    },
    async "memory.status"({ agent }: MethodParams<"memory.status">): Promise<MethodResult<"memory.status">> {
      const agents = [];
      for (const each of agentsAt(agent)) agents.push(await statusOf(each, memory.status));
      return { agents };
    },
    async "memory.reindex"({
      agent,
    }: MethodParams<"memory.reindex">): Promise<MethodResult<"memory.reindex">> {
      const agents = [];
      for (const each of agentsAt(agent)) agents.push(await statusOf(each, memory.reindex));
      return { agents };
    },
  };
}

/** The default agent where none is named. */
function agentAt({ agents: { list } }: Config, id: string | undefined): AgentConfig {
  const found =
    id === undefined
      ? (list.find((agent) => agent.id === "main") ?? list[0])
      : list.find((agent) => agent.id === id);
  if (found === undefined)
    throw new Fault(
      "missing",
      `there is no agent "${id ?? "main"}"; there are: ${list.map((agent) => agent.id).join(", ")}`,
    );
  return found;
}
