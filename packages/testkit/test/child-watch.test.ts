// No process outlives the test file that started it: not after a failure, not after a time that ran out, and
// not when the worker itself is killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { childWatch, endGroup, watcher } from "../src/child-watch.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Starts a program alone, one that started another, and a group whose leader is gone; then ends as its name
 * says.
 */
const suite = (end: string): string => `
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { test } from "vitest";

test("leaves processes behind", { timeout: 2_000 }, async () => {
  const note = (pid) => appendFileSync(process.env.PIDS, pid + "\\n");
  note(spawn("sleep", ["600"]).pid);
  const leader = spawn("sh", ["-c", "sleep 600 & echo $!; wait"], { detached: true });
  note(leader.pid);
  note(String((await once(leader.stdout, "data"))[0]).trim());
  const gone = spawn("sh", ["-c", "sleep 600 >&- 2>&- & echo $!"], { detached: true });
  note(String((await once(gone.stdout, "data"))[0]).trim());
  await once(gone, "close");
  ${end};
});
`;

test("what a failed test, a hanging one and a killed worker left has ended after them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-left-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const ends = {
    fails: 'throw new Error("failed")',
    hangs: "await new Promise(() => {})",
    dies: 'process.kill(process.pid, "SIGKILL"); await new Promise(() => {})',
  };
  for (const [name, end] of Object.entries(ends)) writeFileSync(join(folder, `${name}.test.ts`), suite(end));
  writeFileSync(
    join(folder, "vitest.config.ts"),
    `export default { test: { isolate: true, setupFiles: ["${root}/packages/testkit/src/test-setup.ts"] } };`,
  );
  const pids = join(folder, "pids");
  const run = spawn(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder],
    {
      env: { ...process.env, PIDS: pids },
      stdio: "ignore",
    },
  );
  expect(await once(run, "exit")).toEqual([1, null]);
  const left = readFileSync(pids, "utf8").trim().split("\n").map(Number);
  expect(left).toHaveLength(4 * Object.keys(ends).length);
  // The watcher of the killed worker ends them in its own time.
  await expect.poll(() => left.filter(isAlive), { timeout: 20_000 }).toEqual([]);
});

test("this repository's own tests run under the watch", async () => {
  const child = spawn("sleep", ["600"]);
  await once(child, "spawn");
  expect(childWatch().running()).toContain(child.pid);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(childWatch().running()).not.toContain(child.pid);
});

test("an id that another process has since is left alone, by the worker and by its watcher", async () => {
  const other = spawn("sleep", ["600"], { detached: true });
  await once(other, "spawn");
  const { pid = 0 } = other;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";

  endGroup(pid, String(Number(start) - 1));
  await watched(`+ ${pid} ${Number(start) - 1}\n`);
  expect(isAlive(pid)).toBe(true);

  await watched(`+ ${pid} ${start}\n- ${pid}\n`);
  expect(isAlive(pid)).toBe(true);
  await watched(`+ ${pid} ${start}\n`);
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
});

/** Runs a watcher that hears these lines and then the end of its worker. */
async function watched(lines: string): Promise<void> {
  const child = spawn("/bin/sh", ["-c", watcher], { stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.end(lines);
  await once(child, "exit");
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false; // It is gone.
  }
}
