// Begins a conversation with what was said in another one, through any of its messages: people see the same
// messages there, and the agent's transcript is the same through that point. The first stays as it is.
import { webAddress, webSender, type WebCaller } from "@parley/access";
import type { WebChannel } from "@parley/channels";
import type { Config } from "@parley/config";
import {
  conversationKey,
  Fault,
  parseRowPayload,
  type Address,
  type ChatMessage,
  type Entry,
  type MethodParams,
  type MethodResult,
  type SessionKey,
} from "@parley/protocol";
import {
  forkName,
  modelField,
  reasoningField,
  thinkingField,
  type Fork,
  type ModelCatalog,
} from "@parley/runner";
import type { Store, StoredEntry } from "@parley/store";
import { namedModel } from "../agent/named-model.ts";
import type { DaemonPorts } from "../ports.ts";
import { threadIndex } from "./thread-index.ts";
import { webCommandRow, webRowId } from "./web-command.ts";

export interface ForkPorts extends Pick<DaemonPorts, "route" | "clock"> {
  readonly config: Pick<Config, "agents">;
  readonly modelCatalog: Pick<ModelCatalog, "find">;
  readonly wired: {
    readonly web: Pick<WebChannel, "account" | "submit" | "announce" | "download" | "capabilities">;
  };
  readonly store: Pick<Store, "inbox" | "events" | "cells" | "sessions">;
}

/** People see so much of what it begins with; the log of events is one ring for all conversations. */
const messagesCopied = 200;
const pageMessages = 500;
const pageEntries = 500;
/** Epochs that are searched for the message, the newest first. */
const epochsSearched = 20;
const carried = [modelField, thinkingField, reasoningField] as const;

type Seen = ChatMessage & { readonly seq: number };
type Shown = Parameters<WebChannel["announce"]>[1];

