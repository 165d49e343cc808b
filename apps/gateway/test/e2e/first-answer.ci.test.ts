// A newcomer's first answer, by each way that Parley comes to a machine: a fresh clone with the host's own
// Node, a tarball and a Debian package without any Node, `npx parley start` in an empty folder, and the
// image's root. The release is made here, of what is committed. The times are printed, and nothing is asked
// of them.
import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { program } from "@parley/testkit";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually } from "./daemon.ts";
import { findableGateway } from "./operator.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const run = promisify(execFile);
const version = "1.2.3";
const release = mkdtempSync(join(tmpdir(), "parley-release-"));
afterAll(() => rmSync(release, { recursive: true, force: true }));

/** The host's own: what the checkout brought for itself is no newcomer's. */
const hostPath = (process.env["PATH"] ?? "").split(":").filter((folder) => !folder.startsWith(root));
const hostNpm = hostPath.find((folder) => existsSync(join(folder, "npm"))) ?? "";

let folder = "";
let child: ChildProcess | undefined;
let registry: Server | undefined;
afterEach(async () => {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // All of it has ended.
  }
  registry?.closeAllConnections();
  registry?.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** An empty home, and below it whatever the way needs. */
function emptyMachine(): { readonly home: string; readonly env: NodeJS.ProcessEnv } {
  folder = mkdtempSync(join(tmpdir(), "parley-first-"));
  const home = join(folder, "home");
  mkdirSync(home);
  return { home, env: { PATH: `${hostNpm}:/usr/bin:/bin`, HOME: home, npm_config_update_notifier: "false" } };
}

/** A machine on whose PATH is everything that Debian has, and no Node. */
function withoutNode(): ReturnType<typeof emptyMachine> {
  const { home, env } = emptyMachine();
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const name of readdirSync("/usr/bin"))
    if (!/^(?:node|nodejs|npm|npx|corepack|pnpm|yarn)$/.test(name))
      symlinkSync(join("/usr/bin", name), join(bin, name));
  expect(() =>
    execFileSync("/bin/sh", ["-c", "command -v node || command -v npm"], { env: { PATH: bin } }),
  ).toThrow();
  return { home, env: { ...env, PATH: bin } };
}

