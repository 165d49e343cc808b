// A checkout that follows git, as `parley update` looks at it and changes it: what is newer, older or apart,
// what is the operator's own, and how it comes to another commit and back. Real git; how a kill is settled
// stands in the file beside this one that CI runs.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { writeRecord, type Installed, type UpdateRecord } from "@parley/update";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { check, plan } from "../src/commands/update/update-target.ts";
import { checkoutInForce, checkoutNow, checkoutTarget, ownWork, standing } from "../src/update/checkout.ts";

const git = (root: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();

function commit(root: string, version: string, files: { readonly [path: string]: string } = {}): string {
  for (const [path, text] of Object.entries({ ...files, "package.json": JSON.stringify({ version }) })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  git(root, "add", "-A");
  git(root, "commit", "-qm", "a step");
  return git(root, "rev-parse", "HEAD");
}

let work: string;
let refs: { readonly old: string; readonly middle: string; readonly next: string; readonly side: string };
const named = (version: string, ref: string): string => `${version} (${ref.slice(0, 10)})`;

/**
 * Each git looks after its folders for as long as all the rest takes: here there is nothing to look after.
 */
const quick = { GIT_CONFIG_COUNT: "2", GIT_CONFIG_KEY_0: "maintenance.auto", GIT_CONFIG_VALUE_0: "false" };
const more = { GIT_CONFIG_KEY_1: "core.fsync", GIT_CONFIG_VALUE_1: "none" };

/** Three versions on the branch, of which the second has a tag, and one on a branch of its own. */
beforeAll(() => {
  Object.assign(process.env, quick, more);
  work = mkdtempSync(join(tmpdir(), "parley-checkout-"));
  const origin = join(work, "origin");
  git(work, "init", "-q", "-b", "main", origin);
  const setUp = "import { writeFileSync } from 'node:fs'; writeFileSync('.ready', process.argv[2]);";
  const old = commit(origin, "0.1.0", { ".gitignore": ".ready\n", "a.txt": "old", "scripts/dev.mjs": setUp });
  git(origin, "checkout", "-qb", "side");
  const side = commit(origin, "0.9.0", { "scripts/dev.mjs": "console.error('no room'); process.exit(1)" });
  git(origin, "checkout", "-q", "main");
  const middle = commit(origin, "0.1.5", { "a.txt": "middle" });
  git(origin, "tag", "v0.1.5");
  const next = commit(origin, "0.2.0", { "a.txt": "next", "b.txt": "added" });
  refs = { old, middle, next, side };
});
afterAll(() => {
  rmSync(work, { recursive: true, force: true });
  for (const name of Object.keys({ ...quick, ...more })) delete process.env[name];
});

/** A clone at the first commit, which has not looked since. */
function clone() {
  const here = mkdtempSync(join(work, "here-"));
  git(work, "clone", "-q", "--no-tags", join(work, "origin"), here);
  git(here, "reset", "-q", "--hard", refs.old);
  const home = mkdtempSync(join(work, "home-"));
  const installed: Installed = { kind: "checkout", root: here, version: "9.9.9", platform: null };
  const asked = (json: boolean) => {
    const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
    return { terminal: { env: { PARLEY_HOME: home }, input, out, err, json }, out, err };
  };
  return {
    here,
    home,
    planned: (flags: Parameters<typeof plan>[1]) => plan(asked(false).terminal, flags, installed),
    async checked(flags: Parameters<typeof check>[1], json = false): Promise<string> {
      const { terminal, out } = asked(json);
      expect(await check(terminal, flags, installed)).toBe(0);
      return String(out.read()).trim();
    },
  };
}

test("a checkout is told what its branch has, what a name means there, and what is nothing new", async () => {
  const { here, home, checked } = clone();
  const now = named("0.1.0", refs.old);
  const there = (version: string, ref: string): string =>
    `${named(version, ref)} is there; this is ${now}. parley update brings it.`;
  expect(await checked({})).toBe(there("0.2.0", refs.next));
  // A version is a tag there.
  expect(await checked({ to: "0.1.5" })).toBe(there("0.1.5", refs.middle));
  // Of another repository: what it has in force, or its branch of that name.
  const other = mkdtempSync(join(work, "other-"));
  git(work, "clone", "-q", join(work, "origin"), other);
  git(other, "checkout", "-qb", "theirs", refs.middle);
  expect(await checked({ from: other })).toBe(there("0.1.5", refs.middle));
  expect(await checked({ to: refs.old })).toBe(`This is ${now}: there is nothing newer.`);
  await expect(checked({ to: "9.9.9" })).rejects.toThrow("git knows no 9.9.9");
  for (const flags of [{ to: "--upload-pack=x" }, { from: "--upload-pack=x" }])
    await expect(checked(flags)).rejects.toThrow("names no version and no repository");

  const record = { from: "a", to: "b", state: "went-back", reason: "it was worse" } as const;
  const rest = { id: "1", root: here, fromRef: "", toRef: "", backup: null, restore: null, replaced: null };
  const others = {
    kept: null,
    worked: null,
    watchMs: 1,
    askedBy: null,
    driver: 1,
    before: null,
    begunAtMs: 1,
  };
  writeRecord(home, { ...rest, ...others, endedAtMs: 2, ...record });
  git(here, "merge", "-q", "--ff-only", refs.middle);
  writeFileSync(join(here, "a.txt"), "mine");
  const changed = "the checkout has changes of its own; commit or stash them first: M a.txt";
  expect(JSON.parse(await checked({}, true))).toEqual({
    installed: { kind: "checkout", version: named("0.1.5", refs.middle), root: here },
    newest: named("0.2.0", refs.next),
    update: true,
    byHand: changed,
    last: record,
  });
  git(here, "checkout", "-q", "--", "a.txt");
  git(here, "merge", "-q", "--ff-only", refs.next);
  rmSync(join(home, "update.json"));
  // An older one is no news, but for whoever names it.
  expect(JSON.parse(await checked({ to: "0.1.5" }, true))).toMatchObject({
    update: true,
    byHand: null,
    last: null,
  });
});

test("what a checkout would be brought: nothing where it is there, or ahead, and older ones by name alone", async () => {
  const { here, planned } = clone();
  const [old, middle, next] = [
    named("0.1.0", refs.old),
    named("0.1.5", refs.middle),
    named("0.2.0", refs.next),
  ];
  expect(await planned({})).toEqual({
    inForce: expect.objectContaining({ checkedAfterSwap: true }) as unknown,
    refs: { from: old, to: next, fromRef: refs.old, toRef: refs.next },
    isOlder: false,
  });
  git(here, "merge", "-q", "--ff-only", refs.next);
  expect(await planned({})).toEqual({ nothing: `This is ${next} already.`, version: next });
  expect(await planned({ to: "0.1.5", restoreBackup: true })).toMatchObject({
    refs: { from: next, to: middle, fromRef: refs.next, toRef: refs.middle },
    isOlder: true,
  });
  const ahead = named("0.3.0", commit(here, "0.3.0"));
  expect(await planned({})).toEqual({ nothing: `This is ${ahead}: there is nothing newer.`, version: ahead });
});

test("commits and changes that are nowhere else keep an update away, and only the first five changes are told", async () => {
  const { here } = clone();
  for (const name of ["c", "d", "e", "f", "g"]) writeFileSync(join(here, `${name}.txt`), "mine");
  expect(ownWork(here, refs.old, refs.next)).toBeNull();
  git(here, "add", "-A");
  writeFileSync(join(here, "a.txt"), "mine");
  expect(ownWork(here, refs.old, refs.next)).toBe(
    "the checkout has changes of its own; commit or stash them first: M a.txt, A  c.txt, A  d.txt, A  e.txt, A  f.txt",
  );
  const apart = commit(here, "0.1.1");
  await expect(
    checkoutInForce(here, () => {}).prepare({ fromRef: apart, toRef: refs.next } as UpdateRecord),
  ).rejects.toMatchObject({
    code: "conflict",
    message: "the checkout has commits of its own: merge or rebase them yourself",
  });
  git(here, "fetch", "-q");
  git(here, "reset", "-q", "--hard", refs.next);
  commit(here, "0.3.0");
  const two = commit(here, "0.3.1");
  expect(ownWork(here, two, refs.next)).toBe(
    "commits of the checkout (2) are nowhere else: push or tag them first",
  );
  // Those that an update brought from a repository named for once may be left again.
  git(here, "update-ref", "refs/parley/brought", two);
  expect(ownWork(here, two, refs.next)).toBeNull();
});

test("it comes to a commit and back, is set up each time, and remembers what was brought from elsewhere", async () => {
  const { here } = clone();
  git(here, "fetch", "-q");
  const said: string[] = [];
  const inForce = checkoutInForce(here, (words) => said.push(words));
  const at = (): unknown[] => [
    inForce.now(),
    git(here, "rev-parse", "refs/parley/brought"),
    git(here, "symbolic-ref", "--short", "HEAD"),
    git(here, "status", "--porcelain"),
    existsSync(join(here, "b.txt")),
  ];
  await inForce.swapTo(refs.next);
  expect(at()).toEqual([refs.next, refs.next, "main", "", true]);
  expect(readFileSync(join(here, ".ready"), "utf8")).toBe("install");
  await inForce.swapTo(refs.old);
  expect(at()).toEqual([refs.old, refs.old, "main", "", false]);
  // The set-up may be what was killed before: it runs also where the files are there.
  rmSync(join(here, ".ready"));
  await inForce.swapTo(refs.old);
  expect([existsSync(join(here, ".ready")), said]).toEqual([true, Array(3).fill("Setting up ...")]);
  await expect(inForce.swapTo(refs.side)).rejects.toMatchObject({
    code: "unavailable",
    message: "the set-up failed: no room\n",
  });
  // Half a file of the commit that was to come goes; what its operator wrote under such a name stays.
  git(here, "reset", "-q", "--hard", refs.old);
  writeFileSync(join(here, "a.txt"), "half");
  writeFileSync(join(here, "b.txt"), "add");
  writeFileSync(join(here, ".git/index.lock"), "");
  const record = { fromRef: refs.old, toRef: refs.next } as UpdateRecord;
  said.length = 0;
  await inForce.settle?.(record);
  expect([git(here, "status", "--porcelain"), readFileSync(join(here, "a.txt"), "utf8")]).toEqual([
    "",
    "old",
  ]);
  expect(said).toEqual([
    `The files were half those of another commit; they are those of ${refs.old.slice(0, 10)} again.`,
  ]);
  expect(git(here, "show", "refs/parley/left:a.txt")).toBe("half");
  writeFileSync(join(here, "b.txt"), "mine");
  writeFileSync(join(here, ".git/refs/heads/main.lock"), "");
  await inForce.settle?.(record);
  expect([existsSync(join(here, ".git/refs/heads/main.lock")), git(here, "status", "--porcelain")]).toEqual([
    false,
    "?? b.txt",
  ]);
  await inForce.settle?.(record);
  expect(said).toHaveLength(2);
  // Each lock that a killed git left, of those that an update takes; another's stays.
  const locks = ["index", "HEAD", "ORIG_HEAD", "refs/heads/main", "config"];
  for (const name of locks) writeFileSync(join(here, `.git/${name}.lock`), "");
  await inForce.settle?.(record);
  expect(locks.filter((name) => existsSync(join(here, `.git/${name}.lock`)))).toEqual(["config"]);
  expect(said).toHaveLength(3);
});

test("what git cannot do is told in its own words, and that there is none", () => {
  const empty = mkdtempSync(join(work, "empty-"));
  expect(() => checkoutNow(empty)).toThrow(/^git could not look: fatal: not a git repository/);
  const path = process.env["PATH"];
  onTestFinished(() => void (process.env["PATH"] = path));
  process.env["PATH"] = empty;
  expect(() => checkoutNow(empty)).toThrow(
    expect.objectContaining({
      code: "unavailable",
      message: "git could not look: there is no git on the PATH",
    }) as Error,
  );
});

test("a name is a version's tag before a branch before a commit, here or in the repository that is named", () => {
  const { here } = clone();
  const other = mkdtempSync(join(work, "other-"));
  git(work, "clone", "-q", join(work, "origin"), other);
  git(other, "checkout", "-q", refs.middle);
  const target = (to?: string, from?: string): string => checkoutTarget(here, to, from).ref;
  expect([
    target(),
    target("side"),
    target("0.1.5"),
    target("v0.1.5"),
    target(refs.old.slice(0, 12)),
    target(undefined, other),
    target("side", join(work, "origin")),
  ]).toEqual([refs.next, refs.side, refs.middle, refs.middle, refs.old, refs.middle, refs.side]);
  expect(checkoutTarget(here, "side", undefined).version).toBe(named("0.9.0", refs.side));
  expect(checkoutNow(here)).toEqual({ ref: refs.old, version: named("0.1.0", refs.old) });
  expect(
    [
      [refs.old, refs.old],
      [refs.old, refs.next],
      [refs.next, refs.middle],
      [refs.middle, refs.side],
    ].map(([now = "", then = ""]) => standing(here, now, then)),
  ).toEqual(["same", "newer", "older", "apart"]);
  git(here, "checkout", "-q", refs.old);
  expect(() => target()).toThrow(
    expect.objectContaining({
      code: "missing",
      message: "git knows no branch that this one follows",
    }) as Error,
  );
  expect(() => target("none", join(work, "origin"))).toThrow(/^git could not look: fatal: /);
});
