// Brings what a command needs: tools, dependencies, the built web app. Each step is skipped when a content hash says it was done.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { filesBelow, hashOf } from "./hash.mjs";
import { alone } from "./lock.mjs";
import { at, readyStamp, root, toolchain, toolchainBin, toolEnv } from "./places.mjs";
import { SetupProblem } from "./problem.mjs";

/** The Node that set-up brings where the host's is older than `nodeMin`, which is the first with stable type stripping and node:sqlite as we use it. */
const nodePin = "24.21.0";
const nodeMin = [24, 11];

const say = (text) => console.error(`[setup] ${text}`);
const textOf = (file) => (existsSync(file) ? readFileSync(file, "utf8") : "");

/** Runs a command quietly; its output is shown only when it fails, followed by what to do. */
function must(command, args, { cwd, help }) {
  const run = spawnSync(command, args, {
    cwd,
    env: toolEnv(),
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (run.status === 0) return;
  process.stderr.write((run.stdout ?? "") + (run.stderr ?? ""));
  const why = run.error ? run.error.message : `ended with ${run.status ?? run.signal}`;
  throw new SetupProblem(
    `"${[path.basename(command), ...args.filter((arg) => !arg.startsWith("-"))].join(" ")}" ${why}. ${help}`,
  );
}

// 1. Tools.
const toolStamp = path.join(toolchain, "stamp");

function nodePackage() {
  // The registry carries Node for Apple silicon under another name.
  const name = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  return `${name}-${process.platform}-${process.arch}@${nodePin}`;
}

function hostNodeWillDo() {
  // A command run by our own Node must go on wanting it, or npm would remove it as superfluous.
  if (process.execPath.startsWith(toolchain)) return false;
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1]);
}

function wantedTools() {
  const pnpm = JSON.parse(textOf(at("package.json"))).packageManager.split("+")[0];
  return hostNodeWillDo() ? [pnpm] : [pnpm, nodePackage()];
}

// More than is wanted will do: a host that got a newer Node wants less than before.
const toolsReady = () => wantedTools().every((tool) => textOf(toolStamp).split("\n").includes(tool));

function bringTools() {
  const tools = wantedTools();
  say(`bringing ${tools.join(" and ")} into .toolchain/`);
  mkdirSync(toolchain, { recursive: true });
  writeFileSync(path.join(toolchain, "package.json"), '{"private":true}\n');
  // No lockfile: the registry need not carry the packages of every platform, and the versions are exact anyway.
  const quiet = [
    "--no-save",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "--ignore-scripts=false",
  ];
  // npm's own patience is minutes for each of dozens of requests; without a network a person should hear of it soon.
  const brief = [
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=2000",
    "--no-update-notifier",
  ];
  must("npm", ["install", ...quiet, ...brief, ...tools], {
    cwd: toolchain,
    help: "The first set-up needs npm and a way to its registry: try `npm ping`, then run this again. With Node 24.11 or newer on the PATH only pnpm is fetched.",
  });
  writeFileSync(toolStamp, tools.join("\n"));
}

// 2. Dependencies.
const manifests = () => {
  const members = ["apps", "packages"].flatMap((folder) =>
    existsSync(at(folder)) ? readdirSync(at(folder)).map((name) => `${folder}/${name}`) : [],
  );
  const folders = [".", ...members.sort((a, b) => (a < b ? -1 : 1)), "config", "bench"];
  return ["pnpm-lock.yaml", "pnpm-workspace.yaml", ...folders.map((folder) => `${folder}/package.json`)];
};
const manifestHash = () => hashOf(manifests(), `${process.platform}-${process.arch}`);

/** The Node that runs the product: ours where it was brought, else the host's. */
const productNode = () =>
  existsSync(path.join(toolchainBin, "node")) ? path.join(toolchainBin, "node") : process.execPath;

function dependenciesReady(hash) {
  const [node, known] = textOf(readyStamp).split("\n");
  return known === hash && node === productNode();
}

/** `asOf` is a moment before the manifests were read: bin/parley trusts the stamp only while nothing changed after it. */
function writeStamp(hash, asOf) {
  writeFileSync(readyStamp, `${productNode()}\n${hash}\n`);
  utimesSync(readyStamp, asOf, asOf);
}

function installDependencies(update) {
  say("installing dependencies");
  must(
    path.join(toolchainBin, "pnpm"),
    ["install", update ? "--no-frozen-lockfile" : "--frozen-lockfile", "--config.confirmModulesPurge=false"],
    {
      cwd: root,
      help: "If pnpm says that the lockfile is not up to date, a package.json changed: run `npm run setup -- --update` and commit pnpm-lock.yaml. Else check the network and run this again.",
    },
  );
}

// 3. The web app.
const webStamp = at("apps/web/dist/.built");
const webHash = () =>
  hashOf(["pnpm-lock.yaml", ...filesBelow("apps/web"), ...filesBelow("packages/protocol")]);
const webCanBuild = () =>
  JSON.parse(textOf(at("apps/web/package.json")) || "{}").scripts?.build !== undefined;
const webReady = () => !webCanBuild() || textOf(webStamp) === webHash();

function buildWeb() {
  say("building the web app");
  const hash = webHash();
  must(path.join(toolchainBin, "pnpm"), ["--dir", "apps/web", "run", "build"], {
    cwd: root,
    help: "The web app in apps/web does not build; the lines above say why.",
  });
  mkdirSync(path.dirname(webStamp), { recursive: true });
  writeFileSync(webStamp, hash);
}

/**
 * Leaves everything in place that a command needs; a fraction of a second when there is nothing to do.
 * @param {{ web: boolean, update?: boolean }} wants `web`: the built web app too; `update`: let the lockfile follow the manifests
 */
export function setUp({ web, update = false }) {
  // File times come from a coarse clock; a little earlier is safe, a little later is not.
  const asOf = new Date(Date.now() - 50);
  const hash = manifestHash();
  if (!update && toolsReady() && dependenciesReady(hash) && (!web || webReady())) {
    // A manifest may have been touched without being changed: let bin/parley trust the stamp again.
    ownersOnly(() => utimesSync(readyStamp, asOf, asOf));
    return;
  }
  const denied = ownersOnly(() =>
    alone(path.join(toolchain, "lock"), () => {
      if (!toolsReady()) bringTools();
      if (update || !dependenciesReady(manifestHash())) {
        const begun = new Date(Date.now() - 50);
        installDependencies(update);
        writeStamp(manifestHash(), begun);
      }
      if (web && !webReady()) buildWeb();
    }),
  );
  if (denied !== null)
    throw new SetupProblem(
      `${root} is not set up for what it now holds, and this user may not write there (${denied}). Run \`npm run setup\` there as its owner, then run this again.`,
    );
}

/** A service may run a checkout of somebody else, or one that is mounted to be read only: returns the refusal's code, null when all went well. */
function ownersOnly(work) {
  try {
    work();
    return null;
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error;
    return error.code;
  }
}
