// Which files of a workspace are copied, and what becomes of each other one; and that a copy has its name
// only once it is whole, and rights with which an agent can work.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { copyFiles, planFiles, type FilePlanOptions } from "../../src/import/files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});
const at = (...names: readonly string[]): string => join(folder, ...names);
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function planned(more: Partial<FilePlanOptions> = {}) {
  const { copies, met } = planFiles({
    from: at("from"),
    to: at("to"),
    templates: at("templates"),
    isKnown: (to) => to.includes("known"),
    ...more,
  });
  const short = (path: string): string => path.slice(folder.length + 1);
  return {
    copies: copies.map(({ from, to }) => `${short(from)} -> ${short(to)}`),
    met: met.map(({ what, name, fate, to, why }) => [
      what,
      short(name),
      fate,
      to === undefined ? null : short(to),
      why ?? null,
    ]),
  };
}

test("each file of a workspace is carried or told with its reason, in the order of names", () => {
  const from = (name: string, text = `text of ${name}`) => write(at("from", name), text);
  const to = (name: string, text: string) => write(at("to", name), text);
  for (const name of [".git/HEAD", ".openclaw/x", "node_modules/a.js", "apart/x", "new.md", "memory/new.md"])
    from(name);
  from("same.md");
  to("same.md", "text of same.md");
  from("other.md");
  to("other.md", "words of my own");
  from("known-gone.md");
  from("known-changed.md");
  to("known-changed.md", "changed since");
  from("SOUL.md");
  write(at("templates/SOUL.md"), "the default");
  to("SOUL.md", "the default");
  // A default file is one in the workspace's own folder alone.
  from("memory/SOUL.md");
  to("memory/SOUL.md", "the default");
  from("folder.md");
  mkdirSync(at("to/folder.md"), { recursive: true });
  symlinkSync(at("elsewhere"), at("from/link.md"));
  from("large.md");
  truncateSync(at("from/large.md"), 256_000_001);
  from("largest.md");
  truncateSync(at("from/largest.md"), 256_000_000);
  const { copies, met } = planned({ apart: (path) => (path.endsWith("/apart") ? "it is apart" : null) });
  const carried = (name: string) => ["file", `from/${name}`, "carried", `to/${name}`, null];
  const told = (name: string, fate: string, why: string) => ["file", `from/${name}`, fate, `to/${name}`, why];
  const left = (name: string, why: string) => ["file", `from/${name}`, "refused", null, why];
  expect(met).toEqual([
    left(".git", "a repository is not copied: move it by hand, if its history is wanted"),
    left(".openclaw", "it is OpenClaw's own"),
    told("SOUL.md", "changed", "it takes the place of Parley's default file"),
    left("apart", "it is apart"),
    told("folder.md", "refused", "something else has its name"),
    told("known-changed.md", "there", "it was carried before and changed since"),
    told("known-gone.md", "there", "it was carried before and removed since"),
    told("large.md", "refused", "it has 256 MB: copy it by hand, if it is wanted"),
    carried("largest.md"),
    left("link.md", "it is a link or no file, which is not followed"),
    told("memory/SOUL.md", "refused", "a file of this name says something else, which stays"),
    carried("memory/new.md"),
    carried("new.md"),
    left("node_modules", "packages are installed anew where they are needed"),
    told("other.md", "refused", "a file of this name says something else, which stays"),
    told("same.md", "there", "it is there already"),
  ]);
  expect(copies).toEqual(
    ["SOUL.md", "largest.md", "memory/new.md", "new.md"].map((name) => `from/${name} -> to/${name}`),
  );
  // Without default files none is replaced.
  expect(planned({ templates: null }).copies).not.toContain("from/SOUL.md -> to/SOUL.md");
});

test("a folder that somebody named is told where it is not there or no folder; others that are missing are not", () => {
  expect(planned()).toEqual({ copies: [], met: [] });
  const told = (why: string) => ({ copies: [], met: [["file", "from", "refused", null, why]] });
  expect(planned({ isExpected: true })).toEqual(told("the folder is not there: its files stay behind"));
  mkdirSync(at("real"));
  write(at("real/a.md"), "a");
  symlinkSync(at("real"), at("from"));
  expect(planned()).toEqual({ copies: [], met: [] });
  expect(planned({ isExpected: true })).toEqual(
    told("it is a link or no folder, which is not followed: name the folder that it leads to in the source"),
  );
});

test.skipIf(process.getuid?.() === 0)(
  "what this user may not read is told, a folder once, and the rest is carried",
  () => {
    for (const name of ["closed.md", "closed/a.md", "open.md"]) write(at("from", name), name);
    chmodSync(at("from/closed.md"), 0o000);
    chmodSync(at("from/closed"), 0o000);
    onTestFinished(() => chmodSync(at("from/closed"), 0o700));
    const why = "this user may not read it: run the import as the user whose files these are";
    expect(planned().met).toEqual([
      ["file", "from/closed", "refused", null, why],
      ["file", "from/closed.md", "refused", "to/closed.md", why],
      ["file", "from/open.md", "carried", "to/open.md", null],
    ]);
  },
);

test("a copy may be written by its user alone, runs where the source does, and leaves no draft, not even a killed import's", async () => {
  write(at("from/note.md"), "note");
  write(at("from/run.sh"), "run");
  chmodSync(at("from/note.md"), 0o444);
  chmodSync(at("from/run.sh"), 0o555);
  write(at("to/deep/.note.md.importing"), "half of a no");
  await copyFiles([
    { from: at("from/note.md"), to: at("to/deep/note.md") },
    { from: at("from/run.sh"), to: at("to/bin/run.sh") },
  ]);
  const mode = (path: string): number => statSync(path).mode & 0o777;
  expect([mode(at("to/deep/note.md")), mode(at("to/bin/run.sh")), mode(at("to/bin"))]).toEqual([
    0o600, 0o700, 0o700,
  ]);
  expect([readdirSync(at("to/deep")), readFileSync(at("to/deep/note.md"), "utf8")]).toEqual([
    ["note.md"],
    "note",
  ]);
  expect(existsSync(at("from/note.md"))).toBe(true);
});
