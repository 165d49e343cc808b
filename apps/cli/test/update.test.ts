// `parley update` over an installation with versions beside each other: what a source has, what it would
// bring, which copy of the database an older version may have, how an end is told, and what goes on after a
// kill.
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { readRecord, versionFolders, writeRecord, type Installed, type UpdateRecord } from "@parley/update";
import type { UpdateWorld } from "@parley/update";
import { expect, test } from "vitest";
import { copyFor, pruneBackups, schemaCopies } from "../src/commands/update/database-copies.ts";
import { check, plan } from "../src/commands/update/update-target.ts";
import { told } from "../src/commands/update/update-words.ts";
import { atStart, resumed, worldOf } from "../src/commands/update/update-world.ts";
import { update } from "../src/commands/update/update.ts";
import { foldersInForce } from "../src/update/in-force.ts";
import { fakeGateway, stateFolder } from "./fake-gateway.ts";

function asked(home: string, json = false) {
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = { env: { PARLEY_HOME: home, HOME: home, PATH: "/usr/bin:/bin" }, input, out, err, json };
  return { terminal, out: () => String(out.read() ?? ""), err: () => String(err.read() ?? "") };
}

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

const record: UpdateRecord = {
  id: "one",
  root: "/root",
  from: "1.0.0",
  to: "2.0.0",
  fromRef: "1.0.0",
  toRef: "2.0.0",
  state: "preparing",
  reason: null,
  backup: null,
  restore: null,
  replaced: null,
  kept: null,
  worked: null,
  watchMs: 400,
  askedBy: null,
  driver: 1,
  before: null,
  begunAtMs: 5,
  endedAtMs: null,
};

/** Version 1.1.0 came with it; the others lie beside it. */
function installed(home: string, kind: Installed["kind"], current: string, ...others: string[]): Installed {
  const root = join(home, "installed");
  write(join(root, "package.json"), JSON.stringify({ version: "1.1.0" }));
  for (const version of [current, ...others])
    write(join(root, "versions", version, "bin/parley"), `#!/bin/sh\necho ${version}\n`, 0o755);
  versionFolders(root, "1.1.0").swapTo(current);
  return { kind, root, version: current, platform: "linux-x64" };
}

/** A folder with these releases. */
function releases(home: string, ...versions: readonly string[]): string {
  const source = join(home, "releases");
  for (const version of versions) {
    const more = { commit: "c", time: `2026-0${version[0]}-02T03:04:05Z`, schema: 1, files: [] };
    const text = JSON.stringify({ format: 1, product: "parley", version, ...more });
    write(join(source, version, "release.json"), text);
  }
  return source;
}

test("what a source has is told with its day and what to do, as words and as a document", async () => {
  const home = stateFolder(null);
  const source = releases(home, "2.0.0", "1.0.0", "3.0.0-rc.1");
  writeFileSync(join(home, "parley.json5"), JSON.stringify({ update: { url: source } }));
  const at = installed(home, "tarball", "1.0.0");
  const checked = async (flags: Parameters<typeof check>[1], of = at, json = false): Promise<string> => {
    const { terminal, out } = asked(home, json);
    expect(await check(terminal, flags, of)).toBe(0);
    return out();
  };
  expect(await checked({})).toBe(
    "Version 2.0.0 of 2026-02-02 is there; this is 1.0.0 (tarball).\nparley update brings it.\n",
  );
  expect(await checked({}, { ...at, kind: "npx" })).toBe(
    "Version 2.0.0 of 2026-02-02 is there; this is 1.0.0 (npx).\nnpx runs the version that it is told: npx --package parley-2.0.0.tgz parley start\n",
  );
  expect(await checked({ to: "3.0.0-rc.1" })).toMatch(/^Version 3\.0\.0-rc\.1 of 2026-03-02 is there/);
  for (const [flags, of] of [
    [{}, { ...at, version: "2.0.0" }],
    [{ to: "1.0.0" }, at],
  ] as const)
    expect(await checked(flags, of)).toBe(`This is ${of.version} (tarball): there is nothing newer.\n`);
  expect(JSON.parse(await checked({}, at, true))).toEqual({
    installed: { kind: "tarball", version: "1.0.0", root: at.root },
    source,
    newest: "2.0.0",
    releasedAt: "2026-02-02T03:04:05Z",
    available: ["3.0.0-rc.1", "2.0.0", "1.0.0"],
    update: true,
    byHand: null,
    last: null,
  });
  writeRecord(home, { ...record, state: "failed", reason: "no room" });
  expect(JSON.parse(await checked({ to: "1.0.0" }, { ...at, kind: "npx" }, true))).toMatchObject({
    update: false,
    byHand: expect.stringContaining("parley-1.0.0.tgz") as string,
    last: { from: "1.0.0", to: "2.0.0", state: "failed", reason: "no room" },
  });
  // A source that is named goes before the config's, and the config's key counts there as well.
  const other = releases(join(home, "other"), "4.0.0");
  expect(JSON.parse(await checked({ from: other }, at, true))).toMatchObject({
    source: other,
    newest: "4.0.0",
  });
  const publicKey = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" });
  writeFileSync(join(home, "parley.json5"), JSON.stringify({ update: { url: source, publicKey } }));
  await expect(checked({ from: other })).rejects.toThrow("is not signed");
  writeFileSync(join(home, "parley.json5"), "{}");
  await expect(checked({})).rejects.toMatchObject({ code: "missing", exitCode: 2 });
  await expect(checked({ from: "HTTP://releases.example/" })).rejects.toThrow("is not encrypted");
  await expect(checked({ from: "no/such/folder" })).rejects.toThrow(
    `there is no folder ${process.cwd()}/no/such/folder`,
  );
});

