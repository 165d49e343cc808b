// A real Prometheus scrapes the daemon with a token that may only read, evaluates the alert rules of deploy/,
// and sees the daemon go down.
import { spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { lacks, program, programPath } from "@parley/testkit";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";
import { freePort, proxyFolder } from "./proxies.ts";

const prometheus = program("prometheus");
const promtool = program("promtool");
const folderOfRules = join(import.meta.dirname, "../../../../deploy/prometheus");
const rules = join(folderOfRules, "alerts.yaml");

test.skipIf(lacks(promtool))("every alert is quiet before its time and told after it", () => {
  const args = ["test", "rules", join(folderOfRules, "alerts.test.yaml")];
  const { stdout, stderr } = spawnSync(programPath(promtool), args, { encoding: "utf8" });
  expect(`${stdout}${stderr}`).toContain("SUCCESS");
});

describe.skipIf(lacks(prometheus))("Prometheus", () => {
  afterEach(cleanUp);

  test("scrapes, evaluates every rule, and tells that the daemon is gone", async () => {
    const [port, folder] = [await freePort(), await proxyFolder()];
    const daemon = await startDaemon({ config: {} });
    const client = await controlClient(daemon);
    const { token } = (await client.call("devices.mint", { name: "prometheus", scopes: ["read"] })) as {
      readonly token: string;
    };
    client.close();
    await client.closed;
    await writeFile(join(folder, "token"), token);
    await writeFile(
      join(folder, "prometheus.yml"),
      JSON.stringify({
        global: { scrape_interval: "1s", evaluation_interval: "1s" },
        rule_files: [rules],
        scrape_configs: [
          {
            job_name: "parley",
            authorization: { credentials_file: join(folder, "token") },
            static_configs: [{ targets: [new URL(daemon.url).host] }],
          },
        ],
      }),
    );
    const server = spawn(
      programPath(prometheus),
      [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: "ignore" },
    );
    const gone = new Promise((resolve) => server.once("close", resolve));
    onTestFinished(async () => {
      server.kill("SIGTERM");
      await gone;
    });
    const ask = async (path: string): Promise<unknown> =>
      fetch(`http://127.0.0.1:${port}/api/v1/${path}`).then(
        async (answer) => (answer.ok ? ((await answer.json()) as { readonly data: unknown }).data : {}),
        // It does not listen yet.
        () => ({}),
      );
    const value = async (query: string): Promise<string | undefined> => {
      const { result } = (await ask(`query?query=${encodeURIComponent(query)}`)) as {
        readonly result?: readonly { readonly value: readonly [number, string] }[];
      };
      return result?.[0]?.value[1];
    };
    await eventually(async () => (await value('up{job="parley"}')) === "1", 60_000, "a scrape");
    expect(await value("parley_ready")).toBe("1");

    const health = async (): Promise<readonly string[]> => {
      const { groups = [] } = (await ask("rules")) as {
        readonly groups?: readonly {
          readonly rules: readonly { readonly name: string; readonly health: string }[];
        }[];
      };
      return groups.flatMap(({ rules: each }) => each.map(({ name, health: how }) => `${name} ${how}`));
    };
    await eventually(
      async () => (await health()).every((each) => !each.endsWith("unknown")),
      60_000,
      "the rules",
    );
    expect((await health()).length).toBeGreaterThan(10);
    expect((await health()).filter((each) => !each.endsWith(" ok"))).toEqual([]);

    expect(await daemon.stop()).toBe(0);
    await eventually(
      async () => (await value('ALERTS{alertname="ParleyDown", alertstate="pending"}')) === "1",
      60_000,
      "an alert that waits for its time",
    );
  });
});
