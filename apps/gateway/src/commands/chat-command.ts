// Defines a chat command. A command's own file describes it whole, and table.ts lists it once: the parser,
// /help, the platforms' menus, the names reserved from skills and the owner check derive from that table.
import type { Redaction } from "@parley/agent";
import type { Models } from "@parley/models";
import type { Channel, Suggestion } from "@parley/channels";
import type { Config } from "@parley/config";
import type { McpServers } from "@parley/mcp";
import type { Address, Clock, Ids, Log, Inbound, SessionKey, SkillCall } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { ConversationBindings, PairingDecisions, Route } from "@parley/access";
import type { PathHooks } from "../hooks/heard.ts";
import type { DropAnswers } from "@parley/delivery";
import type { CommandRecord, Speech } from "@parley/tools";
import type {
  Approvals,
  EmergencyStop,
  LaneCommand,
  LaneCommandCall,
  MemoryForgetting,
  NoteUpkeep,
  ModelCatalog,
  PromptHistory,
  Questions,
  SideQuestions,
  MediaHandling,
  Child,
  RunningTurns,
  Schedules,
  SpendLimits,
  TurnPreparer,
  UsageLog,
} from "@parley/runner";

interface Described {
  readonly name: string;
  /** Other names that people type, each with the arguments that it stands for; empty: those that follow. */
  readonly aliases?: { readonly [name: string]: string };
  /** One line for /help and for the platforms' menus. */
  readonly summary: string;
  /** The gateway silently ignores it from anybody else, and no list shows it to them. */
  readonly ownersOnly?: true;
  /** Its answers concern the person who asked alone: where a platform can, nobody else sees them. */
  readonly onlyTells?: true;
  /** What may stand after it, offered where a platform asks while people type; nothing that is private. */
  suggests?(by: Suggesting, ports: CommandPorts): Promise<readonly Suggestion[]>;
  /** It works but stands in no list, because people find it without one. */
  readonly isUnlisted?: true;
}

/**
 * Acts at once, while the event is received, because it must work while a turn runs. It may run again after a
 * crash and must then change nothing more.
 */
export interface PastLaneCommand extends Described {
  readonly place: "past-lane";
  /** Returns the answer. Null: no answer. */
  run(call: PastLaneCall, ports: CommandPorts): Promise<string | null>;
}

/** Changes the session, so it keeps its place among the messages; no turn reads past one. */
export interface InLaneCommand extends Described {
  readonly place: "in-lane";
  /** Its arguments are, or end with, the first message of the new conversation. */
  readonly carries?: Carries;
  /** The grammar of directives (packages/runner/src/models/directives.ts) defines its spellings and names. */
  readonly isDirective?: true;
  /** Must be idempotent: after a crash before the commit it runs again. */
  run(call: LaneCommandCall, ports: CommandPorts): ReturnType<LaneCommand["run"]>;
}

/** Who types a command, and where. */
type Suggesting = Pick<Admitted, "inbound" | "route" | "owner">;

/** Arguments that are words of their own. */
export function plainly(words: readonly string[]): readonly Suggestion[] {
  return words.map((value) => ({ label: value, value }));
}

export type ChatCommand = PastLaneCommand | InLaneCommand;

/**
 * `message`: the first word may name a model or already belong to the message. `model`: the first word names
 * a model, and the rest is the message.
 */
export type Carries = "message" | "model";

/** An admitted message with its session. */
export interface Admitted {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly owner: boolean;
  readonly authority: string;
}

export interface PastLaneCall extends Admitted {
  /** The text after the name, trimmed. */
  readonly args: string;
}

