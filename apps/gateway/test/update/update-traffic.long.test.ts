// Releases that do not do, each in its way, and an updater and a gateway that are killed at random instants,
// while people write: nothing is lost, nothing comes twice, and one whole release is in force. PARLEY_SEED
// draws other instants.
import { setTimeout as pause } from "node:timers/promises";
import { isUpdating } from "@parley/update";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { seeded } from "../crash/mixed-traffic.ts";
import { ageBoots } from "../crash/store-look.ts";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { inventedReleases, type InventedReleases, type Kind } from "./invented-releases.ts";
import { expectFlawless, expectGoesBack, inForce, traffic, type Traffic } from "./update-traffic.ts";

const [older, newer, broken, hasty, shortLived, otherSchema] = [
  "7.41.1",
  "7.41.2",
  "7.41.3",
  "7.41.4",
  "7.41.5",
  "7.41.6",
] as const;
const timeout = 1_800_000;
const kinds: readonly Kind[] = ["tarball", "npm"];

let releases: InventedReleases;
let people: Traffic;
beforeAll(async () => {
  releases = await inventedReleases();
  await releases.add(older, {}, kinds);
  await releases.add(newer, {}, kinds);
  await releases.add(broken, { diesAfterMs: 0 });
  await releases.add(hasty, { diesAfterMs: 2_000 });
  await releases.add(shortLived, { diesAfterMs: 10_000 });
  await releases.add(otherSchema, { newSchema: true });
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
  test.each([
    ["dies at its start", broken],
    // On a busy machine before it did any work.
    ["dies after two seconds", hasty],
    ["dies after ten seconds", shortLived],
  ])("goes back by itself from a release that %s", { timeout }, async (__, to) => {
    people = await traffic({ releases, program: await releases.install("tarball", older), supervisor });
    // What dies after ten seconds does well for four.
    if (to !== shortLived) await expectGoesBack(people, to, older);
    else {
      const { code, err } = await people.kept.parley("update", "--to", to, "--watch", "20").ended;
      expect([code, err], people.kept.log()).toEqual([1, expect.stringContaining(`${to} did not do`)]);
    }
    expect(await inForce(people)).toBe(older);
    await expectFlawless(people);
  });

  test.each(kinds)("killed at random, updater and gateway, installed as %s", { timeout }, async (kind) => {
    const seed = Number(process.env["PARLEY_SEED"] ?? 7);
    const chance = seeded(seed);
    people = await traffic({ releases, program: await releases.install(kind, older), supervisor });
    const { kept, home } = people;
    for (let n = 0; n < 6 && (await inForce(people)) === older; n += 1) {
      const update = kept.parley("update", "--to", newer);
      await pause(chance() * 12_000);
      const pid = kept.pid();
      if (chance() < 0.5 || pid === null || supervisor === null) update.child.kill("SIGKILL");
      else process.kill(pid, "SIGKILL");
      await update.ended;
      await eventually(() => kept.pid() !== null, 120_000, "a gateway that runs");
      await people.heard();
      ageBoots(home);
    }
    // A gateway that starts goes on with what a killed updater began.
    await eventually(() => !isUpdating(home), 120_000, "the end of every update");
    const last = await kept.parley("update", "--to", newer).ended;
    expect(last.code, `${last.err}${kept.log()}`).toBe(0);
    expect(await inForce(people)).toBe(newer);
    await expectFlawless(people);
  });
});

test(
  "an older release that does not know the database is refused, and nothing is changed",
  { timeout },
  async () => {
    people = await traffic({
      releases,
      program: await releases.install("tarball", older),
      supervisor: null,
    });
    const done = await people.kept.parley("update", "--to", otherSchema).ended;
    expect(done, people.kept.log()).toMatchObject({ code: 0 });
    const refused = await people.kept.parley("update", "--to", older).ended;
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringMatching(/does not know the database.*--restore-backup/s) as string,
    });
    expect(await inForce(people)).toBe(otherSchema);
    await expectFlawless(people);
  },
);