export function forkMethods(ports: ForkPorts) {
  const { config, modelCatalog, wired, store, route, clock } = ports;
  const { web } = wired;
  const { inbox, events, sessions } = store;
  const index = threadIndex(store.cells, web.account);
  const addressOf = (caller: WebCaller, thread: string | undefined): Address =>
    webAddress(web.account, caller, thread);
  const sessionOf = (caller: WebCaller, to: Address): SessionKey =>
    route({ address: to, sender: webSender(caller) }).session;

  /**
   * `seen`: what people saw through the message, the newest of it; the message is the last. `edits`: the
   * words that its writer put in its place since, which stand anywhere behind it.
   */
  async function seenThrough(
    stream: string,
    id: string,
  ): Promise<{ readonly seen: readonly Seen[]; readonly edits: readonly Seen[] }> {
    let seen: readonly Seen[] = [];
    let edits: readonly Seen[] = [];
    for (let beforeSeq: number | undefined; ;) {
      const page = (await events.newest(stream, pageMessages, beforeSeq)).map(({ seq, body }): Seen => ({
        ...(JSON.parse(body) as ChatMessage),
        seq,
      }));
      const at = page.findLastIndex((message) => message.id === id);
      // What was said before it may stand on the page before.
      if (seen.length > 0) return { seen: [...page, ...seen], edits };
      edits = [...page.slice(at + 1).filter((each) => isEditOf(each, id)), ...edits];
      if (at !== -1) seen = page.slice(0, at + 1);
      if (seen.length > messagesCopied) return { seen, edits };
      beforeSeq = page[0]?.seq;
      if (beforeSeq === undefined || page.length < pageMessages) break;
    }
    if (seen.length > 0) return { seen, edits };
    throw new Fault("missing", "there is no such message in this conversation, or it is kept no longer");
  }

  /** Where the transcript is cut. Null: nothing of it is taken. */
  async function cutOf(
    key: SessionKey,
    message: Seen,
    before: boolean,
  ): Promise<Pick<Fork, "epoch" | "throughSeq"> | null> {
    const session = (await sessions.list({ prefix: key, limit: 1_000 })).find((each) => each.key === key);
    if (session === undefined) return null;
    const oldest = Math.max(1, session.epoch - epochsSearched);
    let bySaid: Pick<Fork, "epoch" | "throughSeq"> | null = null;
    for (let { epoch } = session; epoch >= oldest; epoch -= 1) {
      const entries = await entriesOf(key, epoch);
      const at = entries.findLastIndex((entry) => belongs(entry, message));
      const seq = entries[at]?.seq;
      if (seq !== undefined) return { epoch, throughSeq: before ? seq - 1 : seq };
      // A command and its answer are in no transcript: it is cut where they stood.
      bySaid ??= lastBefore(entries, epoch, message.atMs);
    }
    return bySaid;
  }

  async function entriesOf(key: SessionKey, epoch: number): Promise<readonly StoredEntry[]> {
    const found: StoredEntry[] = [];
    for (;;) {
      const afterSeq = found.at(-1)?.seq ?? 0;
      const page = await sessions.transcript(key, { epoch, afterSeq, limit: pageEntries });
      found.push(...page);
      if (page.length < pageEntries) return found;
    }
  }

  /** The person's words once more, with the files that came along. */
  async function sayAgain(
    caller: WebCaller,
    to: Address,
    message: Seen,
    words: string,
    { text, idempotencyKey }: Pick<MethodParams<"chat.fork">, "text" | "idempotencyKey">,
  ): Promise<void> {
    const [row] = await inbox.find({ id: message.id ?? "", limit: 1 });
    if (row === undefined && (message.files ?? []).length > 0)
      throw new Fault("missing", "the files of this message are kept no longer: send them anew");
    const attachments = row === undefined ? [] : parseRowPayload(row.payload).inbound.attachments;
    const files = await Promise.all(
      attachments.map(async ({ ref, name = "file", mediaType, kind }) => {
        const read = await web.download?.(ref, web.capabilities.downloadBytes, new AbortController().signal);
        if (read === undefined) throw new Fault("unsupported", "files cannot be sent here");
        return { name, mediaType, voice: kind === "voice", bytes: read.bytes };
      }),
    );
    await web.submit({
      id: `${caller.peer}:${idempotencyKey}`,
      address: to,
      senderName: caller.peer,
      text: text ?? words,
      ...(files.length === 0 ? {} : { files }),
      guest: !caller.scopes.includes("admin"),
      approver: caller.scopes.includes("approve"),
    });
  }

  return {
    async "chat.fork"(
      params: MethodParams<"chat.fork">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.fork">> {
      const { thread, id, before: isBefore = false, again = false, model, idempotencyKey } = params;
      const from = addressOf(caller, thread);
      const to = addressOf(caller, params.to);
      const [source, key] = [sessionOf(caller, from), sessionOf(caller, to)];
      if (source === key)
        throw new Fault(
          "unsupported",
          "these conversations share one session, so neither can begin with the other",
        );
      const said = `${caller.peer}:fork:${idempotencyKey}`;
      const rowId = webRowId(web.account, said);
      const isRepeat = (await inbox.find({ id: rowId, limit: 1 })).length > 0;
      const stream = conversationKey(to);
      const { seen, edits } = await seenThrough(conversationKey(from), id);
      const message = seen.at(-1);
      if (message === undefined) throw new Fault("missing", "there is no such message in this conversation");
      if (again && message.role !== "user")
        throw new Fault("invalid", "only what a person said can be said again");
      const before = isBefore || again;
      const copied = (before ? seen.slice(0, -1) : [...seen, ...edits]).slice(-messagesCopied);
      const words = edits.at(-1)?.text ?? message.text;
      const mark = `${rowId}/`;
      const there = await events.newest(stream, 1);
      const isBegun = there.length > 0 && !isRepeat && !(await isOwnCopy(stream, copied));
      if (isBegun)
        throw new Fault("conflict", "something was said in that conversation already: take another");
      const session = (await sessions.list({ prefix: source, limit: 1_000 })).find(
        (each) => each.key === source,
      );
      const fields = Object.fromEntries(
        carried.flatMap((field) => {
          const value = session?.fields[field];
          return typeof value === "string" ? [[field, value]] : [];
        }),
      );
      if (model !== undefined) fields[modelField] = await namedModel(config, modelCatalog, key, model);
      const cut = (await cutOf(source, message, before)) ?? { epoch: session?.epoch ?? 1, throughSeq: 0 };
      for (const { seq, buttons: _buttons, ...shown } of copied)
        await web.announce(to, { ...shown, id: shown.id ?? `${mark}${seq}` } as Shown, `${mark}${seq}`);
      const fork: Fork = { from: source, ...cut, fields };
      await inbox.accept([
        webCommandRow(caller, {
          account: web.account,
          said,
          to,
          session: key,
          name: forkName,
          args: JSON.stringify(fork),
          atMs: clock.now(),
        }),
      ]);
      const name = await nameOf(caller, thread);
      const title = name ?? words.slice(0, 80);
      await index.set(caller.peer, params.to, { listed: true, title, usedAtMs: clock.now() });
      if (again) await sayAgain(caller, to, message, words, params);
      return { thread: params.to, sessionKey: key, messages: copied.length };
    },
  };

  /** True for what an earlier try of the same fork left, which did not come to its end. */
  async function isOwnCopy(stream: string, copied: readonly Seen[]): Promise<boolean> {
    const there = await events.newest(stream, copied.length + 1);
    return there.every(({ body }, at) => {
      const copy = copied[at];
      const { atMs, text } = JSON.parse(body) as ChatMessage;
      return copy !== undefined && copy.atMs === atMs && copy.text === text;
    });
  }

  async function nameOf(caller: WebCaller, thread: string | undefined): Promise<string | null> {
    const note = (await index.list(caller.peer)).find((each) => each.thread === (thread ?? ""));
    return note?.name ?? note?.title ?? null;
  }
}

function isEditOf({ role, replaces, cancelled }: Seen, id: string): boolean {
  return role === "user" && replaces === id && cancelled !== true;
}

/** Whether an entry is of the turn that a message belongs to: what a person said, or the turn's answer. */
function belongs({ turn, body }: StoredEntry, { role, id = "" }: Seen): boolean {
  if (role !== "user") return id === turn || id.startsWith(`${turn}/`);
  // Most entries are no person's, and parsing them costs.
  if (!body.includes(JSON.stringify(id).slice(1, -1))) return false;
  const entry = JSON.parse(body) as Entry;
  return entry.type === "user" && entry.rows.includes(id);
}

function lastBefore(
  entries: readonly StoredEntry[],
  epoch: number,
  atMs: number,
): Pick<Fork, "epoch" | "throughSeq"> | null {
  const last = entries.findLast(({ body }) => (JSON.parse(body) as Entry).atMs <= atMs);
  return last === undefined ? null : { epoch, throughSeq: last.seq };
}
