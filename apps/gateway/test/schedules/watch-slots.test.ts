// When a change of watched files fires, as one look after the other sees it, and which files are looked at.
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { newJob, type Job } from "@parley/schedules";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { watchSlots, type WatchSchedule } from "../../src/schedules/watch-slots.ts";
import { watchedFiles } from "../../src/schedules/watched-files.ts";

type Seen = { digest: string; files: { name: string; mtimeMs: number }[] };

function world(more: object = {}) {
  const clock = virtualClock();
  const startMs = clock.now();
  let now: Seen | string = { digest: "d0", files: [] };
  const asked: string[] = [];
  const { due } = watchSlots(async (agent, path) => {
    asked.push(`${agent} ${path}`);
    return now;
  }, clock);
  const made = newJob(
    {
      name: "look",
      schedule: { kind: "watch", path: "inbox", debounce: "10s" },
      payload: { kind: "agentTurn", message: "look" },
      delivery: { kind: "none" },
      ...more,
    },
    {
      nowMs: startMs,
      zone: "UTC",
      id: "look",
      agent: "main",
      owner: {
        kind: "operator",
        sender: null,
        isOwner: true,
        conversation: null,
        session: null,
        turn: null,
        authority: "owner",
        tools: null,
      },
    },
  );
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  const seen = { generation: 3, digest: "d0", atMs: startMs };
  const job = (state: Partial<Job["state"]> = {}, fields: Partial<Job> = {}): Job => ({
    ...made.job,
    ...fields,
    state: { ...made.job.state, seen, ...state },
  });
  const look = async (of: Job = job()) => {
    const found = await due(of, of.schedule as WatchSchedule);
    if (typeof found === "string") return found;
    const { fire, wakeAtMs } = found;
    return { fires: fire.map(({ id }) => id), inMs: wakeAtMs === null ? null : wakeAtMs - clock.now() };
  };
  const is = (digest: string, files: Seen["files"] = []): void => void (now = { digest, files });
  const refuse = (why: string): void => void (now = why);
  return { clock, startMs, asked, due, job, look, is, refuse };
}

