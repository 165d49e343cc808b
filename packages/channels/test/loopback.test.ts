// The loopback keeps the channel contract, and shows a repeated send once.
import { virtualClock } from "@parley/testkit";
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { loopback } from "@parley/channels";
import { channelContract, text } from "./contract.ts";

channelContract({
  name: "loopback",
  async open() {
    const clock = virtualClock();
    const channel = loopback({ account: "default", clock });
    const places = {
      dm: {},
      mention: { address: { kind: "group", peer: "room" }, addressed: true },
      bystander: { address: { kind: "group", peer: "room" } },
    } as const;
    return {
      channel,
      says: (how, words) => void channel.says(words, places[how]),
      acknowledged: () => channel.accepted().length,
      shown: () => channel.sent("person").map(({ part }) => (part.kind === "text" ? part.text : part.kind)),
      advance: (byMs) => clock.advance(byMs),
      limitsNextSend: (retryAfterMs) =>
        channel.failsNext(new Fault("rate_limited", "slow down", { retryAfterMs })),
      losesNextAnswer: () => channel.failsNext(new Fault("ambiguous", "the answer was lost")),
      sendsFile: (bytes) =>
        void channel.says("", { fields: { attachments: [channel.attaches(bytes, { kind: "file" })] } }),
      close: async () => {},
    };
  },
  skip: [
    {
      case: "a token that is refused rejects start with Fault denied",
      reason: "there is nobody to refuse it",
    },
    {
      case: "a poll at its limits is sent, and one beyond them is Fault invalid and not sent",
      reason: "it has no limits",
    },
  ],
});

test("a send under the same key is shown once and gets the same receipt", async () => {
  const channel = loopback({ account: "default", clock: virtualClock() });
  const to = { channel: "loopback", account: "default", kind: "dm", peer: "person" } as const;
  const options = { idempotencyKey: "delivery-1", signal: new AbortController().signal };
  const first = await channel.send(to, text("once"), options);
  expect(await channel.send(to, text("once"), options)).toEqual(first);
  expect(channel.sent()).toHaveLength(1);
});
