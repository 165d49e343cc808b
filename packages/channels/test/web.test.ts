// The web keeps the channel contract over an event log, and shows a repeated send once.
import { conversationKey, type Address, type ConversationKey } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { webChannel, type WebMessage } from "@parley/channels";
import { channelContract, text } from "./contract.ts";

const person: Address = { channel: "web", account: "default", kind: "dm", peer: "web-person" };

function open() {
  const clock = virtualClock();
  const log = new Map<string, { readonly stream: ConversationKey; readonly message: WebMessage }>();
  let accepted = 0;
  let said = 0;
  const channel = webChannel({
    account: "default",
    clock,
    async publish(stream, id, message) {
      if (!log.has(id)) log.set(id, { stream, message });
      return [...log.keys()].indexOf(id) + 1;
    },
  });
  const says = (words: string): void => {
    const id = `m${(said += 1)}`;
    // A client repeats its request until it is answered, as the page does from its outbox.
    const submit = async (): Promise<void> => {
      try {
        await channel.submit({ id, address: person, senderName: "Person", text: words });
        accepted += 1;
      } catch {
        clock.after(1_000, () => void submit());
      }
    };
    void submit();
  };
  const shown = (): readonly string[] =>
    [...log.values()]
      .filter(({ stream, message }) => stream === conversationKey(person) && message.role === "assistant")
      .map(({ message }) => message.text);
  return { clock, channel, says, shown, accepted: () => accepted, log };
}

channelContract({
  name: "web",
  async open() {
    const { clock, channel, says, shown, accepted } = open();
    return {
      channel,
      says: (how, words) => {
        if (how === "dm") says(words);
      },
      acknowledged: accepted,
      shown,
      advance: (byMs) => clock.advance(byMs),
      close: async () => {},
    };
  },
  skip: [
    { case: "an exact mention is addressed", reason: "the web chat has no groups" },
    { case: "a bystander's message in a group is not addressed", reason: "the web chat has no groups" },
    {
      case: "a rate limit is Fault rate_limited with the wait, and nothing is sent",
      reason: "the event log is ours and has no limit",
    },
    {
      case: "a token that is refused rejects start with Fault denied",
      reason: "the control plane has checked every client before",
    },
    {
      case: "an answer that was lost after the request went out is Fault ambiguous",
      reason: "an append either resolved or did not happen",
    },
    {
      case: "an edit changes the message, and the same edit again succeeds",
      reason: "a page shows growing answers by deltas, not by edits",
    },
    {
      case: "a removed message is gone, and removing it again succeeds",
      reason: "an event that was shown is not taken back",
    },
    {
      case: "a pin is set and taken back, and the same again succeeds",
      reason: "a page has no pins",
    },
    {
      case: "a reaction is set and taken back, and the same again succeeds",
      reason: "a page has no reactions",
    },
    { case: "an action on what is gone is Fault missing", reason: "a page has no actions" },
    {
      case: "a poll at its limits is sent, and one beyond them is Fault invalid and not sent",
      reason: "a page is shown polls as text",
    },
    {
      case: "an attachment is downloaded whole, and not beyond the limit",
      reason: "the web chat takes no files yet",
    },
  ],
});

test("a send under the same key is one event", async () => {
  const { channel, shown } = open();
  const options = { idempotencyKey: "delivery-1", signal: new AbortController().signal };
  expect(await channel.send(person, text("once"), options)).toEqual(
    await channel.send(person, text("once"), options),
  );
  expect(shown()).toEqual(["once"]);
});

test("a channel that does not receive refuses what is said, so that the client keeps it", async () => {
  const { channel } = open();
  await expect(
    channel.submit({ id: "m1", address: person, senderName: "Person", text: "hi" }),
  ).rejects.toMatchObject({
    code: "unavailable",
  });
});
