// What it costs that a channel is on: time and memory to load its driver, logged in before a fake, each in a
// process of its own. Told beside a process that has loaded the package and no driver.
// `node bench/channels.ts [--json <file>]`
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

import { parseArgs, promisify } from "node:util";
import { discord, telegram, type Channel } from "@parley/channels";
import { silentLog, systemClock, systemIds } from "@parley/protocol";

const { values } = parseArgs({
  options: {
    json: { type: "string" },
    load: { type: "string" },
    root: { type: "string" },
    token: { type: "string" },
  },
});
const runs = 5;

interface Loaded {
  readonly ms: number;
  readonly megabytes: number;
}

const megabytes = (): number => process.memoryUsage().rss / 1e6;

async function open(name: string, apiRoot: string, token: string): Promise<Channel | null> {
  const shared = {
    account: "bench",
    apiRoot,
    mediaFolder: tmpdir(),
    clock: systemClock(),
    ids: systemIds(),
    log: silentLog,
  };
  const memory = { load: async () => null, save: async () => {} };
  if (name === "telegram") return telegram({ ...shared, token });
  return name === "discord" ? discord({ ...shared, token, memory }) : null;
}

/** In a process of its own: what the driver adds, ready to receive. */
async function load(name: string, apiRoot: string, token: string): Promise<Loaded> {
  const before = { atMs: performance.now(), megabytes: megabytes() };
  const channel = await open(name, apiRoot, token);
  const ms = performance.now() - before.atMs;
  await channel?.start(async () => {});
  const loaded = { ms, megabytes: megabytes() - before.megabytes };
  await channel?.stop();
  return loaded;
}

async function measure(name: string, apiRoot = "", token = ""): Promise<Loaded> {
  const found: Loaded[] = [];
  for (let n = 0; n < runs; n++) {
    const args = [fileURLToPath(import.meta.url), "--load", name, "--root", apiRoot, "--token", token];
    found.push(JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as Loaded);
  }
  const median = (of: (loaded: Loaded) => number): number =>
    found.map(of).toSorted((a, b) => a - b)[runs >> 1] ?? Number.NaN;
  return { ms: median(({ ms }) => ms), megabytes: median((loaded) => loaded.megabytes) };
}

if (values.load !== undefined) {
  process.stdout.write(JSON.stringify(await load(values.load, values.root ?? "", values.token ?? "")));
  process.exit(0);
}

// Only here: what the fakes load must not count as what the drivers found loaded.
const { fakeDiscord, fakeTelegram } = await import("@parley/testkit");
const [telegramServer, discordServer] = await Promise.all([fakeTelegram(), fakeDiscord()]);
try {
  const rows = {
    "no driver": await measure("none"),
    telegram: await measure("telegram", telegramServer.url, telegramServer.bot().token),
    discord: await measure("discord", discordServer.apiRoot, discordServer.bot().token),
  };
  console.log("| channel | loads in ms | adds MB, logged in |\n| --- | --- | --- |");
  for (const [name, { ms, megabytes: mb }] of Object.entries(rows))
    console.log(`| ${name} | ${ms.toFixed(0)} | ${mb.toFixed(1)} |`);
  if (values.json !== undefined) await writeFile(values.json, JSON.stringify(rows, null, 2));
} finally {
  await Promise.all([telegramServer.close(), discordServer.close()]);
}