describe("a change", () => {
  test("fires once it was quiet for the debounce, and each other change begins that anew", async () => {
    const { clock, look, is, asked } = world();
    expect(await look()).toEqual({ fires: [], inMs: 2_000 });
    is("d1");
    expect(await look()).toEqual({ fires: [], inMs: 2_000 });
    await clock.advance(8_500);
    expect(await look()).toEqual({ fires: [], inMs: 1_500 });
    is("d2");
    expect(await look()).toEqual({ fires: [], inMs: 2_000 });
    await clock.advance(9_999);
    expect(await look()).toEqual({ fires: [], inMs: 250 });
    await clock.advance(1);
    expect(await look()).toEqual({ fires: ["cron:look:watch:4-d2"], inMs: 2_000 });
    expect(new Set(asked)).toEqual(new Set(["main inbox"]));
  });

  test("that was taken back is none, and the next one waits its whole time", async () => {
    const { clock, look, is } = world();
    is("d1");
    await look();
    await clock.advance(9_000);
    is("d0");
    expect(await look()).toEqual({ fires: [], inMs: 2_000 });
    is("d1");
    await clock.advance(2_000);
    expect(await look()).toEqual({ fires: [], inMs: 2_000 });
  });

  test("that goes on and on fires after twelve times the debounce", async () => {
    const { clock, look, is } = world();
    for (let nth = 1; nth <= 24; nth += 1) {
      is(`d${nth}`);
      expect(await look()).toMatchObject({ fires: [] });
      await clock.advance(5_000);
    }
    is("d25");
    expect(await look()).toMatchObject({ fires: ["cron:look:watch:4-d25"] });
  });

  test("seen under an edited job's older version is seen anew; so is one of before the clock was set back", async () => {
    const { clock, look, is, job } = world();
    is("d1");
    await look();
    await clock.advance(9_000);
    expect(await look(job({}, { version: 2 }))).toEqual({ fires: [], inMs: 2_000 });
    await clock.advance(9_000);
    clock.jumpWall(-3_600_000);
    expect(await look(job({}, { version: 2 }))).toMatchObject({ fires: [] });
    await clock.advance(9_999);
    expect(await look(job({}, { version: 2 }))).toMatchObject({ fires: [] });
    await clock.advance(1);
    expect(await look(job({}, { version: 2 }))).toMatchObject({ fires: ["cron:look:watch:4-d1"] });
  });

  test("waits for the end of a back-off, and not behind a clock that was ahead", async () => {
    const { clock, startMs, look, is, job } = world();
    const last = (endedAtMs: number) =>
      ({ slot: "s", instantMs: startMs, endedAtMs, outcome: "failed", reason: null }) as const;
    const held = job({ last: last(startMs + 5_000), backoffMs: 30_000 });
    is("d1");
    await look(held);
    await clock.advance(34_000);
    expect(await look(held)).toEqual({ fires: [], inMs: 1_000 });
    await clock.advance(1_000);
    expect(await look(held)).toMatchObject({ fires: ["cron:look:watch:4-d1"] });
    await look(held);
    await clock.advance(10_000);
    expect(await look(job({ last: last(clock.now() + 1), backoffMs: 30_000 }))).toMatchObject({
      fires: ["cron:look:watch:4-d1"],
    });
  });

  test("of a job that is off, paused or over fires nothing, and nobody looks; a refused path is told", async () => {
    const { look, is, job, asked, refuse, clock } = world({ maxRuns: 2 });
    is("d1");
    const paused = { reason: "by hand", atMs: 0 };
    for (const ended of [job({}, { enabled: false }), job({ paused }), job({ runs: 2 })])
      expect(await look(ended)).toEqual({ fires: [], inMs: null });
    expect(asked).toEqual([]);
    await look(job({ runs: 1 }));
    await clock.advance(10_000);
    expect(await look(job({ runs: 1 }))).toMatchObject({ fires: ["cron:look:watch:4-d1"] });
    refuse("leads over a link");
    expect(await look(job({ runs: 1 }))).toBe("leads over a link");
  });

  test.for([
    [100, 250],
    [4_000, 1_000],
    [60_000, 2_000],
  ] as const)("with a debounce of %i ms is looked for every %i ms", async ([debounce, everyMs]) => {
    const { look, job } = world({ schedule: { kind: "watch", path: "inbox", debounce } });
    expect(await look(job())).toEqual({ fires: [], inMs: everyMs });
  });
});

describe("what a slot says", () => {
  async function fired(
    files: (startMs: number) => Seen["files"],
    state: Partial<Job["state"]> = {},
    fields: Partial<Job> = {},
  ) {
    const { clock, startMs, due, job, is } = world();
    is("d1", files(startMs));
    const of = job(state, fields);
    await due(of, of.schedule as WatchSchedule);
    await clock.advance(12_000);
    const found = await due(of, of.schedule as WatchSchedule);
    if (typeof found === "string") throw new Error(found);
    return { found, startMs };
  }

  test("is the change's number, when it was quiet, and the files that are newer than what was seen", async () => {
    const { found, startMs } = await fired((at) => [
      { name: "new\u202E.md", mtimeMs: at + 1 },
      { name: "same.md", mtimeMs: at },
      { name: "old.md", mtimeMs: at - 1 },
    ]);
    const [slot] = found.fire;
    expect(slot).toMatchObject({
      id: "cron:look:watch:4-d1",
      job: "look",
      version: 1,
      instantMs: startMs + 12_000,
      atMs: startMs + 10_000,
    });
    expect(slot?.because).toMatch(/^files of "inbox" in the workspace, changed: "new.*\.md", "same\.md"$/);
    expect(slot?.because).not.toContain("\u202E");
    expect(slot).not.toHaveProperty("skip");
    expect(found).toMatchObject({
      decidedMs: startMs + 12_000,
      seen: { generation: 4, digest: "d1", atMs: startMs + 12_000 },
      missed: [],
    });
  });

  test("names ten files and counts the others; without a newer one something is gone", async () => {
    const many = (count: number) => (at: number) =>
      Array.from({ length: count }, (_, nth) => ({ name: `${nth}.md`, mtimeMs: at + 1 }));
    const because = async (count: number) => (await fired(many(count))).found.fire[0]?.because;
    expect(await because(10)).toMatch(/"9\.md"$/);
    expect(await because(11)).toMatch(/"9\.md" and 1 more$/);
    expect(await because(0)).toBe('files of "inbox" in the workspace, something is gone or was moved');
  });

  test.for([
    ["at its beginning", 1_000, "ok", "skip", true],
    ["at its end", 5_000, "failed", "skip", true],
    ["before it", 999, "ok", "skip", false],
    ["after it", 5_001, "ok", "skip", false],
    ["where runs queue", 2_000, "ok", "queue", false],
    ["of one that did not run", 2_000, "skipped", "skip", false],
  ] as const)(
    "is that the job's run woke itself, by a change %s",
    async ([, ms, outcome, overlap, isOwn]) => {
      const startMs = world().startMs;
      const last = {
        slot: "s",
        instantMs: startMs + 1_000,
        endedAtMs: startMs + 5_000,
        outcome,
        reason: null,
      };
      const files = (at: number) => [
        { name: "a.md", mtimeMs: at + ms },
        { name: "b.md", mtimeMs: at + 2_000 },
      ];
      const { found } = await fired(files, { last }, { overlap });
      expect(found.fire.map(({ skip }) => skip !== undefined)).toEqual([isOwn]);
    },
  );
});

