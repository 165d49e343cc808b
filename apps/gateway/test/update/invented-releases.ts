// Releases under invented numbers, made of one bundle of this checkout in the form that `npm run release`
// gives them, and their installations. A release may be sick: die at its start, die after a while, or change
// the database's schema.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../..", import.meta.url)).replace(/\/$/, "");
const platform = `${process.platform}-${process.arch}`;

interface Sickness {
  /** The daemon ends with 1 after so long. */
  readonly diesAfterMs?: number;
  /** Its daemon never listens, and its process stays. */
  readonly hangs?: boolean;
  /** It writes a database that versions without it do not know. */
  readonly newSchema?: boolean;
  /** Its rows have fields that versions without it do not know. */
  readonly moreFields?: boolean;
}

export interface InventedReleases {
  /** `update.url`: a folder with a release each. */
  readonly folder: string;
  add(version: string, sickness?: Sickness, kinds?: readonly Kind[]): Promise<void>;
  /** Returns the launcher. */
  install(kind: Kind, version: string): Promise<string>;
  close(): void;
}

export type Kind = "tarball" | "npm";

interface Entries {
  tarballTree(of: object): object[];
  npmTree(of: object): object[];
}
interface Archives {
  inOrder(entries: readonly object[]): { readonly kind: string }[];
  writeTarGz(path: string, entries: readonly object[], how: { readonly seconds: number }): Promise<void>;
}
interface Schema {
  readonly migrations: readonly (readonly string[])[];
}

const part = async <T>(path: string): Promise<T> => (await import(join(root, path))) as T;

