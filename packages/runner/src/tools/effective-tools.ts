// Makes the tools of a turn for its agent and place, then narrows them by the policy chain and explains every
// removal. When a required sandbox is missing, the tools that would run in it are removed, so that nothing
// falls back to the host.
import { Fault, parseSessionKey } from "@parley/protocol";
import {
  applyPolicy,
  makeTools,
  noSandbox,
  policySteps,
  type ExecPolicy,
  type ExecPorts,
  type MachinePorts as HandedOnPorts,
  type MadeTools,
  type PolicyStep,
  type Sandbox,
  type SessionPorts,
  type Tool,
  type ToolRules,
  type WorkspaceFiles,
} from "@parley/tools";
import { senderRules } from "@parley/access";
import { isApproved } from "../approvals/approval-gate.ts";
import type { FileOrigins } from "../file-origins.ts";
import { noteFiles } from "../memory/note-files.ts";
import { agentMemory, type MemoryParts } from "../memory/recall.ts";
import { upkeepSession } from "../memory/upkeep-job.ts";
import { docsRoots } from "../installation-facts.ts";
import type { Services } from "../turn-scope.ts";
import { isSearched } from "./loaded-tools.ts";
import type { RemoteTools } from "./remote-tools.ts";
import type { EffectiveTools, ToolsRequest } from "./tools-here.ts";
import { toolsThatDoNotFit } from "./tools-that-fit.ts";
import { factsOf, needsSandbox, noSearchPath, sandboxOpener } from "./turn-sandbox.ts";
import { filesByFolder, promptPathsIn, skillFolders } from "./workspace-view.ts";
import { childRules } from "./child-tools.ts";

/** The ports that the catalogue's tools use on this machine, and where it lies. */
export interface MachinePorts extends Omit<HandedOnPorts, "memory" | "notes"> {
  /** The state folder, which tools may not enter. */
  readonly home: string;
  readonly userHome: string;
  readonly origins?: FileOrigins;
  /** Absent where no commands can run. */
  readonly exec?: Pick<ExecPorts, "commands" | "host">;
  /** Absent where no notes are searched. */
  readonly memory?: MemoryParts;
  /** Tools of other programs. */
  readonly remote?: RemoteTools;
}

type EffectiveToolsNeeds = Pick<
  Services,
  | "config"
  | "cells"
  | "sessions"
  | "redaction"
  | "owners"
  | "approvals"
  | "toolHooks"
  | "moreTools"
  | "skills"
  | "installation"
  | "clock"
  | "ids"
>;

const toolSearchName = "tool_search";

