// Upgrade and the way back, drilled on a checkout of its own: a version with a newer schema comes in, `parley
// restart` takes it up in place, the older one refuses what the newer one wrote, and the copy that the
// upgrade made brings it back.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { cleanUp, eventually, freshHome, processEnv } from "./daemon.ts";
import { findableGateway, parley } from "./operator.ts";
import { world, type World } from "./world.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const schemaFile = "packages/store/src/sqlite/schema.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

/** The sources of this tree with the same dependencies. */
async function checkout(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "parley-checkout-"));
  onTestFinished(() => rm(copy, { recursive: true, force: true, maxRetries: 5 }));
  const skipped = /\/(?:test|dist|\.turbo|\.vite)(?:\/|$)/;
  for (const folder of ["apps", "packages", "config"]) {
    await cp(join(root, folder), join(copy, folder), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (from) => !skipped.test(from.slice(root.length)),
    });
  }
  for (const name of ["package.json", "pnpm-workspace.yaml"]) await cp(join(root, name), join(copy, name));
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

interface Running {
  readonly pid: number;
  said(): string;
  readonly exited: Promise<number>;
}

function startFrom(tree: string, home: string): Running {
  const child = spawn(process.execPath, [join(tree, "apps/gateway/src/main.ts")], {
    env: processEnv(home),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    pid: child.pid ?? 0,
    said: () => said,
    exited: once(child, "exit").then(([code]) => Number(code)),
  };
}

function schemaOf(home: string): number {
  const db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  const { user_version: version } = db.prepare("pragma user_version").get() as {
    readonly user_version: number;
  };
  db.close();
  return version;
}

const alice = 4242;

test("a newer schema comes in by `parley restart`, an older Parley refuses it, and the copy of before brings it back", async () => {
  const tree = await checkout();
  const home = await freshHome();
  await writeFile(join(home, "parley.json5"), JSON.stringify({ ...w.config, ...(await findableGateway()) }));
  const older = await readFile(join(tree, schemaFile), "utf8");
  const end = older.lastIndexOf("\n];");
  const newer = `${older.slice(0, end)}\n  ["create table later (n integer not null)"],${older.slice(end)}`;

  const daemon = startFrom(tree, home);
  await eventually(() => daemon.said().includes("Parley is ready"), 60_000, "the start");
  const person = w.telegram.as({ id: alice, name: "Alice" });
  person.says("before");
  await w.answered(alice, 1);
  const schema = schemaOf(home);

  await writeFile(join(tree, schemaFile), newer);
  const restarted = await parley(home, "restart");
  expect(restarted).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining(`(process ${daemon.pid})`) as string,
  });
  expect(schemaOf(home)).toBe(schema + 1);
  person.says("after");
  expect(await w.answered(alice, 2)).toEqual(["echo: before", "echo: after"]);
  const copies = (await readdir(home)).filter((name) => name.startsWith(`state.db.schema-${schema}-`));
  expect(copies).toHaveLength(1);

  await writeFile(join(tree, schemaFile), older);
  expect(await parley(home, "stop")).toMatchObject({ exitCode: 0 });
  expect(await daemon.exited).toBe(0);
  person.says("said while it was down");
  const refusing = startFrom(tree, home);
  expect(await refusing.exited).toBe(78);
  expect(refusing.said()).toMatch(/state\.db has schema \d+ and this Parley knows \d+: .*parley restore/);
  expect(schemaOf(home)).toBe(schema + 1);

  const restored = await parley(home, "restore", join(home, copies[0] ?? ""));
  expect(restored).toMatchObject({ exitCode: 0, out: expect.stringContaining("is kept as") as string });
  const back = startFrom(tree, home);
  await eventually(() => back.said().includes("Parley is ready"), 60_000, "the start of the older one");
  expect(schemaOf(home)).toBe(schema);
  await w.answered(alice, 3, 20_000);
  expect(w.answers(alice).map(({ text }) => text)).toContain("echo: said while it was down");
}, 300_000);
