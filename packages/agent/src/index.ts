// Exports the agent: its loop, the prompt compiler, the workspace files that it is made from, and the parser
// of its replies.
export {
  type FoundHook,
  hookFolderHash,
  hookShelf,
  type HookRoot,
  type HookShelf,
  type HookSource,
} from "./hooks/hook-shelf.ts";
export { promptBudget } from "./prompt/budget.ts";
export { type CompiledPrompt, compile } from "./prompt/compile.ts";
export { diff, explain, type PromptDiff, type PromptExplanation } from "./prompt/explain.ts";
export type { Audience, PromptMode } from "./prompt-mode.ts";
export {
  type ChannelFacts,
  type DocumentationFacts,
  type PromptFacts,
  promptFacts,
  readsWorkspace,
  type SandboxFacts,
  type StableInput,
  type SurfaceFacts,
} from "./prompt/facts.ts";
export { hashOf } from "./prompt/hash.ts";
export { hashedIds } from "./prompt/hashed-ids.ts";
export { promptSections } from "./prompt/order.ts";
export { builtInOverlay } from "./prompt/overlay.ts";
export { plainLine, tailOf } from "./plain-line.ts";
export { runtimeLine } from "./prompt/runtime-line.ts";
export { schemaSize } from "./prompt/schema-size.ts";
export type { Section } from "./prompt/section.ts";
export { estimateTokens, tokenEstimator } from "./prompt/tokens.ts";
export { toolSet } from "./prompt/tool-list.ts";
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
  type SkillVerdict,
} from "./skills/eligibility.ts";
export { installSkill } from "./skills/install/install.ts";
export { listSkills, type SkillListing } from "./skills/listing.ts";
export {
  type Skill,
  type SkillLimits,
  type SkillRoot,
  type LoadedSkills,
  skillShelves,
} from "./skills/skill-loader.ts";
export { skillText } from "./skills/skill-file.ts";
export { skillId } from "./skills/skill-name.ts";
export { riskSignsIn } from "./skills/risk-signs.ts";
export { disarm, disarmedLine, fence, stripChatTokens } from "./untrusted.ts";
export { type ToldMessage, type UserMessageInput, userMessage } from "./user-message.ts";
export {
  bootstrapFiles,
  saysNothing,
  type BootstrapHook,
  type BootstrapRequest,
  type HookFile,
} from "./workspace/bootstrap.ts";
export { ensureWorkspace } from "./workspace/ensure-workspace.ts";
export { type BootstrapName, bootstrapNames, type BootstrapSnapshot } from "./workspace/snapshot.ts";
export { type BootstrapCaps, defaultCaps } from "./workspace/trim.ts";
export { truncationWarning, warnOnce } from "./workspace/warning.ts";
export { pinnedSectionsOf } from "./context/pinned-sections.ts";
export { flushRequest, flushSystem } from "./context/flush-prompt.ts";
export { openContextWindow, type ContextWindow, longLog } from "./context/context-window.ts";
export { narrowed } from "./context/narrow.ts";
export {
  defaultCompaction,
  defaultPruning,
  type CompactionSettings,
  type PruningSettings,
} from "./context/settings.ts";
export { tokensOfBytes, tokensOfText } from "./context/size.ts";
export { liveHistory, type Placed } from "./context/live-history.ts";
export { summarise, type Summarised, type SummaryInput } from "./context/summarise.ts";
export { type ForeignOrigin, type OriginOf, ownersAlone } from "./workspace/origin.ts";
export { rootedReader } from "./workspace/read-rooted.ts";
export type { LoopContext } from "./loop/context-port.ts";
export type { Journal, JournalStep } from "./loop/journal.ts";
export type { HeardBefore } from "./loop/heard.ts";
export type { Gate, GateDecision } from "./loop/calls.ts";
export type { LoopEnd, LoopEvent, LoopStop } from "./loop/event.ts";
export { type Ledger, type LoopDeps, type LoopInput, runLoop } from "./loop/loop.ts";
export { mostCallsPerAnswer } from "./loop/turn-state.ts";
export { offeredSchemas } from "./loop/offered.ts";
export { viewOf } from "./loop/view.ts";
