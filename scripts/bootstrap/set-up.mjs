// Brings what a command needs: tools, dependencies, the built web app. Each step is skipped when a content hash says it was done.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { filesBelow, hashOf } from "./hash.mjs";
import { alone } from "./lock.mjs";
import { at, bundledStamp, readyStamp, root, toolchain, toolchainBin, toolEnv } from "./places.mjs";
import { SetupProblem } from "./problem.mjs";

/** The Node that set-up brings where the host's is older than `nodeMin`, which is the first with stable type stripping and node:sqlite as we use it. */
export const nodePin = "24.21.0";
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
const areThere = (tools) => tools.every((tool) => textOf(toolStamp).split("\n").includes(tool));
const isPnpm = (tool) => tool.startsWith("pnpm@");
const toolsReady = () => areThere(wantedTools());
/** What only runs needs no pnpm, until a manifest changes. */
const runnerReady = () => areThere(wantedTools().filter((tool) => !isPnpm(tool)));

/** 68 MB that a checkout which only runs has no use for. */
function dropPnpm() {
  const folder = path.join(toolchain, "node_modules");
  writeFileSync(
    toolStamp,
    wantedTools()
      .filter((tool) => !isPnpm(tool))
      .join("\n"),
  );
  // Without its own list npm looks at what is there, the next time.
  for (const name of ["pnpm", "@pnpm", ".bin/pnpm", ".bin/pnpx", ".bin/pn", ".bin/pnx", ".package-lock.json"])
    rmSync(path.join(folder, name), { recursive: true, force: true });
}

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
  // Headers and manuals, 63 MB of the Node brought here: nothing is compiled against it.
  for (const name of readdirSync(path.join(toolchain, "node_modules")).filter((each) =>
    each.startsWith("node-"),
  ))
    for (const idle of ["include", "share"])
      rmSync(path.join(toolchain, "node_modules", name, idle), { recursive: true, force: true });
  writeFileSync(toolStamp, tools.join("\n"));
}

// 2. Dependencies.
const membersOf = (folder) =>
  existsSync(at(folder)) ? readdirSync(at(folder)).map((name) => `${folder}/${name}`) : [];
const manifests = () => {
  const members = ["apps", "packages"].flatMap(membersOf);
  const folders = [".", ...members.sort((a, b) => (a < b ? -1 : 1)), "config", "bench"];
  return ["pnpm-lock.yaml", "pnpm-workspace.yaml", ...folders.map((folder) => `${folder}/package.json`)];
};
const manifestHash = () => hashOf(manifests(), `${process.platform}-${process.arch}`);

/** The Node that runs the product: ours where it was brought, else the host's. */
const productNode = () =>
  existsSync(path.join(toolchainBin, "node")) ? path.join(toolchainBin, "node") : process.execPath;

/**
 * "run": what the daemon and the command line need, and what builds them; "all": also what they are developed and tested with. A
 * checkout that has all keeps it, whatever is asked.
 */
function levelFor(asked) {
  const [node, , had = "all"] = textOf(readyStamp).trimEnd().split("\n");
  if (asked === "all") return "all";
  if (node === "") return asked === "run" ? "run" : "all";
  return had;
}

function dependenciesReady(hash, level) {
  const [node, known, had = "all"] = textOf(readyStamp).trimEnd().split("\n");
  return known === hash && node === productNode() && (level === "run" || had === "all");
}

/** `asOf` is a moment before the manifests were read: bin/parley trusts the stamp only while nothing changed after it. */
function writeStamp(hash, level, asOf) {
  writeFileSync(readyStamp, `${productNode()}\n${hash}\n${level}\n`);
  utimesSync(readyStamp, asOf, asOf);
}

/** The root's own dependencies are what builds the page and the programs. */
const toRun = [".", "@parley/gateway...", "@parley/cli...", "@parley/web..."];

function installDependencies({ update, level }) {
  say("installing dependencies");
  must(
    path.join(toolchainBin, "pnpm"),
    [
      "install",
      update ? "--no-frozen-lockfile" : "--frozen-lockfile",
      "--config.confirmModulesPurge=false",
      ...(level === "run" ? ["--prod", ...toRun.map((members) => `--filter-prod=${members}`)] : []),
    ],
    {
      cwd: root,
      help: "If pnpm says that the lockfile is not up to date, a package.json changed: run `npm run setup -- --update` and commit pnpm-lock.yaml. Else check the network and run this again.",
    },
  );
}

