// Plans the rows that one event becomes: routes it, admits or refuses it, recognises commands, presses and
// reactions, and chooses how long its row waits. It stores no row.
import {
  accountKey,
  isFault,
  parseSessionKey,
  type Inbound,
  type Log,
  type SkillCall,
  type Unreadable,
} from "@parley/protocol";
import type { Config } from "@parley/config";
import type { Inbox, NewDelivery, NewRow, Sessions } from "@parley/store";
import {
  isProgram,
  overLimitWords,
  type Admit,
  type MessageLimits,
  type RefusalReason,
  type Refusals,
  type Route,
  type RouteInbound,
} from "@parley/access";
import { noticeDelivery } from "@parley/delivery";
import {
  backlogQuietMs,
  directiveCommand,
  isBacklog,
  queueSettingsOf,
  type QueueSettings,
} from "@parley/runner";
import { activationOf } from "../commands/answers/activation.ts";
import { steer } from "../commands/conversation/steer.ts";
import type { Admitted } from "../commands/chat-command.ts";
import type { ButtonPresses, ReadPress } from "./button-presses.ts";
import {
  isForOwners,
  messageAfter,
  parseCommand,
  withModel,
  type Command,
} from "../commands/parse-command.ts";
import { albumParts } from "./album-parts.ts";
import { editRow } from "./edited-message.ts";
import { quietMs } from "./grouping-delay.ts";
import { openingRow, refusedRow, rowOf, unreadableRow } from "./new-rows.ts";
import type { ReadReaction } from "./reactions.ts";
import { routed } from "./routed.ts";
import type { SpokenIn } from "./reset-policy.ts";

export interface PlanEventOptions {
  readonly sessions: Pick<Sessions, "open">;
  readonly inbox: Pick<Inbox, "find">;
  readonly admit: Admit;
  readonly route: RouteInbound;
  /** Finds the skill that a message calls by command. */
  readonly skillCalled: (inbound: Inbound, route: Route) => Promise<SkillCall | null>;
  /** Finds the open question that a bare number answers. */
  readonly questionHere: (inbound: Inbound) => Promise<string | null>;
  /** Finds the agent's model that a word after /new names. */
  readonly modelNamed: (agent: string, word: string) => string | null;
  readonly buttonPresses: ButtonPresses;
  readonly readReaction: ReadReaction;
  /** Starts a new conversation when the reset policy says so. */
  readonly spokenIn: SpokenIn;
  readonly refusals: Refusals;
  readonly messageLimits: MessageLimits;
  readonly limits: Config["limits"];
  readonly bootAtMs: number;
  readonly queue: QueueSettings;
  /** How many group messages that do not call the agent are kept as context. */
  readonly contextRows: number;
  readonly log: Log;
}

export interface PlannedRow {
  readonly row: NewRow;
  readonly notices: readonly NewDelivery[];
  readonly settings?: QueueSettings;
  /** The message of a person that it is. */
  readonly heard?: Inbound;
}

export interface EventPlanner {
  /** Returns a command past the lane as it is, because it acts before anything after it is looked at. */
  plan(event: Inbound): Promise<readonly PlannedRow[] | { readonly command: Command; readonly by: Admitted }>;
  /** Builds the row of an unreadable event for the operator; its sender is told where we answer them. */
  rowOfUnreadable(event: Unreadable): Promise<PlannedRow>;
}

/** In a private chat an unreadable message was for us all the same. */
const asCalled = { mentions: [], addressed: true, atMs: 0 };
const notUnderstood =
  "⚠️ A message of yours came in a form that I cannot read. Please send it again in another way.";