describe("the files of a pattern", () => {
  test("are those that it means, the newest first, and their digest changes with each of them", async () => {
    const root = await mkdtemp(join(tmpdir(), "parley-watched-"));
    try {
      const write = async (name: string, seconds: number): Promise<void> => {
        await mkdir(dirname(join(root, name)), { recursive: true });
        await writeFile(join(root, name), name);
        await utimes(join(root, name), seconds, seconds);
      };
      const names = ["a.md", "b.txt", "in/c.md", "in/deep/d.md", "in/.git/e.md", "node_modules/f.md"];
      for (const [at, name] of names.entries()) await write(name, 1_000 + at);
      await symlink("a.md", join(root, "link.md"));
      await symlink("in", join(root, "way"));
      const of = async (pattern: string) => {
        const found = await watchedFiles(root, pattern);
        return typeof found === "string" ? found : found.files.map(({ name }) => name).join(" ");
      };
      const patterns = [
        "a.md",
        "in",
        "*.md",
        "*",
        "in/*.md",
        "**/*.md",
        "in/*/d.md",
        "in/.git",
        "node_modules/*.md",
        "none",
        "none/*",
        "link.md",
        "way",
        "way/*.md",
        "a.md/x",
      ];
      const shown = Object.fromEntries(
        await Promise.all(patterns.map(async (each) => [each, await of(each)] as const)),
      );
      expect(shown).toEqual({
        "a.md": "a.md",
        in: "in/deep/d.md in/c.md",
        "*.md": "a.md",
        "*": "b.txt a.md",
        "in/*.md": "in/c.md",
        "**/*.md": "in/deep/d.md in/c.md a.md",
        "in/*/d.md": "in/deep/d.md",
        "in/.git": "in/.git/e.md",
        "node_modules/*.md": "node_modules/f.md",
        none: "",
        "none/*": "",
        "link.md": "leads over a link, to a.md",
        way: "leads over a link, to in",
        "way/*.md": "leads over a link, to in",
        "a.md/x": "",
      });
      const digest = async () => ((await watchedFiles(root, "in")) as Seen).digest;
      const digests = [await digest(), await digest()];
      await write("in/c.md", 2_000);
      digests.push(await digest());
      await rm(join(root, "in/c.md"));
      digests.push(await digest());
      await write("in/.git/e.md", 3_000);
      digests.push(await digest());
      expect(digests.map((each) => digests.indexOf(each))).toEqual([0, 0, 2, 3, 3]);
      expect(await watchedFiles(join(root, "gone"), "in")).toMatchObject({ files: [] });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});
