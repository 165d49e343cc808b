// Jobs that files wake: each change fires once after it was quiet, whatever dies in between, and a run does
// not wake itself.
import { utimesSync, writeFileSync } from "node:fs";
import { mkdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JobMaker } from "@parley/runner";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const operator: JobMaker = {
  agent: "main",
  kind: "operator",
  sender: null,
  isOwner: true,
  conversation: { channel: "telegram", account: "default", kind: "dm", peer: "olga" },
  session: "agent:main:telegram:dm:olga",
  turn: null,
  authority: "owner",
  tools: null,
};

async function begin(): Promise<Person> {
  s = await stage({ catalogue: true, config: { commands: { ownerAllowFrom: ["telegram:olga"] } } });
  s.model.answers(({ text }) => `re: ${text}`);
  return s.person("olga");
}

const add = (schedule: object, more: object = {}, by = operator) =>
  s.core().schedules.add({ name: "look", schedule, message: "look at it", ...more }, by);
const inbox = { kind: "watch", path: "inbox/*.md" };

/** As if it were written now, by the stage's clock. */
async function write(name: string, text: string): Promise<void> {
  const path = join(s.home, "workspace", name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await utimes(path, s.clock.now() / 1_000, s.clock.now() / 1_000);
}

const slots = async (id: string): Promise<readonly string[]> =>
  (await s.rows({ lane: `agent:main:cron:${id}` as never })).map((row) => row.id);
const runs = async (id: string): Promise<readonly string[]> =>
  (await s.core().schedules.runs(id, 100)).ended.map(({ outcome }) => outcome);

test("a change fires once it is quiet, names what changed, and nothing else does", async () => {
  const olga = await begin();
  await write("inbox/old.md", "was there before");
  await s.pass(1_000);
  const job = await add(inbox);
  await s.pass(20_000);
  expect(olga.sees()).toEqual([]);
  await write("inbox/new.md", "one");
  await write("inbox/other.txt", "no part of it");
  await s.until(() => olga.sees().length > 0, "the run");
  expect(olga.sees()[0]).toMatch(
    /Scheduled job "look" .*"inbox\/\*\.md" .*changed: "inbox\/new\.md":\nlook at it/s,
  );
  await s.pass(60_000);
  expect(olga.sees()).toHaveLength(1);
  await rm(join(s.home, "workspace/inbox/new.md"));
  await s.until(() => olga.sees().length > 1, "the run for what is gone");
  expect(await runs(job.id)).toEqual(["ok", "ok"]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/watch.txt");
});

test("what changes all the time is waited for, and fires after twelve times the debounce", async () => {
  await begin();
  const job = await add({ ...inbox, debounce: "10s" });
  const begunAtMs = s.clock.now();
  for (let at = 0; (await slots(job.id)).length === 0; at += 1) {
    await write("inbox/log.md", `line ${at}`);
    await s.pass(5_000);
    if (s.clock.now() - begunAtMs < 100_000) expect(await slots(job.id)).toEqual([]);
    expect(at).toBeLessThan(40);
  }
});

test("what changed while nothing ran fires once after the start", async () => {
  const olga = await begin();
  const job = await add(inbox);
  await s.kill();
  await write("inbox/a.md", "1");
  await s.pass(3_600_000);
  await write("inbox/a.md", "22");
  await s.start();
  await s.until(() => olga.sees().length > 0, "the run");
  await s.pass(60_000);
  expect(await slots(job.id)).toHaveLength(1);
});

test("killed at any write, each change fires once", async () => {
  const olga = await begin();
  const job = await add({ ...inbox, debounce: "1s" });
  for (let nth = 1; nth <= 8; nth += 1) {
    await write("inbox/a.md", "x".repeat(nth));
    const died = s.dieAtWrite(nth);
    await s.pass(8_000);
    if (died()) {
      await s.kill();
      await s.start();
    }
    await s.until(() => olga.sees().length >= nth, `run ${nth}`);
    await s.pass(10_000);
    expect(await slots(job.id)).toHaveLength(nth);
  }
});

describe("a run that writes what its job watches", () => {
  /** Runs until nothing happened for ten minutes; every run writes, up to the tenth. */
  async function selfWriting(overlap: string): Promise<readonly string[]> {
    await begin();
    const path = join(s.home, "workspace/inbox/a.md");
    let written = 0;
    s.model.answers(() => {
      if (written < 10) {
        written += 1;
        writeFileSync(path, "y".repeat(written));
        utimesSync(path, s.clock.now() / 1_000, s.clock.now() / 1_000);
      }
      return { afterMs: 2_000, says: ["done"] };
    });
    const job = await add(inbox, { overlap });
    await write("inbox/a.md", "1");
    await s.until(async () => (await runs(job.id)).includes("ok"), "the first run");
    await s.pass(300_000);
    return (await runs(job.id)).toReversed();
  }

  test("does not wake itself", async () => {
    expect(await selfWriting("skip")).toEqual(["ok", "skipped"]);
  });

  test("wakes itself where the overlap policy is queue", async () => {
    const all = await selfWriting("queue");
    expect(all.length).toBeGreaterThan(5);
    expect(new Set(all)).toEqual(new Set(["ok"]));
  });
});

test("an edit of the path, and being enabled again, begin from what is there", async () => {
  const olga = await begin();
  const job = await add(inbox);
  const { schedules } = s.core();
  await schedules.edit(job.id, { enabled: false }, operator);
  await write("inbox/a.md", "1");
  await s.pass(60_000);
  await schedules.edit(job.id, { enabled: true }, operator);
  await write("notes/a.md", "1");
  await schedules.edit(job.id, { schedule: { kind: "watch", path: "notes" } }, operator);
  await s.pass(60_000);
  expect(olga.sees()).toEqual([]);
  await write("notes/deep/b.md", "1");
  await olga.gets(/"notes" in the workspace, changed: "notes\/deep\/b\.md"/);
});

describe("what may be watched", () => {
  test("is within the workspace", async () => {
    await begin();
    for (const path of ["/etc", "../..", "~/x", "a/../../b", ".", ""])
      await expect(add({ kind: "watch", path })).rejects.toThrow(/schedule\.path .* Fix: name a file/);
    await mkdir(join(s.home, "workspace"), { recursive: true });
    await symlink("/etc", join(s.home, "workspace/out"));
    await expect(add({ kind: "watch", path: "out" })).rejects.toThrow(/a place outside of the workspace/);
  });

  test("a link that comes later pauses the job, and the owner is told", async () => {
    const olga = await begin();
    await write("inbox/a.md", "1");
    const job = await add({ kind: "watch", path: "inbox" });
    await rm(join(s.home, "workspace/inbox"), { recursive: true });
    await symlink("/etc", join(s.home, "workspace/inbox"));
    await olga.gets(/⏸ .*is paused: what it watches leads over a link/s);
    expect((await s.core().schedules.jobs.get(job.id))?.job.state.paused).not.toBeNull();
  });

  test("is an owner's to say, and takes no policy that has no meaning", async () => {
    await begin();
    await expect(add(inbox, {}, { ...operator, isOwner: false, authority: "member" })).rejects.toThrow(
      /only an owner/,
    );
    await expect(add(inbox, { misfire: "all" })).rejects.toThrow(/misfire .*no meaning for a watch/);
    await expect(add({ ...inbox, tz: "Europe/Berlin" })).rejects.toThrow(/schedule\.tz/);
    await expect(add({ ...inbox, debounce: "2d" })).rejects.toThrow(/schedule\.debounce/);
  });
});
