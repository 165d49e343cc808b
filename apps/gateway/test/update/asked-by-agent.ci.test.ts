// The agent's tool brings an update on the real daemon because its owner asked, under traffic and over a kill
// -9 of the gateway while the backup is made: the chat that asked is told the end once. Other moments:
// asked-by-agent.long.test.ts.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { askedInChat } from "./asked-in-chat.ts";
import { inventedReleases, type InventedReleases } from "./invented-releases.ts";
import { expectFlawless, owner, type Traffic } from "./update-traffic.ts";

const [older, newer] = ["7.41.1", "7.41.2"] as const;
const timeout = 600_000;

let releases: InventedReleases;
let people: Traffic;
beforeAll(async () => {
  releases = await inventedReleases();
  await releases.add(older);
  await releases.add(newer);
}, timeout);
afterAll(() => releases.close());
afterEach(async () => {
  await people.close();
  await cleanUp();
});

test(
  "an owner's agent looks, updates, and tells the end once; a stranger's is refused",
  { timeout },
  async () => {
    const asked = { releases, older, newer, supervisor: { afterMs: 0 }, killedAt: "backup" } as const;
    const { state, askedBy } = await askedInChat(asked, (traffic) => (people = traffic));
    expect([state, askedBy?.startsWith("turn:")]).toEqual(["done", true]);
    await expectFlawless(people);
    expect(people.toldTo(owner).slice(2)).toEqual([
      `told: Parley is updated from ${older} to ${newer} as you asked, and runs. Tell the user in one line.`,
    ]);
  },
);
