// Discord keeps the channel contract, against a fake that accepts no call that Discord's own description
// would not.
import { expect } from "vitest";
import { channelContract } from "../contract.ts";
import { alice, discordRig } from "./rig.ts";

channelContract({
  name: "discord",
  async open() {
    const { fake, channel, clock, memory, room, open, close } = await discordRig();
    /** Where in their session the events of people stand. */
    const said: number[] = [];
    const note = (): void => void said.push(fake.gateway.sessions().at(-1)?.seq ?? 0);
    return {
      channel,
      says(how, words) {
        const who = fake.as(alice);
        if (how === "dm") who.says(words);
        else who.says(how === "mention" ? `<@${fake.bot().id}> ${words}` : words, { channel: room });
        note();
      },
      acknowledged: () => said.filter((sequence) => sequence <= memory.sequence()).length,
      shown: () =>
        fake
          .visible(fake.as(alice).dm())
          .filter((message) => message.byBot && message.kind === "text")
          .map((message) => message.text),
      advance: (byMs) => clock.advance(byMs),
      limitsNextSend(waitMs) {
        const body = { message: "You are being rate limited.", retry_after: waitMs / 1000, global: false };
        const headers = { "Retry-After": String(waitMs / 1000), "X-RateLimit-Scope": "user" };
        fake.inject({
          method: "POST /channels/:channel/messages",
          trouble: { kind: "answer", status: 429, body, headers },
        });
      },
      losesNextAnswer: () =>
        fake.inject({
          method: "POST /channels/:channel/messages",
          when: "after",
          trouble: { kind: "reset" },
        }),
      denied: () => open({ token: "nobody.knows.this" }),
      sendsFile(bytes) {
        fake.as(alice).says("", { files: [{ name: "note.txt", mediaType: "text/plain", bytes }] });
        note();
      },
      async close() {
        await close();
        expect(fake.violations()).toEqual([]);
      },
    };
  },
  skip: [],
});
