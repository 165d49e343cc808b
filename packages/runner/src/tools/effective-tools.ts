// Makes the tools of a turn for its agent and place, then narrows them by the policy chain and explains every
// removal. When a required sandbox is missing, the tools that would run in it are removed, so that nothing
// falls back to the host.
import { join, relative, sep } from "node:path";
import type { SandboxFacts } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import type { Model } from "@parley/models";
import { Fault, isFault, parseSessionKey, type Clock, type Ids, type SessionKey } from "@parley/protocol";
import {
  applyPolicy,
  catalogue,
  isSandboxed,
  makeTools,
  noSandbox,
  openSandbox,
  policySteps,
  promptFolders,
  promptNames,
  workspaceFiles,
  type ExecGrant,
  type ExecPolicy,
  type ExecPorts,
  type MadeTools,
  type PolicyDecision,
  type Sandbox,
  type Tool,
  type ToolContext,
  type ToolRules,
  type WorkspaceFiles,
  type WorkspaceFilesOptions,
} from "@parley/tools";
import type { FileOrigins } from "../file-origins.ts";
import { senderRules, type Speakers } from "@parley/access";

interface ToolsRequest {
  readonly agent: AgentConfig;
  readonly session: SessionKey;
  /** The place's rules, outermost first. */
  readonly places: readonly ToolRules[];
  readonly by: Speakers;
  readonly model: Pick<Model, "id" | "vision">;
}

export interface ToolsHere {
  /**
   * The tools that the model sees. In a shared session they are the same whoever asks, because every change
   * would cost the provider's cache (I12).
   */
  readonly tools: readonly Tool[];
  /** Those of `tools` that the people who ask may not use, with the reason; a call of one is refused. */
  readonly refused: ReadonlyMap<string, string>;
  /** Explains why existing tools may not be used, and why none is left. */
  readonly decision: PolicyDecision;
  /** Tools that this machine cannot provide at all. */
  readonly unavailable: readonly { readonly tool: string; readonly reason: string }[];
  /** The files that the tools work on: the agent's workspace, or its sandbox's folder. */
  readonly files: WorkspaceFiles;
  readonly sandbox: SandboxFacts | undefined;
  /** Which commands may run. */
  readonly execPolicy: ExecPolicy;
}

export interface EffectiveTools {
  at(request: ToolsRequest): Promise<ToolsHere>;
}

/** The ports that the catalogue's tools use on this machine. */
export interface ToolPorts {
  /** The state folder, which tools may not enter. */
  readonly home: string;
  readonly userHome: string;
  /** The authors of what enters prompts; absent where nobody records them. */
  readonly origins?: FileOrigins;
  /** Absent where no commands can run. */
  readonly exec?: Pick<ExecPorts, "commands" | "host">;
  readonly pictures?: ToolContext["pictures"];
  readonly settings?: ToolContext["settings"];
}

export interface EffectiveToolsOptions {
  readonly config: Config;
  /** Absent: there are no tools but `more`. */
  readonly hands: ToolPorts | undefined;
  /** Tools beside the catalogue's, for the rehearsal. */
  readonly more: readonly Tool[];
  /** Folders of skills. */
  readonly readRoots: readonly string[];
  /** Returns the commands that people allowed an agent permanently. */
  readonly grants?: (agent: string) => Promise<readonly ExecGrant[]>;
  readonly approved?: ExecPorts["approved"];
  /** Wraps every tool that is handed out. */
  readonly watched?: (tool: Tool) => Tool;
  readonly status: ToolContext["status"];
  readonly plans: ToolContext["plans"];
  readonly clock: Clock;
  readonly ids: Ids;
}

const noSearchPath = "";

