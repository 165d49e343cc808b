// What stands for the path in force, and is given out once: each of its members reaches the path that a
// reload put in place.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { plainParts } from "../plain-parts.ts";
import { memoryStore } from "../receive/store.ts";
import { livePath, pathsByConfig, type ConfiguredPath } from "../../src/message-path/paths-by-config.ts";

test("every member of the path that was given out once is that of the path in force", async () => {
  const parts = [
    "commands",
    "work",
    "models",
    "pairing",
    "owners",
    "forgetting",
    "talk",
    "upkeep",
    "closed",
    "turnPreparer",
    "prompts",
    "usage",
    "ledger",
    "quarantine",
    "running",
    "approvals",
    "questions",
    "hold",
    "mcp",
    "schedules",
    "heard",
    "stop",
  ] as const;
  const calls = ["receive", "route", "start", "keepOwnJobs", "dropDeliveries", "reach"] as const;
  const configured = (of: string): ConfiguredPath =>
    ({
      path: {
        ...Object.fromEntries(parts.map((part) => [part, { is: `${of} ${part}` }])),
        ...Object.fromEntries(
          calls.map((call) => [call, (...given: readonly unknown[]) => [`${of} ${call}`, ...given]]),
        ),
      },
      models: { is: `${of} models` },
      skills: { is: `${of} skills` },
      hooks: { is: `${of} hooks` },
    }) as never;
  let now = configured("first");
  const { path, ...more } = livePath(() => now);
  expect(Object.keys(path).toSorted()).toEqual([...parts, ...calls].toSorted());
  now = configured("second");
  const is = (part: unknown): unknown => (part as { readonly is: string }).is;
  expect(parts.map((part) => is(path[part]))).toEqual(parts.map((part) => `second ${part}`));
  expect([is(more.models), is(more.skills), is(more.hooks)]).toEqual([
    "second models",
    "second skills",
    "second hooks",
  ]);
  const all = path as unknown as { readonly [call: string]: (...given: readonly unknown[]) => unknown };
  expect(
    ["receive", "route", "keepOwnJobs", "dropDeliveries", "reach"].map((call) => all[call]?.("a", "b")),
  ).toEqual([
    ["second receive", "a"],
    ["second route", "a"],
    ["second keepOwnJobs"],
    ["second dropDeliveries", "a", "b"],
    ["second reach", "a"],
  ]);
  // Without handlers of its own, what was begun by one path goes on with those of the next.
  const begun = all["start"]?.(undefined, "share");
  const [name, work, share] = begun as readonly [string, () => unknown, string];
  now = configured("third");
  expect([name, is(work()), share]).toEqual(["second start", "third work", "share"]);
  const own = (): string => "own";
  expect(all["start"]?.(own, "share")).toEqual(["third start", own, "share"]);
});

test("an agent whose workspace cannot be used is told and stops no other; where no agent has one, there is no path", async () => {
  const home = mkdtempSync(join(tmpdir(), "parley-paths-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  writeFileSync(join(home, "file"), "no folder");
  mkdirSync(join(home, "good"));
  const lines: (readonly [string, { readonly [field: string]: unknown }])[] = [];
  const log = {
    ...silentLog,
    child: () => log,
    error: (fields: object, words: string) => void lines.push([words, fields as never]),
  } as typeof silentLog;
  const mended: string[] = [];
  const parts = plainParts({
    config: {} as never,
    store,
    channels: new Map(),
    models: {} as never,
    bootId: "boot",
    clock,
    ids: seededIds(1),
    log,
  });
  const paths = pathsByConfig({
    ...parts,
    kept: { ...parts.kept, cooldowns: { ...parts.kept.cooldowns, mended: () => void mended.push("mended") } },
    places: { home } as never,
    configPath: join(home, "parley.json5"),
    env: {},
    token: "t",
    localToken: "l",
    learnt: () => [],
    hub: {} as never,
    state: { report: async () => ({ state: "ok" }) } as never,
    chatRestart: { ask: async () => null },
    selfUpdate: {} as never,
    hookProcesses: {} as never,
    hookCounted: () => {},
  });
  const of = async (...agents: readonly (readonly [string, string])[]) => {
    const list = agents.map(([id, folder]) => ({ id, workspace: join(home, folder) }));
    const { config } = await loadConfig({
      env: {},
      home,
      readFile: async () => JSON.stringify({ agents: { list } }),
    });
    return paths(config);
  };
  const made = await of(["main", "file"], ["tea", "good"]);
  expect(made.config.agents.list.map(({ id }) => id)).toEqual(["main", "tea"]);
  const cannot = [
    "an agent cannot work",
    { agent: "main", workspace: join(home, "file"), error: expect.anything() },
  ];
  expect([lines.splice(0), readdirSync(join(home, "good")).includes("AGENTS.md")]).toEqual([[cannot], true]);
  await expect(of(["main", "file"], ["tea", "file/below"])).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`the workspace ${join(home, "file")} cannot be prepared`),
  });
  expect(lines.map(([, { agent }]) => agent)).toEqual(["main", "tea"]);
  // Another config may hold another key, so that what failed is tried again.
  expect(mended).toEqual(["mended", "mended"]);
});