test("an update is planned to what was asked for, and an older version only by name", async () => {
  const home = stateFolder(null);
  const source = releases(home, "2.0.0", "1.0.0");
  writeFileSync(join(home, "parley.json5"), JSON.stringify({ update: { url: source } }));
  const planned = (flags: Parameters<typeof plan>[1], of: Installed) => plan(asked(home).terminal, flags, of);
  const refs = (from: string, to: string) => ({ from, to, fromRef: from, toRef: to });
  const at = installed(home, "tarball", "1.0.0", "0.9.0");
  // What the program says of itself is no matter: the link says what is in force.
  const odd = { ...at, version: "7.0.0" };
  expect(await planned({}, odd)).toMatchObject({ refs: refs("1.0.0", "2.0.0"), isOlder: false });
  expect(await planned({ to: "1.0.0" }, odd)).toEqual({
    nothing: "Version 1.0.0 is in force already.",
    version: "1.0.0",
  });
  // One that is kept here needs no source, unless a source is named.
  expect(await planned({ to: "0.9.0" }, at)).toMatchObject({ refs: refs("1.0.0", "0.9.0"), isOlder: true });
  await expect(planned({ to: "0.9.0", from: source }, at)).rejects.toThrow("there is no version 0.9.0 there");
  await expect(planned({}, { ...at, kind: "container" })).rejects.toThrow(
    /^Parley does not update itself here: a container is replaced, not changed: take the image 2\.0\.0/,
  );
  const newer = installed(home, "tarball", "3.0.0");
  expect(await planned({}, newer)).toEqual({
    nothing: "This is 3.0.0: there is nothing newer.",
    version: "3.0.0",
  });
});

/** What an older version knows, of the copies that are there. */
function older(home: string, knows: readonly string[], more: Partial<UpdateWorld["inForce"]> = {}) {
  const written: UpdateRecord[] = [];
  const questions: string[] = [];
  const world = {
    inForce: { prepare: async () => {}, checkedAfterSwap: false, ...more },
    programs: {
      refusesDatabase: async (ref: string) => (questions.push(`database ${ref}`), true),
      rehearsal: async (ref: string, path: string) => {
        questions.push(`${ref} ${path.slice(home.length + 1)}`);
        return knows.some((each) => path.endsWith(each)) ? null : "too new";
      },
    },
    write: (each: UpdateRecord) => void written.push(each),
    clock: { now: () => 77 },
  } as unknown as UpdateWorld;
  const copy = (restoreBackup: boolean) => copyFor(asked(home).terminal, { restoreBackup }, world, record);
  return { world, written, questions, copy };
}

