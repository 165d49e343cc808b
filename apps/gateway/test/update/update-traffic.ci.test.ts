// From one release to the next and back, on the real daemon, while people write: nothing is lost, nothing
// comes twice, the order stays, and the chat that asked is told once. Releases that do not do, and kills:
// update-traffic.long.test.ts.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { inventedReleases, type InventedReleases } from "./invented-releases.ts";
import { expectFlawless, inForce, owner, stranger, traffic, type Traffic } from "./update-traffic.ts";

const [older, newer] = ["7.41.1", "7.41.2"] as const;
/** On a busy machine a start alone takes many seconds. */
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

test("to the newer release by /update and back by the command line, under traffic", { timeout }, async () => {
  people = await traffic({
    releases,
    program: await releases.install("tarball", older),
    supervisor: null,
  });
  people.w.telegram.as(stranger).says(`/update ${newer}`);
  people.w.telegram.as(owner).says(`/update ${newer}`);
  await eventually(() => people.toldTo(owner).length > 1, 180_000, "the end of the update");
  expect(people.toldTo(owner)).toEqual([
    expect.stringMatching(/^I look for the new version/),
    `I am updated: Parley ${newer} runs, ${older} before it.`,
  ]);
  expect(people.toldTo(stranger)).toEqual([expect.stringMatching(/^\/update is for owners/)]);
  const both = await Promise.all([1, 2].map(() => people.kept.parley("update", "--to", older).ended));
  expect(
    both.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b)),
    JSON.stringify(both),
  ).toEqual([0, 1]);
  expect(both.find(({ code }) => code === 0)?.out).toContain(`Parley ${older} is in force`);
  expect(both.find(({ code }) => code === 1)?.err).toContain("An update runs already");
  expect(await inForce(people)).toBe(older);
  await expectFlawless(people);
  expect(people.toldTo(owner)).toHaveLength(2);
});
