// How Parley finds out what it was installed as, what it says where it cannot update itself, and which
// folders of versions stay.
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { byHand, installedAt } from "../src/installed.ts";
import { hasEnded, readRecord, writeRecord, type UpdateRecord } from "../src/update-record.ts";
import { freshFolder, versionFolders } from "../src/version-folders.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "parley-installed-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (path: string, text = ""): void => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};

describe("a program", () => {
  const at = (path: string, inContainer = false) => {
    const { root, ...rest } = installedAt(join(folder, path), "1.2.3", inContainer);
    return { ...rest, root: root.replace(folder, "F") };
  };
  test.each([
    [
      "opt/parley",
      { kind: "tarball", platform: "linux-x64" },
      { kind: "tarball", root: "F/opt/parley", platform: "linux-x64" },
    ],
    [
      "opt/parley/versions/1.2.3",
      { kind: "tarball" },
      { kind: "tarball", root: "F/opt/parley", platform: null },
    ],
    ["lib/parley", { kind: "npm" }, { kind: "npm", root: "F/lib/parley", platform: null }],
    ["a/_npx/b/parley", { kind: "npm" }, { kind: "npx", root: "F/a/_npx/b/parley", platform: null }],
    ["my_npx/parley", { kind: "npm" }, { kind: "npm", root: "F/my_npx/parley", platform: null }],
    ["a/_npx/b/parley", { kind: "deb" }, { kind: "deb", root: "F/a/_npx/b/parley", platform: null }],
    ["app", { kind: "container" }, { kind: "container", root: "F/app", platform: null }],
    ["app", { kind: "snap" }, { kind: "folder", root: "F/app", platform: null }],
  ])("in %s of %j is known by the file beside it", (path, facts, found) => {
    put(`${path}/install.json`, JSON.stringify(facts));
    expect(at(path)).toEqual({ ...found, version: "1.2.3" });
  });

  test("without that file is a checkout, else what is made by hand, or a container", () => {
    put("made/bin/parley");
    expect([at("made").kind, at("made", true).kind]).toEqual(["folder", "container"]);
    put("half/.git");
    expect(at("half").kind).toBe("folder");
    put("clone/.git");
    put("clone/scripts/dev.mjs");
    expect([at("clone").kind, at("clone", true).kind]).toEqual(["checkout", "checkout"]);
    put("torn/install.json", "{");
    expect(at("torn").kind).toBe("folder");
  });
});

test("what updates itself needs no hand, and everything else is told its own way", () => {
  const kinds = ["checkout", "npm", "tarball", "npx", "deb", "container", "folder"] as const;
  expect(kinds.map((kind) => byHand({ kind, root: "/opt/parley" }, "2.0.0"))).toEqual([
    null,
    null,
    null,
    "npx runs the version that it is told: npx --package parley-2.0.0.tgz parley start",
    "dpkg installed it: apt install ./parley_2.0.0_<architecture>.deb, which stops, replaces and starts the service. Back up before: parley backup FILE",
    "a container is replaced, not changed: take the image 2.0.0, and start it on the same volume. Back up before: parley backup FILE",
    "/opt/parley was made by hand (npm run bundle): make it anew from the version that you want, and restart",
  ]);
});

describe("folders of versions", () => {
  test("the one in force is what the link names, and what was shipped without a link", () => {
    const folders = versionFolders(folder, "1.0.0");
    expect(folders.current()).toBe("1.0.0");
    put("versions/2.0.0/bin/parley");
    mkdirSync(join(folder, "versions/3.0.0"));
    expect(["1.0.0", "2.0.0", "3.0.0"].map(folders.has)).toEqual([false, true, false]);
    folders.swapTo("2.0.0");
    folders.setPrevious("3.0.0");
    expect(folders.current()).toBe("2.0.0");
    expect(["current", "previous"].map((link) => readlinkSync(join(folder, link)))).toEqual([
      "versions/2.0.0",
      "versions/3.0.0",
    ]);
    expect(() => folders.swapTo("9.0.0")).toThrow(`version 9.0.0 is not in ${folder}/versions`);
    expect(folders.current()).toBe("2.0.0");
    expect(readdirSync(folder).toSorted()).toEqual(["current", "previous", "versions"]);
  });

  test("others go, and what was left half unpacked; what is no version stays", () => {
    const folders = versionFolders(folder, "1.0.0");
    for (const name of ["1.0.0", "2.0.0", "2.1.0-rc.1", "3.0.0", ".3.0.0.part", "notes"])
      mkdirSync(join(folder, "versions", name, "bin"), { recursive: true });
    expect(folders.draftOf("3.0.0")).toBe(join(folder, "versions/.3.0.0.part"));
    folders.keepOnly(["2.0.0", "3.0.0"]);
    expect(readdirSync(join(folder, "versions")).toSorted()).toEqual(["2.0.0", "3.0.0", "notes"]);
  });

  test("a trial is remembered until it ends, and a torn mark is none", () => {
    const folders = versionFolders(folder, "1.0.0");
    expect(folders.readTrial()).toBeNull();
    folders.writeTrial({ home: "/home", starts: 2 });
    expect(folders.readTrial()).toEqual({ home: "/home", starts: 2 });
    put("trial", '{"home":"/ho');
    expect(folders.readTrial()).toBeNull();
    folders.endTrial();
    expect(readdirSync(folder)).toEqual([]);
    folders.endTrial();
  });

  test("a fresh folder has nothing of what was there", () => {
    put("draft/old");
    expect(readdirSync(freshFolder(join(folder, "draft"), folder))).toEqual([]);
    expect(() => freshFolder(join(folder, "draft/old/x"), folder)).not.toThrow();
    put("file");
    expect(() => freshFolder(join(folder, "file/x"), folder)).toThrow("ENOTDIR");
  });
});

test("the record is the owner's alone, whole or none, and says which states are ends", () => {
  const states = ["preparing", "swapping", "trying", "going-back", "done", "went-back", "failed"] as const;
  expect(states.filter((state) => hasEnded({ state }))).toEqual(["done", "went-back", "failed"]);
  expect(readRecord(folder)).toBeNull();
  const record: UpdateRecord = {
    id: "one",
    root: "/r",
    from: "1",
    to: "2",
    fromRef: "1.0.0",
    toRef: "2.0.0",
    state: "trying",
    reason: "r",
    backup: "b",
    restore: "c",
    replaced: "d",
    kept: "e",
    worked: true,
    watchMs: 5,
    askedBy: "f",
    driver: 7,
    before: { bootId: "g", state: "ok", up: ["telegram:a"], reasons: ["h"] },
    begunAtMs: 8,
    endedAtMs: 9,
  };
  writeRecord(folder, record);
  expect(readRecord(folder)).toEqual(record);
  expect(readdirSync(folder)).toEqual(["update.json"]);
  expect(statSync(join(folder, "update.json")).mode & 0o777).toBe(0o600);
  put("update.json", JSON.stringify({ ...record, state: "other" }));
  expect(readRecord(folder)).toBeNull();
});
