// The agent: its loop, the prompt compiler, the workspace files it is made from, and the parser of its replies.
export { type PromptBudget, promptBudget } from "./prompt/budget.ts";
export {
  type CompiledPrompt,
  compile,
  type FileReport,
  hashOf,
  type SectionReport,
} from "./prompt/compile.ts";
export { heartbeatToken, silentToken } from "./prompt/control-tokens.ts";
export {
  type Comparable,
  diff,
  explain,
  type PromptDiff,
  type PromptExplanation,
  type PromptMove,
  type SchemaReport,
} from "./prompt/explain.ts";
export type { Audience, PromptMode } from "./prompt-mode.ts";
export {
  type ChannelFacts,
  type DocumentationFacts,
  type PromptFacts,
  promptFacts,
  readsWorkspace,
  type SandboxFacts,
  type SkillFact,
  type StableFacts,
  type StableInput,
  type SurfaceFacts,
} from "./prompt/facts.ts";
export { hashedIds } from "./prompt/hashed-ids.ts";
export { cliCommands } from "./prompt/sections/cli-reference.ts";
export { promptSections, stableSections, volatileSections } from "./prompt/order.ts";
export { builtInOverlay, type ProviderContribution } from "./prompt/overlay.ts";
export { headOf, plainLine, tailOf } from "./plain-line.ts";
export { runtimeLine } from "./prompt/runtime-line.ts";
export type { Section, StableSection, VolatileSection } from "./prompt/section.ts";
export { estimateTokens, tokenEstimator } from "./prompt/tokens.ts";
export { type ToolFact, type ToolSet, toolSet } from "./prompt/tool-list.ts";
export { sanitizeOutbound } from "./reply/outbound.ts";
export { hideSecrets, noRedaction, type Redaction } from "./reply/redact.ts";
export { type ReplyOptions, type ReplyParser, replyParser } from "./reply/reply-parser.ts";
export { commandSummary, findSkillCommand, type SkillCommand, skillCommands } from "./skills/commands.ts";
export { skillEnvironment, type SkillValues } from "./skills/environment.ts";
export {
  hasSetting,
  isAllowed,
  judgeSkill,
  type SkillEntry,
  type SkillSurroundings,
  type SkillVerdict,
  type Unmet,
} from "./skills/eligibility.ts";
export { installSkill, type InstalledSkill, type InstallRequest } from "./skills/install/install.ts";
export { listSkills, type SkillListing } from "./skills/listing.ts";
export type { SkillEligibility, SkillManifest } from "./skills/manifest.ts";
export {
  defaultSkillLimits,
  type RejectedSkill,
  type Skill,
  type SkillLimits,
  type SkillRoot,
  type LoadedSkills,
  type SkillShelves,
  skillShelves,
  type SkillSource,
  skillSources,
} from "./skills/skill-loader.ts";
export { skillText } from "./skills/skill-file.ts";
export { skillId } from "./skills/skill-name.ts";
export { riskSignsIn } from "./skills/risk-signs.ts";
export { disarm, disarmedLine, fence, stripChatTokens } from "./untrusted.ts";
export { type ToldMessage, type UserMessageInput, userMessage } from "./user-message.ts";
export {
  type Bootstrap,
  bootstrapFiles,
  type BootstrapHook,
  type BootstrapOptions,
  type BootstrapRequest,
  type HookFile,
} from "./workspace/bootstrap.ts";
export { type EnsuredWorkspace, ensureWorkspace } from "./workspace/ensure-workspace.ts";
export {
  type BootstrapFile,
  type BootstrapName,
  bootstrapNames,
  type BootstrapSnapshot,
} from "./workspace/snapshot.ts";
export { type BootstrapCaps, defaultCaps } from "./workspace/trim.ts";
export { type TruncationPolicy, truncationWarning, warnOnce } from "./workspace/warning.ts";
export { essentialsOf } from "./context/essentials.ts";
export { flushRequest, flushSystem } from "./context/flush-prompt.ts";
export { openContextWindow, type ContextWindow, longLog } from "./context/context-window.ts";
export { narrowed } from "./context/narrow.ts";
export {
  defaultCompaction,
  defaultPruning,
  type CompactionSettings,
  type PruningSettings,
} from "./context/settings.ts";
export { tokensOfText } from "./context/size.ts";
export { type Placed, standing } from "./context/standing.ts";
export { summarise, type Summarised, type SummaryInput } from "./context/summarise.ts";
export { type ForeignOrigin, type OriginOf, ownersAlone } from "./workspace/origin.ts";
export { rootedReader } from "./workspace/read-rooted.ts";
export type { Fitted, LoopContext, Prepared } from "./loop/context-port.ts";
export type { BadCall, Journal, JournalStep } from "./loop/journal.ts";
export type { Gate, GateDecision } from "./loop/calls.ts";
export type { LoopEnd, LoopEvent, LoopStop } from "./loop/event.ts";
export { type Ledger, type LoopDeps, type LoopInput, mostCallsPerAnswer, runLoop } from "./loop/loop.ts";
export type { Spill } from "./loop/result-cap.ts";
export { viewOf } from "./loop/view.ts";