/** `machine` is absent where there are no tools but `moreTools`. */
export function effectiveTools(
  services: EffectiveToolsNeeds,
  machine: MachinePorts | undefined,
  ports: SessionPorts,
): EffectiveTools {
  const {
    config,
    cells,
    sessions,
    redaction,
    owners,
    approvals,
    toolHooks,
    moreTools,
    skills,
    installation,
    clock,
    ids,
  } = services;
  const { tools: settings } = config;
  const readRoots = [...skills.readRoots(), ...docsRoots(installation), ...settings.fs.readRoots];
  const forbidden = machine === undefined ? [] : [machine.home];
  const memory =
    machine?.memory === undefined
      ? undefined
      : agentMemory({
          memory: machine.memory,
          home: machine.home,
          config,
          owners,
          cells,
          sessions,
          redaction,
          clock,
        });
  // Whether notes are searched or not, they are private where they lie.
  const notes =
    machine?.memory === undefined
      ? {}
      : { notes: noteFiles({ memory: machine.memory, owners, cells, redaction, clock }) };
  const filesAt = filesByFolder();
  const approved = isApproved(approvals.book);
  const openFor = sandboxOpener({ machine, readRoots, hidden: forbidden, ids });

  async function policyOf({ agent: { id, tools }, by: { owner } }: ToolsRequest): Promise<ExecPolicy> {
    const { mode, ask, allowlist } = tools.exec;
    return { mode, ask, allowlist, grants: await approvals.book.grants(id), owner };
  }

  function made(
    { agent, session, by, model }: ToolsRequest,
    owner: boolean,
    sandbox: Sandbox,
    files: WorkspaceFiles,
    policy: ExecPolicy,
    deferred: readonly Tool[] | undefined,
  ): MadeTools {
    if (machine === undefined) return { tools: [], unavailable: [] };
    const { home: _home, userHome: _userHome, exec, memory: _memory, remote: _remote, ...handedOn } = machine;
    const { timeoutSeconds } = agent.tools.exec;
    const { upkeep, ...forAll } = ports;
    return makeTools({
      ...forAll,
      ...(upkeep !== undefined && session === upkeepSession(agent.id) ? { upkeep } : {}),
      ...handedOn,
      ...notes,
      ...(memory === undefined || !agent.memorySearch.enabled ? {} : { memory }),
      ...(deferred === undefined ? {} : { deferred }),
      owner,
      speakers: by.senders,
      promptPaths: promptPathsIn(config, agent.workspace),
      vision: model.vision,
      timeZone: config.agents.defaults.userTimezone,
      halfDays: config.agents.defaults.timeFormat === "12",
      files,
      sandbox,
      clock,
      resultBytes: agent.contextLimits.toolResultMaxChars,
      ...(exec === undefined ? {} : { exec: { ...exec, approved, timeoutSeconds, policy } }),
    });
  }

  /** The tools of other programs, where they are too large for the prompt. */
  function deferredOf(remote: readonly Tool[], steps: readonly PolicyStep[]): readonly Tool[] | undefined {
    const { tools } = applyPolicy(
      remote.map(({ name }) => name),
      steps,
    );
    const there = remote.filter(({ name }) => tools.includes(name));
    return isSearched(config.mcp.toolSearch, there) ? there : undefined;
  }

  return {
    async at(request) {
      const { agent, session, places, by, model } = request;
      const [opened, execPolicy] = await Promise.all([openFor(request), policyOf(request)]);
      const cannot = "cannot" in opened ? opened.cannot : null;
      const sandbox = "cannot" in opened ? noSandbox(agent.workspace, noSearchPath) : opened;
      const { workspace: root, inside, readOnly } = sandbox;
      const userHome = machine === undefined ? {} : { userHome: machine.userHome };
      const lent = sandbox.scratch
        ? { lent: { root: agent.workspace, folders: skillFolders(agent.workspace, readRoots) } }
        : {};
      const files = filesAt({ root, inside, readOnly, readRoots, forbidden, ...userHome, ...lent });
      const steps = (senders: readonly ToolRules[]): ReturnType<typeof policySteps> =>
        policySteps({
          global: settings,
          agent: agent.tools,
          model: model.id,
          places: places.map((rules) => ({ name: "this place", rules })),
          senders,
          sandbox: sandbox.kind !== "none" || cannot !== null ? settings.sandbox.tools : undefined,
          subagent: childRules(session, config),
        });
      const remote = await machine?.remote?.at(config.mcp, cannot === null ? sandbox : null);
      const deferred = deferredOf(remote?.tools ?? [], steps([]));
      const make = (owner: boolean): MadeTools => made(request, owner, sandbox, files, execPolicy, deferred);
      const { tools: own, unavailable: lacking } = make(by.owner);
      const isShared = sharedKinds.includes(parseSessionKey(session).kind);
      const ofOthers = isShared ? make(!by.owner).tools : own;
      const ownersOnly = by.owner ? without(own, ofOthers) : without(ofOthers, own);
      // The model sees the owners' tools, and a call of one fails, because the person who asks is no owner.
      const tools = by.owner ? own : [...own, ...ownersOnly.map(neverRun)];
      const shut =
        cannot === null
          ? []
          : tools
              .filter(({ name }) => needsSandbox(name))
              .map(({ name }) => ({ tool: name, reason: cannot }));
      const there = [...moreTools, ...tools, ...(remote?.tools ?? [])].filter(
        ({ name }) => !shut.some(({ tool }) => tool === name),
      );
      const theirs = by.owner ? there : without(there, ownersOnly);
      const decision = applyPolicy(
        theirs.map(({ name }) => name),
        steps(senderRules(settings, by.senders)),
      );
      const told = isShared
        ? applyPolicy(
            there.map(({ name }) => name),
            steps([]),
          ).tools
        : decision.tools;
      // Where a rule takes the search away, all are told as they are.
      const isDeferred = ({ name }: Tool): boolean =>
        told.includes(toolSearchName) && (deferred ?? []).some((tool) => tool.name === name);
      const tooLarge = toolsThatDoNotFit(
        there.filter((tool) => told.includes(tool.name) && !isDeferred(tool) && !moreTools.includes(tool)),
        model.contextWindow,
      );
      return {
        tools: there
          .filter(({ name }) => told.includes(name) && !tooLarge.some(({ tool }) => tool === name))
          .map((tool) =>
            ownersOnly.some(({ name }) => name === tool.name)
              ? { ...tool, summary: `${tool.summary} (for owners; refused to others)` }
              : tool,
          )
          .map((tool) => (isDeferred(tool) ? { ...tool, deferred: true } : tool))
          .map((tool) => toolHooks.watched(tool)),
        refused: new Map(
          [...lacking, ...decision.removed.map(({ tool, rule }) => ({ tool, reason: rule }))]
            .filter(({ tool }) => told.includes(tool))
            .map(({ tool, reason }) => [tool, reason]),
        ),
        decision,
        unavailable: [...lacking, ...shut, ...(remote?.unavailable ?? []), ...tooLarge],
        files,
        sandbox: factsOf(sandbox, agent),
        execPolicy,
      };
    },
  };
}

/**
 * Sessions in which people take turns. In a private one, a rule for a person removes the tool from what the
 * model sees.
 */
const sharedKinds: readonly string[] = ["group", "channel"];

function without(tools: readonly Tool[], others: readonly Tool[]): readonly Tool[] {
  return tools.filter(({ name }) => !others.some((other) => other.name === name));
}

function neverRun(tool: Tool): Tool {
  return { ...tool, run: () => Promise.reject(new Fault("denied", `only owners may use ${tool.name}`)) };
}
