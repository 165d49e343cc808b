// Makes what asks people and waits for them: approvals of tool calls, and questions. Both end together with
// the turn or the session that asked.
import type { Owners, PlaceOf } from "@parley/access";
import type { Channel } from "@parley/channels";
import type { Address, SessionKey } from "@parley/protocol";
import type { Store } from "@parley/store";
import {
  createApprovals,
  createQuestions,
  memoryForgetting,
  noteUpkeep,
  operatorTalk,
  type Approvals,
  type MemoryForgetting,
  type NoteUpkeep,
  type OperatorTalk,
  type Questions,
} from "@parley/runner";
import type { MessagePathParts } from "./parts.ts";

export interface PathAsks {
  readonly approvals: Approvals;
  readonly questions: Questions;
  /** Memory that an owner takes away, after a yes. */
  readonly forgetting: MemoryForgetting;
  /** What the notes' nightly upkeep proposes to the owners. */
  readonly upkeep: NoteUpkeep;
  /** What was said in an agent's sessions, where they are searched. */
  readonly talk: OperatorTalk;
  /** Ends what a session's people have not answered yet, and returns how much it was. */
  endAsks(session: SessionKey): Promise<number>;
  /** Finishes what a process left undone when it died after an answer. */
  healAsks(): Promise<unknown>;
}

export function pathAsks(
  { config, channels, machinePorts, refusals, redaction, clock, log }: MessagePathParts,
  store: Pick<Store, "cells" | "inbox" | "outbox" | "turns" | "sessions" | "redact">,
  {
    owners: { all: owners },
    ownersAt,
    placeOf,
  }: {
    readonly owners: Pick<Owners, "all">;
    readonly ownersAt: () => Promise<readonly Address[]>;
    readonly placeOf: PlaceOf;
  },
  channel: (account: string) => Channel | null,
): PathAsks {
  const { approvers, target } = config.approvals.exec;
  const approvals = createApprovals({
    ...store,
    approvers: approvers ?? null,
    target,
    placeOf,
    owners,
    accounts: () => [...channels.values()].map(({ name, account }) => ({ channel: name, account })),
    refusals,
    clock,
    log,
  });
  const { identityLinks } = config.session;
  const questions = createQuestions({
    ...store,
    channel,
    placeOf,
    owners,
    identityLinks,
    redaction,
    clock,
    log,
  });
  const upkeep = noteUpkeep({
    ...store,
    machine: machinePorts,
    config,
    owners,
    ownersAt,
    redaction,
    clock,
    log,
  });
  return {
    approvals,
    questions,
    upkeep,
    forgetting: memoryForgetting({ machine: machinePorts, config, store, clock, log }),
    talk: operatorTalk({ machine: machinePorts, config, ...store, redaction, clock }),
    async endAsks(session) {
      return (await approvals.stop({ session })) + (await questions.stop({ session }));
    },
    healAsks: () => Promise.all([approvals.heal(), questions.heal(), upkeep.heal()]),
  };
}