export function eventPlanner(options: PlanEventOptions): EventPlanner {
  const { log } = options;
  const albums = albumParts(options.inbox);

  async function work(by: Admitted, command: Command | null, skill: SkillCall | null): Promise<PlannedRow[]> {
    const { inbound, route } = by;
    if (inbound.kind === "edit") return [{ row: await editRow(options.inbox, by, skill), notices: [] }];
    const settings = queueSettingsOf(await options.spokenIn(route.session, inbound), options.queue);
    // Said behind /steer it is a message that joins the running turn, whatever the session's mode.
    if (command?.name === steer.name && command.args !== "") {
      const said = { ...by, inbound: { ...inbound, text: command.args } };
      const row = rowOf(said, { kind: "work" }, null, null, true);
      return [{ row, notices: [], settings: { ...settings, mode: "steer" }, heard: said.inbound }];
    }
    const backlog = isBacklog(inbound, options.bootAtMs);
    const isWhole = isProgram(inbound);
    const afterMs = isWhole
      ? 0
      : Math.max(
          settings.mode === "collect" ? settings.debounceMs : 0,
          quietMs(inbound),
          backlog ? backlogQuietMs : 0,
        );
    const wait = afterMs > 0 ? { afterMs } : {};
    // In followup mode every message is a turn of its own, except in a backlog and as a part of several. A
    // command that runs a tool always is.
    const isPart = backlog || inbound.groupId !== undefined;
    const isAlone = isWhole || skill?.tool !== undefined || (settings.mode === "followup" && !isPart);
    const alone = isAlone ? { barrier: true } : {};
    if (command === null)
      return [
        {
          row: rowOf(by, { kind: "work", ...wait, ...alone }, null, skill),
          notices: [],
          settings,
          ...(inbound.channel === "hook" ? {} : { heard: inbound }),
        },
      ];
    const after = messageAfter(command);
    return [
      { row: rowOf(by, { kind: "work", ...wait, barrier: true }, command), notices: [], settings },
      ...(after === null ? [] : [{ row: openingRow(by, after, { kind: "work", ...alone }), notices: [] }]),
    ];
  }

  function context(by: Admitted): PlannedRow {
    const { inbound } = by;
    const { contextRows: keep } = options;
    if (inbound.kind === "edit") return { row: rowOf(by, { kind: "edit" }, null), notices: [] };
    albums.passed(inbound);
    const as: NewRow["as"] =
      keep > 0
        ? { kind: "context", keep }
        : { kind: "closed", outcome: "context", reason: "nobody called, and no history is kept" };
    return { row: rowOf(by, as, null), notices: [], heard: inbound };
  }

  async function rowOfUnreadable(event: Unreadable): Promise<PlannedRow> {
    const row = unreadableRow(event);
    const { id, channel, account, from } = event;
    if (from === undefined || from.address.kind !== "dm") return { row, notices: [] };
    const inbound: Inbound = {
      ...from,
      id,
      channel,
      account,
      messageId: id,
      kind: "message",
      text: "",
      attachments: [],
      ...asCalled,
    };
    try {
      const admission = await options.admit(inbound, { isSlashCommand: false, activation: async () => null });
      const say =
        admission.kind === "turn" ? notUnderstood : admission.kind === "refused" ? admission.say : undefined;
      return { row, notices: say === undefined ? [] : [noticeDelivery(inbound, say)] };
    } catch (error) {
      if (isFault(error)) throw error;
      log.error({ rows: [id], error }, "the sender of an unreadable event could not be told");
      return { row, notices: [] };
    }
  }

  /** Adds the button's value to a press and its place to a reaction, or says why the event does not count. */
  async function understand(event: Inbound): Promise<ReadPress | { readonly unwanted: string }> {
    const pressed = await options.buttonPresses.read(event);
    if ("unwanted" in pressed) return pressed;
    const inbound = await options.readReaction(pressed.inbound);
    return "unwanted" in inbound ? inbound : { ...pressed, inbound };
  }

  /** A number below a question whose options are shown as numbered lines is the answer to it. */
  async function numberedAnswer(inbound: Inbound): Promise<Command | null> {
    const id = await options.questionHere(inbound);
    return id === null ? null : parseCommand(`/answer ${id} ${inbound.text.trim()}`);
  }

  /** An edit replaces what was counted; a program has its own limits. */
  async function tooMuch({ inbound, owner }: Admitted): ReturnType<MessageLimits["over"]> {
    if (inbound.kind === "edit" || isProgram(inbound) || (owner && !options.limits.owners)) return null;
    return options.messageLimits.over(inbound, options.limits);
  }

  async function plan(
    event: Inbound,
  ): Promise<readonly PlannedRow[] | { readonly command: Command; readonly by: Admitted }> {
    const meant = await understand(event);
    const { inbound: said, commands } = "unwanted" in meant ? { inbound: event, commands: false } : meant;
    const route = routed(options.route, said);
    const inbound = route.agent === null ? said : await albums.joined(said, route.session);
    const refuse = (reason: string, say?: string): readonly PlannedRow[] => [
      {
        row: refusedRow(inbound, route.session, reason),
        notices: say === undefined ? [] : [noticeDelivery(inbound, say)],
      },
    ];
    const note = (code: RefusalReason): void => {
      const { id, sender, address } = inbound;
      const account = accountKey(inbound);
      options.refusals.note(code, `${account} ${sender.id}`, {
        account,
        sender: sender.id,
        kind: address.kind,
        rows: [id],
      });
    };
    if (route.agent === null) {
      note("no_agent");
      return refuse(route.reason);
    }
    if ("unwanted" in meant) return refuse(meant.unwanted);
    const skill = inbound.channel === "hook" ? null : await options.skillCalled(inbound, route);
    const given = inbound.kind === "edit" || skill !== null || !commands ? null : commandOf(inbound);
    const { agent } = route;
    const command =
      given === null
        ? skill === null
          ? await numberedAnswer(inbound)
          : null
        : withModel(given, (word) => options.modelNamed(agent, word));
    const admission = await options.admit(inbound, {
      isSlashCommand: (command !== null || skill !== null) && inbound.kind === "command",
      // What is written in a sub-agent's thread is for it.
      activation: async () =>
        parseSessionKey(route.session).kind === "subagent"
          ? "always"
          : activationOf(await options.sessions.open(route.session)),
    });
    switch (admission.kind) {
      case "refused":
        note(admission.code);
        return refuse(admission.reason, admission.say);
      case "context":
        return [context({ inbound, route, owner: false, authority: "none" })];
      case "turn": {
        const { owner, authority } = admission;
        const whole = await albums.called(inbound, route.session);
        const by: Admitted = { inbound: whole, route, owner, authority };
        if (command !== null && isForOwners(command.name) && !owner) {
          note("for_owners");
          return refuse(`/${command.name} is for owners`, forOwners(command.name, inbound));
        }
        if (inbound.kind === "reaction") return [context(by)];
        if (inbound.kind === "callback" && !(await options.buttonPresses.claim(event)))
          return refuse("the button was pressed before");
        if (command?.place === "past-lane") return { command, by };
        const over = await tooMuch(by);
        if (over !== null) {
          note(over.of === "person" ? "person_limit" : "place_limit");
          return refuse(
            `more than limits.${over.of} lets in: ${over.most} a ${over.per}`,
            over.isFirst ? overLimitWords(over) : undefined,
          );
        }
        return work(by, command, skill);
      }
    }
  }

  return { plan, rowOfUnreadable };
}

/** In a shared place nobody asked for this answer, so there is none. */
function forOwners(name: string, { address, channel, sender }: Inbound): string | undefined {
  return address.kind === "dm"
    ? `/${name} is for owners. Who is one stands in commands.ownerAllowFrom of the config; you are ${channel}:${sender.id} here.`
    : undefined;
}

/**
 * A directive beside files belongs to the message that carries the files. A webhook's text is data, never a
 * command.
 */
function commandOf({ channel, text, attachments }: Inbound): Command | null {
  if (channel === "hook") return null;
  return attachments.length > 0 && directiveCommand(text) !== null ? null : parseCommand(text);
}
