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

test("one that a signal ends has the code that shells give it, and nothing is listened for any more", async () => {
  const listening = (): readonly number[] =>
    ["SIGTERM", "SIGHUP", "SIGINT"].map((signal) => process.listenerCount(signal));
  const before = listening();
  const running = start(["--role", "edge"], program('process.kill(process.pid, "SIGKILL")'));
  expect(listening()).toEqual(before.map((count) => count + 1));
  expect(await running).toBe(137);
  expect(listening()).toEqual(before);
});

test("each signal goes on to the gateway, whose own exit code counts", async () => {
  const child = program(
    `const heard = [];
    for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"])
      process.on(signal, () => {
        heard.push(signal);
        console.log(signal);
        if (heard.length === 3) process.exit(7);
      });
    setInterval(() => {}, 1000);
    console.log("ready");`,
  );
  const parent =
    program(`import { start } from ${JSON.stringify(new URL("../src/commands/start.ts", import.meta.url).href)};
    process.exitCode = await start([], ${JSON.stringify(child)});`);
  const running = spawn(process.execPath, [parent], { stdio: ["ignore", "pipe", "inherit"] });
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  const heard: string[] = [];
  for (const signal of signals) {
    heard.push(String((await once(running.stdout, "data"))[0]).trim());
    running.kill(signal);
  }
  expect(await once(running, "exit")).toEqual([7, null]);
  expect(heard).toEqual(["ready", "SIGHUP", "SIGINT"]);
});
