// Everything a prompt may depend on, in two halves. Sections of the stable zone are handed `StableFacts` and
// nothing else, so I12 (the stable zone is a pure function of the stable facts) is checked by the compiler.
// There is no clock in either half.
import type { ActionKind, AddressKind, Capabilities, ReasoningLevel, ThinkingLevel } from "@parley/protocol";
import type { Audience, PromptMode } from "../prompt-mode.ts";
import type { BootstrapSnapshot } from "../workspace/snapshot.ts";
import type { ProviderContribution } from "./overlay.ts";
import { deepEqual } from "./deep-equal.ts";
import { type ToolFact, type ToolSet, toolSet } from "./tool-list.ts";

export interface SkillFact {
  readonly name: string;
  readonly description: string;
  /** Path of its SKILL.md, as the read tool takes it. */
  readonly location: string;
}

export interface SandboxFacts {
  /** `bubblewrap` or `docker`. */
  readonly kind: string;
  /** Where the workspace is inside the sandbox: what exec sees. */
  readonly containerWorkspace: string;
  readonly access: "none" | "ro" | "rw";
  /** `egress`: the web alone, by a proxy that the environment names. */
  readonly network: "on" | "off" | "egress";
  /** Elevated exec may leave the sandbox. */
  readonly elevated: boolean;
  readonly browserUrl?: string;
}

/** What lies beside this program. There is no public address yet, so none is told. */
export interface DocumentationFacts {
  /** Folder of the docs, which the read tool can open. */
  readonly path: string;
  /** A checkout with sources to look into; a bundle has none. */
  readonly source?: string;
}

export interface StableInput {
  readonly version: string;
  readonly agent: string;
  readonly mode: PromptMode;
  readonly audience: Audience;
  readonly modelFamily: string;
  readonly provider?: ProviderContribution | undefined;
  /** The effective tools, after policy. */
  readonly tools: readonly ToolFact[];
  readonly skills: readonly SkillFact[];
  /** Told under the list of skills when it is not whole. */
  readonly skillsNote?: string | undefined;
  /** `auto`: citations in private conversations only. */
  readonly citations: "off" | "on" | "auto";
  readonly modelAliases: readonly { readonly alias: string; readonly model: string }[];
  readonly workspace: string;
  readonly files: BootstrapSnapshot;
  /** The truncation warning stands in Project Context: policy `always`. */
  readonly warnTruncation: boolean;
  readonly docs?: DocumentationFacts | undefined;
  /** The program by which a command on this machine reaches the daemon. */
  readonly cli?: string | undefined;
  readonly sandbox?: SandboxFacts | undefined;
  /** Ids of owners, configured or paired, as they shall be shown: raw, or hashed by `hashedIds`. */
  readonly owners: readonly string[];
  /** IANA name. */
  readonly timeZone?: string | undefined;
}

export interface StableFacts extends Omit<StableInput, "tools"> {
  readonly tools: ToolSet;
}

export interface ChannelFacts {
  readonly name: string;
  readonly kind: AddressKind;
  readonly threaded: boolean;
  readonly capabilities: Capabilities;
  readonly actions: readonly ActionKind[];
  /** `{ enableWith }` names the config key that would turn inline buttons on. */
  readonly buttons: "on" | "unsupported" | { readonly enableWith: string };
  /** Nobody reads a reply: it goes to a webhook, whose caller is not answered. */
  readonly unheard: boolean;
}

export interface SurfaceFacts {
  readonly session: string;
  /** Commands may have to wait for a person's approval. */
  readonly approvals: boolean;
  /** Absent for turns without a conversation: cron, subagents, hooks. */
  readonly channel?: ChannelFacts | undefined;
  readonly reactions: "off" | "minimal" | "extensive";
  /** Guidance for spoken replies, where replies are spoken. */
  readonly ttsHint?: string | undefined;
  /** The configured text of this group, or the task of this subagent. */
  readonly context?: string | undefined;
  /** Where nothing need be said: nowhere (a private chat), to those who did not ask, or freely. */
  readonly silence: "none" | "unasked" | "free";
  /** `context` already tells when to stay silent, so the general section would only repeat it. */
  readonly contextTellsSilence: boolean;
  /** The poll that heartbeats send; absent when heartbeats are off or kept out of the prompt. */
  readonly heartbeatPrompt?: string | undefined;
  /** The model has no reasoning channel of its own and must use tags. */
  readonly reasoningTags: boolean;
  readonly reasoning: ReasoningLevel;
  readonly thinking: ThinkingLevel;
  readonly host: string;
  readonly repo?: string | undefined;
  readonly os: string;
  readonly arch: string;
  readonly node: string;
  readonly shell?: string | undefined;
  readonly model: string;
  readonly defaultModel: string;
}

/** The read tool opens the agent's workspace. In a sandbox with a folder of its own it does not. */
export function readsWorkspace({
  tools,
  sandbox,
}: Pick<StableFacts, "sandbox"> & { readonly tools: Pick<ToolSet, "has"> }): boolean {
  return tools.has("read") && sandbox?.access !== "none";
}

/** Commands run on the gateway's own machine. */
export function runsOnHost({ tools, sandbox }: Pick<StableFacts, "tools" | "sandbox">): boolean {
  return tools.has("exec") && sandbox === undefined;
}

export interface PromptFacts {
  readonly stable: StableFacts;
  readonly surface: SurfaceFacts;
}

/**
 * Computes what sections share once, and freezes the result. Equal stable facts are one object, so that what
 * is made of them is made once (compile.ts).
 */
export function promptFacts(stable: StableInput, surface: SurfaceFacts): PromptFacts {
  return Object.freeze({ stable: stableFacts(stable), surface: Object.freeze({ ...surface }) });
}

interface Known {
  /** As given, with of each tool only what is told of it. */
  readonly input: StableInput;
  readonly facts: StableFacts;
}

/** Those of the last agents, audiences and models that were asked for, the newest first. */
let known: readonly Known[] = [];
const mostKnown = 16;

function stableFacts(given: StableInput): StableFacts {
  const input: StableInput = {
    ...given,
    tools: given.tools.map(({ name, summary, deferred }) => ({
      name,
      summary,
      ...(deferred === undefined ? {} : { deferred }),
    })),
  };
  const found = known.find((each) => deepEqual(each.input, input));
  if (found === undefined) {
    const facts = Object.freeze({ ...input, tools: toolSet(input.tools) });
    known = [{ input, facts }, ...known.slice(0, mostKnown - 1)];
    return facts;
  }
  if (found !== known[0]) known = [found, ...known.filter((each) => each !== found)];
  return found.facts;
}
