// Runs turns: from leased rows through the agent's loop to the one commit that ends a turn. This package
// imports no HTTP and no daemon.
export { isApproved } from "./approvals/approval-gate.ts";
export type { Approval, Verdict } from "./approvals/approval.ts";
export { allCanvases, canvasId, canvasOf, forgetCanvas, pageOf } from "./canvas/canvas-store.ts";
export {
  canvasLink,
  canvasOfTicket,
  canvasView,
  openCanvasLink,
  type CanvasView,
} from "./canvas/canvas-links.ts";
export { createApprovals, type Approvals, type Decider } from "./approvals/approvals.ts";
export { askedByLines } from "./approvals/asked-by.ts";
export { tooManyOpen } from "./approvals/open-limits.ts";
export type { Question } from "./questions/question.ts";
export { createQuestions, type Questions } from "./questions/questions.ts";
export { backlogQuietMs, isBacklog } from "./queue/backlog.ts";
export { usageAfter } from "./commit-turn.ts";
export { turnContext } from "./context/context.ts";
export { droppedLog, type DroppedLog } from "./queue/dropped-messages.ts";
export { readEntry, sessionHistory } from "./transcript/history.ts";
export { forkName, type Fork } from "./transcript/fork.ts";
export { injectName } from "./transcript/inject.ts";
export { extensionOf, mediaFolder } from "./media/media-store.ts";
export { mediaReader, type MediaHandling, type ReadMedia } from "./media/read-attachment.ts";
export { provenanceOf, stampOf } from "./memory/provenance.ts";
export { memoryForgetting, type MemoryForgetting } from "./memory/forget.ts";
export { lastForgotten, memoryTarget, searchSettings, tellForgotten, withOrigin } from "./memory/recall.ts";
export { noteHistory } from "./memory/note-history.ts";
export { changeWords, outcomeWords } from "./memory/proposal-card.ts";
export type { Proposal } from "./memory/proposal.ts";
export { keepUpkeepJobs } from "./memory/upkeep-job.ts";
export { noteUpkeep, type NoteUpkeep } from "./memory/upkeep.ts";
export { restoreMarks } from "./memory/untrusted-lines.ts";
export { operatorTalk, type OperatorTalk } from "./memory/operator-talk.ts";
export { startupDue } from "./memory/startup-memory.ts";
export { directiveCommand, directiveNames, isClearing, readDirectives } from "./models/directives.ts";
export {
  modelCatalog,
  modelField,
  modelNamed,
  type ModelCatalog,
  type ModelChoice,
} from "./models/model-catalog.ts";
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
export {
  agentIn,
  turnPreparer,
  type PreparerNeeds,
  type PromptNow,
  type TurnPreparer,
} from "./prepare-turn.ts";
export { bootstrapHooks, heardBootstrap } from "./prompt/bootstrap-hooks.ts";
export { fileOrigins, type FileOrigins } from "./file-origins.ts";
export type { InstallationFacts } from "./installation-facts.ts";
export { promptHistory, turnsKept, type PromptHistory, type PromptRecord } from "./prompt/prompt-history.ts";
export {
  settleTrial,
  quarantine,
  quarantineMemory,
  type Ruling,
  type Quarantine,
  type QuarantineMemory,
} from "./quarantine.ts";
export {
  dropPolicies,
  ownQueueSettings,
  queueField,
  queueModes,
  queueSettingsOf,
  type QueueSettings,
} from "./queue/queue-settings.ts";
export type { LaneCommand, LaneCommandCall, LaneCommandEnd } from "./run-command.ts";
export { runningTurns, type RunningTurns } from "./running-turns.ts";
export { runSession } from "./run-session.ts";
export { steerChild, taskRow } from "./sessions/steer-child.ts";
export { transcriptLines } from "./sessions/transcript-lines.ts";
export { busyLanes } from "./sessions/session-list.ts";
export { answeringStore } from "./sessions/answering-turns.ts";
export { childIn, childRegistry, type Child, type ChildRegistry } from "./sessions/child-registry.ts";
export { exportLines, exportPage } from "./sessions/export-transcript.ts";
export { nameField, nameOf } from "./sessions/session-name.ts";
export { createSideQuestions, type SideQuestions } from "./side-questions.ts";
export { childLine } from "./sessions/children.ts";
export { threadOpeningOutbox, waitingTask } from "./sessions/child-threads.ts";
export { leaveIdleThreads } from "./sessions/idle-threads.ts";
export {
  endWithoutTurn,
  healChildren,
  killAll,
  killBelow,
  killChild,
  stopBelow,
} from "./sessions/end-children.ts";
export { hookFence, hookRow } from "./hooks/hook-row.ts";
export { messageContext } from "./hooks/message-events.ts";
export { keepConversation, type SessionNoteNeeds } from "./hooks/session-note.ts";
export { knownPlaces } from "./messages/known-places.ts";
export { keptEpochs } from "./schedules/kept-epochs.ts";
export { emptyRun, missedRun, runLog, type JobRun } from "./schedules/run-log.ts";
export { alertPlaces, scheduledStore } from "./schedules/scheduled-turns.ts";
export { addressIn } from "./schedules/address-in.ts";
export { problems } from "./schedules/asked-job.ts";
export { jobLine, nextOf } from "./schedules/job-line.ts";
export type { JobMaker } from "./schedules/job-maker.ts";
export { isManual } from "./schedules/manual-run.ts";
export { createSchedules, type Schedules } from "./schedules/schedules.ts";
export {
  joining,
  operatorSender,
  placeOfRuns,
  scheduleRow,
  sessionOfRuns,
  slotOf,
  slotRow,
} from "./schedules/slot-row.ts";
export type { FilesSeen } from "./schedules/watch-baseline.ts";
export { readCall, webhookPrefix, writtenCall, type WebhookCall } from "./schedules/webhook-cell.ts";
export { skillCall } from "./skills/skill-call.ts";
export {
  noSkills,
  skillRegistry,
  type SkillRegistry,
  type SkillSurvey,
  type SkillsHere,
  type SurveyedSkill,
} from "./skills/skill-registry.ts";
export { speechField, speechModeOf, speechModes, type SpeechMode } from "./speech/speech-mode.ts";
export { interrupted } from "./stopped-answer.ts";
export { noProgress, type ShowProgress } from "./streaming/progress.ts";
export { keepTyping } from "./streaming/typing.ts";
export { deviceRow } from "./tools/device-row.ts";
export { allCommandRecords, commandRecords } from "./tools/process-store.ts";
export { effectiveTools, type MachinePorts } from "./tools/effective-tools.ts";
export type { RemoteTools } from "./tools/remote-tools.ts";
export { emergencyStop, type EmergencyStop } from "./emergency-stop.ts";
export { agentSettings, type Restarting } from "./tools/gateway-settings.ts";
export { toolHooks, type ToolHooks } from "./tools/tool-hooks.ts";
export { listedTools, type ListedTool } from "./tools/tool-listing.ts";
export { toolPorts, type ToolPortNeeds } from "./tools/tool-ports.ts";
export { showsWaiting } from "./turn-rows.ts";
export type { PreparedTurn } from "./prepared-turn.ts";
export { resetIn, spendLimits, type SpendLimits, type SpendState } from "./usage/spend-limits.ts";
export {
  addUsed,
  noneUsed,
  tokensOf,
  usageLog,
  type UsageLog,
  type UsageRow,
  type Used,
} from "./usage/usage-log.ts";
export { verboseField, verboseLevels, verboseOf, type VerboseLevel } from "./streaming/told-calls.ts";
export { childCounts, type ChildCounts } from "./sessions/child-counts.ts";
