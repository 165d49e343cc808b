// Where the daemon's log goes: the newest lines in memory and a file of the process, with the same words, as
// the config wants it.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { daemonLog } from "../../src/log/daemon-log.ts";

async function opened(file: object, node = "a/b c") {
  const home = mkdtempSync(join(tmpdir(), "parley-daemon-log-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(file) });
  const lines = await daemonLog({ config, home, node, pretty: false, clock: virtualClock() });
  const logs = join(home, "logs");
  return { lines, logs, files: () => (existsSync(logs) ? readdirSync(logs).toSorted() : []) };
}
const redis = { store: { driver: "redis", redis: { url: "redis://127.0.0.1:1" } } };

test("memory and file have the same lines, from the config's level on, without its secrets; a closed file gets no more", async () => {
  const { lines, logs, files } = await opened({
    logging: { level: "warn" },
    gateway: { auth: { token: "a-secret-of-the-config-0123456789" } },
  });
  lines.log.info({}, "too little");
  lines.log.warn({ n: 1 }, "it is a-secret-of-the-config-0123456789");
  const text = readFileSync(join(logs, "parley.log"), "utf8");
  expect(lines.book.last(9)).toEqual([text.trim()]);
  expect(JSON.parse(text)).toMatchObject({ level: 40, n: 1, msg: "it is [secret]" });
  lines.close();
  rmSync(logs, { recursive: true });
  expect(files()).toEqual([]);
});

test("nodes of one store have a file each; size and number are the config's, and a file only where it is wanted", async () => {
  const many = await opened({ ...redis, logging: { file: { maxMegabytes: 1, keep: 1 } } });
  const file = join(many.logs, "parley-a_b_c.log");
  const says = (msg: string, older: number | null) => {
    if (older !== null) writeFileSync(file, "x".repeat(older));
    many.lines.log.info({}, msg);
    return many.files().map((name) => [name, readFileSync(join(many.logs, name), "utf8").length]);
  };
  says("1", null);
  const { length } = readFileSync(file, "utf8");
  expect(says("2", 1_000_000 - length)).toEqual([["parley-a_b_c.log", 1_000_000]]);
  const both = [
    ["parley-a_b_c.1.log", 1_000_000],
    ["parley-a_b_c.log", length],
  ];
  expect(says("3", null)).toEqual(both);
  expect(says("4", 1_000_000)).toEqual(both);
  many.lines.close();
  const none = await opened({ logging: { file: { enabled: false } } });
  none.lines.log.error({}, "said");
  expect([none.files(), none.lines.book.last(9)]).toEqual([[], [expect.stringContaining('"msg":"said"')]]);
  none.lines.close();
});
