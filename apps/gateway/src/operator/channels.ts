// Lets an operator try an account: it lists the places that agents know, and sends one of them a message
// through the outbox, so that a test takes the way of every answer.
import type { Config } from "@parley/config";
import {
  accountKey,
  conversationKey,
  Fault,
  type Address,
  type MethodParams,
  type MethodResult,
} from "@parley/protocol";
import { isProgram } from "@parley/access";
import { textDelivery } from "@parley/delivery";
import { addressIn, knownPlaces } from "@parley/runner";
import type { DaemonPorts, StorePorts } from "./ports.ts";

export interface ChannelPorts extends Pick<StorePorts, "closed"> {
  readonly config: Pick<Config, "agents">;
  readonly store: Pick<StorePorts["store"], "outbox" | "sessions" | "inbox">;
  readonly wired: { readonly channels: Pick<DaemonPorts["wired"]["channels"], "has" | "keys"> };
}

const testText = "This is a test message of Parley: this account can write here.";

export function channelMethods({ config, store, closed, wired }: ChannelPorts) {
  return {
    async "channels.places"({
      channel,
      account,
    }: MethodParams<"channels.places">): Promise<MethodResult<"channels.places">> {
      const found = await Promise.all(config.agents.list.map(({ id }) => knownPlaces(store, id)));
      // Of two agents that know a place the one that heard of it last says how it is.
      const known = found.flat().toSorted((a, b) => a.lastAtMs - b.lastAtMs);
      const meant = new Map(known.map((place) => [place.conversation, place]));
      const places = [...meant.values()]
        .filter(({ address }) => !isProgram(address))
        .filter(({ address }) => channel === undefined || address.channel === channel)
        .filter(({ address }) => account === undefined || address.account === account)
        .toSorted((a, b) => b.lastAtMs - a.lastAtMs)
        .map(({ conversation, address, names, title, lastAtMs }) => ({
          conversation,
          channel: address.channel,
          account: address.account,
          kind: address.kind,
          names: [...names],
          title,
          lastAtMs,
        }));
      return { places };
    },
    /** Idempotent by its key. */
    async "channels.test"({
      to,
      channel,
      account,
      text = testText,
      idempotencyKey,
    }: MethodParams<"channels.test">): Promise<MethodResult<"channels.test">> {
      const fields = { channel, ...(account === undefined ? {} : { account }), to };
      const address = addressIn(channel === undefined ? to : fields, { conversation: null }, "to");
      const refusal = refusalOf(address);
      if (refusal !== null) throw refusal;
      const id = `test:${idempotencyKey}`;
      // Whoever tests expects the chat to be reachable again.
      await closed.open([address]);
      await store.outbox.post([textDelivery(id, address, text, id)]);
      return { id, conversation: conversationKey(address) };
    },
  };

  function refusalOf(address: Address): Fault | null {
    if (isProgram(address))
      return new Fault("denied", "programs are answered, and never written to: take a chat");
    const key = accountKey(address);
    if (wired.channels.has(key)) return null;
    const accounts = [...wired.channels.keys()].join(", ");
    return new Fault(
      "missing",
      `there is no account ${key} here; there ${accounts === "" ? "is none" : `are ${accounts}`}`,
    );
  }
}
