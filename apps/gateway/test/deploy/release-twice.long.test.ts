// One commit gives one release: two clean checkouts in other folders, with another home, time zone and mask
// of new files, make the same bytes of every kind. Takes two minutes, and the registry's packages.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../../../..");
const work = mkdtempSync(join(tmpdir(), "parley-twice-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** The SHA-256 of each file of a release made in a checkout of its own, by its name. */
function releaseIn(folder: string, mask: string, env: { readonly [name: string]: string }) {
  const [checkout, out] = [join(work, folder), join(work, `${folder.split("/")[0]}-out`)];
  mkdirSync(checkout, { recursive: true });
  execFileSync("git", ["clone", "-q", root, checkout], { stdio: "pipe" });
  const script = `umask ${mask} && npm run setup && npm run release -- --out "$0"`;
  execFileSync("sh", ["-c", script, out], { cwd: checkout, env: { ...process.env, ...env }, stdio: "pipe" });
  const files = readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !relative(out, path).startsWith(".work"));
  const hashed = files.map((path) => [
    relative(out, path),
    createHash("sha256").update(readFileSync(path)).digest("hex"),
  ]);
  return Object.fromEntries(hashed) as { readonly [name: string]: string };
}

test("a release is the same, byte for byte, wherever and by whomever it is made", () => {
  const first = releaseIn("one", "022", {});
  const home = join(work, "home");
  mkdirSync(home);
  const second = releaseIn("other/place/of its own", "077", { HOME: home, TZ: "Asia/Tokyo", LANG: "C" });
  expect(second).toEqual(first);
  const kinds = [/\.tgz$/, /linux-x64\.tar\.gz$/, /amd64\.deb$/, /oci\/index\.json$/, /^SHA256SUMS$/];
  expect(kinds.filter((kind) => !Object.keys(first).some((name) => kind.test(name)))).toEqual([]);
});
