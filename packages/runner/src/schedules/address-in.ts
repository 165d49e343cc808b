// Reads a place as people and models write it. What it cannot read is refused with the forms that it can.
import { Fault, isFault, parseConversationKey, type Address } from "@parley/protocol";
import type { JobMaker } from "./job-maker.ts";

/**
 * A place as people and models write it: a conversation key, `telegram:123`, `discord:channel:5`, or fields.
 */
export function addressIn(
  to: unknown,
  { conversation }: Pick<JobMaker, "conversation">,
  /** Where it is written, for the refusal. */
  place = "delivery.to",
): Address {
  const wrong = new Fault(
    "invalid",
    `${place} ${JSON.stringify(to)} is no conversation. Fix: write it as "telegram:default:dm:123", "telegram:123", "discord:channel:456" or "discord:user:789"`,
  );
  if (typeof to === "object" && to !== null) {
    const {
      channel,
      account = "default",
      kind,
      peer,
      to: id = peer,
      thread,
    } = to as { readonly [key: string]: unknown };
    if (typeof channel !== "string" || typeof id !== "string" || typeof account !== "string") throw wrong;
    if (kind === "dm" || kind === "group" || kind === "channel")
      return { channel, account, kind, peer: id, ...(typeof thread === "string" ? { thread } : {}) };
    const at = addressIn(id.startsWith(`${channel}:`) ? id : `${channel}:${id}`, { conversation }, place);
    const named = at.account === "default" ? account : at.account;
    return { ...at, account: named, ...(typeof thread === "string" ? { thread } : {}) };
  }
  if (typeof to !== "string") throw wrong;
  const words = to.trim();
  if (/^(?:here|current)$/i.test(words)) {
    if (conversation === null) throw wrong;
    return conversation;
  }
  const [, chat, topic] = /^telegram:(-?\d+)(?::topic:(\d+))?$/i.exec(words) ?? [];
  if (chat !== undefined)
    return {
      channel: "telegram",
      account: "default",
      kind: chat.startsWith("-") ? "group" : "dm",
      peer: chat,
      ...(topic === undefined ? {} : { thread: topic }),
    };
  const [, kind, id] = /^discord:(user|channel|thread):(\d+)$/i.exec(words) ?? [];
  if (id !== undefined)
    return { channel: "discord", account: "default", kind: kind === "user" ? "dm" : "channel", peer: id };
  try {
    return parseConversationKey(words);
  } catch (error) {
    if (isFault(error, "invalid")) throw wrong;
    throw error;
  }
}
