// Two nodes on one Redis are updated one after the other while people write, and one dies while both versions
// work: nothing is lost, nothing comes twice. With more nodes, and the way back: mixed-versions.long.test.ts.
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { inventedReleases, type InventedReleases } from "./invented-releases.ts";
import { mixedVersions, type Mixed } from "./mixed-versions.ts";

const [older, newer] = ["7.41.1", "7.41.2"] as const;
const timeout = 600_000;

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  let releases: InventedReleases;
  let people: Mixed;
  afterEach(async () => {
    await people.close();
    releases.close();
    await cleanUp();
  });

  test("an older worker answers what a newer edge writes down, over a death of it", { timeout }, async () => {
    releases = await inventedReleases();
    await releases.add(older);
    await releases.add(newer, { moreFields: true });
    people = await mixedVersions(releases, older, ["edge", "worker"]);
    const [edge, worker] = people.nodes;
    expect(await edge?.update(newer)).toMatchObject({ code: 0 });
    await people.roll([newer, older]);
    await people.heard();
    await worker?.die();
    await people.heard();
    expect(await worker?.update(newer)).toMatchObject({ code: 0 });
    await people.roll([newer, newer]);
    await people.expectFlawless();
  });
});
