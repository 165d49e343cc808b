// How a version comes beside the one in force: brought, tried, named once it is whole, and cleared away when
// it is old.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Installed, Release, UpdateRecord } from "@parley/update";
import { afterEach, beforeEach, expect, test } from "vitest";
import { foldersInForce, shippedVersion } from "../src/update/in-force.ts";

let work: string;
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "parley-folders-"));
});
afterEach(() => rmSync(work, { recursive: true, force: true }));

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

/** A release whose program calls itself `says`. */
function release(
  kind: "npm" | "tarball",
  version: string,
  says = version,
  dependencies: object = {},
): Release {
  const [top, at] = [kind === "npm" ? "package" : "parley", join(work, "release")];
  const tree = join(work, "packed", top);
  write(join(tree, `versions/${version}/bin/parley`), `#!/bin/sh\necho ${says}\n`, 0o755);
  write(join(tree, `versions/${version}/app.js`), "code");
  write(join(tree, "versions/0.9.0/app.js"), "another version");
  write(join(tree, "package.json"), JSON.stringify({ version, dependencies }));
  mkdirSync(at, { recursive: true });
  execFileSync("tar", ["-czf", join(at, "file.tgz"), "-C", join(work, "packed"), top]);
  const bytes = readFileSync(join(at, "file.tgz"));
  const file = {
    name: "file.tgz",
    kind,
    ...(kind === "npm" ? {} : { platform: "linux-x64" }),
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
  return { format: 1, product: "parley", version, commit: "c", time: "t", schema: 1, files: [file], at };
}

function installed(kind: "npm" | "tarball", ...versions: readonly string[]): Installed {
  const root = join(work, "root");
  write(join(root, "package.json"), JSON.stringify({ version: "1.0.0" }));
  for (const version of ["1.0.0", ...versions]) write(join(root, "versions", version, "bin/parley"), "");
  return { kind, root, version: "1.1.0", platform: kind === "npm" ? null : "linux-x64" };
}

function made(of: Installed, from: Release | null) {
  const said: string[] = [];
  const inForce = foldersInForce({
    installed: of,
    home: "/home",
    release: from,
    say: (each) => void said.push(each),
  });
  return {
    inForce,
    said,
    prepare: (toRef: string) => inForce.prepare({ toRef } as UpdateRecord),
    there: () => readdirSync(join(of.root, "versions")).toSorted(),
  };
}

test.each(["tarball", "npm"] as const)(
  "a version of a %s is unpacked beside the others, once, and alone",
  async (kind) => {
    const of = installed(kind);
    const { inForce, said, prepare, there } = made(of, release(kind, "2.0.0"));
    expect([inForce.now(), inForce.checkedAfterSwap]).toEqual(["1.0.0", false]);
    await prepare("2.0.0");
    await prepare("2.0.0");
    expect(there()).toEqual(["1.0.0", "2.0.0"]);
    expect(
      readdirSync(join(of.root, "versions/2.0.0"), { recursive: true, encoding: "utf8" }).toSorted(),
    ).toEqual(["app.js", "bin", "bin/parley"]);
    expect(said).toEqual([expect.stringMatching(/^Bringing file\.tgz \(0\.0 MB\) \.\.\.$/)]);
    expect(inForce.now()).toBe("1.0.0");
    await inForce.swapTo("2.0.0");
    expect(inForce.now()).toBe("2.0.0");
  },
);

test("a version that is here is not brought again; one that is nowhere is missing", async () => {
  const { said, prepare } = made(installed("tarball", "2.0.0"), null);
  await prepare("2.0.0");
  expect(said).toEqual(["Version 2.0.0 is here already."]);
  await expect(prepare("3.0.0")).rejects.toThrow("there is no version 3.0.0 here");
});

test("what is brought is named with its size in megabytes; of another size it is not taken", async () => {
  const large = release("tarball", "2.0.0");
  const { said, prepare, there } = made(installed("tarball"), {
    ...large,
    files: large.files.map((each) => ({ ...each, bytes: 12_345_678 })),
  });
  await expect(prepare("2.0.0")).rejects.toThrow(
    /^file\.tgz is not the file of the release: it has \d+ bytes, not 12345678$/,
  );
  expect([said, there()]).toEqual([["Bringing file.tgz (12.3 MB) ..."], ["1.0.0"]]);
});

test.each([
  ["says that it is another", "2.0.1", "file.tgz says that it is 2.0.1, not 2.0.0"],
  ["says more than its version", "2.0.0-rc", "file.tgz says that it is 2.0.0-rc, not 2.0.0"],
  ["does not run", "x; exit 1", "version 2.0.0 does not run here"],
])("a version that %s gets no name, and its draft goes", async (_what, says, words) => {
  const { prepare, there } = made(installed("tarball"), release("tarball", "2.0.0", says));
  await expect(prepare("2.0.0")).rejects.toThrow(words);
  expect(there()).toEqual(["1.0.0"]);
  // It is tried again, not taken for prepared.
  await expect(prepare("2.0.0")).rejects.toThrow(words);
});

test("npm's natives that are here in the same version are not brought; others are, all of them, and npm's words are told", async () => {
  const of = installed("npm");
  for (const [name, version] of [
    ["one", "1.2.3"],
    ["@scope/two", "2.0.0"],
  ] as const)
    write(join(of.root, "node_modules", name, "package.json"), JSON.stringify({ version }));
  const path = process.env["PATH"];
  write(
    join(work, "bin/npm"),
    `#!/bin/sh\necho "$@" > ${work}/asked\necho 'npm error code E404' >&2\necho 'npm error A complete log of this run' >&2\nexit 1\n`,
    0o755,
  );
  process.env["PATH"] = `${work}/bin:${path}`;
  try {
    await made(of, release("npm", "2.0.0", "2.0.0", { one: "1.2.3", "@scope/two": "2.0.0" })).prepare(
      "2.0.0",
    );
    expect(existsSync(join(work, "asked"))).toBe(false);
    const { prepare, there } = made(
      of,
      release("npm", "3.0.0", "3.0.0", { one: "1.2.4", "@scope/two": "2.0.0" }),
    );
    await expect(prepare("3.0.0")).rejects.toThrow(
      "npm could not bring one@1.2.4, @scope/two@2.0.0: code E404",
    );
    expect(readFileSync(join(work, "asked"), "utf8")).toMatch(
      /^install --prefix \S+3\.0\.0\.part\/tree .*--ignore-scripts one@1\.2\.4 @scope\/two@2\.0\.0\n$/,
    );
    expect(there()).toEqual(["1.0.0", "2.0.0"]);
  } finally {
    process.env["PATH"] = path;
  }
});

test("a trial names the version before and its home; done, it leaves the two and the shipped one, gone back it leaves all", () => {
  const all = ["1.1.0", "1.2.0", "2.0.0"];
  const of = installed("tarball", ...all);
  const { inForce, there } = made(of, null);
  const record = { fromRef: "1.2.0", toRef: "2.0.0" } as UpdateRecord;
  inForce.begin(record);
  expect(inForce.folders.readTrial()).toEqual({ home: "/home", starts: 0 });
  expect(readlinkSync(join(of.root, "previous"))).toBe("versions/1.2.0");
  expect(readdirSync(of.root).toSorted()).toEqual(["package.json", "previous", "trial", "versions"]);
  inForce.end({ ...record, state: "went-back" });
  expect([inForce.folders.readTrial(), there()]).toEqual([null, ["1.0.0", ...all]]);
  inForce.begin(record);
  inForce.end({ ...record, state: "done" });
  expect([inForce.folders.readTrial(), there()]).toEqual([null, ["1.0.0", "1.2.0", "2.0.0"]]);
});

test("the version that came with the installation stands in its package.json, else it is the program's own", () => {
  const of = installed("tarball");
  expect(shippedVersion(of)).toBe("1.0.0");
  rmSync(join(of.root, "package.json"));
  expect(shippedVersion(of)).toBe("1.1.0");
});
