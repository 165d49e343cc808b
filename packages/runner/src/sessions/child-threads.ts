// Lets a sub-agent work in a thread of its own. The spawn writes what opens the thread; the receipt names it,
// and only then does the task's row begin the work, so that every word of the sub-agent has its place (I6).
// Each step may be repeated: a process that died in between is made up for by the next start.
import {
  accountKey,
  conversationKey,
  Fault,
  formatContent,
  parseConversationKey,
  type Address,
  type Receipt,
  type SessionKey,
} from "@parley/protocol";
import { isProgram } from "@parley/access";
import { escaped, textDelivery } from "@parley/delivery";
import type { Cells, CellWrite, DeliveryView, NewDelivery, NewRow, Outbox, Row } from "@parley/store";
import type { ToolScope } from "@parley/tools";
import { rowIn } from "../internal-row.ts";
import type { Services } from "../turn-scope.ts";
import type { AskedEnd, Child } from "./child-registry.ts";

export type ChildThreads = Services["threads"];

const shownTaskChars = 500;

/** What the spawn of a sub-agent with a thread writes beside its own cell. */
export interface ThreadOpening {
  readonly thread: NonNullable<Child["thread"]>;
  readonly deliveries: readonly NewDelivery[];
  readonly cells: readonly CellWrite[];
}

/** Throws Fault("unsupported") where no thread can be opened, with the alternative. */
export function checkThread(
  { channel }: Pick<Services, "channel">,
  { conversation }: Pick<ToolScope, "conversation">,
  isSeen: boolean,
): void {
  const address = parseConversationKey(conversation);
  const driver = channel(accountKey(address));
  const refuse = (why: string): never => {
    throw new Fault("unsupported", `${why}: spawn it without thread, and its result comes here by itself`);
  };
  if (!isSeen || isProgram(address)) refuse("nobody reads this session, so no thread can be opened for it");
  if (address.kind === "dm") refuse("a private chat has no threads");
  if (driver !== null && driver.actions?.includes("createThread") !== true)
    refuse(`${driver.name} has no threads`);
  // In a forum also the messages outside all topics have one: General.
  if (address.channel === "telegram" && address.thread === undefined)
    refuse("this group has no topics (it is no forum)");
}

/** `row`: the task's, for the conversation of the turn that spawns it. */
export function threadOpening(
  { id, label, task }: Pick<Child, "id" | "label" | "task">,
  { turn, conversation }: Pick<ToolScope, "turn" | "conversation">,
  row: NewRow,
): ThreadOpening {
  const { thread: _inside, ...place } = parseConversationKey(conversation);
  const shown = task.length > shownTaskChars ? `${task.slice(0, shownTaskChars).toWellFormed()}…` : task;
  const markdown = [
    `🧵 A sub-agent works here: **${escaped(label)}**`,
    shown
      .split("\n")
      .map((line) => `> ${escaped(line)}`)
      .join("\n"),
    "What you write here goes to it, without a mention; /unfocus ends that.",
  ].join("\n\n");
  const delivery = {
    id: deliveryId(id),
    pool: accountKey(place),
    lane: conversationKey(place),
    cause: turn,
    parts: [
      {
        content: formatContent({
          v: 1,
          kind: "action",
          action: { kind: "createThread", title: label, parts: [{ kind: "text", markdown }] },
        }),
      },
    ],
  };
  return {
    thread: { delivery: delivery.id, from: conversation },
    deliveries: [delivery],
    cells: [{ key: taskCell(id), value: JSON.stringify(row) }],
  };
}

function deliveryId(child: string): string {
  return `child-thread:${child}`;
}

const opens = /^child-thread:(.+)$/;

function taskCell(child: string): string {
  return `child-task:${child}`;
}

/** The task of a sub-agent whose thread is not open yet; null for any other. */
export async function waitingTask(cells: Pick<Cells, "get">, child: string): Promise<Row | null> {
  const cell = await cells.get(taskCell(child));
  if (cell === null) return null;
  return { ...(JSON.parse(cell.value) as NewRow), seq: 0, version: 0, acceptedAtMs: 0 };
}

export interface ThreadNeeds extends Pick<
  Services,
  "cells" | "inbox" | "outbox" | "children" | "threads" | "log"
