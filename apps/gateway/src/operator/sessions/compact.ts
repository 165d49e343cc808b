// Implements `sessions.compact`: /compact for any session, given by an operator. It takes its place among the
// messages of the conversation in which somebody wrote last, and is answered there.
import {
  Fault,
  parseConversationKey,
  parseRowPayload,
  parseSessionKey,
  type Inbound,
  type MethodParams,
  type MethodResult,
  type SessionKey,
} from "@parley/protocol";
import type { WebCaller } from "@parley/access";
import type { Store } from "@parley/store";
import { rowOf } from "../../receive/new-rows.ts";
import type { StorePorts } from "../ports.ts";

export interface CompactPorts extends Pick<StorePorts, "clock" | "ids"> {
  readonly store: { readonly inbox: Pick<Store["inbox"], "find" | "accept"> };
}

export function compactMethods({ store: { inbox }, clock, ids }: CompactPorts) {
  return {
    async "sessions.compact"(
      { key, focus = "", idempotencyKey = ids.uuid() }: MethodParams<"sessions.compact">,
      caller: WebCaller,
    ): Promise<MethodResult<"sessions.compact">> {
      const { agent } = parseSessionKey(key);
      const session = key as SessionKey;
      const [last] = await inbox.find({ lane: session, limit: 1 });
      if (last === undefined)
        throw new Fault(
          "missing",
          `nobody wrote in ${key} within the last days: its next message can be /compact`,
        );
      const address = parseConversationKey(last.conversation);
      const { guild, parent } = parseRowPayload(last.payload).inbound;
      const said = `compact:${caller.peer}:${idempotencyKey}`;
      const inbound: Inbound = {
        id: `${address.channel}:${address.account}:${said}`,
        channel: address.channel,
        account: address.account,
        address,
        sender: { id: caller.peer, name: "operator", isBot: false },
        messageId: said,
        kind: "command",
        text: "",
        attachments: [],
        mentions: [],
        addressed: true,
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
        atMs: clock.now(),
      };
      const owner = caller.scopes.includes("admin");
      const by = {
        inbound,
        route: { agent, session },
        owner,
        authority: owner ? "owner" : "member",
      };
      await inbox.accept([
        rowOf(by, { kind: "work", barrier: true }, { name: "compact", args: focus, place: "in-lane" }),
      ]);
      return { id: inbound.id };
    },
  };
}
