// What a schedule means is told without a database: only a job that is named is looked for.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Fault, methods } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { explainMethods } from "../../src/operator/explain-schedule.ts";

const { "cron.explain": explain } = explainMethods({
  config: {
    agents: { list: [], defaults: { userTimezone: "Europe/Berlin" } },
    cron: {},
  } as never,
  jobNamed: () => Promise.reject(new Fault("missing", "there is no database")),
  clock: virtualClock(),
});

test("an expression is explained where no database and no agent is", async () => {
  const { words, zone, next } = await explain({
    schedule: { expr: "30 2 * * *" },
    count: 2,
    from: "2026-03-27T12:00:00Z",
  });
  expect({ words, zone, next: next.map(({ iso }) => iso) }).toEqual({
    words: "every day at 02:30 Europe/Berlin",
    zone: "Europe/Berlin",
    next: ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z"],
  });
  await expect(explain({ schedule: { expr: "0 0 31 2 *" } })).rejects.toThrow(/never comes.*Fix: /);
  // The command line opens the database for no method that says so.
  expect(methods["cron.explain"].needs).toBe("config");
});

test("a job that is named is looked for", async () => {
  await expect(explain({ id: "morning" })).rejects.toThrow("there is no database");
});

test("the zone of jobs comes before the person's, words and instants are those from the asked time on", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-explain-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ["a.md", "b.md"]) writeFileSync(join(folder, name), "x");
  const { "cron.explain": told } = explainMethods({
    config: {
      agents: {
        list: [
          { id: "first", workspace: "/nowhere" },
          { id: "other", workspace: folder },
        ],
        defaults: { userTimezone: "Europe/Berlin" },
      },
      cron: { timezone: "Asia/Tokyo" },
    } as never,
    jobNamed: async (id: string) =>
      ({
        agent: id === "watcher" ? "other" : "first",
        schedule: { kind: "watch", path: "*.md", settleMs: 1_000 },
        staggerMs: 7,
      }) as never,
    clock: virtualClock(),
  });
  const { zone, next } = await told({ schedule: { expr: "0 9 * * *" } });
  expect([zone, next.length]).toEqual(["Asia/Tokyo", 10]);
  expect(await told({ id: "watcher" })).toMatchObject({ files: 2, staggerMs: 7, next: [] });
  // The workspace is that of the job's agent: where there is none, nothing is counted.
  expect(await told({ id: "elsewhere" })).not.toMatchObject({ files: 2 });
  const asked = { schedule: { expr: "0 9 * * *" }, count: 1 };
  expect(await told(asked)).not.toHaveProperty("files");
  expect((await told({ ...asked, from: "2026-05-01T12:00:00Z" })).next.map(({ iso }) => iso)).toEqual([
    "2026-05-02T00:00:00.000Z",
  ]);
  await expect(told({ schedule: { expr: "0 9 * * *" }, from: "soon" })).rejects.toThrow(
    'from "soon" is no date',
  );
  // One that is written out watches in the workspace of main, or of the first agent.
  const watch = { kind: "watch", path: "*.md" };
  expect(await told({ schedule: watch })).not.toMatchObject({ files: 2 });
  const inMain = (...ids: readonly (readonly [string, string])[]) =>
    explainMethods({
      config: {
        agents: {
          list: ids.map(([id, workspace]) => ({ id, workspace })),
          defaults: { userTimezone: "Europe/Berlin" },
        },
        cron: {},
      } as never,
      jobNamed: () => Promise.reject(new Error("no job is named")),
      clock: virtualClock(),
    })["cron.explain"]({ schedule: watch });
  expect(await inMain(["first", "/nowhere"], ["main", folder])).toMatchObject({ files: 2, next: [] });
  expect(await inMain(["first", folder], ["second", "/nowhere"])).toMatchObject({ files: 2 });
});
