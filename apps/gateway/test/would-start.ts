// Holds what validation says against a start: the daemon itself, in this process, on a home of its own.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { configEditor, loadConfig } from "@parley/config";
import { systemClock, systemIds, type JsonObject } from "@parley/protocol";
import { expect } from "vitest";
import { startDaemon } from "../src/daemon/daemon.ts";
import { oddConfigs } from "./odd-configs.ts";

export interface BothWords {
  readonly validate: string | null;
  readonly start: string | null;
}

/** Each null when it says that all is well. */
export async function bothWords(config: JsonObject): Promise<BothWords> {
  const home = mkdtempSync(join(tmpdir(), "parley-odd-"));
  const env = { PATH: process.env["PATH"], HOME: home };
  try {
    writeFileSync(join(home, "a-file"), "");
    mkdirSync(join(home, "there"));
    symlinkSync(join(home, "nowhere"), join(home, "dangling"));
    writeFileSync(join(home, "parley.json5"), JSON.stringify(config));
    const { problems } = await configEditor({ env, home }).read();
    return {
      validate: problems.length === 0 ? null : JSON.stringify(problems),
      start: await startWords(home, env),
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Of so many odd configs: validation says that all is well if and only if the start comes up. */
export async function holdOddConfigs(numRuns: number, seed: number): Promise<void> {
  let cameUp = 0;
  await fc.assert(
    fc.asyncProperty(oddConfigs, async (config) => {
      const { validate, start } = await bothWords(config);
      if (start === null) cameUp += 1;
      expect(start === null, `validate: ${validate}\nstart: ${start}`).toBe(validate === null);
    }),
    { numRuns, seed, endOnFailure: true },
  );
  // Of both kinds there are enough to say something.
  expect(cameUp).toBeGreaterThan(numRuns / 5);
  expect(cameUp).toBeLessThan(numRuns - numRuns / 5);
}

async function startWords(
  home: string,
  env: { readonly [name: string]: string | undefined },
): Promise<string | null> {
  try {
    const loaded = await loadConfig({ env, home, wouldStart: "start" });
    const daemon = await startDaemon({
      ...loaded,
      env,
      // Ports of the config are for others on this machine.
      port: 0,
      program: "/bin/false",
      clock: systemClock(),
      ids: systemIds(),
      pretty: false,
      onFatal: () => {},
    });
    await daemon.stop("SIGTERM");
    return null;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}
