// What a chat command is. A command's own file says all there is to say of it, and table.ts lists it once:
// the parser, /help, the platforms' menus, the names that skills may not take and the check for owners are
// derived from that table.
import type { Models } from "@parley/models";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import type { Clock, Inbound, SessionKey, SkillCall } from "@parley/protocol";
import type { Session, Store } from "@parley/store";
import type { PairingDecisions, Route } from "@parley/access";
import type { DropAnswers } from "@parley/delivery";
import type {
  Approvals,
  EmergencyStop,
  LaneCommand,
  LaneCommandCall,
  ModelCatalog,
  PromptHistory,
  RunningTurns,
  SpendLimits,
  TurnPreparer,
  UsageLog,
} from "@parley/runner";

interface Described {
  readonly name: string;
  /** Other names that people type, each with the arguments that it stands for. */
  readonly aliases?: { readonly [name: string]: string };
  /** One line for /help and for the platforms' menus. */
  readonly summary: string;
  /** Anybody else who gives it is ignored without a word, and no list shows it to them. */
  readonly ownersOnly?: true;
  /** It only tells something, to whoever asked: where a platform can, nobody else sees the answer. */
  readonly onlyTells?: true;
  /** People find it without a list. */
  readonly isUnlisted?: true;
}

/**
 * Acts at once, while the event is received, because it must work while a turn runs. May run again after a
 * crash and then changes nothing more.
 */
export interface PastLaneCommand extends Described {
  readonly place: "past-lane";
  /** What is said back; null says nothing. */
  run(call: PastLaneCall, ports: CommandPorts): Promise<string | null>;
}

/** Changes the session, so it keeps its place among the messages; no turn reads past one. */
export interface InLaneCommand extends Described {
  readonly place: "in-lane";
  /** Its arguments are, or end with, the first message of what comes after it. */
  readonly carries?: Carries;
  /**
   * The grammar of directives (packages/runner/src/models/directives.ts) says how it is written and under
   * which names.
   */
  readonly isDirective?: true;
  /** Must bear repetition: a crash before the commit runs it again. */
  run(call: LaneCommandCall, ports: CommandPorts): ReturnType<LaneCommand["run"]>;
}

export type ChatCommand = PastLaneCommand | InLaneCommand;

/**
 * `message`: the first word may name a model instead of being its first. `model`: the first word does, what
 * follows is the message.
 */
export type Carries = "message" | "model";

/** An admitted message with its place. */
export interface Admitted {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly owner: boolean;
  readonly authority: string;
}

export interface PastLaneCall extends Admitted {
  /** What stands after the name, trimmed. */
  readonly args: string;
}

/** What commands work with, of the config in force. A command names what it uses of it in its parameters. */
export interface CommandPorts {
  readonly config: Config;
  readonly store: Pick<Store, "inbox" | "outbox" | "turns" | "sessions">;
  readonly channel: (account: string) => Channel | null;
  readonly stop: Stoppable;
  readonly hold: EmergencyStop;
  readonly approvals: Approvals;
  readonly pairing: PairingDecisions;
  readonly skills: ChatSkills;
  readonly turnPreparer: Pick<TurnPreparer, "prompt" | "forTurn">;
  readonly prompts: PromptHistory;
  readonly usage: UsageLog;
  readonly ledger: SpendLimits;
  readonly models: Pick<Models, "get">;
  readonly modelCatalog: ModelCatalog;
  readonly running: RunningTurns;
  /** A new epoch of the session. */
  readonly beginAnew: (key: SessionKey) => Promise<Session>;
  readonly daemon: DaemonForChats;
  readonly clock: Clock;
}

/** What people in chats may ask of the daemon around the message path. */
export interface DaemonForChats {
  readonly report: () => Promise<{ readonly state: string }>;
  /** What is said back; null when it was asked before and is over. */
  readonly restart: (by: Pick<Inbound, "id" | "address">) => Promise<string | null>;
}

export interface Stoppable {
  /** The turn that has to end now and not at its next write. */
  readonly turn: (turn: string) => void;
  /**
   * What goes on beside the turns of a session: background commands, requests for approval. Returns how many
   * of them ended.
   */
  readonly beside: (session: SessionKey) => Promise<number>;
  /** What is not sent yet of answers of the session to a conversation. Returns how many messages that is. */
  readonly answers: DropAnswers;
}

/** The skills that people call by command. */
export interface ChatSkills {
  /** Null for a message that calls no skill of this place. */
  called(inbound: Inbound, route: Route): Promise<SkillCall | null>;
  /** What a platform's menu shows of the skills of this agent. */
  menu(agent: string): Promise<readonly MenuEntry[]>;
  /** What /skill says where it calls none: the list, and that there is no skill of that name. */
  list(call: PastLaneCall): Promise<string>;
}

export interface MenuEntry {
  readonly name: string;
  readonly description: string;
}

const form = /^\/([a-z0-9_]{1,32})(?::|\s|$)\s*([\s\S]*)$/i;

/**
 * What has the form of a command, known or not. A channel takes our own name off `/cmd@bot`; what still has a
 * name is for another bot.
 */
export function commandIn(text: string): { readonly name: string; readonly args: string } | null {
  const match = form.exec(text.trim());
  return match === null ? null : { name: match[1]?.toLowerCase() ?? "", args: match[2]?.trim() ?? "" };
}

/** The message that a command carries along; null when it carries none. `model`: its first word names one. */
export function carriedMessage(
  carries: Carries | undefined,
  { args, model }: { readonly args: string; readonly model?: string | undefined },
): string | null {
  if (carries === undefined) return null;
  const isModelFirst = carries === "model" || model !== undefined;
  const message = isModelFirst ? args.replace(/^\S+\s*/, "") : args;
  return message === "" ? null : message;
}
