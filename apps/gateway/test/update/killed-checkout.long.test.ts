// A checkout's update to a commit with another schema, killed at each of its steps and in the migration
// itself: one whole commit is in force afterwards, its database is one that it knows, and every message was
// answered once. On the real daemon, set-up and git.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { hasEnded, readRecord } from "@parley/update";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cleanUp, eventually, freshHome } from "../e2e/daemon.ts";
import { findableGateway } from "../e2e/operator.ts";
import { world } from "../e2e/world.ts";
import { keptUp } from "./kept-up.ts";

const timeout = 900_000;
const root = resolve(import.meta.dirname, "../../../..");
const work = mkdtempSync(join(tmpdir(), "parley-killed-checkout-"));
const [origin, here] = [join(work, "origin"), join(work, "here")];
/** In seconds of a quiet machine: as long as a migration may be met in the middle. */
const slowStep =
  "create table later as with recursive c(n) as (select 1 union all select n + 1 from c where n < 30000000) select count(*) as n from c";

const git = (at: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", at, "-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();

let commits: { readonly old: string; readonly next: string };
beforeAll(() => {
  execFileSync("git", ["clone", "-q", root, origin]);
  git(origin, "switch", "-q", "-C", "main");
  const old = git(origin, "rev-parse", "HEAD");
  execFileSync("git", ["clone", "-q", "-b", "main", origin, here]);
  const schema = join(origin, "packages/store/src/sqlite/schema.ts");
  const text = readFileSync(schema, "utf8");
  expect(text.endsWith("\n];\n")).toBe(true);
  writeFileSync(schema, `${text.slice(0, -3)}  [\n    \`${slowStep}\`,\n  ],\n];\n`);
  const manifest = join(origin, "package.json");
  writeFileSync(
    manifest,
    readFileSync(manifest, "utf8").replace(/"version": "[^"]+"/, `"version": "7.41.2"`),
  );
  git(origin, "commit", "-qam", "another schema");
  commits = { old, next: git(origin, "rev-parse", "HEAD") };
}, timeout);
afterAll(async () => {
  await cleanUp();
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
});

/** The set-up of another commit asks the registry, as this process may. */
const { PARLEY_HOME: _own, ...settingsOfNpm } = process.env;

/** Of a gateway of this home, also before it has written its number. */
function gatewayOf(home: string): number | null {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      const env = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      if (
        /\/gateway\/src\/main\.[jt]s/.test(words) &&
        !words.includes("--database-job") &&
        env.includes(`PARLEY_HOME=${home}`)
      )
        return Number(pid);
    } catch {
      // It ended meanwhile.
    }
  return null;
}

/** False also while another process has the whole database to itself. */
function hasLater(home: string): boolean {
  const database = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  try {
    return database.prepare("select 1 from sqlite_master where name = 'later'").get() !== undefined;
  } catch (error) {
    if (String(error).includes("locked")) return false;
    throw error;
  } finally {
    database.close();
  }
}

/** True while somebody's transaction writes; this one writes nothing. */
function isWritten(home: string): boolean {
  const database = new DatabaseSync(join(home, "state.db"));
  try {
    database.exec("pragma busy_timeout = 0; begin immediate; rollback");
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

test.each(["preparing", "swapping", "trying", "migrating", "watching"] as const)(
  "killed while it is %s, it ends with one whole commit, and nothing is lost or doubled",
  { timeout },
  async (moment) => {
    git(here, "reset", "-q", "--hard", commits.old);
    execFileSync(process.execPath, ["scripts/dev.mjs", "install", "--to-start"], {
      cwd: here,
      stdio: "pipe",
    });
    const w = await world();
    onTestFinished(() => w.close());
    const home = await freshHome();
    const { gateway } = await findableGateway();
    writeFileSync(
      join(home, "parley.json5"),
      JSON.stringify({ ...w.config, gateway, update: { watchSeconds: 3 } }),
    );
    const kept = keptUp(join(here, "bin/parley"), home, null, [], settingsOfNpm);
    onTestFinished(() => kept.stop());
    const says = (text: string) => void w.telegram.as(101).says(text);
    const answered = (n: number) => eventually(() => w.answers(101).length === n, 300_000, `answer ${n}`);
    says("before");
    await answered(1);

    const killed = kept.parley("update");
    let busy = 0;
    const isAt = (): boolean => {
      const state = readRecord(home)?.state;
      if (moment === "migrating") {
        busy = state === "trying" && isWritten(home) ? busy + 1 : 0;
        return busy === 3;
      }
      if (moment === "watching") return state === "trying" && hasLater(home);
      return state === moment;
    };
    await eventually(() => isAt() || killed.child.exitCode !== null, 300_000, `an update that is ${moment}`);
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(readRecord(home), kept.log()).toMatchObject({ fromRef: commits.old, toRef: commits.next });
    if (moment === "migrating") {
      const pid = gatewayOf(home);
      if (pid !== null) process.kill(pid, "SIGKILL");
      expect(hasLater(home), "the migration was met in its middle").toBe(false);
    }

    says("meanwhile");
    // A gateway that came up meanwhile may go on with it by itself.
    const next = await eventually(async () => {
      const ran = await kept.parley("update").ended;
      return !ran.err.includes("An update runs already") && ran;
    }, 300_000);
    const record = readRecord(home);
    expect([next.code, record !== null && hasEnded(record)], `${next.err}\n${kept.log()}`).toEqual([0, true]);
    await answered(2);
    says("after");
    await answered(3);
    expect(w.answers(101).map(({ text }) => text)).toEqual([
      "echo: before",
      "echo: meanwhile",
      "echo: after",
    ]);
    expect([git(here, "rev-parse", "HEAD"), git(here, "status", "--porcelain")]).toEqual([commits.next, ""]);
    expect([hasLater(home), kept.pid()]).toEqual([true, gatewayOf(home)]);
  },
);
