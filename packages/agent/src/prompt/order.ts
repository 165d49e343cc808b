// The table of contents: every section, in the order of the prompt. The cache boundary lies where stable
// ends.
import type { Section, StableSection, VolatileSection } from "./section.ts";
import { channel } from "./sections/channel.ts";
import { cliReference } from "./sections/cli-reference.ts";
import { documentation } from "./sections/documentation.ts";
import { executionBias } from "./sections/execution-bias.ts";
import { groupContext } from "./sections/group-context.ts";
import { heartbeats } from "./sections/heartbeats.ts";
import { identity } from "./sections/identity.ts";
import { interactionStyle } from "./sections/interaction-style.ts";
import { memoryRecall } from "./sections/memory-recall.ts";
import { messaging } from "./sections/messaging.ts";
import { modelAliases } from "./sections/model-aliases.ts";
import { projectContext } from "./sections/project-context.ts";
import { providerPrefix } from "./sections/provider-prefix.ts";
import { providerSuffix } from "./sections/provider-suffix.ts";
import { reactions } from "./sections/reactions.ts";
import { reasoningFormat } from "./sections/reasoning-format.ts";
import { replyTags } from "./sections/reply-tags.ts";
import { runtime } from "./sections/runtime.ts";
import { safety } from "./sections/safety.ts";
import { sandbox } from "./sections/sandbox.ts";
import { selfUpdate } from "./sections/self-update.ts";
import { silentReplies } from "./sections/silent-replies.ts";
import { skills } from "./sections/skills.ts";
import { subagentContext } from "./sections/subagent-context.ts";
import { timeZone } from "./sections/time-zone.ts";
import { toolCallStyle } from "./sections/tool-call-style.ts";
import { tooling } from "./sections/tooling.ts";
import { userIdentity } from "./sections/user-identity.ts";
import { voice } from "./sections/voice.ts";
import { workspaceFiles } from "./sections/workspace-files.ts";
import { workspace } from "./sections/workspace.ts";

const stableSections: readonly StableSection[] = [
  identity,
  providerPrefix,
  tooling,
  interactionStyle,
  executionBias,
  toolCallStyle,
  safety,
  cliReference,
  skills,
  memoryRecall,
  selfUpdate,
  modelAliases,
  workspace,
  documentation,
  sandbox,
  userIdentity,
  timeZone,
  workspaceFiles,
  projectContext,
];

const volatileSections: readonly VolatileSection[] = [
  replyTags,
  messaging,
  channel,
  voice,
  reactions,
  groupContext,
  subagentContext,
  silentReplies,
  heartbeats,
  reasoningFormat,
  providerSuffix,
  runtime,
];

export const promptSections: readonly Section[] = [...stableSections, ...volatileSections];
