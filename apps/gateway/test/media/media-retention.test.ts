import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textDelivery } from "@parley/delivery";
import { silentLog } from "@parley/protocol";
import { sqliteStore, type Store } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { forgetMedia, forgetMediaRegularly } from "../../src/maintenance/media-retention.ts";
import { mediaFolder } from "@parley/runner";
import { saidLog } from "../daemon/said-log.ts";
import { stage } from "../message-path/stage.ts";

let store: Store;
beforeEach(async () => {
  store = await opened(":memory:", nowMs);
});

async function opened(path: string, startMs: number): Promise<Store> {
  const made = await sqliteStore({
    path,
    clock: virtualClock({ startMs }),
    log: silentLog,
    bootId: "boot",
    onFatal: (error) => {
      throw error;
    },
  });
  onTestFinished(() => made.close());
  return made;
}

const dayMs = 86_400_000;
const nowMs = 1_800_000_000_000;
const nameOf = (letter: string): string => `${letter.repeat(64)}.bin`;

/** Files by letter with their age in days, half a megabyte each. */
function folderWith(ages: { readonly [letter: string]: number }): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-media-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [letter, days] of Object.entries(ages)) write(join(folder, nameOf(letter)), days);
  return folder;
}

function write(path: string, days: number): void {
  writeFileSync(path, Buffer.alloc(500_000));
  const atSeconds = (nowMs - days * dayMs) / 1000;
  utimesSync(path, atSeconds, atSeconds);
}

const left = (folder: string): string[] =>
  readdirSync(folder)
    .map((name) => name[0] ?? "")
    .toSorted();

test("what is older than the config says goes", async () => {
  const folder = folderWith({ a: 31, b: 29, c: 0 });
  expect(await forgetMedia(folder, { keepDays: 30, maxMegabytes: 100 }, store, nowMs)).toBe(1);
  expect(left(folder)).toEqual(["b", "c"]);
});

test("beyond the size the oldest go first, and never what a turn or a delivery may need", async () => {
  const folder = folderWith({ a: 9, b: 8, c: 7, d: 1, e: 1.9 });
  expect(await forgetMedia(folder, { keepDays: 30, maxMegabytes: 2 }, store, nowMs)).toBe(1);
  expect(left(folder)).toEqual(["b", "c", "d", "e"]);
  expect(await forgetMedia(folder, { keepDays: 30, maxMegabytes: 0.1 }, store, nowMs)).toBe(2);
  expect(left(folder)).toEqual(["d", "e"]);
});

test("files of other names are somebody's own; a draft that a crash left is not", async () => {
  const folder = folderWith({});
  write(join(folder, "notes.txt"), 400);
  write(join(folder, `.${nameOf("f")}.17.1`), 400);
  await forgetMedia(folder, { keepDays: 30, maxMegabytes: 100 }, store, nowMs);
  expect(readdirSync(folder)).toEqual(["notes.txt"]);
});

test("a file that comes again is young again", async () => {
  const folder = folderWith({});
  const media = mediaFolder(folder);
  const bytes = Buffer.from("a picture");
  const name = await media.keep(bytes, "bin");
  utimesSync(join(folder, name), 1, 1);
  expect(await media.keep(bytes, "bin")).toBe(name);
  expect(await forgetMedia(folder, { keepDays: 30, maxMegabytes: 100 }, store, Date.now())).toBe(0);
});

test("it is done by itself, by the limits of the moment, and where there is no folder yet nothing is wrong", async () => {
  const clock = virtualClock({ startMs: nowMs });
  expect(
    await forgetMedia(
      join(tmpdir(), "parley-no-such-folder"),
      { keepDays: 2, maxMegabytes: 1 },
      store,
      nowMs,
    ),
  ).toBe(0);
  const folder = folderWith({ a: 5, b: 3 });
  let keepDays = 4;
  const stop = forgetMediaRegularly({
    folder,
    store,
    limits: () => ({ keepDays, maxMegabytes: 100 }),
    clock,
    log: silentLog,
  });
  await clock.advance(60_000);
  await expect.poll(() => left(folder)).toEqual(["b"]);
  keepDays = 2;
  await expect
    .poll(async () => {
      await clock.advance(3_600_000);
      return left(folder);
    })
    .toEqual([]);
  stop();
});