> {
  /** Ends a sub-agent that has no turn, and tells it. */
  readonly endUnstarted: (id: string, end: AskedEnd) => Promise<void>;
}

/** Begins the sub-agent's work in the thread that its opening's receipt names. */
async function begin(needs: ThreadNeeds, child: Child, place: Address): Promise<void> {
  const { cells, inbox, outbox, threads } = needs;
  const session = child.session as SessionKey;
  const cell = await cells.get(taskCell(child.id));
  if (cell === null) return;
  const [begun] = await inbox.find({ id: `task:${child.id}`, limit: 1, dismissed: true });
  // A process died after the work had begun; how that ended was told, and it may still talk in its thread.
  if (begun !== undefined) return void (await cells.remove(taskCell(child.id)));
  if (child.killed || child.end !== null) await outbox.post([farewell(child, place)]);
  else {
    await threads.bind(session, place);
    await inbox.accept([rowIn(JSON.parse(cell.value) as NewRow, place)]);
  }
  await cells.remove(taskCell(child.id));
}

async function opened(needs: ThreadNeeds, id: string, { lane, parts, done }: DeliveryView): Promise<void> {
  const child = await needs.children.get(id);
  if (child === null) return;
  const [first] = parts;
  if (first?.state === "sent" && first.receipt !== null) {
    const thread = (JSON.parse(first.receipt) as Receipt).extra?.["thread"];
    if (typeof thread === "string") return begin(needs, child, { ...parseConversationKey(lane), thread });
  }
  if (!done && first?.state !== "failed" && first?.state !== "ambiguous" && first?.state !== "sent") return;
  const reason = `its thread could not be opened (${first?.reason ?? "the platform did not name it"}): spawn it without thread`;
  await needs.endUnstarted(id, { state: "failed", text: "", reason, tokens: 0 });
  await needs.cells.remove(taskCell(id));
}

/** The same outbox; a thread that it opens for a sub-agent begins that one's work. */
export function threadOpeningOutbox(outbox: Outbox, needs: Omit<ThreadNeeds, "outbox">): Outbox {
  const own = { ...needs, outbox };
  async function noticed(delivery: string, id: string): Promise<void> {
    try {
      const [found] = await outbox.find({ id: delivery, limit: 1 });
      if (found !== undefined) await opened(own, id, found);
    } catch (error) {
      // What became of it is stored, so the next start goes on from there.
      needs.log.warn({ delivery, error }, "what became of a sub-agent's thread could not be told");
    }
  }
  return {
    ...outbox,
    async drop(deliveries, reason) {
      const dropped = await outbox.drop(deliveries, reason);
      for (const delivery of deliveries) {
        const id = opens.exec(delivery)?.[1];
        if (id !== undefined && dropped > 0) await noticed(delivery, id);
      }
      return dropped;
    },
    async record(lease, changes, release) {
      const released = await outbox.record(lease, changes, release);
      for (const { delivery, part, to } of changes) {
        const id = opens.exec(delivery)?.[1];
        if (id === undefined || part !== 0 || to === "sending" || to === "queued") continue;
        await noticed(delivery, id);
      }
      return released;
    },
  };
}

/**
 * Goes on with the openings of threads that a dead process left half done. Returns true for a sub-agent that
 * still waits for its thread.
 */
export async function healThread(needs: ThreadNeeds, { id, thread }: Child): Promise<boolean> {
  if (thread === undefined || (await needs.cells.get(taskCell(id))) === null) return false;
  const [found] = await needs.outbox.find({ id: thread.delivery, limit: 1 });
  if (found !== undefined) await opened(needs, id, found);
  return true;
}

/** True when the sub-agent leaves its thread with this end: it was spawned for one run, or it was ended. */
export function leavesThread({ thread, mode, killed }: Child, end: Pick<AskedEnd, "state"> | null): boolean {
  return thread !== undefined && (mode === "run" || killed || end?.state === "lost");
}

/** Tells the people of a thread that its sub-agent has left it. */
export function farewell({ id, label, runs }: Child, place: Address): NewDelivery {
  const words = `🧵 The sub-agent **${escaped(label)}** has ended. What you write here from now on goes to the agent itself.`;
  return textDelivery(`child-left:${id}/${runs}`, place, words, `child:${id}`);
}