/** 22 MB that lead from libraries to sources that are not here; without a `find` they stay. */
const dropMaps = () =>
  spawnSync("find", [at("node_modules/.pnpm"), "-type", "f", "-name", "*.map", "-delete"]);

// 3. The web app.
const webStamp = at("apps/web/dist/.built");
const webHash = () =>
  hashOf(["pnpm-lock.yaml", ...filesBelow("apps/web"), ...filesBelow("packages/protocol")]);
const webCanBuild = () =>
  JSON.parse(textOf(at("apps/web/package.json")) || "{}").scripts?.build !== undefined;
const webReady = () => !webCanBuild() || textOf(webStamp) === webHash();

function buildWeb() {
  say("building the web app");
  const asOf = new Date(Date.now() - 50);
  const hash = webHash();
  must(productNode(), [at("node_modules/vite/bin/vite.js"), "build"], {
    cwd: at("apps/web"),
    help: "The web app in apps/web does not build; the lines above say why.",
  });
  mkdirSync(path.dirname(webStamp), { recursive: true });
  writeFileSync(webStamp, hash);
  utimesSync(webStamp, asOf, asOf);
}

// 4. The programs, bundled.
const programsHash = () => {
  const sources = ["apps/gateway", "apps/cli", ...membersOf("packages")].flatMap((member) =>
    filesBelow(`${member}/src`),
  );
  return hashOf([
    "pnpm-lock.yaml",
    "package.json",
    "apps/cli/package.json",
    "scripts/bundle.mjs",
    ...sources,
  ]);
};

/** A bundle is an advantage, not a need: where it fails, bin/parley runs the sources. */
function bundlePrograms(hash, asOf) {
  say("bundling the programs");
  rmSync(bundledStamp, { force: true });
  try {
    must(productNode(), [at("scripts/bundle.mjs"), "--programs", toolchain], { cwd: root, help: "" });
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    say(`the programs are not bundled, they run from their sources: ${error.message}`);
    // Of a time before every source: no start tries again, the next set-up does.
    writeFileSync(bundledStamp, "failed");
    utimesSync(bundledStamp, 0, 0);
    return;
  }
  writeFileSync(bundledStamp, hash);
  utimesSync(bundledStamp, asOf, asOf);
}

/** Bundles what changed; where a start waits, only what was never bundled: sources that change again and again need not wait for it. */
function keepPrograms(want, asOf) {
  if (want === "none" || !existsSync(at("scripts/bundle.mjs"))) return;
  const known = textOf(bundledStamp);
  const hash = programsHash();
  if (known === hash) utimesSync(bundledStamp, asOf, asOf);
  else if (known === "" || want === "fresh") bundlePrograms(hash, asOf);
}

/**
 * Leaves everything in place that a command needs; a fraction of a second when there is nothing to do.
 * @param {{ web: boolean, update?: boolean, programs?: "none" | "any" | "fresh", dependencies?: "run" | "as before" | "all" }} wants `web`:
 * the built web app too; `update`: let the lockfile follow the manifests; `programs`: bundled ones, `any` even if sources changed since;
 * `dependencies`: `run` is enough to start, `as before` what the set-up before brought, all where there was none
 */
export function setUp({ web, update = false, programs = "none", dependencies = "all" }) {
  // File times come from a coarse clock; a little earlier is safe, a little later is not.
  const asOf = new Date(Date.now() - 50);
  const isThere = (level) =>
    (level === "run" ? runnerReady : toolsReady)() && dependenciesReady(manifestHash(), level);
  if (!update && isThere(levelFor(dependencies)) && (!web || webReady())) {
    // A manifest may have been touched without being changed: let bin/parley trust the stamp again.
    ownersOnly(() => {
      utimesSync(readyStamp, asOf, asOf);
      if (web && webCanBuild()) utimesSync(webStamp, asOf, asOf);
      if (programs !== "none") alone(path.join(toolchain, "lock"), () => keepPrograms(programs, asOf));
    });
    return;
  }
  const denied = ownersOnly(() =>
    alone(path.join(toolchain, "lock"), () => {
      // Only now: another one may have set up more meanwhile.
      const level = levelFor(dependencies);
      if (update || !isThere(level)) {
        if (!toolsReady()) bringTools();
        const begun = new Date(Date.now() - 50);
        installDependencies({ update, level });
        if (level === "run") dropMaps();
        writeStamp(manifestHash(), level, begun);
      }
      if (level === "run") dropPnpm();
      if (web && !webReady()) buildWeb();
      keepPrograms(programs, asOf);
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