test("what a transcript names stays, however old and large it is, after its message is forgotten", async () => {
  const s = await stage();
  onTestFinished(() => s.close());
  const folder = folderWith({ a: 400, b: 400 });
  await s
    .person("olga")
    .says(`look at ${nameOf("a")}`)
    .gets(/./);
  await s.kill();
  const later = await opened(join(s.home, "state.db"), s.clock.now() + 7 * dayMs);
  while (await later.sweep(500));
  expect(await later.inbox.find({ limit: 1 })).toEqual([]);
  expect(await forgetMedia(folder, { keepDays: 30, maxMegabytes: 0.1 }, later, nowMs)).toBe(1);
  expect(left(folder)).toEqual(["a"]);
});

test("what a waiting answer or a device's result names stays; the next oldest go in its place", async () => {
  const folder = folderWith({ a: 9, b: 8, c: 7, d: 6 });
  const to = { channel: "telegram", account: "default", kind: "dm", peer: "olga" } as const;
  await store.outbox.post([textDelivery("x", to, `here is ${nameOf("a")}`, "turn")]);
  await store.cells.put("device-call:x", JSON.stringify({ picture: { path: nameOf("b") } }), {});
  expect(await forgetMedia(folder, { keepDays: 30, maxMegabytes: 1.5 }, store, nowMs)).toBe(1);
  expect(left(folder)).toEqual(["a", "b", "d"]);
});

test("what is referenced is read once a day while nothing can go, and at the next look where something went", async () => {
  const clock = virtualClock({ startMs: nowMs });
  const folder = folderWith({ a: 40, b: 40 });
  const to = { channel: "telegram", account: "default", kind: "dm", peer: "olga" } as const;
  await store.outbox.post(["a", "b"].map((name) => textDelivery(name, to, nameOf(name), "turn")));
  let [reads, answered] = [0, true];
  const looked: Store = {
    ...store,
    outbox: {
      ...store.outbox,
      find: async (filter) => ((reads += 1), answered ? store.outbox.find(filter) : []),
    },
  };
  const lines: string[] = [];
  const info = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  let keepDays = 30;
  const stop = forgetMediaRegularly({
    folder,
    store: looked,
    limits: () => ({ keepDays, maxMegabytes: 100 }),
    clock,
    log: { ...silentLog, info },
  });
  /** A look is over when the next one is set. */
  const pass = async (hours: number): Promise<number> => {
    for (let at = 0; at < hours; at += 1) {
      await clock.advance(3_600_000);
      await expect.poll(() => clock.armed()).toBe(1);
    }
    return reads;
  };
  await clock.advance(59_999);
  expect(reads).toBe(0);
  await clock.advance(1);
  await expect.poll(() => clock.armed()).toBe(1);
  expect([reads, await pass(23), await pass(1)]).toEqual([1, 1, 2]);
  expect([left(folder), lines]).toEqual([["a", "b"], []]);
  answered = false;
  expect([await pass(23), await pass(1)]).toEqual([2, 3]);
  expect([left(folder), lines]).toEqual([[], ['old files were removed from media {"files":2}']]);
  // Something went just now, so the next look reads at once, where anything is old enough.
  [keepDays, answered] = [1, true];
  write(join(folder, nameOf("c")), 3);
  expect(await pass(1)).toBe(4);
  stop();
  expect(clock.armed()).toBe(0);
});

test("a look that fails is told to who looks closely, takes nothing, and the next one comes an hour later", async () => {
  const clock = virtualClock({ startMs: nowMs });
  const folder = folderWith({ a: 40 });
  const { log, said } = saidLog();
  let isAway = true;
  const stop = forgetMediaRegularly({
    folder,
    store: {
      ...store,
      outbox: {
        ...store.outbox,
        find: async (filter) => {
          if (isAway) throw new Error("the store is away");
          return store.outbox.find(filter);
        },
      },
    },
    limits: () => ({ keepDays: 30, maxMegabytes: 100 }),
    clock,
    log,
  });
  await clock.advance(60_000);
  const away = [
    "debug",
    "the media folder could not be looked through",
    { error: new Error("the store is away") },
  ];
  await expect.poll(() => said).toEqual([away]);
  expect(left(folder)).toEqual(["a"]);
  await expect.poll(() => clock.armed()).toBe(1);
  isAway = false;
  await clock.advance(3_600_000);
  await expect
    .poll(() => said.slice(1))
    .toEqual([["info", "old files were removed from media", { files: 1 }]]);
  expect(left(folder)).toEqual([]);
  stop();
});
