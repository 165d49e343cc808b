// Implements chat over the control plane, for the web page and `parley chat`. Sending is a channel's event
// like any other; history is the conversation's own event log, so that it and live events share one order.
import {
  conversationKey,
  type Address,
  type ChatMessage,
  type MethodParams,
  type MethodResult,
  type SessionKey,
} from "@parley/protocol";
import type { WebChannel } from "@parley/channels";
import type { Store, StoredEvent } from "@parley/store";
import { injectName } from "@parley/runner";
import { webAddress, webSender, type WebCaller } from "@parley/access";
import type { DaemonPorts } from "../ports.ts";
import { threadIndex } from "./thread-index.ts";
import { webCommandRow } from "./web-command.ts";

/**
 * A page shows this much of a conversation at once; pasted files make messages of a few hundred kilobytes.
 */
const historyChars = 2_097_152;

export interface ChatPorts extends Pick<DaemonPorts, "route" | "stop" | "clock"> {
  readonly wired: { readonly web: Pick<WebChannel, "account" | "submit"> };
  readonly store: Pick<Store, "inbox" | "events" | "cells">;
}

export function chatMethods({ wired: { web }, store, route, stop, clock }: ChatPorts) {
  const { inbox, events } = store;
  const index = threadIndex(store.cells, web.account);
  const address = (caller: WebCaller, thread: string | undefined): Address =>
    webAddress(web.account, caller, thread);
  const sessionOf = (caller: WebCaller, to: Address): SessionKey =>
    route({ address: to, sender: webSender(caller) }).session;

  return {
    async "chat.send"(
      params: MethodParams<"chat.send">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.send">> {
      const to = address(caller, params.thread);
      const said = `${caller.peer}:${params.idempotencyKey}`;
      const id = `web:${web.account}:${said}`;
      const known = (await inbox.find({ id, limit: 1 })).length > 0;
      const rights = { guest: !caller.scopes.includes("admin"), approver: caller.scopes.includes("approve") };
      const files = (params.files ?? []).map(({ name, mediaType, voice, data }) => ({
        name,
        mediaType,
        voice,
        bytes: Buffer.from(data, "base64"),
      }));
      const withFiles = files.length === 0 ? {} : { files };
      if (params.thread !== undefined) await index.open(caller.peer, params.thread, params.text, clock.now());
      await web.submit({
        id: said,
        address: to,
        senderName: caller.peer,
        text: params.text,
        ...withFiles,
        ...rights,
      });
      return { id, sessionKey: sessionOf(caller, to), duplicate: known };
    },

    async "chat.history"(
      params: MethodParams<"chat.history">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.history">> {
      const to = address(caller, params.thread);
      const session = sessionOf(caller, to);
      const limit = params.limit ?? 100;
      const [found, open] = await Promise.all([
        events.newest(conversationKey(to), limit + 1, params.beforeSeq),
        inbox.find({ lane: session, state: "claimed", limit: 1 }),
      ]);
      const shown = newestWithin(found.slice(-limit));
      const messages = shown.map((event): ChatMessage => ({
        ...(JSON.parse(event.body) as Omit<ChatMessage, "seq">),
        seq: event.seq,
      }));
      const hasEarlier = shown.length < found.length;
      return { sessionKey: session, messages, working: open.length > 0, hasEarlier };
    },

    async "chat.inject"(
      params: MethodParams<"chat.inject">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.inject">> {
      const to = address(caller, params.thread);
      const session = sessionOf(caller, to);
      const said = `${caller.peer}:inject:${params.idempotencyKey}`;
      const row = webCommandRow(caller, {
        account: web.account,
        said,
        to,
        session,
        name: injectName,
        args: params.text,
        atMs: clock.now(),
      });
      const [accepted] = await inbox.accept([row]);
      return { id: row.id, sessionKey: session, duplicate: accepted?.verdict === "duplicate" };
    },

    async "chat.abort"(
      params: MethodParams<"chat.abort">,
      caller: WebCaller,
    ): Promise<MethodResult<"chat.abort">> {
      const session = sessionOf(caller, address(caller, params.thread));
      const stopped = await inbox.stop(session, {
        turn: "open",
        rows: "all",
        reason: "stopped from the web page",
      });
      if (stopped.turn !== null) stop.turn(stopped.turn);
      const beside = await stop.beside(session);
      const unsent = await stop.answers(session, conversationKey(address(caller, params.thread)));
      return { stopped: stopped.turn !== null || beside > 0 || unsent > 0, cancelled: stopped.rows.length };
    },
  };
}

/** Returns the newest event always, and those before it while they fit. */
function newestWithin(events: readonly StoredEvent[]): readonly StoredEvent[] {
  let chars = 0;
  const tooMuch = events.findLastIndex(({ body }) => (chars += body.length) > historyChars);
  return events.slice(Math.min(tooMuch + 1, events.length - 1));
}
