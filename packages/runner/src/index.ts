// Runs turns: from leased rows over the agent's loop to the one commit that ends a turn. Sees no HTTP and no daemon.
export { isApproved } from "./approvals/approval-gate.ts";
export type { Approval, Verdict } from "./approvals/approval.ts";
export { approvalDesk, type ApprovalDesk, type Decider } from "./approvals/approvals.ts";
export { askedByLines } from "./approvals/asked-by.ts";
export { tooManyOpen } from "./approvals/open-limits.ts";
export { backlogQuietMs, isBacklog } from "./backlog.ts";
export { usageAfter } from "./commit-turn.ts";
export { turnContext } from "./context.ts";
export { droppedBook, type DroppedBook } from "./dropped-messages.ts";
export { readEntry, sessionHistory } from "./history.ts";
export { injectName } from "./inject.ts";
export { mediaFolder } from "./media/media-store.ts";
export type { MediaReaderOptions } from "./media/read-attachment.ts";
export { startupDue } from "./memory/startup-memory.ts";
export { directiveCommand, isClearing, readDirectives } from "./models/directives.ts";
export {
  modelBook,
  modelField,
  type FoundModel,
  type ModelBook,
  type ModelChoice,
} from "./models/model-choice.ts";
export { modelTrouble } from "./models/model-failure.ts";
export {
  ownReasoning,
  ownThinking,
  reasoningField,
  reasoningOf,
  thinkingField,
  thinkingOf,
  thinkingWords,
  unsupportedThinking,
} from "./models/thinking.ts";
export { agentIn, setUp, type PromptNow, type SetUp } from "./prepare-turn.ts";
export { bootstrapHooks } from "./prompt/bootstrap-hooks.ts";
export type { Surface } from "./prompt/channel-facts.ts";
export { originBook, type OriginBook } from "./prompt/file-origins.ts";
export { docsRoots, type House } from "./prompt/prompt-facts.ts";
export { promptBook, turnsKept, type PromptBook, type PromptRecord } from "./prompt/prompt-history.ts";
export {
  settleTrial,
  suspects,
  suspectsHere,
  type Ruling,
  type Suspects,
  type SuspectsHere,
} from "./quarantine.ts";
export {
  dropPolicies,
  ownQueueSettings,
  queueField,
  queueModes,
  queueSettingsOf,
  type QueueSettings,
} from "./queue-settings.ts";
export type { LaneCommand, LaneCommandCall, LaneCommandEnd } from "./run-command.ts";
export { runningTurns, type RunningTurns } from "./running-turns.ts";
export { sessionLane } from "./session-lane.ts";
export { skillCall } from "./skills/skill-call.ts";
export {
  noSkills,
  skillBook,
  type SkillBook,
  type SkillSurvey,
  type SkillsHere,
  type SurveyedSkill,
} from "./skills/skill-registry.ts";
export { interrupted } from "./stopped-answer.ts";
export { noProgress, type ShowProgress } from "./streaming/progress.ts";
export { keepTyping } from "./streaming/typing.ts";
export { allCommandRecords, commandRecords } from "./tools/command-store.ts";
export { toolBook, type Hands } from "./tools/effective-tools.ts";
export { toolHold, type ToolHold } from "./tools/emergency-stop.ts";
export { agentSettings, type Restarting } from "./tools/gateway-settings.ts";
export { sessionPlans, sessionStatus } from "./tools/session-tools.ts";
export { toolHooks, type ToolHooks } from "./tools/tool-hooks.ts";
export { listedTools, type ListedTool } from "./tools/tool-listing.ts";
export { showsWaiting } from "./turn-rows.ts";
export type { SetUpTurn } from "./turn-setup.ts";
export { resetIn, spendLedger, type SpendLedger, type SpendState } from "./usage/spend-limits.ts";
export {
  addUsed,
  daysBack,
  noneUsed,
  tokensOf,
  usageBook,
  type UsageBook,
  type UsageRow,
  type Used,
} from "./usage/usage-log.ts";
