// From a platform's events to durable rows; a platform is acknowledged when this resolves, and not before (I1).
// Every event gets a row: work, a command, a refusal with its reason, or a dead one that nobody could read.
import {
  accountKey,
  isFault,
  type Deletion,
  type Inbound,
  type Log,
  type Unreadable,
  type SkillCall,
  openingId,
} from "@parley/protocol";
import type { Receive } from "@parley/channels";
import type { Inbox, NewDelivery, NewRow, Outbox, Sessions } from "@parley/store";
import {
  type RefusalReason,
  type Refusals,
  type Admit,
  isProgram,
  type Route,
  type RouteInbound,
} from "@parley/access";
import { activationOf } from "../commands/activation.ts";
import type { Admitted } from "../commands/chat-command.ts";
import { noticeDelivery } from "@parley/delivery";
import {
  directiveCommand,
  backlogQuietMs,
  isBacklog,
  queueSettingsOf,
  type QueueSettings,
} from "@parley/runner";
import { isForOwners, messageAfter, parseCommand, withModel, type Command } from "./command.ts";
import { openingRow, refusedRow, rowOf, unreadableRow } from "./new-rows.ts";
import type { QueueOverflow } from "./queue-overflow.ts";
import type { ButtonPresses, ReadPress } from "./button-presses.ts";
import { quietMs } from "./grouping-delay.ts";
import type { ReadReaction } from "./reactions.ts";
import type { SpokenIn } from "./reset-policy.ts";

/** Runs a command that acts past the lane; its answer goes back to where the command came from. Must bear repetition. */
type RunPastLane = (command: Command, by: Admitted) => Promise<string | null>;

export interface ReceiveOptions {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly sessions: Pick<Sessions, "open">;
  readonly admit: Admit;
  readonly route: RouteInbound;
  readonly runPastLane: RunPastLane;
  /** Which skill a message calls by command. */
  readonly skillCalled: (inbound: Inbound, route: Route) => Promise<SkillCall | null>;
  /** The model that a word after /new names to the agent. */
  readonly modelNamed: (agent: string, word: string) => string | null;
  readonly buttonPresses: ButtonPresses;
  readonly readReaction: ReadReaction;
  /** Begins a conversation anew when its time is over. */
  readonly spokenIn: SpokenIn;
  readonly queueOverflow: QueueOverflow;
  readonly refusals: Refusals;
  readonly bootAtMs: number;
  readonly queue: QueueSettings;
  /** Messages of a group, not meant for us, that are kept to be shown. */
  readonly contextRows: number;
  readonly log: Log;
}

/** A message that cannot be read was for us all the same in a private chat. */
const asCalled = { mentions: [], addressed: true, atMs: 0 };
const notUnderstood =
  "⚠️ A message of yours came in a form that I cannot read. Please send it again in another way.";

export type ReceiveEvents = Receive;

interface Planned {
  readonly row: NewRow;
  readonly notices: readonly NewDelivery[];
  readonly settings?: QueueSettings;
}