interface Way {
  readonly begunMs: number;
  readonly start: readonly [command: string, ...args: string[]];
  /** The command line; known only once the start has brought it. */
  parley(): readonly [command: string, ...args: string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Starts it, asks something, looks at the status, and stops it; prints when the answer was there. */
async function firstAnswer(name: string, { begunMs, start, parley, env, cwd }: Way): Promise<void> {
  const { gateway } = (await findableGateway()) as { readonly gateway: { readonly port: number } };
  const [command, ...args] = start;
  const started = spawn(command, [...args, "--port", String(gateway.port)], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child = started;
  let said = "";
  started.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  started.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const exited = once(started, "exit");
  await eventually(
    () => {
      if (started.exitCode !== null) throw new Error(`${name} ended: ${said}`);
      return said.includes("Parley is ready.");
    },
    300_000,
    `the start of ${name}`,
  );
  const [cli, ...before] = parley();
  const ask = async (...words: readonly string[]): Promise<string> =>
    (await run(cli, [...before, ...words], { cwd, env })).stdout;
  expect(await ask("send", "hello there")).toContain("(rehearsal) Hello!");
  console.log(`${name}: first answer after ${((performance.now() - begunMs) / 1000).toFixed(1)} s`);
  expect(JSON.parse(await ask("--json", "status"))).toMatchObject({
    state: "ok",
    model: "rehearsal/rehearsal",
    version: name.startsWith("a fresh clone") ? expect.any(String) : version,
  });
  expect(await ask("stop")).toContain("has stopped");
  expect(await exited).toEqual([0, null]);
}

let told = "";
beforeAll(async () => {
  const { stdout, stderr } = await run(
    process.execPath,
    [
      join(root, "scripts/release.mjs"),
      `--out=${release}`,
      `--version=${version}`,
      `--platforms=${process.platform}-${process.arch}`,
      "--allow-dirty",
    ],
    { cwd: root },
  );
  told = stdout + stderr;
}, 600_000);

function made(pattern: RegExp): string {
  const name = readdirSync(release).find((each) => pattern.test(each));
  if (name === undefined) throw new Error(`the release has nothing like ${String(pattern)}: ${told}`);
  return join(release, name);
}

test("from a fresh clone by npm start, which brings nothing for developers", async () => {
  const { home, env } = emptyMachine();
  const checkout = join(folder, "parley");
  const begunMs = performance.now();
  execFileSync("git", ["clone", "--quiet", root, checkout]);
  const node = execFileSync("node", ["--version"], { env, encoding: "utf8" }).trim();
  const parley = [join(checkout, "bin/parley")] as const;
  await firstAnswer(`a fresh clone, Node ${node}`, {
    begunMs,
    env,
    cwd: checkout,
    start: ["npm", "start", "--"],
    parley: () => parley,
  });
  expect(readdirSync(home)).toContain(".parley");
  expect(existsSync(join(checkout, "node_modules/vite"))).toBe(true);
  const installed = readdirSync(join(checkout, "node_modules/.pnpm"));
  expect(installed.filter((name) => /^(?:typescript|vitest|turbo|oxlint|knip)@/.test(name))).toEqual([]);
  expect(execFileSync("git", ["status", "--porcelain"], { cwd: checkout, encoding: "utf8" })).toBe("");
}, 600_000);

test("from the tarball, on a machine without Node", async () => {
  const { env, home } = withoutNode();
  const begunMs = performance.now();
  execFileSync("tar", ["xzf", made(/\.tar\.gz$/)], { cwd: folder });
  const parley = join(folder, "parley/bin/parley");
  await firstAnswer("the tarball, no Node", {
    begunMs,
    env,
    cwd: home,
    start: [parley, "start"],
    parley: () => [parley],
  });
}, 600_000);

/** A registry on this machine that has Parley; for everything else it names the one that npm uses. */
async function registryWithParley(): Promise<string> {
  const elsewhere = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  const packed = readFileSync(made(/\.tgz$/));
  const manifest = JSON.parse(
    execFileSync("tar", ["xzOf", made(/\.tgz$/), "package/package.json"], { encoding: "utf8" }),
  ) as object;
  const server = (registry = createServer(({ url = "/" }, response) => {
    if (url === "/parley.tgz") response.end(packed);
    else if (url === "/parley") {
      const dist = { tarball: `${address}/parley.tgz` };
      response.setHeader("content-type", "application/json");
      const versions = { [version]: { ...manifest, dist } };
      response.end(JSON.stringify({ name: "parley", "dist-tags": { latest: version }, versions }));
    } else response.writeHead(302, { location: new URL(url, elsewhere).href }).end();
  }).listen(0, "127.0.0.1"));
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return address;
}

test("by npx parley start in an empty folder, with the bundle's own native parts alone", async () => {
  const { env: host, home } = emptyMachine();
  const env = { ...host, npm_config_registry: await registryWithParley(), npm_config_yes: "true" };
  const empty = join(folder, "empty");
  mkdirSync(empty);
  const cached = (): string => {
    const [place = ""] = readdirSync(join(home, ".npm/_npx"));
    return join(home, ".npm/_npx", place, "node_modules");
  };
  const begunMs = performance.now();
  await firstAnswer("npx parley start", {
    begunMs,
    env,
    cwd: empty,
    start: ["npx", "parley", "start"],
    parley: () => [join(cached(), ".bin/parley")],
  });
  expect(readdirSync(empty)).toEqual([]);

  const files = readdirSync(cached(), { recursive: true, encoding: "utf8" });
  const owner = (file: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? "";
  const native = files.filter((file) => /\.(?:node|so)(?:\.|$)/.test(basename(file))).map(owner);
  const own = `${process.platform}-${process.arch}`;
  expect([...new Set(native)].toSorted()).toEqual([
    "@evan/opus",
    `@img/sharp-libvips-${own}`,
    `@img/sharp-${own}`,
    `@lydell/node-pty-${own}`,
  ]);
  const bytes = files.reduce((sum, file) => sum + lstatSync(join(cached(), file)).size, 0);
  console.log(`the npm package installed: ${(bytes / 1e6).toFixed(1)} MB`);
  expect(bytes).toBeLessThan(60e6);
}, 600_000);

test("from the Debian package, on a machine without Node, and its unit is one", async () => {
  const { env, home } = withoutNode();
  const [begunMs, there] = [performance.now(), join(folder, "root")];
  execFileSync("dpkg-deb", ["-x", made(/\.deb$/), there]);
  const parley = join(there, "usr/bin/parley");
  await firstAnswer("the Debian package, no Node", {
    begunMs,
    env,
    cwd: home,
    start: [parley, "start"],
    parley: () => [parley],
  });
  const unit = join(folder, "parley.service");
  const text = readFileSync(join(there, "lib/systemd/system/parley.service"), "utf8");
  expect(text).toContain("ExecStart=/usr/bin/parley start\n");
  writeFileSync(unit, text.replace("ExecStart=/usr/bin/parley", `ExecStart=${parley}`));
  const analyze = program("systemd-analyze");
  if ("path" in analyze)
    expect(await run(analyze.path, ["verify", "--man=no", unit])).toMatchObject({ stderr: "" });
}, 600_000);

test.skipIf(process.getuid?.() !== 0)(
  "from the image, in its own root (only root may change it)",
  async () => {
    const { env } = emptyMachine();
    const [begunMs, there, layout] = [performance.now(), join(folder, "root"), made(/-oci$/)];
    mkdirSync(there);
    const blob = (digest: string): string => join(layout, "blobs", digest.replace(":", "/"));
    const read = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));
    const index = read(join(layout, "index.json")) as {
      readonly manifests: readonly [{ readonly digest: string }];
    };
    const { config, layers } = read(blob(index.manifests[0].digest)) as {
      readonly config: { readonly digest: string };
      readonly layers: readonly { readonly digest: string }[];
    };
    for (const { digest } of layers) execFileSync("tar", ["xzf", blob(digest), "-C", there]);
    const { config: how } = read(blob(config.digest)) as {
      readonly config: {
        readonly Env: readonly string[];
        readonly Entrypoint: readonly string[];
        readonly User: string;
      };
    };
    const inside = ["chroot", `--userspec=${how.User}`, there] as const;
    const ofImage = Object.fromEntries(how.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    await firstAnswer("the image", {
      begunMs,
      env: { ...env, ...ofImage },
      cwd: folder,
      start: [...inside, ...how.Entrypoint, "start"],
      parley: () => [...inside, "/usr/local/bin/parley"],
    });
    // The C library's parts that they are linked with, and the shell's programs.
    const natives = `const { default: sharp } = await import("sharp");
    const png = await sharp({ create: { width: 9, height: 9, channels: 3, background: "red" } }).png().toBuffer();
    const { Encoder } = await import("@evan/opus");
    const sound = new Encoder({ channels: 1, sample_rate: 48000, application: "voip" }).encode(new Uint8Array(1920));
    const { spawn } = await import("@lydell/node-pty");
    console.log(png.length > 50, sound.length > 0, typeof spawn);`;
    const script = `cd /app && node --input-type=module -e "$0" | awk '{ print $1, $2, $3 }'`;
    const { stdout } = await run("chroot", [there, "/bin/sh", "-c", script, natives], {
      env: { ...env, ...ofImage },
    });
    expect(stdout).toBe("true true function\n");
  },
  600_000,
);
