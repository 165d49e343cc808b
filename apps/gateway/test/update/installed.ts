// Two versions of Parley as people install them from a tarball: a bundle of this checkout under invented numbers, the second with a schema of
// its own, a folder of releases with both, and a gateway that a service manager would keep up.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
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
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../..", import.meta.url)).replace(/\/$/, "");
const platform = `${process.platform}-${process.arch}`;

export const older = "7.41.1";
export const newer = "7.41.2";

interface Trees {
  tarballTree(of: object): object[];
}
interface Archive {
  inOrder(entries: readonly object[]): object[];
  writeTarGz(path: string, entries: readonly object[], how: { readonly seconds: number }): Promise<void>;
}

export interface Installation {
  /** `update.url` of both releases. */
  readonly releases: string;
  readonly folder: string;
  /** The launcher. */
  readonly program: string;
  close(): void;
}

/** Builds both; takes a minute. */
export async function installation(): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), "parley-installed-"));
  const [first, second] = [join(folder, "bundle-1"), join(folder, "bundle-2")];
  await run(process.execPath, [join(root, "scripts/bundle.mjs"), first, "--version", older], { cwd: root });
  cpSync(first, second, { recursive: true, verbatimSymlinks: true });
  for (const path of [...sourcesIn(join(second, "apps")), join(second, "package.json")]) {
    const text = readFileSync(path, "utf8");
    const after = text
      .replaceAll(older, newer)
      // One more step of the schema.
      .replace(
        /(`insert into identity values \(lower\(hex\(randomblob\(16\)\)\)\)`\])/,
        "$1,[`create table later (n integer)`]",
      );
    if (after !== text) writeFileSync(path, after);
  }
  const releases = join(folder, "releases");
  await release(releases, first, older);
  await release(releases, second, newer);
  for (const bundle of [first, second]) rmSync(bundle, { recursive: true });
  const installed = join(folder, "parley");
  await run("tar", ["xzf", join(releases, older, `parley-${older}.tar.gz`), "-C", folder]);
  return {
    releases,
    folder: installed,
    program: join(installed, "bin/parley"),
    close: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".js"))
    .map((entry) => join(entry.parentPath, entry.name));
}

async function release(releases: string, bundle: string, version: string): Promise<void> {
  const module = async <T>(name: string): Promise<T> =>
    (await import(join(root, "scripts/release", name))) as T;
  const [{ tarballTree }, { inOrder, writeTarGz }] = await Promise.all([
    module<Trees>("trees.mjs"),
    module<Archive>("archive.mjs"),
  ]);
  const at = join(releases, version);
  // It runs the Node of the PATH.
  const node = join(at, "no-node");
  mkdirSync(node, { recursive: true });
  const facts = { kind: "tarball", version, commit: "0", platform };
  const name = `parley-${version}.tar.gz`;
  await writeTarGz(join(at, name), inOrder(tarballTree({ bundle, version, facts, node, platform })), {
    seconds: 1,
  });
  rmSync(node, { recursive: true });
  const bytes = readFileSync(join(at, name));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const files = [{ name, kind: "tarball", platform, bytes: bytes.length, sha256 }];
  const text = {
    format: 1,
    product: "parley",
    version,
    commit: "0",
    time: "2026-11-23T00:00:00Z",
    schema: 1,
    files,
  };
  writeFileSync(join(at, "release.json"), JSON.stringify(text));
}

export interface Kept {
  /** Runs `parley <argv>` of the version in force. */
  parley(...argv: readonly string[]): Ran;
  /** Of the gateway that runs; null when none does. */
  pid(): number | null;
  log(): string;
  /** Ends whatever runs, for good. */
  stop(): Promise<void>;
}

interface Ran {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

/** Starts the gateway whenever none runs, as a service manager does. */
export function keptUp({ program }: Pick<Installation, "program">, home: string): Kept {
  const env = {
    PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: home,
    PARLEY_HOME: home,
  };
  let log = "";
  let stopped = false;
  let running: ChildProcess | null = null;
  const pid = (): number | null => {
    try {
      const found = Number(readFileSync(join(home, "gateway-port"), "utf8").split(" ")[1]);
      process.kill(found, 0);
      return found;
    } catch {
      return null;
    }
  };
  const start = (): void => {
    if (stopped) return;
    const child = spawn(program, ["start"], { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
    running = child;
    for (const from of [child.stdout, child.stderr])
      from.on("data", (chunk: Buffer) => (log += chunk.toString()));
    child.once("exit", (code, signal) => {
      log += `\n[ended: ${code ?? signal}]\n`;
      setTimeout(start, 500);
    });
  };
  start();
  const parley = (...argv: readonly string[]): Ran => {
    const child = spawn(program, argv, { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    return {
      child,
      ended: once(child, "close").then(([code]) => ({ code: code as number | null, out, err })),
    };
  };
  return {
    parley,
    pid,
    log: () =>
      existsSync(join(home, "logs/start.log"))
        ? `${log}${readFileSync(join(home, "logs/start.log"), "utf8")}`
        : log,
    async stop() {
      stopped = true;
      await parley("stop").ended;
      running?.kill("SIGKILL");
    },
  };
}