export function effectiveTools(options: EffectiveToolsOptions): EffectiveTools {
  const { config, hands, clock } = options;
  const { tools: settings } = config;
  const readRoots = [...options.readRoots, ...settings.fs.readRoots];
  const forbidden = hands === undefined ? [] : [hands.home];
  const filesAt = sharedFiles();

  async function placeOf({ agent, session }: ToolsRequest): Promise<Sandbox | { readonly cannot: string }> {
    const { workspace, sandbox } = agent;
    const host = hands?.exec?.host ?? {};
    if (hands === undefined || !isSandboxed(sandbox.mode, session, [`agent:${agent.id}:main` as SessionKey]))
      return noSandbox(workspace, host["PATH"] ?? noSearchPath);
    const folder = join(hands.home, "sandboxes");
    const mark = (): string => options.ids.uuid();
    try {
      return await openSandbox(sandbox, {
        agent: agent.id,
        session,
        workspace,
        folder,
        readRoots,
        hidden: forbidden,
        host,
        mark,
      });
    } catch (error) {
      if (isFault(error)) return { cannot: error.message };
      throw error;
    }
  }

  async function policyOf({ agent: { id, tools }, by: { owner } }: ToolsRequest): Promise<ExecPolicy> {
    const { mode, ask, allowlist } = tools.exec;
    return { mode, ask, allowlist, grants: (await options.grants?.(id)) ?? [], owner };
  }

  function made(
    { agent, by, model }: ToolsRequest,
    owner: boolean,
    sandbox: Sandbox,
    files: WorkspaceFiles,
    policy: ExecPolicy,
  ): MadeTools {
    if (hands === undefined) return { tools: [], unavailable: [] };
    const { status, plans, approved } = options;
    const { exec, pictures, settings: desk, origins } = hands;
    const { timeoutSeconds } = agent.tools.exec;
    return makeTools({
      owner,
      speakers: by.senders,
      promptPaths: promptPathsIn(config, agent.workspace),
      ...(origins === undefined ? {} : { origins }),
      vision: model.vision,
      timeZone: config.agents.defaults.userTimezone,
      halfDays: config.agents.defaults.timeFormat === "12",
      files,
      sandbox,
      clock,
      resultBytes: agent.contextLimits.toolResultMaxChars,
      ...(exec === undefined
        ? {}
        : { exec: { ...exec, ...(approved === undefined ? {} : { approved }), timeoutSeconds, policy } }),
      ...(pictures === undefined ? {} : { pictures }),
      ...(desk === undefined ? {} : { settings: desk }),
      ...(status === undefined ? {} : { status }),
      ...(plans === undefined ? {} : { plans }),
    });
  }

  return {
    async at(request) {
      const { agent, session, places, by, model } = request;
      const [opened, execPolicy] = await Promise.all([placeOf(request), policyOf(request)]);
      const cannot = "cannot" in opened ? opened.cannot : null;
      const sandbox = "cannot" in opened ? noSandbox(agent.workspace, noSearchPath) : opened;
      const { workspace: root, inside, readOnly } = sandbox;
      const userHome = hands === undefined ? {} : { userHome: hands.userHome };
      const lent = sandbox.scratch
        ? { lent: { root: agent.workspace, folders: skillFolders(agent.workspace, readRoots) } }
        : {};
      const files = filesAt({ root, inside, readOnly, readRoots, forbidden, ...userHome, ...lent });
      const { tools: own, unavailable: lacking } = made(request, by.owner, sandbox, files, execPolicy);
      const isShared = sharedKinds.includes(parseSessionKey(session).kind);
      const ofOthers = isShared ? made(request, !by.owner, sandbox, files, execPolicy).tools : own;
      const ownersOnly = by.owner ? without(own, ofOthers) : without(ofOthers, own);
      // The model sees the owners' tools, and a call of one fails, because the person who asks is no owner.
      const tools = by.owner ? own : [...own, ...ownersOnly.map(neverRun)];
      const shut =
        cannot === null
          ? []
          : tools
              .filter(({ name }) => needsSandbox(name))
              .map(({ name }) => ({ tool: name, reason: cannot }));
      const there = [...options.more, ...tools].filter(({ name }) => !shut.some(({ tool }) => tool === name));
      const steps = (senders: readonly ToolRules[]): ReturnType<typeof policySteps> =>
        policySteps({
          global: settings,
          agent: agent.tools,
          model: model.id,
          places: places.map((rules) => ({ name: "this place", rules })),
          senders,
          sandbox: sandbox.kind !== "none" || cannot !== null ? settings.sandbox.tools : undefined,
          subagent: parseSessionKey(session).kind === "subagent" ? settings.subagents.tools : undefined,
        });
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
      return {
        tools: there
          .filter(({ name }) => told.includes(name))
          .map((tool) =>
            ownersOnly.some(({ name }) => name === tool.name)
              ? { ...tool, summary: `${tool.summary} (for owners; refused to others)` }
              : tool,
          )
          .map((tool) => options.watched?.(tool) ?? tool),
        refused: new Map(
          [...lacking, ...decision.removed.map(({ tool, rule }) => ({ tool, reason: rule }))]
            .filter(({ tool }) => told.includes(tool))
            .map(({ tool, reason }) => [tool, reason]),
        ),
        decision,
        unavailable: [...lacking, ...shut],
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

/**
 * Lists what the config puts into prompts: folders of skills in the workspace, and workspaces of other agents
 * in it.
 */
function promptPathsIn({ skills, agents }: Config, workspace: string): readonly string[] {
  const others = agents.list.flatMap((other) =>
    [...promptNames, ...promptFolders].map((name) => join(other.workspace, name)),
  );
  const below = [...skills.load.extraDirs, ...others].map((path) =>
    relative(workspace, path).split(sep).join("/"),
  );
  return below.filter((path) => path !== "" && !path.startsWith("../"));
}

/**
 * Relative to the workspace. A prompt lists the skills there, so tools may read them even where a sandbox
 * hides the rest.
 */
function skillFolders(workspace: string, readRoots: readonly string[]): readonly string[] {
  const below = readRoots.map((path) => relative(workspace, path).split(sep).join("/"));
  return [
    "skills",
    ".agents/skills",
    ...below.filter((path) => path !== "" && path !== ".." && !path.startsWith("../")),
  ];
}

/** True for tools that need a folder or a process. */
function needsSandbox(tool: string): boolean {
  const section = catalogue.find(({ id }) => id === tool)?.section;
  return section === "fs" || section === "runtime";
}

function factsOf({ kind, inside }: Sandbox, { sandbox }: AgentConfig): SandboxFacts | undefined {
  if (kind === "none") return undefined;
  return {
    kind,
    containerWorkspace: inside,
    access: sandbox.workspaceAccess,
    network: sandbox.network,
    elevated: false,
  };
}

/** Shares one instance for each folder and view, because it queues the changes to a folder. */
function sharedFiles(): (options: WorkspaceFilesOptions) => WorkspaceFiles {
  const known = new Map<string, WorkspaceFiles>();
  return (options) => {
    const key = JSON.stringify(options);
    const found = known.get(key) ?? workspaceFiles(options);
    known.set(key, found);
    return found;
  };
}
