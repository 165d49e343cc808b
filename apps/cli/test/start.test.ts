import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { start } from "../src/commands/start.ts";

function program(body: string): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "main.mjs");
  writeFileSync(path, body);
  return path;
}

test("the gateway's exit code comes back", async () => {
  expect(await start([], program("process.exit(78)"))).toBe(78);
});

test("a signal goes on to the gateway, whose own exit code counts", async () => {
  const child = program(
    'process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000); console.log("ready");',
  );
  const parent =
    program(`import { start } from ${JSON.stringify(new URL("../src/commands/start.ts", import.meta.url).href)};
    process.exitCode = await start([], ${JSON.stringify(child)});`);
  const running = spawn(process.execPath, [parent], { stdio: ["ignore", "pipe", "inherit"] });
  await once(running.stdout, "data");
  running.kill("SIGTERM");
  expect(await once(running, "exit")).toEqual([7, null]);
});
