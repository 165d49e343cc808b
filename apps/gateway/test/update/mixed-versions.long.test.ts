// Two edges and two workers on one Redis are updated node by node while people write, one dies after each
// step, and all go back: nothing is lost, nothing comes twice but what is flagged.
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { seeded } from "../crash/mixed-traffic.ts";
import { cleanUp } from "../e2e/daemon.ts";
import { inventedReleases, type InventedReleases } from "./invented-releases.ts";
import { mixedVersions, type Mixed } from "./mixed-versions.ts";

const [older, newer] = ["7.41.1", "7.41.2"] as const;
const timeout = 1_800_000;

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  let releases: InventedReleases;
  let people: Mixed;
  afterEach(async () => {
    await people.close();
    releases.close();
    await cleanUp();
  });

  test(
    "two versions serve one gateway while it is updated node by node, and taken back",
    { timeout },
    async () => {
      const chance = seeded(Number(process.env["PARLEY_SEED"] ?? 7));
      releases = await inventedReleases();
      await releases.add(older);
      await releases.add(newer, { moreFields: true });
      people = await mixedVersions(releases, older, ["worker", "edge", "edge", "worker"]);
      const { nodes, roll, heard } = people;
      const versions: string[] = nodes.map(() => older);
      for (const to of [newer, older]) {
        for (const [at, node] of nodes.entries()) {
          const { code, err } = await node.update(to);
          expect(code, `${node.name} to ${to}: ${err}`).toBe(0);
          versions[at] = to;
          await nodes[Math.floor(chance() * nodes.length)]?.die();
          await roll(versions);
          await heard();
        }
      }
      await people.expectFlawless();
    },
  );
});
