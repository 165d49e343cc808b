// An owner's agent brings an update on the real daemon, under traffic, and kill -9 comes to the gateway at
// each stage of it, with and without somebody who starts it again: one whole version runs, and the chat that
// asked is told once which.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { askedInChat, type Moment } from "./asked-in-chat.ts";
import { inventedReleases, type InventedReleases } from "./invented-releases.ts";
import { expectFlawless, owner, type Traffic } from "./update-traffic.ts";

const [older, otherSchema, newer] = ["7.41.1", "7.41.2", "7.41.3"] as const;
const timeout = 1_800_000;

let releases: InventedReleases;
let people: Traffic;
beforeAll(async () => {
  releases = await inventedReleases();
  await releases.add(older);
  await releases.add(otherSchema, { newSchema: true });
  await releases.add(newer);
}, timeout);
afterAll(() => releases.close());
afterEach(async () => {
  await people.close();
  await cleanUp();
});

describe.each([
  ["nobody keeps up", null],
  ["a service manager keeps up", { afterMs: 0 }],
])("a gateway that %s", (_, supervisor) => {
  test.each<Moment>(["never", "backup", "start", "watch"])(
    "killed at this moment of an update that its agent began: %s",
    { timeout },
    async (killedAt) => {
      const { state, from, to, reason } = await askedInChat(
        // With the way back over another schema goes what was said since.
        { releases, older, newer: killedAt === "watch" ? newer : otherSchema, supervisor, killedAt },
        (traffic) => (people = traffic),
      );
      if (killedAt === "never") expect(state).toBe("done");
      if (killedAt === "watch") expect(state).toBe("went-back");
      await expectFlawless(people);
      const told =
        state === "done"
          ? `Parley is updated from ${from} to ${to} as you asked, and runs.`
          : `The update of Parley to ${to} did not do (${reason ?? ""}), and ${from} runs again.`;
      expect(people.toldTo(owner).slice(2)).toEqual([`told: ${told} Tell the user in one line.`]);
      console.log(killedAt, state, reason);
    },
  );
});
