// What keeps a move between stores from being begun; each refusal leaves the home free for the next try.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { lockHome } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { Writable } from "node:stream";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { migrate } from "../../src/maintenance/migrate.ts";

const noRedis =
  "invalid: store.redis.url is missing: say where Redis is before anything can be taken there or from there";
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-migrate-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

async function tried(to: string | undefined, store: object = {}): Promise<string> {
  let text = "";
  const output = new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), done()) });
  const loaded = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify({ store }) });
  return migrate({ ...loaded, to, output, clock: virtualClock(), ids: seededIds(1) }).then(
    () => text,
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}${text}`,
  );
}

test("a target that is none, a Redis that is not named, and a gateway that runs are each refused", async () => {
  for (const to of [undefined, "", "sqlite3", "Redis"])
    expect(await tried(to)).toBe("invalid: parley migrate --to redis, or --to sqlite");
  for (const to of ["redis", "sqlite"]) expect(await tried(to)).toBe(noRedis);
  const lock = lockHome(home, process.pid);
  expect(await tried("redis")).toMatch(/^conflict: /);
  lock.release();
  expect(await tried("redis")).toBe(noRedis);
  expect(existsSync(join(home, "state.db"))).toBe(false);
});