/** The ports of commands under the current config. A command's parameters name those that it uses. */
export interface CommandPorts {
  readonly config: Config;
  readonly store: Pick<Store, "inbox" | "outbox" | "turns" | "sessions" | "cells">;
  readonly channel: (account: string) => Channel | null;
  readonly stop: Stoppable;
  readonly hold: EmergencyStop;
  readonly approvals: Approvals;
  readonly questions: Questions;
  readonly mcp: Pick<McpServers, "list" | "approve">;
  readonly sideQuestions: SideQuestions;
  readonly forgetting: MemoryForgetting;
  readonly upkeep: Pick<NoteUpkeep, "list" | "accept" | "refuse">;
  readonly beside: WorkBeside;
  readonly schedules: Schedules;
  /** Absent: nothing speaks. */
  readonly speech?: Speech | undefined;
  /** Files for chats are kept here. */
  readonly mediaFolder: MediaHandling["folder"];
  /** Removes secrets from what is exported. */
  readonly redaction: Redaction;
  readonly pairing: PairingDecisions;
  readonly skills: ChatSkills;
  readonly turnPreparer: Pick<TurnPreparer, "prompt" | "forTurn">;
  readonly prompts: PromptHistory;
  readonly usage: UsageLog;
  readonly ledger: SpendLimits;
  readonly models: Pick<Models, "get">;
  readonly modelCatalog: ModelCatalog;
  readonly running: RunningTurns;
  readonly handOvers: Pick<ConversationBindings, "handOver" | "takeBack" | "of" | "worker" | "unbind">;
  /** Accounts that can send. */
  readonly accounts: () => readonly Pick<Address, "channel" | "account">[];
  /** Begins new conversations, and tells hooks of commands. */
  readonly heard: Pick<PathHooks, "beginAnew" | "command" | "ended" | "port">;
  readonly daemon: DaemonForChats;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "code">;
  readonly log: Log;
}

/** The daemon's functions, outside the message path, that chat commands call. */
export interface DaemonForChats {
  readonly report: () => Promise<{ readonly state: string }>;
  /** Returns the answer; null when this request was made before and is done. */
  readonly restart: (by: Pick<Inbound, "id" | "address">) => Promise<string | null>;
  /** The same, for an update of Parley; `to`: a version, the newest when absent. */
  readonly update: (by: Pick<Inbound, "id" | "address">, to: string | undefined) => Promise<string | null>;
  /** Which version is there, in words; nothing changes. */
  readonly updateCheck: () => Promise<string>;
}

/** What works for a session beside its turns. */
interface WorkBeside {
  /** Sub-agents at all levels, also those that have ended. */
  readonly children: (session: SessionKey) => Promise<readonly Child[]>;
  readonly commands: (session: SessionKey) => Promise<readonly CommandRecord[]>;
  /** Ends a sub-agent and its own; returns those that were not over. */
  readonly kill: (child: Child, reason: string) => Promise<readonly Child[]>;
}

export interface Stoppable {
  /** Ends the turn now and not at its next write. */
  readonly turn: (turn: string) => void;
  /**
   * Ends what runs beside the turns of a session: background commands, requests for approval, questions.
   * Returns how many it ended.
   */
  readonly beside: (session: SessionKey) => Promise<number>;
  /** Drops the session's unsent answers to a conversation. Returns how many messages it dropped. */
  readonly answers: DropAnswers;
}

/** The skills that people call by command. */
export interface ChatSkills {
  /** Null for a message that calls none of this agent's skills. */
  called(inbound: Inbound, route: Route): Promise<SkillCall | null>;
  /** Returns the entries for this agent's skills in a platform's menu. */
  menu(agent: string): Promise<readonly MenuEntry[]>;
  /** The names after /skill that call one here. */
  names(by: Pick<Admitted, "inbound" | "route">): Promise<readonly string[]>;
  /** Returns the answer of a /skill that calls none: the list, or that no skill has the name. */
  list(call: PastLaneCall): Promise<string>;
}

export interface MenuEntry {
  readonly name: string;
  readonly description: string;
  readonly suggests?: true;
}

const form = /^\/([a-z0-9_]{1,32})(?::|\s|$)\s*([\s\S]*)$/i;

/**
 * Parses the form of a command, known or not. A channel takes the bot's own name off `/cmd@bot`, so a name
 * that is still there belongs to another bot.
 */
export function commandIn(text: string): { readonly name: string; readonly args: string } | null {
  const match = form.exec(text.trim());
  return match === null ? null : { name: match[1]?.toLowerCase() ?? "", args: match[2]?.trim() ?? "" };
}

/** Returns the message that a command carries along; null for none. `model`: its first word names a model. */
export function carriedMessage(
  carries: Carries | undefined,
  { args, model }: { readonly args: string; readonly model?: string | undefined },
): string | null {
  if (carries === undefined) return null;
  const isModelFirst = carries === "model" || model !== undefined;
  const message = isModelFirst ? args.replace(/^\S+\s*/, "") : args;
  return message === "" ? null : message;
}
