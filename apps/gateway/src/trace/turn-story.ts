// Tells what a turn did, as steps and sums: from its log while it is open, from the transcript once it is
// committed.
import {
  addUsage,
  noUsage,
  type AssistantEntry,
  type Entry,
  type StoryStep,
  type StoryTurn,
  type Usage,
} from "@parley/protocol";
import type { JournalStep } from "@parley/agent";
import type { Step, TurnView } from "@parley/store";

/** `rows`: ids of the rows that it answers, in order. */
export function turnStory(turn: TurnView, rows: readonly string[]): StoryTurn {
  const entries = turn.entries.map(({ body }) => JSON.parse(body) as Entry);
  const steps = turn.state === "done" ? entrySteps(entries) : logSteps(turn.log);
  const answers = turn.state === "done" ? entries.filter(isAnswer) : loggedAnswers(turn.log);
  const { inputTokens, outputTokens, cacheReadTokens, costUsd } = answers.reduce<Usage>(
    (sum, entry) => addUsage(sum, entry.usage),
    noUsage,
  );
  return {
    id: turn.id,
    state: turn.state,
    attempt: turn.attempt,
    openedAtMs: turn.openedAtMs,
    endedAtMs: turn.endedAtMs,
    stop: turn.stop,
    tickets: [...turn.tickets],
    rows: [...rows],
    steps,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    ...(costUsd === undefined ? {} : { costUsd }),
  };
}

function isAnswer(entry: Entry): entry is AssistantEntry {
  return entry.type === "assistant";
}

const modelStep = (entry: AssistantEntry): StoryStep => ({
  kind: "model",
  name: entry.model,
  end: entry.stop,
});

/** The turn was opened with the first user entry; later ones joined it. */
function entrySteps(entries: readonly Entry[]): StoryStep[] {
  const opening = entries.find((entry) => entry.type === "user");
  return entries.flatMap((entry): StoryStep[] => {
    switch (entry.type) {
      case "assistant":
        return [modelStep(entry)];
      case "toolResult":
        return [{ kind: "tool", name: entry.name, end: entry.isError ? "failed" : "ok" }];
      case "user":
        return entry === opening ? [] : [{ kind: "joined", name: entry.rows.join(" "), end: "ok" }];
      case "summary":
      case "notice":
        return [];
    }
  });
}

/** A tool's start is a step of its own only until its result is there. */
function logSteps(log: readonly Step[]): StoryStep[] {
  const steps = log.flatMap(journalSteps);
  const answered = new Set(steps.flatMap((step) => (step.kind === "result" ? [step.entry.callId] : [])));
  return log.flatMap((logged): StoryStep[] => {
    if (logged.kind === "absorbed")
      return [{ kind: "joined", name: (JSON.parse(logged.body) as string[]).join(" "), end: "ok" }];
    const [step] = journalSteps(logged);
    if (step?.kind === "model") return [modelStep(step.entry)];
    if (step?.kind === "result")
      return [{ kind: "tool", name: step.entry.name, end: step.entry.isError ? "failed" : "ok" }];
    return step?.kind === "intent" && !answered.has(step.callId)
      ? [{ kind: "tool", name: step.name, end: "started" }]
      : [];
  });
}

function loggedAnswers(log: readonly Step[]): AssistantEntry[] {
  return log.flatMap(journalSteps).flatMap((step) => (step.kind === "model" ? [step.entry] : []));
}

/** Absorbed steps are the store's own, and previews are no step of the agent. */
function journalSteps(step: Step): JournalStep[] {
  return step.kind === "absorbed" || step.kind === "preview" ? [] : [JSON.parse(step.body) as JournalStep];
}
