// Each alert of deploy/ is driven by what it is about: a real Prometheus scrapes a running gateway to which
// that happens, and tells it. Only the times that an alert waits are shortened, and the windows it looks at.
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lacks, program, programPath } from "@parley/testkit";
import { freeze, lookAt } from "../crash/store-look.ts";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome, type Daemon } from "./daemon.ts";
import { freePort, proxyFolder } from "./proxies.ts";
import { world, type World } from "./world.ts";

const prometheus = program("prometheus");
const rulesFile = join(import.meta.dirname, "../../../../deploy/prometheus/alerts.yaml");

/** Resolves once an alert was told at any time. */
type Told = (alert: string, withinMs?: number) => Promise<void>;

async function watched(daemon: Daemon): Promise<{ readonly told: Told; readonly stop: () => Promise<void> }> {
  const [port, folder] = [await freePort(), await proxyFolder()];
  const client = await controlClient(daemon);
  const minted = await client.call("devices.mint", { name: "prometheus", scopes: ["read"] });
  const { token } = minted as { readonly token: string };
  client.close();
  await client.closed;
  const rules = (await readFile(rulesFile, "utf8"))
    .replaceAll(/\n +for: \w+/g, "")
    .replaceAll(/\[\d+[mh]\]/g, "[20s]");
  await writeFile(join(folder, "rules.yaml"), rules);
  await writeFile(join(folder, "token"), token);
  await writeFile(
    join(folder, "prometheus.yml"),
    JSON.stringify({
      global: { scrape_interval: "2s", evaluation_interval: "1s" },
      rule_files: [join(folder, "rules.yaml")],
      scrape_configs: [
        {
          job_name: "parley",
          authorization: { credentials_file: join(folder, "token") },
          static_configs: [{ targets: [new URL(daemon.url).host] }],
        },
      ],
    }),
  );
  const args = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const server = spawn(programPath(prometheus), args, { stdio: "ignore" });
  const gone = new Promise((resolve) => server.once("close", resolve));
  const has = async (query: string): Promise<boolean> => {
    const answer = await fetch(
      `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`,
    ).catch(() => null);
    if (answer?.ok !== true) return false;
    const { data } = (await answer.json()) as { readonly data: { readonly result: readonly unknown[] } };
    return data.result.length > 0;
  };
  const firing = (alert: string): string => `ALERTS{alertname=~"${alert}",alertstate="firing"}`;
  await eventually(() => has('up{job="parley"} == 1'), 60_000, "a scrape");
  await pause(5_000);
  // Quiet as long as nothing is the matter.
  expect(await has(`count_over_time(${firing(".+")}[10m])`)).toBe(false);
  return {
    told: (alert, withinMs = 60_000) =>
      eventually(() => has(`count_over_time(${firing(alert)}[10m])`), withinMs, alert).then(() => {}),
    async stop() {
      server.kill("SIGTERM");
      await gone;
    },
  };
}

describe.skipIf(lacks(prometheus))("an alert is told", () => {
  let w: World;
  let stops: (() => Promise<void>)[];
  beforeEach(async () => {
    w = await world();
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await cleanUp();
    await w.close();
  });

  async function begun(config: object = {}): Promise<{ daemon: Daemon; told: Told }> {
    const daemon = await w.start({ config });
    w.telegram.as(1).says("hello");
    await w.answered(1, 1, 60_000);
    const { told, stop } = await watched(daemon);
    stops.push(stop);
    return { daemon, told };
  }

  test("of turns: the first that dies, too many that do, a model that refuses, answers that nobody takes", async () => {
    const { daemon, told } = await begun();
    w.models.reply(() => ({ status: 400 }));
    w.telegram.as(2).says("one that dies");
    await told("ParleyTurnsDie");
    await told("ParleyAnswersBudget");
    for (let n = 1; n <= 5; n += 1) {
      w.telegram.as(2).says(`another, ${n}`);
      await pause(1_500);
    }
    await told("ParleyModelFails");
    expect(lookAt(daemon.home).dead.length).toBeGreaterThan(0);
    w.models.reply(() => "an answer");
    const blocked = { ok: false, error_code: 403, description: "Forbidden: bot was blocked by the user" };
    w.telegram.inject({
      method: "sendMessage",
      times: null,
      trouble: { kind: "answer", status: 403, body: blocked },
    });
    w.telegram.as(3).says("answer me");
    await told("ParleyAnswersInTrouble");
  });

  test("of the gateway: credentials that are tried, a refused config, a held loop, an account that hears nothing, a store that takes nothing, its end", async () => {
    const { daemon, told } = await begun();
    const wrong = async (n: number): Promise<string> => {
      const headers = { authorization: `Bearer wrong-${n}` };
      return (await fetch(`${daemon.url}/metrics`, { headers })).text();
    };
    // One after the other they would be answered slowly, and take longer than the short window.
    await Promise.all(Array.from({ length: 80 }, (_, n) => wrong(n)));
    await told("ParleyWrongTokens");
    daemon.kill("SIGSTOP");
    // A scrape that comes meanwhile waits so long.
    await pause(1_500);
    daemon.kill("SIGCONT");
    await told("ParleyEventLoopLags");
    const config = join(daemon.home, "parley.json5");
    const written = await readFile(config, "utf8");
    await writeFile(config, '{ "gateway": { "prot": 1 } }');
    await told("ParleyConfigRefused");
    await writeFile(config, written);
    const thaw = freeze(daemon.home);
    try {
      await told("ParleyStoreDown");
      await told("ParleyNotReady");
    } finally {
      thaw();
    }
    const unauthorized = { ok: false, error_code: 401, description: "Unauthorized" };
    w.telegram.inject({ times: null, trouble: { kind: "answer", status: 401, body: unauthorized } });
    await told("ParleyChannelDown", 120_000);
    expect(await daemon.stop()).toBe(0);
    await told("ParleyDown");
  });

  test("of people who wait for more than a minute", { timeout: 300_000 }, async () => {
    const { told } = await begun({
      agents: { defaults: { maxConcurrent: 1, model: { primary: "fake/m1" } } },
    });
    w.models.reply(({ lastUserText }) => ({
      text: "done",
      delayMs: lastUserText.includes("long") ? 70_000 : 0,
    }));
    w.telegram.as(2).says("a long one");
    await eventually(() => w.models.requests().length === 2, 60_000, "the long turn");
    w.telegram.as(3).says("a short one");
    await told("ParleyPeopleWait", 150_000);
  });

  test("of a backup that is too old, and of one that cannot be made", { timeout: 300_000 }, async () => {
    const old = await begun({ backup: { everyHours: 24 } });
    const folder = join(old.daemon.home, "backups");
    await mkdir(folder);
    await writeFile(join(folder, "parley-2026-01-01T00-00-00Z.db"), "");
    await old.told("ParleyBackupOld");
    const home = await freshHome();
    await writeFile(join(home, "no-folder"), "");
    const daemon = await w.start({ home, config: { backup: { everyHours: 24, folder: "no-folder" } } });
    const { told, stop } = await watched(daemon);
    stops.push(stop);
    // A starting gateway has more urgent work for a minute and a half.
    await told("ParleyBackupOld", 150_000);
  });
});
