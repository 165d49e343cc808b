// A gateway that runs is not broken by a change of its config, nor by a restart with one that it would not
// come up with: whoever asks is told why, and it works on.
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome, type Daemon } from "./daemon.ts";
import { findableGateway, parley } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

const owner = 4242;
/** Also of one that is degraded, because its file is broken. */
async function bootOf(daemon: Pick<Daemon, "url" | "token">): Promise<string> {
  const client = await controlClient(daemon);
  const { bootId } = (await client.call("status")) as { readonly bootId: string };
  client.close();
  return bootId;
}

async function started(): Promise<{
  readonly daemon: Daemon;
  readonly path: string;
  readonly good: string;
  readonly boot: string;
}> {
  const config = {
    ...(await findableGateway()),
    commands: { ownerAllowFrom: [`telegram:${owner}`] },
    logging: { level: "info" },
  };
  const daemon = await w.start({ config });
  const path = join(daemon.home, "parley.json5");
  await writeFile(join(daemon.home, "a-file"), "");
  return { daemon, path, good: await readFile(path, "utf8"), boot: await bootOf(daemon) };
}

test("a value that only a start would have refused is refused by set, validate and start alike", async () => {
  const { daemon, path, good } = await started();
  for (const running of [true, false]) {
    if (!running) await daemon.stop();
    const values = [
      [
        "agents.defaults.workspace",
        "a-file",
        /agents\.defaults\.workspace: .*a-file is a file, not a folder/,
      ],
      [
        "messages.audio.transcribe",
        "nobody/whisper",
        /messages\.audio\.transcribe: .*"nobody", which does not exist/,
      ],
      ["gateway.bind", "192.0.2.1", /gateway\.bind: /],
    ] as const;
    // Who refuses is another one once nothing runs; what is refused is not.
    for (const [key, value, why] of running ? values : values.slice(0, 1)) {
      const set = await parley(daemon.home, "config", "set", key, value);
      expect([key, set.exitCode, set.err]).toEqual([key, 1, expect.stringMatching(why)]);
      expect(await readFile(path, "utf8")).toBe(good);
    }
    await writeFile(
      path,
      good.replace('"agents":{"defaults":{', '"agents":{"defaults":{"workspace":"a-file",'),
    );
    const validate = await parley(daemon.home, "config", "validate");
    expect([validate.exitCode, validate.err]).toEqual([78, expect.stringMatching(/a-file is a file/)]);
    if (!running) {
      const start = await parley(daemon.home, "start");
      expect([start.exitCode, start.err]).toEqual([
        78,
        expect.stringMatching(/parley\.json5:1:\d+ agents\.defaults\.workspace: .*a-file is a file/),
      ]);
    }
    await writeFile(path, good);
  }
}, 300_000);

test("no way of asking restarts a gateway that would not come up; all of them say why", async () => {
  const { daemon, path, good, boot } = await started();
  await writeFile(
    path,
    good.replace('"agents":{"defaults":{', '"agents":{"defaults":{"workspace":"a-file",'),
  );
  const person = w.telegram.as(owner);

  const asked = await parley(daemon.home, "restart");
  expect([asked.exitCode, asked.err]).toEqual([
    78,
    expect.stringMatching(/would not come up again[\s\S]*a-file is a file/),
  ]);

  person.says("/restart");
  const answer = (await w.answered(owner, 1))[0];
  expect(answer).toMatch(/^I do not restart: .*a-file is a file/);
  expect(answer).not.toContain(daemon.home);

  w.models.reply(({ lastToolResult }) =>
    lastToolResult === null
      ? { toolCalls: [{ name: "gateway", args: { action: "restart" } }] }
      : `so: ${lastToolResult}`,
  );
  person.says("please restart");
  expect((await w.answered(owner, 2))[1]).toMatch(/^so: not restarted.*a-file is a file/s);

  daemon.kill("SIGUSR2");
  await eventually(() => daemon.log().includes("not restarted, it would not come up again"));
  expect(await bootOf(daemon)).toBe(boot);

  await writeFile(path, good);
  expect(await parley(daemon.home, "restart")).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining("is back"),
  });
  expect(await bootOf(daemon)).not.toBe(boot);
}, 300_000);

test("a restart onto a port or a store that cannot be had is refused, one onto a free port finds its way back", async () => {
  const { daemon, boot } = await started();
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const taken = (server.address() as AddressInfo).port;

  expect((await parley(daemon.home, "config", "set", "gateway.port", String(taken))).out).toContain(
    "`parley restart` brings it into effect",
  );
  const refused = await parley(daemon.home, "restart");
  expect([refused.exitCode, refused.err]).toEqual([
    78,
    expect.stringMatching(/gateway\.port: .*(another program|another Parley).* listens there/),
  ]);
  expect(await bootOf(daemon)).toBe(boot);

  const free = ((await findableGateway()).gateway as { port: number }).port;
  await parley(daemon.home, "config", "set", "gateway.port", String(free));
  await parley(
    daemon.home,
    "config",
    "set",
    "store",
    '{"driver":"redis","redis":{"url":"redis://127.0.0.1:1"}}',
  );
  const away = await parley(daemon.home, "restart");
  expect([away.exitCode, away.err]).toEqual([78, expect.stringMatching(/store: .*127\.0\.0\.1:1/)]);
  expect(await bootOf(daemon)).toBe(boot);

  await parley(daemon.home, "config", "unset", "store");
  expect(await parley(daemon.home, "restart")).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining("is back"),
  });
  const url = `http://127.0.0.1:${free}`;
  expect(daemon.log()).toContain(`"url":"${url}/"`);
  expect(await bootOf({ ...daemon, url })).not.toBe(boot);
}, 300_000);

test("a home that was never used starts by what validate says", async () => {
  const home = await freshHome();
  await writeFile(
    join(home, "parley.json5"),
    "{ agents: { list: [{ id: 'main', workspace: '/proc/nothing' }] } }",
  );
  const validate = await parley(home, "config", "validate");
  expect([validate.exitCode, validate.err]).toEqual([
    78,
    expect.stringMatching(/agents\.list\[0\]\.workspace: /),
  ]);
  expect((await parley(home, "start")).exitCode).toBe(78);
});
