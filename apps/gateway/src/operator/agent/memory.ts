// Serves the agents' memory to the operator, who may read all of it. The index is asked in its own process;
// only who wrote a line, and forgetting, need the store.
import type { AgentConfig, Config } from "@parley/config";
import type { MemoryEngine, MemoryStatus } from "@parley/memory";
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import {
  lastForgotten,
  memoryTarget,
  noteHistory,
  outcomeWords,
  provenanceOf,
  restoreMarks,
  searchSettings,
  withOrigin,
  type Proposal,
} from "@parley/runner";
import { agentAt } from "./agents.ts";
import type { ConfigPorts, StorePorts } from "../ports.ts";

export interface MemoryPorts extends Pick<ConfigPorts, "memory" | "home"> {
  readonly config: Config;
}

const getLines = 120;
const getChars = 200_000;
const mostLines = 10;
const mostChanges = 2_000;
/** Under which name a change stands in the history that took another one back. */
const undoTool = "undo";

export function memoryMethods({ config, memory, home }: MemoryPorts) {
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
      provider: agent.memorySearch.embedder?.provider ?? "none",
      model: agent.memorySearch.embedder?.model ?? null,
      ...counts,
      problems: [...problems],
      notes: [...notes],
    };
  };

  return {
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

/** What needs the store too: for what was said in sessions, and for where lines come from. */
export function forgetMethods({
  config,
  forgetting,
  upkeep,
  talk,
  memory,
  home,
  store,
  clock,
}: Pick<StorePorts, "forgetting" | "upkeep" | "talk" | "memory" | "home" | "store" | "clock"> & {
  readonly config: Config;
}) {
  /** `path#line` names one; else the lines with these words. */
  async function linesOf(
    agent: AgentConfig,
    asked: string,
  ): Promise<readonly { readonly path: string; readonly line: number; readonly text: string }[]> {
    const target = memoryTarget(home, agent);
    const [, path, from] = /^(\S+\.md)#L?(\d+)(?:-L?\d+)?$/.exec(asked.trim()) ?? [];
    if (path === undefined) {
      const words = { query: asked, write: false, nowMs: clock.now() };
      return (await memory.forget(target, words)).lines;
    }
    const first = Number(from);
    const read = await memory.get(target, { path, from: first, lines: 1, maxChars: getChars, scopes: "all" });
    return [{ path: read.path, line: first, text: read.text }];
  }

  return {
    async "memory.search"({
      agent: id,
      query,
      maxResults,
      minScore,
    }: MethodParams<"memory.search">): Promise<MethodResult<"memory.search">> {
      const agent = agentAt(config, id);
      const told = await talk.upToDate(agent.id);
      const { hits, mode, notes } = await memory.search(memoryTarget(home, agent), {
        ...searchSettings(agent, { maxResults, minScore }),
        query,
        ...(await lastForgotten(store.cells, agent.id)),
        scopes: "all",
        nowMs: clock.now(),
      });
      const results = await Promise.all(hits.map((hit) => withOrigin(store.cells, agent.workspace, hit)));
      return { agent: agent.id, mode, notes: [...notes, ...told], results };
    },
    async "memory.why"({
      agent: id,
      line: asked,
    }: MethodParams<"memory.why">): Promise<MethodResult<"memory.why">> {
      const agent = agentAt(config, id);
      const lines = [];
      for (const found of (await linesOf(agent, asked)).slice(0, mostLines)) {
        const writtenBy = await provenanceOf(store, agent.id, found.text);
        lines.push({ ...found, writtenBy: writtenBy.map(({ by, ...rest }) => ({ ...rest, by: [...by] })) });
      }
      return { agent: agent.id, lines };
    },
    async "memory.history"({
      agent: id,
      path,
      limit = 20,
    }: MethodParams<"memory.history">): Promise<MethodResult<"memory.history">> {
      const agent = agentAt(config, id);
      const all = await noteHistory({ cells: store.cells, clock }).list(agent.id, mostChanges);
      const found = path === undefined ? all : all.filter((change) => change.path === path);
      return {
        agent: agent.id,
        changes: found
          .slice(0, limit)
          .map(({ at: _at, before: _before, after: _after, by, ...change }) => ({ ...change, by: [...by] })),
      };
    },
    async "memory.undo"({
      agent: id,
      id: asked,
    }: MethodParams<"memory.undo">): Promise<MethodResult<"memory.undo">> {
      const agent = agentAt(config, id);
      const history = noteHistory({ cells: store.cells, clock });
      const all = await history.list(agent.id, mostChanges);
      const change = all.find((each) =>
        asked === undefined ? each.undoneAtMs === undefined && each.tool !== undoTool : each.id === asked,
      );
      if (change === undefined)
        throw new Fault(
          "missing",
          asked === undefined
            ? "no turn changed a note that is not undone"
            : `there is no change ${asked}; "parley memory history" lists them`,
        );
      const { before, after } = await memory.undo(memoryTarget(home, agent), change);
      const from = { path: change.path, session: change.session, turn: change.turn, by: [], tool: undoTool };
      await history.record(agent.id, from, before, after);
      await history.undone(agent.id, change.id);
      await restoreMarks(store.cells, agent.id, agent.workspace, change.path, after ?? "");
      return { agent: agent.id, id: change.id, path: change.path, changed: before !== after };
    },
    async "memory.proposals"({
      agent: id,
    }: MethodParams<"memory.proposals">): Promise<MethodResult<"memory.proposals">> {
      const all = await upkeep.list();
      const proposals = id === undefined ? all : all.filter(({ agent }) => agent === id);
      return { proposals: proposals.map(shownProposal) };
    },
    async "memory.decide"({
      id,
      decision,
      changes,
    }: MethodParams<"memory.decide">): Promise<MethodResult<"memory.decide">> {
      const by = { person: "web:operator", name: "the operator", owner: true };
      const said = await (decision === "accept" ? upkeep.accept(id, by, changes) : upkeep.refuse(id, by));
      return { id, said };
    },
    async "memory.forget"({
      agent: id,
      query,
      confirm = false,
    }: MethodParams<"memory.forget">): Promise<MethodResult<"memory.forget">> {
      const agent = agentAt(config, id);
      const { lines, history, notes } = await forgetting.forget(agent.id, query, confirm);
      return { agent: agent.id, done: confirm, lines: [...lines], history, notes: [...notes] };
    },
  };
}

function shownProposal(proposal: Proposal): MethodResult<"memory.proposals">["proposals"][number] {
  const { id, agent, session, turn, state, createdAtMs, expiresAtMs, by, changes } = proposal;
  return {
    id,
    agent,
    session,
    turn,
    state,
    createdAtMs,
    expiresAtMs,
    ...(by === undefined ? {} : { by: by.person }),
    said: outcomeWords(proposal),
    changes: changes.map(({ kind, lines, text, why, untrusted }) => ({
      kind,
      lines: lines.map((line) => ({ ...line })),
      text,
      why,
      ...(untrusted === undefined ? {} : { untrusted }),
    })),
  };
}