/** Builds the bundle, unless this run has one. */
export async function inventedReleases(): Promise<InventedReleases> {
  const work = mkdtempSync(join(tmpdir(), "parley-invented-"));
  const folder = join(work, "releases");
  const built = dirname(process.env["PARLEY_TEST_BUNDLE"] ?? "/nowhere/apps");
  const bundle = existsSync(join(built, "bin/parley")) ? built : join(work, "bundle");
  if (bundle !== built)
    await run(process.execPath, [join(root, "scripts/bundle.mjs"), bundle], { cwd: root });
  const { version: own } = JSON.parse(readFileSync(join(bundle, "package.json"), "utf8")) as {
    version: string;
  };
  const { migrations } = await part<Schema>("packages/store/src/sqlite/schema.ts");
  const lastStep = `${migrations.at(-1)?.at(-1) ?? ""}\`]]`;

  /** A copy of the bundle without what only pictures, sound and pages need. */
  function tree(version: string, { diesAfterMs, hangs, newSchema, moreFields }: Sickness): string {
    const to = join(work, "trees", version);
    const skipped = /^\/(?:node_modules|docs)(?:\/|$)/;
    cpSync(bundle, to, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (from) => !skipped.test(from.slice(bundle.length)),
    });
    let steps = 0;
    for (const path of programFiles(to)) {
      const text = readFileSync(path, "utf8");
      let changed = text.replaceAll(`\`${own}\``, `\`${version}\``).replaceAll(`"${own}"`, `"${version}"`);
      if (newSchema === true && changed.includes(lastStep)) {
        steps += 1;
        changed = changed.replace(
          lastStep,
          () => `${lastStep.slice(0, -1)},[\`create table later (n integer)\`]]`,
        );
      }
      if (changed !== text) writeFileSync(path, changed);
    }
    if (newSchema === true && steps === 0) throw new Error("the bundle has its schema in another form");
    const main = join(to, "apps/gateway/src/main.js");
    const isDaemon = `!process.argv.includes("--database-job")`;
    const sick = [
      ...(diesAfterMs === undefined
        ? []
        : [`if (${isDaemon}) setTimeout(() => process.exit(1), ${diesAfterMs});`]),
      ...(hangs === true
        ? [`if (${isDaemon}) await new Promise((wake) => setTimeout(wake, 3_600_000));`]
        : []),
      ...(moreFields === true ? [withMoreFields] : []),
    ];
    writeFileSync(main, `${sick.join("\n")}\n${readFileSync(main, "utf8")}`);
    return to;
  }

  async function archive(kind: Kind, version: string, from: string): Promise<object> {
    const [entries, archives] = await Promise.all([
      part<Entries>("scripts/release/trees.mjs"),
      part<Archives>("scripts/release/archive.mjs"),
    ]);
    // It runs the Node of the PATH.
    const node = join(work, "no-node");
    mkdirSync(node, { recursive: true });
    const facts = { kind, version, commit: "0", ...(kind === "npm" ? {} : { platform }) };
    const made = { bundle: from, version, facts, node, platform };
    const natives = { versionOf: () => "0.0.0" };
    const lists =
      kind === "tarball"
        ? archives.inOrder(entries.tarballTree(made))
        : archives
            .inOrder(
              entries.npmTree({
                ...made,
                lock: natives,
                nodePackages: {},
                nodeVersion: "24",
                here: join(root, "scripts/release"),
                manifest: { description: "invented", license: "MIT" },
              }),
            )
            .filter((entry) => entry.kind === "file");
    const name = kind === "npm" ? `parley-${version}.tgz` : `parley-${version}-${platform}.tar.gz`;
    const at = join(folder, version);
    mkdirSync(at, { recursive: true });
    await archives.writeTarGz(join(at, name), lists, { seconds: 1 });
    const bytes = readFileSync(join(at, name));
    return {
      name,
      kind,
      ...(kind === "npm" ? {} : { platform }),
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    };
  }

  return {
    folder,
    async add(version, sickness = {}, kinds = ["tarball"]) {
      const from = tree(version, sickness);
      const files: object[] = [];
      for (const kind of kinds) files.push(await archive(kind, version, from));
      rmSync(from, { recursive: true });
      const facts = { format: 1, product: "parley", version, commit: "0", time: "2026-11-23T00:00:00Z" };
      writeFileSync(join(folder, version, "release.json"), JSON.stringify({ ...facts, schema: 1, files }));
    },
    async install(kind, version) {
      const to = mkdtempSync(join(work, "installed-"));
      const name = kind === "npm" ? `parley-${version}.tgz` : `parley-${version}-${platform}.tar.gz`;
      const place = kind === "npm" ? join(to, "lib/node_modules/parley") : join(to, "parley");
      mkdirSync(place, { recursive: true });
      await run("tar", ["xzf", join(folder, version, name), "--strip-components=1", "-C", place]);
      if (kind === "npm") placeNatives(place);
      return join(place, "bin/parley");
    },
    close: () => rmSync(work, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/**
 * What npm brings beside the package: of the version that every release names, so that no update asks a
 * registry.
 */
function placeNatives(place: string): void {
  const { dependencies } = JSON.parse(readFileSync(join(place, "package.json"), "utf8")) as {
    readonly dependencies: { readonly [name: string]: string };
  };
  for (const [name, version] of Object.entries(dependencies)) {
    mkdirSync(join(place, "node_modules", name), { recursive: true });
    writeFileSync(join(place, "node_modules", name, "package.json"), JSON.stringify({ name, version }));
  }
}

/** A program's text: rows get fields wherever they are written. */
const withMoreFields = `const plainly = JSON.stringify;
JSON.stringify = (value, ...rest) =>
  value?.v === 1 && value.inbound !== undefined
    ? plainly({ ...value, later: { n: 1 }, inbound: { ...value.inbound, later: ["x"] } }, ...rest)
    : plainly(value, ...rest);`;

function programFiles(folder: string): readonly string[] {
  const programs = readdirSync(join(folder, "apps"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(?!.*\/web\/).*\.js$/.test(join(entry.parentPath, entry.name)))
    .map((entry) => join(entry.parentPath, entry.name));
  return [...programs, join(folder, "package.json")];
}