export function receiver(options: ReceiveOptions): ReceiveEvents {
  const { inbox, outbox, log } = options;

  async function store(batch: readonly Planned[]): Promise<void> {
    if (batch.length === 0) return;
    const notices = batch.flatMap((planned) => planned.notices);
    // Asked for in one turn of the event loop, so that rows and notices share one commit.
    // Without notices nothing stands between the commit and its line: a turn that was taken in the same commit says soon that it begins.
    const accepting = inbox.accept(batch.map((planned) => planned.row));
    const accepted = await (notices.length > 0
      ? Promise.all([accepting, outbox.post(notices)]).then(([first]) => first)
      : accepting);
    for (const [index, verdict] of accepted.entries()) {
      const planned = batch[index];
      if (planned === undefined) continue;
      // A refusal has a line of its own, of which a flood makes few.
      const say = isRefused(planned) ? log.debug.bind(log) : log.info.bind(log);
      say(
        { rows: [verdict.id], lane: planned.row.lane, verdict: verdict.verdict, waiting: verdict.waiting },
        "received",
      );
      if (verdict.verdict === "queued" && planned.settings !== undefined)
        await options.queueOverflow(planned.row, verdict, planned.settings);
    }
  }

  async function runAtOnce(command: Command, by: Admitted): Promise<void> {
    const { inbound } = by;
    // A redelivered command must not act twice: its row is there once it has acted.
    if ((await inbox.find({ id: inbound.id, limit: 1 })).length > 0) return;
    const answer = await answerOf(command, by);
    // The answer first: its id comes from the event, so a redelivery repeats nothing, while a row without its answer would be final.
    if (answer !== null) await outbox.post([{ ...noticeDelivery(inbound, answer), passes: true }]);
    await store([
      {
        row: rowOf(by, { kind: "closed", outcome: "commanded", reason: `/${command.name}` }, command),
        notices: [],
      },
    ]);
  }

  /** A command that fails is answered too: thrown, it would come again for ever and hold up everybody behind it. */
  async function answerOf(command: Command, by: Admitted): Promise<string | null> {
    try {
      return await options.runPastLane(command, by);
    } catch (error) {
      // The store's trouble passes, and until then nothing may be acknowledged.
      if (isFault(error, "unavailable") || isFault(error, "ambiguous")) throw error;
      log.error({ rows: [by.inbound.id], command: command.name, error }, "a command failed");
      return `/${command.name} failed. The operator can see why in the log.`;
    }
  }

  async function work(by: Admitted, command: Command | null, skill: SkillCall | null): Promise<Planned[]> {
    const { inbound, route } = by;
    if (inbound.kind === "edit") return [{ row: rowOf(by, { kind: "edit" }, null, skill), notices: [] }];
    const settings = queueSettingsOf(await options.spokenIn(route.session, inbound), options.queue);
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
    // In followup mode every message is a turn of its own; a backlog never is. A command that runs a tool always is.
    const isAlone = isWhole || skill?.tool !== undefined || (settings.mode === "followup" && !backlog);
    const alone = isAlone ? { barrier: true } : {};
    if (command === null)
      return [{ row: rowOf(by, { kind: "work", ...wait, ...alone }, null, skill), notices: [], settings }];
    const after = messageAfter(command);
    return [
      { row: rowOf(by, { kind: "work", ...wait, barrier: true }, command), notices: [], settings },
      ...(after === null ? [] : [{ row: openingRow(by, after, { kind: "work", ...alone }), notices: [] }]),
    ];
  }

  function context(by: Admitted): Planned {
    const { inbound } = by;
    const { contextRows: keep } = options;
    if (inbound.kind === "edit") return { row: rowOf(by, { kind: "edit" }, null), notices: [] };
    const as: NewRow["as"] =
      keep > 0
        ? { kind: "context", keep }
        : { kind: "closed", outcome: "context", reason: "nobody called, and no history is kept" };
    return { row: rowOf(by, as, null), notices: [] };
  }

  /** Kept for the operator; whoever wrote it is told, where we answer them. */
  async function unread(event: Unreadable): Promise<Planned> {
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
      const admission = await options.admit(inbound, { isCommand: false, activation: async () => null });
      const say =
        admission.kind === "turn" ? notUnderstood : admission.kind === "refused" ? admission.say : undefined;
      return { row, notices: say === undefined ? [] : [noticeDelivery(inbound, say)] };
    } catch (error) {
      if (isFault(error)) throw error;
      log.error({ rows: [id], error }, "the sender of an unreadable event could not be told");
      return { row, notices: [] };
    }
  }

  /** A message that was deleted before anybody read it is not answered; one that a turn has read is past taking back. */
  async function takeBack({ messages }: Deletion): Promise<void> {
    for (const id of messages.flatMap((message) => [message, openingId(message)])) {
      const [row] = await inbox.find({ id, state: "waiting", limit: 1 });
      if (row === undefined) continue;
      const stopped = await inbox.stop(row.lane, {
        rows: { ids: [id] },
        outcome: "superseded",
        reason: "the message was deleted",
      });
      if (stopped.rows.length > 0) log.info({ rows: stopped.rows, lane: row.lane }, "taken back");
    }
  }

  /** A press with its button's value, a reaction with its place; or why nobody wants it. */
  async function understand(event: Inbound): Promise<ReadPress | { readonly unwanted: string }> {
    const pressed = await options.buttonPresses.read(event);
    if ("unwanted" in pressed) return pressed;
    const inbound = await options.readReaction(pressed.inbound);
    return "unwanted" in inbound ? inbound : { ...pressed, inbound };
  }

  /** What becomes of one event; a command past the lane is handed back, because it acts before anything after it is looked at. */
  async function plan(
    event: Inbound,
  ): Promise<readonly Planned[] | { readonly command: Command; readonly by: Admitted }> {
    const meant = await understand(event);
    const { inbound, commands } = "unwanted" in meant ? { inbound: event, commands: false } : meant;
    const route = routed(options.route, inbound);
    const refuse = (reason: string, say?: string): readonly Planned[] => [
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
    const command = given === null ? null : withModel(given, (word) => options.modelNamed(agent, word));
    const admission = await options.admit(inbound, {
      isCommand: (command !== null || skill !== null) && inbound.kind === "command",
      activation: async () => activationOf(await options.sessions.open(route.session)),
    });
    switch (admission.kind) {
      case "refused":
        note(admission.code);
        return refuse(admission.reason, admission.say);
      case "context":
        return [context({ inbound, route, owner: false, authority: "none" })];
      case "turn": {
        const { owner, authority } = admission;
        const by: Admitted = { inbound, route, owner, authority };
        if (command !== null && isForOwners(command.name) && !owner) {
          note("for_owners");
          return refuse(`/${command.name} is for owners`);
        }
        if (inbound.kind === "reaction") return [context(by)];
        if (inbound.kind === "callback" && !(await options.buttonPresses.claim(event)))
          return refuse("the button was pressed before");
        return command?.place === "past-lane" ? { command, by } : work(by, command, skill);
      }
    }
  }

  return async (events) => {
    let batch: Planned[] = [];
    const refused: string[] = [];
    const flush = async (): Promise<void> => {
      const full = batch;
      batch = [];
      await store(full);
    };
    for (const event of events) {
      if (event.kind === "deletion") {
        await flush();
        await takeBack(event);
        continue;
      }
      if (event.kind === "unreadable") {
        batch.push(await unread(event));
        continue;
      }
      try {
        const planned = await plan(event);
        if ("command" in planned) {
          await flush();
          await runAtOnce(planned.command, planned.by);
        } else {
          batch.push(...planned);
          if (planned.every(isSilentRefusal)) refused.push(event.id);
        }
      } catch (error) {
        if (isFault(error)) throw error;
        // A bug that one event meets must not hold up everybody behind it for ever.
        log.error({ rows: [event.id], error }, "an event met a bug and is put aside");
        const { id, channel, account } = event;
        const reason = `a bug: ${error instanceof Error ? error.message : String(error)}`;
        const from = event.kind === "message" && event.addressed ? { from: event } : {};
        batch.push(
          await unread({
            kind: "unreadable",
            id,
            channel,
            account,
            raw: JSON.stringify(event),
            reason,
            ...from,
          }),
        );
      }
    }
    await flush();
    void options.buttonPresses.acknowledge(events);
    return { refused };
  };
}

/** Directives beside files are about the message that carries the files. What a webhook brings is data. */
function commandOf({ channel, text, attachments }: Inbound): Command | null {
  if (channel === "hook") return null;
  return attachments.length > 0 && directiveCommand(text) !== null ? null : parseCommand(text);
}

function isRefused({ row }: Planned): boolean {
  return row.as.kind === "closed" && row.as.outcome === "refused";
}

function isSilentRefusal(planned: Planned): boolean {
  return isRefused(planned) && planned.notices.length === 0;
}

/** A message that no agent answers is refused like any other; throwing would hold up everybody behind it. */
function routed(
  route: RouteInbound,
  inbound: Inbound,
): Route | { readonly agent: null; readonly session: null; readonly reason: string } {
  try {
    return route(inbound);
  } catch (error) {
    if (isFault(error, "invalid")) return { agent: null, session: null, reason: error.message };
    throw error;
  }
}
