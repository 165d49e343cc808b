// What another version's program is asked, and what is made of its answer. Scripts stand in for the versions.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { versionPrograms } from "../src/update/version-programs.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-version-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A version whose program does this; what it was asked with stands in a file, a line a call. */
function version(does: string, hasFile = true) {
  writeFileSync(join(home, "v1"), `#!/bin/sh\necho "$*" >> "$PARLEY_HOME/asked"\n${does}\n`, { mode: 0o755 });
  return versionPrograms(
    { PARLEY_HOME: home, PATH: "/usr/bin:/bin" },
    (ref) => join(home, ref),
    async () => hasFile,
  );
}
const asked = (): string => readFileSync(join(home, "asked"), "utf8");
const says = (answer: object): string => `echo '${JSON.stringify(answer)}'`;

test("a config that it would start with is no trouble; of another its last three lines are told", async () => {
  expect(await version("echo fine").configTrouble("v1")).toBeNull();
  expect(asked()).toBe("config validate\n");
  const many = "for n in 1 2 3 4; do echo out$n; done; echo err >&2; exit 1";
  expect(await version(many).configTrouble("v1")).toBe("out4; ; err");
  expect(await version("exit 3").configTrouble("v1")).toMatch(/Command failed/);
  expect(await version("").configTrouble("v2")).toContain("ENOENT");
  const long = await version("head -c 5000 /dev/zero | tr '\\0' x; exit 1").configTrouble("v1");
  expect(long).toHaveLength(1_000);
});

test("a rehearsal works on a copy beside the backup, and its first three findings are told", async () => {
  expect(await version(says({ ok: true, findings: [] })).rehearsal("v1", "/b.db")).toBeNull();
  expect(asked()).toBe("start --database-job rehearse /b.db /b.db.rehearsal\n");
  const findings = ["one", "two", "three", "four"];
  expect(await version(says({ ok: true, findings })).rehearsal("v1", "b")).toBe("one; two; three");
  expect(await version(says({ ok: false, code: "invalid", message: "torn" })).rehearsal("v1", "b")).toBe(
    "torn",
  );
  expect(await version("echo no JSON").rehearsal("v1", "b")).toBe("no JSON");
});

test("it refuses the database only where there is one, and it says so for its form", async () => {
  const refuses = says({ ok: false, code: "unsupported", message: "newer" });
  expect(await version(refuses).refusesDatabase("v1")).toBe(false);
  writeFileSync(join(home, "state.db"), "");
  expect(await version(refuses, false).refusesDatabase("v1")).toBe(false);
  expect(await version(refuses).refusesDatabase("v1")).toBe(true);
  expect(asked()).toBe(`start --database-job schema ${home}/state.db\n`);
  for (const other of [
    says({ ok: true, findings: [] }),
    says({ ok: false, code: "busy", message: "held" }),
    "exit 1",
  ])
    expect(await version(other).refusesDatabase("v1")).toBe(false);
});

test("a restore tells where the database before went, and goes on with work only where nobody did any since", async () => {
  const kept = version(says({ keptAs: "/old.db" }));
  expect(await kept.restore("v1", "/b.db", false)).toBe("/old.db");
  expect(await version(says({ keptAs: null })).restore("v1", "/b.db", true)).toBeNull();
  expect(asked()).toBe("restore /b.db --json\nrestore /b.db --json --resume-work\n");
  await expect(version("echo held >&2; exit 1").restore("v1", "/b.db", true)).rejects.toThrow(
    "/b.db could not be restored: held",
  );
});
