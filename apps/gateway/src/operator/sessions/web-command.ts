// Makes the row of a command that a page gives by a method: it waits in its session's lane like one that was
// typed, and what comes after it waits behind it.
import { webSender, type WebCaller } from "@parley/access";
import { parseSessionKey, type Address, type Inbound, type SessionKey } from "@parley/protocol";
import type { NewRow } from "@parley/store";
import { rowOf } from "../../receive/new-rows.ts";

interface WebCommand {
  readonly account: string;
  /** Says which call it is: a repeated one makes the same row. */
  readonly said: string;
  readonly to: Address;
  readonly session: SessionKey;
  readonly name: string;
  readonly args: string;
  readonly atMs: number;
}

export function webCommandRow(
  caller: WebCaller,
  { account, said, to, session, name, args, atMs }: WebCommand,
): NewRow {
  const inbound: Inbound = {
    id: webRowId(account, said),
    channel: "web",
    account,
    address: to,
    sender: webSender(caller),
    messageId: said,
    kind: "command",
    text: "",
    attachments: [],
    mentions: [],
    addressed: true,
    atMs,
  };
  const owner = caller.scopes.includes("admin");
  const route = { agent: parseSessionKey(session).agent, session };
  const by = { inbound, route, owner, authority: owner ? "owner" : "member" };
  return rowOf(by, { kind: "work", barrier: true }, { name, args, place: "in-lane" });
}

export function webRowId(account: string, said: string): string {
  return `web:${account}:${said}`;
}