test("an older version gets the newest copy that it knows, and only for whoever wants that", async () => {
  const home = stateFolder(null);
  for (const name of ["state.db.schema-2-9", "state.db.schema-3-10", "state.db.schema-1-x", "state.db"])
    writeFileSync(join(home, name), "");
  expect(schemaCopies(home)).toEqual([
    { path: join(home, "state.db.schema-3-10"), atMs: 10 },
    { path: join(home, "state.db.schema-2-9"), atMs: 9 },
  ]);
  const first = older(home, ["schema-2-9"]);
  expect(await first.copy(true)).toBe(join(home, "state.db.schema-2-9"));
  expect(first.questions).toEqual([
    "database 2.0.0",
    "2.0.0 state.db.schema-3-10",
    "2.0.0 state.db.schema-2-9",
  ]);
  expect(first.written).toEqual([]);
  const reason = `Version 2.0.0 does not know the database that 1.0.0 wrote. --restore-backup goes back to ${home}/state.db.schema-2-9: what was said since then stays in a file beside it, and is not known to 2.0.0.`;
  await expect(first.copy(false)).rejects.toMatchObject({ code: "unsupported", message: reason });
  expect(first.written).toEqual([{ ...record, state: "failed", reason, endedAtMs: 77 }]);

  for (const [n, name] of ["update-a-to-b-1.db", "update-a-to-b-2.db", "update-a-to-b-3.db"].entries()) {
    write(join(home, "backups", name), "");
    utimesSync(join(home, "backups", name), 100 - n, 100 - n);
  }
  const backups = older(home, ["b-2.db", "b-3.db"]);
  expect(await backups.copy(true)).toBe(join(home, "backups/update-a-to-b-2.db"));
  const none = older(home, []);
  await expect(none.copy(true)).rejects.toThrow("and there is no copy from before.");
  expect(none.questions).toHaveLength(6);
  // A commit's files can be asked only once they are there: the newest copy is taken unseen.
  expect(await older(home, [], { checkedAfterSwap: true }).copy(true)).toBe(
    join(home, "state.db.schema-3-10"),
  );
  const knows = older(home, []);
  knows.world.programs.refusesDatabase = async () => false;
  expect([await knows.copy(false), knows.written]).toEqual([null, []]);
  const fails = older(home, [], {
    prepare: async () => {
      throw new Error("no room");
    },
  });
  await expect(fails.copy(true)).rejects.toThrow("no room");
  expect([fails.written.map((each) => each.reason), fails.questions]).toEqual([["no room"], []]);
});

test("of the backups that updates made the three newest stay, and all others that lie there", () => {
  const folder = stateFolder(null, null);
  const names = ["update-1-to-2-1.db", "update-1-to-2-2.db", "update-1-to-2-3.db", "update-1-to-2-4.db"];
  for (const [n, name] of [...names, "mine.db", "update-1.txt"].entries()) {
    writeFileSync(join(folder, name), "");
    // The second is the oldest by its time, whatever its name says.
    utimesSync(join(folder, name), n === 1 ? 1 : 100 + n, n === 1 ? 1 : 100 + n);
  }
  pruneBackups(folder);
  expect(readdirSync(folder).toSorted()).toEqual(["mine.db", names[0], names[2], names[3], "update-1.txt"]);
});

test.each<[Partial<UpdateRecord>, number, string]>([
  [{ state: "done" }, 0, "Parley 2.0.0 is in force, 1.0.0 before it."],
  [
    { state: "done", backup: "/b.db", replaced: "/r.db" },
    0,
    "Parley 2.0.0 is in force, 1.0.0 before it. Backup: /b.db. The database that was there is kept as /r.db.",
  ],
  [{ state: "trying" }, 0, "Parley 2.0.0 is in force and is watched at its next start."],
  [
    { state: "went-back", reason: "it was worse", kept: "/k.db", replaced: "/r.db" },
    1,
    "Parley 1.0.0 is in force again; 2.0.0 did not do: it was worse. The database that was there is kept as /k.db.",
  ],
  [{ state: "failed", reason: "no room" }, 1, "Nothing was changed: no room"],
])("the end %j is told with the code %d", (more, code, text) => {
  const plain = asked("/home");
  expect(told(plain.terminal, { ...record, ...more })).toBe(code);
  expect([plain.out(), plain.err()]).toEqual(code === 0 ? [`${text}\n`, ""] : ["", `${text}\n`]);
  const document = asked("/home", true);
  expect(told(document.terminal, { ...record, ...more })).toBe(code);
  const { state, reason = null, backup = null, kept, replaced } = more;
  expect([JSON.parse(document.out()), document.err()]).toEqual([
    { ok: code === 0, state, from: "1.0.0", to: "2.0.0", reason, backup, kept: kept ?? replaced ?? null },
    "",
  ]);
});

