// Implements the caller's conversations side by side: which there are, what happens in one now, and what may
// still be changed about a message that nobody has begun to answer.
import { webAddress, webSender, type WebCaller } from "@parley/access";
import type { JournalStep } from "@parley/agent";
import type { WebChannel } from "@parley/channels";
import {
  conversationKey,
  Fault,
  openingId,
  parseRowPayload,
  type Address,
  type ChatMessage,
  type Entry,
  type MethodParams,
  type MethodResult,
  type SessionKey,
} from "@parley/protocol";
import { busyLanes } from "@parley/runner";
import type { RowView, Store, TurnView } from "@parley/store";
import type { Caller } from "@parley/control";
import type { DaemonPorts } from "../ports.ts";
import { threadIndex, type ThreadIndex } from "./thread-index.ts";

type Call = MethodResult<"chat.steps">["calls"][number];
type Row = MethodResult<"chat.threads">["threads"][number];
type Note = Awaited<ReturnType<ThreadIndex["list"]>>[number];

const firstNote: Note = { thread: "", name: null, title: null, pinned: false, listed: true, usedAtMs: 0 };

export interface ThreadPorts extends Pick<DaemonPorts, "route" | "clock"> {
  readonly wired: { readonly web: Pick<WebChannel, "account" | "submit" | "announce"> };
  readonly store: Pick<Store, "inbox" | "events" | "cells" | "sessions" | "turns">;
}

/** A card shows the beginning; `sessions show` has more. */
const mostChars = 8_000;
const titleChars = 160;
const mostWaiting = 200;
/** Entries of the transcript that are looked at for calls. */
const entriesLookedAt = 400;

