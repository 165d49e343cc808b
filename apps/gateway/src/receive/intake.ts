// Assembles the receiving side: admission, commands past the lane, presses and reactions, queue overflow, and
// reopening of chats that were unreachable. It resolves only once everything is durable.
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import { accountKey, type Clock } from "@parley/protocol";
import type { Store } from "@parley/store";
import { reactionsWanted, admission, messageLimits, type AdmitOptions, authorityOf } from "@parley/access";
import type { UnreachableChats } from "@parley/delivery";
import { droppedLog } from "@parley/runner";
import type { PathHooks } from "../hooks/heard.ts";
import { queueOverflow } from "./queue-overflow.ts";
import { buttonPresses } from "./button-presses.ts";
import { reactions } from "./reactions.ts";
import { receiver, type ReceiveEvents, type ReceiveOptions } from "./receive.ts";
import { spokenIn } from "./reset-policy.ts";

export interface IntakeOptions
  extends
    Omit<AdmitOptions, "authority">,
    Pick<
      ReceiveOptions,
      | "route"
      | "runPastLane"
      | "skillCalled"
      | "questionHere"
      | "modelNamed"
      | "refusals"
      | "bootAtMs"
      | "log"
    > {
  readonly config: Config;
  readonly store: Pick<Store, "inbox" | "outbox" | "sessions" | "cells">;
  readonly channel: (account: string) => Channel | null;
  /** Ends a running turn that a newer message replaces. */
  readonly stopTurn: (turn: string) => void;
  readonly closed: Pick<UnreachableChats, "open">;
  readonly heard: Pick<PathHooks, "beginAnew" | "command" | "received">;
  readonly clock: Clock;
}

export function intake(options: IntakeOptions): ReceiveEvents {
  const { config, store, channel, closed, heard, bootAtMs, clock, log } = options;
  const { inbox, outbox, sessions, cells } = store;
  const accept = receiver({
    inbox,
    outbox,
    sessions,
    admit: admission({
      policy: options.policy,
      isOwner: options.isOwner,
      pairing: options.pairing,
      botLoops: options.botLoops,
      authority: (inbound, owner) => authorityOf(config.tools, inbound, owner),
    }),
    route: options.route,
    runPastLane: options.runPastLane,
    skillCalled: options.skillCalled,
    questionHere: options.questionHere,
    modelNamed: options.modelNamed,
    buttonPresses: buttonPresses({ cells, channel, clock, log }),
    readReaction: reactions({ outbox, wanted: (inbound) => reactionsWanted(config, accountKey(inbound)) }),
    queueOverflow: queueOverflow(inbox, droppedLog(cells), options.stopTurn),
    refusals: options.refusals,
    messageLimits: messageLimits({ cells, clock }),
    limits: config.limits,
    bootAtMs,
    spokenIn: spokenIn({
      config: config.session,
      timeZone: config.agents.defaults.userTimezone,
      sessions,
      inbox,
      clock,
      beginAnew: heard.beginAnew,
    }),
    heard: heard.received,
    commanded: heard.command,
    queue: config.messages.queue,
    contextRows: config.messages.groupChat.historyLimit,
    log,
  });

  return async (events) => {
    const received = await accept(events);
    await closed.open(
      events.flatMap((event) =>
        "address" in event && event.channel === event.address.channel ? [event.address] : [],
      ),
    );
    return received;
  };
}
