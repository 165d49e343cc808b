// Telegram keeps the channel contract, against a fake that accepts no call that the Bot API's description
// would not.
import { refusalBody } from "@parley/testkit";
import { expect } from "vitest";
import { channelContract } from "../contract.ts";
import { alice, telegramRig } from "./rig.ts";

channelContract({
  name: "telegram",
  async open() {
    const { fake, channel, clock, open, close } = await telegramRig();
    const room = fake.group();
    return {
      channel,
      says(how, words) {
        const who = fake.as(alice);
        if (how === "dm") who.says(words);
        else who.says(how === "mention" ? `@parley_bot ${words}` : words, { chat: room });
      },
      acknowledged: () => fake.bot().queue.confirmed().length,
      shown: () =>
        fake
          .visible(alice.id)
          .filter((message) => message.byBot)
          .map((message) => message.text),
      advance: (byMs) => clock.advance(byMs),
      limitsNextSend(waitMs) {
        const body = refusalBody(429, "Too Many Requests: retry after 3", { retry_after: waitMs / 1000 });
        fake.inject({ method: "sendMessage", trouble: { kind: "answer", status: 429, body } });
      },
      losesNextAnswer: () =>
        fake.inject({ method: "sendMessage", when: "after", trouble: { kind: "reset" } }),
      denied: () => open({ token: "99:unknown" }),
      sendsFile: (bytes) =>
        void fake.as(alice).sendsDocument({ file: { name: "note.txt", mediaType: "text/plain", bytes } }),
      async close() {
        await close();
        expect(fake.violations()).toEqual([]);
      },
    };
  },
  skip: [],
});
