import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig, type ConfigFault } from "../src/index.ts";
import { migrated, migrations, rewriteMigrated, type Migration } from "../src/file/migrate.ts";
import { configVersion } from "../src/schema/root.ts";

/** Versions that may come: a key gets another name, then it moves. */
const known: readonly Migration[] = [
  {
    to: 2,
    says: "listen.port is gateway.port",
    migrate: ({ listen, ...file }: JsonObject) =>
      listen === undefined
        ? file
        : { ...file, gateway: { ...(file["gateway"] as JsonObject), ...(listen as JsonObject) } },
  },
  {
    to: 3,
    says: "verbose is logging.level",
    migrate: ({ verbose, ...file }) => (verbose === true ? { ...file, logging: { level: "debug" } } : file),
  },
];

const old = `{
  // Ours since 2024.
  verbose: true,
  listen: { port: 7300 }, // beside the other one
  session: { dmScope: "main" },
}
`;

function home(text: string): string {
  const made = mkdtempSync(join(tmpdir(), "parley-config-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  writeFileSync(join(made, "parley.json5"), text, { mode: 0o640 });
  return made;
}

test("the steps lead to this version without gaps", () => {
  expect(migrations.map(({ to }) => to)).toEqual(migrations.map((_, index) => index + 2));
  expect(migrations.at(-1)?.to ?? 1).toBe(configVersion);
});

test("an old file means what it meant; the steps change no value that they are given, and nothing twice", () => {
  const file = { verbose: true, listen: { port: 7300 } };
  const frozen = structuredClone(file);
  const next = migrated(file, known);
  expect(next).toMatchObject({
    from: 1,
    value: { gateway: { port: 7300 }, logging: { level: "debug" }, configVersion: 3 },
  });
  expect(file).toEqual(frozen);
  expect(migrated(next.value, known)).toMatchObject({ from: null, steps: [] });
  expect(migrated({ configVersion: 9, listen: {} }, known)).toMatchObject({
    from: null,
    value: { configVersion: 9, listen: {} },
  });
});

test("an old file is read as a new one, and a mistake in it is told at its line", async () => {
  const at = home(old);
  const { config } = await loadConfig({ env: {}, home: at, migrations: known });
  expect(config.gateway.port).toBe(7300);
  expect(config.logging.level).toBe("debug");
  const wrong = await loadConfig({
    env: {},
    home: home(old.replace('"main"', '"nobody"')),
    migrations: known,
  }).catch((error: ConfigFault) => error);
  expect((wrong as ConfigFault).message).toMatch(/parley\.json5:5:\d+ session\.dmScope/);
});

test("the file is rewritten once, with its comments and its mode; what it was is kept beside it", async () => {
  const at = home(old);
  const path = join(at, "parley.json5");
  expect(await rewriteMigrated(path, known)).toEqual({
    from: 1,
    backup: `${path}.v1.bak`,
    says: ["listen.port is gateway.port", "verbose is logging.level"],
  });
  expect(readFileSync(`${path}.v1.bak`, "utf8")).toBe(old);
  const text = readFileSync(path, "utf8");
  expect(text).toContain("// Ours since 2024.");
  expect(text).not.toMatch(/verbose|listen/);
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect((await loadConfig({ env: {}, home: at, migrations: known })).config.gateway.port).toBe(7300);
  expect(await rewriteMigrated(path, known)).toBeNull();
  expect(readdirSync(at).toSorted()).toEqual(["parley.json5", "parley.json5.v1.bak"]);
});

test("a file that is broken, empty or missing is left alone", async () => {
  for (const text of ["{ oops", "", "[]"]) {
    const path = join(home(text), "parley.json5");
    expect(await rewriteMigrated(path, known)).toBeNull();
    expect(readFileSync(path, "utf8")).toBe(text);
  }
  expect(await rewriteMigrated("/nowhere/parley.json5", known)).toBeNull();
  await expect(rewriteMigrated(home(""), known)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/ cannot be read: EISDIR/) as string,
  });
});