export function threadMethods({ wired: { web }, store, route, clock }: ThreadPorts) {
  const { inbox, events, cells, sessions, turns } = store;
  const index = threadIndex(cells, web.account);
  const addressOf = (caller: WebCaller, thread: string | undefined): Address =>
    webAddress(web.account, caller, thread);
  const sessionOf = (caller: WebCaller, to: Address): SessionKey =>
    route({ address: to, sender: webSender(caller) }).session;

  /** Throws Fault("missing") for a row that is none of the caller's in this conversation. */
  async function ownRow(caller: WebCaller, to: Address, id: string): Promise<RowView> {
    const [row] = await inbox.find({ id, limit: 1 });
    if (row?.conversation === conversationKey(to) && id.startsWith(`web:${web.account}:${caller.peer}:`))
      return row;
    throw new Fault("missing", "there is no such message in this conversation");
  }

  async function rowOf(
    { thread, name, title, pinned, usedAtMs }: Note,
    caller: WebCaller,
    busy: ReadonlySet<string>,
  ): Promise<Row> {
    const to = addressOf(caller, thread === "" ? undefined : thread);
    const sessionKey = sessionOf(caller, to);
    const [newest] = await events.newest(conversationKey(to), 1);
    const message = newest === undefined ? null : (JSON.parse(newest.body) as ChatMessage);
    return {
      thread: thread === "" ? null : thread,
      sessionKey,
      name,
      title,
      pinned,
      text: message?.text.slice(0, titleChars) ?? "",
      seq: newest?.seq ?? 0,
      // What was said longest ago is kept no longer as a message.
      atMs: message?.atMs ?? (usedAtMs === 0 ? null : usedAtMs),
      working: busy.has(sessionKey),
    };
  }

  const begun = (): Fault =>
    new Fault("conflict", "it is being answered already, or was; write another message");

  return {
    async "chat.steps"(
      { thread, limit = 100, call, chars = mostChars }: MethodParams<"chat.steps">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.steps">> {
      const to = addressOf(caller, thread);
      const lane = sessionOf(caller, to);
      const [waiting, open] = await Promise.all([
        inbox.find({ lane, state: "waiting", limit: mostWaiting }),
        inbox.find({ lane, state: "claimed", limit: 1 }),
      ]);
      const turn = open[0]?.turn ?? null;
      const [running, said] = await Promise.all([
        turn === null ? null : turns.find(turn),
        sessions.transcript(lane, { newest: true, limit: entriesLookedAt }).catch(() => []),
      ]);
      const calls = [
        ...[...Map.groupBy(said, (each) => each.turn)].flatMap(([id, entries]) =>
          callsOf(
            id,
            entries.map(({ body }) => JSON.parse(body) as Entry),
            chars,
          ),
        ),
        ...(running === null || running.state === "done"
          ? []
          : callsOf(running.id, loggedEntries(running), chars)),
      ];
      return {
        working: open.length > 0,
        waiting: waiting
          .filter(({ conversation }) => conversation === conversationKey(to))
          .map(({ id }) => id),
        calls: calls.filter(({ id }) => call === undefined || id === call).slice(-limit),
      };
    },

    async "chat.cancel"(
      { thread, id }: MethodParams<"chat.cancel">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.cancel">> {
      const to = addressOf(caller, thread);
      const row = await ownRow(caller, to, id);
      const reason = "its writer took it back";
      // What stands behind a /new is a row of its own.
      const { rows } = await inbox.stop(row.lane, { rows: { ids: [id, openingId(id)] }, reason });
      const isTaken = rows.includes(id) || row.reason === reason;
      if (!isTaken) throw begun();
      await web.announce(to, {
        id: `${id}/cancelled`,
        replaces: id,
        role: "user",
        text: "",
        html: "",
        cancelled: true,
        atMs: clock.now(),
      });
      return { id };
    },

    async "chat.edit"(
      { thread, id, text, idempotencyKey }: MethodParams<"chat.edit">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.edit">> {
      const to = addressOf(caller, thread);
      const row = await ownRow(caller, to, id);
      if (row.state !== "waiting") throw begun();
      if (parseRowPayload(row.payload).command !== undefined)
        throw new Fault("unsupported", "a command stays as it was given; take it back and give it anew");
      const said = `${caller.peer}:${idempotencyKey}`;
      const rights = { guest: !caller.scopes.includes("admin"), approver: caller.scopes.includes("approve") };
      const edits = id.slice(`web:${web.account}:`.length);
      await web.submit({ id: said, edits, address: to, senderName: caller.peer, text, ...rights });
      const [edit] = await inbox.find({ id: `web:${web.account}:${said}`, limit: 1 });
      if (edit?.reason?.startsWith("its words replaced") !== true) throw begun();
      await web.announce(to, {
        id: edit.id,
        replaces: id,
        role: "user",
        text,
        html: "",
        atMs: clock.now(),
      });
      return { id };
    },

    async "chat.threads"(
      { thread, find = "", limit = 500 }: MethodParams<"chat.threads">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.threads">> {
      const [notes, busy] = await Promise.all([index.list(caller.peer), busyLanes(turns)]);
      const first = notes.find((note) => note.thread === "") ?? firstNote;
      const all = [first, ...notes.filter((note) => note.thread !== "" && note.listed)];
      const newest = all.slice(0, limit);
      const older = all.slice(limit);
      const wanted = find.trim().toLowerCase();
      // Last words are looked at where they would be shown; names and titles of all.
      const isCalled = ({ name, title }: Pick<Note, "name" | "title">): boolean =>
        `${name ?? ""} ${title ?? ""}`.toLowerCase().includes(wanted);
      const called = wanted === "" ? [] : older.filter(isCalled);
      const here = older.filter((note) => note.thread === thread && !called.includes(note));
      const rows = await Promise.all(
        [...newest, ...called.slice(0, limit), ...here].map((note) => rowOf(note, caller, busy)),
      );
      const found = (row: Row, at: number): boolean =>
        wanted === "" ||
        row.thread === thread ||
        at >= newest.length ||
        isCalled(row) ||
        row.text.toLowerCase().includes(wanted);
      const threads = rows.filter(found);
      const left = wanted === "" ? older.length - here.length : Math.max(0, called.length - limit);
      return { threads, left };
    },

    async "chat.thread"(
      { thread = "", name, pinned, listed }: MethodParams<"chat.thread">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.thread">> {
      const note = await index.set(caller.peer, thread, {
        ...(name === undefined ? {} : { name: name === "" ? null : name }),
        ...(pinned === undefined ? {} : { pinned }),
        ...(listed === undefined ? {} : { listed }),
      });
      return { thread: thread === "" ? null : thread, name: note.name, pinned: note.pinned };
    },

    async "chat.follow"(
      { thread, lastSeq }: MethodParams<"chat.follow">,
      caller: Caller,
    ): Promise<MethodResult<"chat.follow">> {
      if (caller.turnTo === undefined)
        throw new Fault("unsupported", "only a connection that stays can follow a conversation");
      const stream = conversationKey(addressOf(caller, thread));
      const found = await events.after(stream, lastSeq ?? 0, 1);
      const resync = lastSeq !== undefined && found.gone;
      caller.turnTo(stream, resync ? found.lastSeq : (lastSeq ?? found.lastSeq));
      return { seq: found.lastSeq, resync };
    },
  };
}

/** The entries that an open turn has in its log; its commit writes the same into the transcript. */
function loggedEntries({ log }: TurnView): readonly Entry[] {
  return log.flatMap(({ kind, body }): Entry[] => {
    if (kind === "absorbed" || kind === "preview") return [];
    const step = JSON.parse(body) as JournalStep;
    return step.kind === "model" || step.kind === "result" ? [step.entry] : [];
  });
}

function callsOf(turn: string, entries: readonly Entry[], chars: number): readonly Call[] {
  const results = new Map(
    entries.flatMap((entry) => (entry.type === "toolResult" ? [[entry.callId, entry] as const] : [])),
  );
  return entries.flatMap((entry) =>
    entry.type !== "assistant"
      ? []
      : entry.content.flatMap((part): Call[] => {
          if (part.type !== "toolCall") return [];
          const result = results.get(part.id);
          const output = result?.content.map((each) => (each.type === "text" ? each.text : `[${each.type}]`));
          return [
            {
              id: part.id,
              turn,
              tool: part.name,
              args: cut(JSON.stringify(part.args, null, 2), chars),
              state: result === undefined ? "running" : result.isError ? "failed" : "ok",
              output: cut(output?.join("\n") ?? "", chars),
              startedAtMs: entry.atMs,
              endedAtMs: result?.atMs ?? null,
            },
          ];
        }),
  );
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}\n… (${text.length} characters)`;
}
