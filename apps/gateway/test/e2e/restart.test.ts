// A restart in place, by signal: same process, new boot; refused while the config is broken; a stop that
// comes meanwhile wins.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
import { findableGateway, parleyJson } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

interface Boot {
  readonly pid: number;
  readonly bootId: string;
}

test("SIGUSR2 begins a new boot in the same process, unless the config is broken; SIGTERM meanwhile ends it with 0", async () => {
  const daemon = await w.start({
    nodeArgs: ["--max-old-space-size=700"],
    config: { ...(await findableGateway()), commands: { ownerAllowFrom: ["telegram:4242"] } },
  });
  const boot = async (): Promise<Boot> => (await parleyJson(daemon.home, "status")) as Boot;
  const first = await boot();
  const path = join(daemon.home, "parley.json5");
  const good = await readFile(path, "utf8");

  await writeFile(path, "{ gateway: { prot: 1 } }");
  daemon.kill("SIGUSR2");
  await eventually(() => daemon.log().includes("not restarted, it would not come up again"));
  await writeFile(path, good);
  const person = w.telegram.as(4242);
  person.says("still there?");
  await w.answered(4242, 1);
  expect((await boot()).bootId).toBe(first.bootId);

  // What /restart in a chat does at its end is this signal.
  person.says("/restart");
  expect((await w.answered(4242, 3)).slice(1)).toEqual([
    expect.stringMatching(/^I restart/),
    expect.stringMatching(/^I am back: Parley \d/),
  ]);
  const second = await boot();
  expect([second.pid, second.bootId !== first.bootId]).toEqual([daemon.pid, true]);
  expect(await readFile(`/proc/${daemon.pid}/cmdline`, "utf8")).toContain("\0--max-old-space-size=700\0");
  person.says("and now?");
  await w.answered(4242, 4);

  w.models.reply({ text: "slowly said words", betweenMs: 300 });
  person.says("something slow");
  await eventually(() => w.models.requests().length === 3);
  daemon.kill("SIGUSR2");
  await eventually(() => daemon.log().split('"msg":"stopping"').length === 3, 10_000, "the second drain");
  daemon.kill("SIGTERM");
  expect(await daemon.exited).toBe(0);
  expect((await w.answered(4242, 5))[4]).toBe("slowly said words");
}, 120_000);
