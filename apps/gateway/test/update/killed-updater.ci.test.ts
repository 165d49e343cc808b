// An updater that is killed where no gateway runs any more: the next `parley update` starts the version
// before as the operator had started it. On the real daemon.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readRecord } from "@parley/update";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cleanUp, eventually, freshHome } from "../e2e/daemon.ts";
import { findableGateway } from "../e2e/operator.ts";
import { world } from "../e2e/world.ts";
import { inventedReleases, type InventedReleases } from "./invented-releases.ts";
import { keptUp } from "./kept-up.ts";

const [older, broken] = ["7.41.1", "7.41.3"] as const;
/** On a busy machine a start alone takes many seconds. */
const timeout = 600_000;

let releases: InventedReleases;
beforeAll(async () => {
  releases = await inventedReleases();
  await releases.add(older);
  await releases.add(broken, { diesAfterMs: 0 });
}, timeout);
afterAll(async () => {
  releases.close();
  await cleanUp();
});

test(
  "killed on its way back, it leaves how the gateway was started to the next one",
  { timeout },
  async () => {
    const w = await world();
    onTestFinished(() => w.close());
    const home = await freshHome();
    const { gateway } = await findableGateway();
    const update = { url: releases.folder, watchSeconds: 3 };
    writeFileSync(join(home, "parley.json5"), JSON.stringify({ ...w.config, gateway, update }));
    const words = ["--role", "all", "--port", String((gateway as { readonly port: number }).port)];
    const kept = keptUp(await releases.install("tarball", older), home, null, words);
    onTestFinished(() => kept.stop());
    w.telegram.as(101).says("before");
    await eventually(() => w.answers(101).length === 1, 120_000, "an answer");

    const killed = kept.parley("update", "--to", broken);
    await eventually(() => readRecord(home)?.state === "going-back", 120_000, "an update that goes back");
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(kept.pid(), kept.log()).toBeNull();

    w.telegram.as(101).says("meanwhile");
    const next = await kept.parley("update", "--to", older).ended;
    expect(next.err, kept.log()).toContain(`An update to ${broken} was not finished`);
    expect(readRecord(home)).toMatchObject({ state: "went-back", ran: { args: words, service: null } });
    const command = readFileSync(`/proc/${kept.pid() ?? 0}/cmdline`, "utf8").split("\0");
    expect(command.join(" ")).toContain(words.join(" "));
    await eventually(() => w.answers(101).length === 2, 120_000, "an answer after the way back");
  },
);