test("a backup is made by the gateway, under a name that says from what to what; Redis is backed up elsewhere", async () => {
  const { home, requests } = await fakeGateway(() => ({}));
  const at = installed(home, "tarball", "1.0.0", "2.0.0");
  const { terminal, err } = asked(home);
  const world = worldOf(terminal, at, foldersInForce({ installed: at, home, release: null, say: () => {} }));
  expect(await world.backUp(record)).toBeNull();
  writeFileSync(join(home, "state.db"), "");
  for (const n of [1, 2, 3, 4]) {
    write(join(home, `backups/update-x-${n}.db`), "");
    utimesSync(join(home, `backups/update-x-${n}.db`), n, n);
  }
  const path = join(home, "backups/update-1.0.0_abc_-to-2.0.0-5.db");
  expect(await world.backUp({ ...record, from: "1.0.0 (abc)" })).toBe(path);
  expect(requests.at(-1)).toMatchObject({ method: "backup", params: { path } });
  expect(readdirSync(join(home, "backups"))).toEqual([2, 3, 4].map((n) => `update-x-${n}.db`));
  // The programs of a version are its own, and what its start wrote is found.
  write(join(at.root, "versions/2.0.0/bin/parley"), "#!/bin/sh\necho no, two; exit 1\n", 0o755);
  write(join(at.root, "bin/parley"), "#!/bin/sh\necho no, launcher; exit 1\n", 0o755);
  expect(await world.programs.configTrouble("2.0.0")).toMatch(/^no, two;/);
  const checkout = worldOf(terminal, { ...at, kind: "checkout" }, world.inForce);
  expect(await checkout.programs.configTrouble("2.0.0")).toMatch(/^no, launcher;/);
  for (const name of ["state.db.schema-1-4", "state.db.schema-2-5"]) writeFileSync(join(home, name), "");
  expect([world.schemaCopy(5), world.schemaCopy(6)]).toEqual([join(home, "state.db.schema-2-5"), null]);
  world.write({ ...record, id: "written" });
  expect(world.read()?.id).toBe("written");
  expect(err()).toBe("");
  writeFileSync(
    join(home, "parley.json5"),
    '{ store: { driver: "redis", redis: { url: "redis://127.0.0.1:1" } } }',
  );
  expect([await world.backUp(record), err()]).toEqual([null, "The store is Redis: back it up there.\n"]);
  expect(await world.programs.refusesDatabase("2.0.0")).toBe(false);
});

test("what a killed update had not changed is given up; whoever starts while one is tried goes back after three starts", async () => {
  const home = stateFolder("{}");
  const at = installed(home, "tarball", "2.0.0", "1.0.0");
  const { terminal, err } = asked(home);
  const elsewhere = { ...at, root: join(home, "nowhere") };
  const given = await resumed(terminal, elsewhere, { ...record, root: at.root });
  expect(given).toMatchObject({
    state: "failed",
    reason: "it was interrupted before anything was changed",
    driver: process.pid,
  });
  expect(readRecord(home)).toEqual(given);
  const folders = versionFolders(at.root, "1.1.0");
  folders.writeTrial({ home, starts: 2 });
  writeRecord(home, { ...record, root: at.root, state: "trying" });
  expect(await atStart(terminal, at.root, elsewhere)).toBe(0);
  expect([folders.current(), folders.readTrial(), err()]).toEqual(["2.0.0", { home, starts: 3 }, ""]);
  await atStart(terminal, at.root, elsewhere);
  expect([folders.current(), folders.readTrial(), err()]).toEqual([
    "1.0.0",
    null,
    "2.0.0 does not do: it was started 3 times and did not stay up. Going back to 1.0.0.\n",
  ]);
  expect(readRecord(home)).toMatchObject({ state: "went-back" });
});

test("the command goes on with what a killed one left, and says in the record why it came to nothing", async () => {
  const home = stateFolder("{ update: { watchSeconds: 7 } }");
  const run = async (flags: Parameters<typeof update>[1], json = false) => {
    const { terminal, out, err } = asked(home, json);
    const code = await update(terminal, flags).catch((error: Error) => error.message);
    return [code, out(), err()];
  };
  expect(await run({ resume: true })).toEqual([0, "", ""]);
  expect(await run({ watch: "soon" })).toEqual(['--watch takes a number of seconds, not "soon"', "", ""]);
  writeRecord(home, record);
  const words = "Nothing was changed: it was interrupted before anything was changed\n";
  expect(await run({ resume: true })).toEqual([1, "", words]);
  expect(readRecord(home)).toMatchObject({ id: "one", state: "failed" });
  // One that is asked for anew goes on to its own end.
  writeRecord(home, record);
  const source = join(home, "no-releases");
  const [why, , said] = await run({ from: source, askedBy: "m1", to: "9.9.9" });
  expect(said).toBe(`An update to 2.0.0 was not finished: ${words}`);
  expect(why).toContain(source);
  expect(readRecord(home)).toMatchObject({
    state: "failed",
    reason: why,
    askedBy: "m1",
    to: "9.9.9",
    watchMs: 7_000,
    driver: process.pid,
    endedAtMs: expect.any(Number) as number,
  });
  // Who is there hears it, and the record stays.
  await run({ from: source, watch: "3" });
  expect(readRecord(home)).toMatchObject({ askedBy: "m1", watchMs: 7_000 });
  await run({ from: source, watch: "3", askedBy: "m2" });
  expect(readRecord(home)).toMatchObject({ askedBy: "m2", watchMs: 3_000 });
  expect(existsSync(join(home, "update.lock"))).toBe(false);
  expect(readFileSync(join(home, "update.json"), "utf8")).toMatch(/\}\n$/);
});
