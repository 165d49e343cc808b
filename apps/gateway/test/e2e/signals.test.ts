// What signals do to a daemon that an operator, or somebody else of the same user, sends them.
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { cleanUp, eventually, startDaemon } from "./daemon.ts";

afterEach(cleanUp);

test("SIGUSR1 opens no inspector, also for a daemon that was started without its launcher", async () => {
  const daemon = await startDaemon({ config: {} });
  daemon.kill("SIGUSR1");
  // The inspector says so on standard error before it serves anything.
  for (let n = 0; n < 5; n += 1) expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
  expect(await daemon.stop()).toBe(0);
  expect(daemon.log()).not.toContain("Debugger listening");
});

test("SIGHUP leaves a line, and it stands in a new log file when the one before was taken away", async () => {
  const daemon = await startDaemon({ config: {} });
  const path = join(daemon.home, "logs/parley.log");
  await eventually(async () => (await readFile(path, "utf8")).includes('"ready"'));
  await rename(path, `${path}.1`);
  daemon.kill("SIGHUP");
  await eventually(
    async () => (await readFile(path, "utf8").catch(() => "")).includes("SIGHUP"),
    10_000,
    "a line in a new log file",
  );
  expect(await readFile(`${path}.1`, "utf8")).not.toContain("SIGHUP");
});
