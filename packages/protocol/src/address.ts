// Addresses: the conversation a message came from, which is the only one its answer may go to (I6). A
// conversation key is an address with its thread as one string; each key is a lane of the outbox.
import { z } from "zod";
import { Fault } from "./fault.ts";
import { decodeKeyPart, encodeKeyPart } from "./key-part.ts";

export const addressKinds = ["dm", "group", "channel"] as const;
export type AddressKind = (typeof addressKinds)[number];

export const addressSchema = z.object({
  channel: z.string().min(1),
  account: z.string().min(1),
  kind: z.enum(addressKinds),
  /** The platform's id of the chat. Always a string, because Discord's snowflakes exceed 2^53. */
  peer: z.string().min(1),
  /** Forum topic, Discord thread or web thread. */
  thread: z.string().min(1).optional(),
});

export interface Address {
  readonly channel: string;
  readonly account: string;
  readonly kind: AddressKind;
  readonly peer: string;
  readonly thread?: string | undefined;
}

export type ConversationKey = string & { readonly __brand: "ConversationKey" };

/** For example `telegram:default:group:-100123:7`. The last part is there only for a thread. */
export function conversationKey(address: Address): ConversationKey {
  const { channel, account, kind, peer, thread } = address;
  const parts = [channel, account, kind, peer, ...(thread === undefined ? [] : [thread])];
  return parts.map(encodeKeyPart).join(":") as ConversationKey;
}

/** Inverse of `conversationKey`. Throws Fault("invalid") for a malformed key. */
export function parseConversationKey(key: string): Address {
  const parts = key.split(":");
  const [channel, account, kind, peer, thread] = parts.map(decodeKeyPart);
  if (!channel || !account || !peer || parts.length > 5 || !isAddressKind(kind)) {
    throw new Fault("invalid", `"${key}" is not a conversation key`);
  }
  return { channel, account, kind, peer, ...(thread === undefined ? {} : { thread }) };
}

/**
 * The outbox pool of an address, for example `telegram:default`. Rate limits and leadership are per account.
 */
export function accountKey(address: Pick<Address, "channel" | "account">): string {
  return `${encodeKeyPart(address.channel)}:${encodeKeyPart(address.account)}`;
}

function isAddressKind(kind: string | undefined): kind is AddressKind {
  return (addressKinds as readonly (string | undefined)[]).includes(kind);
}
