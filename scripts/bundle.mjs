// Makes `bundle/`: the daemon, the command line and what they need beside them, for an image or a machine without this checkout. Two
// programs, each in one folder, in the same places relative to each other as here. Needs the set-up, and the web page built.
//   node scripts/bundle.mjs [folder] [--version V]
//   node scripts/bundle.mjs --programs <folder of this checkout>: the two programs alone, which find the rest in this checkout
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";
import { shortenPlaywright } from "./release/short-playwright.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({
  options: { programs: { type: "string" }, version: { type: "string" } },
  allowPositionals: true,
});
const out = resolve(values.programs ?? positionals[0] ?? join(root, "bundle"));
const version = values.version ?? JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
/** Where a program goes: as deep below its root as its sources are below this one's. */
const folderOf = (app) => join(out, ...(values.programs === undefined ? ["apps"] : []), app, "src");

const leastNode = 24;
const tooOld = (found) =>
  `this needs Node ${leastNode} or newer, and the one on the PATH is ${found} (https://nodejs.org)`;

/**
 * By the package that uses them: prebuilt binaries and programs of their own, which no bundler packs. `optional`: what libraries use
 * only where somebody installed it.
 */
const packages = {
  "@lydell/node-pty": "packages/tools",
  "playwright-core": "packages/browser",
  sharp: "packages/media",
  "@evan/opus": "packages/media",
};
const beside = Object.keys(packages);
const optional = [
  "zlib-sync",
  "bufferutil",
  "utf-8-validate",
  "pg",
  "redis",
  "bullmq-otel",
  "msgpackr-extract",
  // linkedom draws on it, unpdf draws pages with it; we do neither.
  "canvas",
  "@napi-rs/canvas",
];

/**
 * What is of no use to a program: types, sources in C++, twins for `require`, tests; of playwright its recorder, trace viewer, own
 * command line, and WebP.
 */
const idle =
  /\.d\.[cm]?ts$|\.map$|\/sharp\/(?:src(?:\/|$)|dist\/\w+\.cjs$)|\/opus\/tests(?:\/|$)|\/playwright-core\/(?:lib\/(?:vite|tools|webp_codec\.wasm)|types)(?:\/|$)/;

/** Shorter by a third, with the names that traces of errors show. */
const minify = { compress: true, mangle: { keepNames: true } };

/** A release has its own number: what the program says of itself comes from these manifests. */
const ownManifest = new RegExp(`^${RegExp.escape(root)}(?:apps/cli/)?package\\.json$`);
const ownVersion = {
  name: "own-version",
  load: (id) =>
    ownManifest.test(id) ? JSON.stringify({ ...JSON.parse(readFileSync(id, "utf8")), version }) : null,
};

/** gray-matter brings a YAML engine that ours always stands in for (decision 0006): 1.3 MB of every daemon's memory. */
const unusedYaml = {
  name: "unused-yaml",
  resolveId: (id) => (id === "js-yaml" ? "\0unused-yaml" : null),
  load: (id) =>
    id === "\0unused-yaml"
      ? 'const unused = () => { throw new Error("this engine is not used"); }; module.exports = { safeLoad: unused, safeDump: unused };'
      : null,
};

/**
 * An import of node:http as a module reads all that it exports, WebSocket among it, for which Node loads its own undici: 55 ms of CPU at
 * each start. Asked for as a builtin, it is read name by name.
 */
const leanHttp = {
  name: "lean-http",
  resolveId: (id, _importer, { kind }) =>
    /^(?:node:)?https?$/.test(id) && kind === "import-statement" ? `\0lean:${id.replace("node:", "")}` : null,
  load(id) {
    const name = /^\0lean:(.*)/.exec(id)?.[1];
    if (name === undefined) return null;
    const members = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name)));
    const names = members.flatMap(([key, member]) => ("value" in member ? [key] : []));
    return `const it = process.getBuiltinModule("node:${name}");
export default it;
${names.map((key) => `export const ${key} = it.${key};`).join("\n")}`;
  },
};

/**
 * A chunk in which text is evaluated in its own scope keeps all names as long as they are written. Shards of
 * discord.js and the scripts of gray-matter do that, which nobody here uses.
 */
const ownEval = {
  name: "own-eval",
  transform: (code, id) =>
    /\/(?:discord\.js|gray-matter)\//.test(id) && /\breturn eval\(/.test(code)
      ? code.replaceAll(/\breturn eval\(/g, "return globalThis.eval(")
      : null,
};

/** Doubles for tests, WebSocket and EventSource of undici: only its index names them, and we use others. */
const unusedUndici = {
  name: "unused-undici",
  load: (id) =>
    /\/undici\/lib\/(?:mock|web\/(?:websocket|eventsource))\//.test(id) ? "module.exports = {};" : null,
};

/** BullMQ's scripts for Redis carry their comments and indents: half of their text. */
const shortScripts = {
  name: "short-scripts",
  transform: (code, id) =>
    /\/bullmq\/dist\/\w+\/scripts\/[\w-]+\.js$/.test(id) ? code.replaceAll(/`[^`]*`/g, shortLua) : null,
};
const shortLua = (lua) =>
  lua
    .replaceAll(/--\[\[[^]*?\]\]/g, "")
    .replaceAll(/^[ \t]*--.*$/gm, "")
    .replaceAll(/\n\s+/g, "\n");

if (values.programs === undefined) rmSync(out, { recursive: true, force: true });
for (const app of ["gateway", "cli"]) {
  const main = join(root, "apps", app, "src", "main.ts");
  const bundle = await rolldown({
    // The processes that read pages, keep memory and run hooks are started by their paths: files of their own beside the daemon's.
    input:
      app === "gateway"
        ? {
            program: main,
            "page-worker": join(root, "packages/egress/src/page-worker.ts"),
            "sound-worker": join(root, "packages/media/src/sound-worker.ts"),
            "picture-worker": join(root, "packages/media/src/picture-worker.ts"),
            "memory-worker": join(root, "packages/memory/src/memory-worker.ts"),
            "hook-child": join(root, "apps/gateway/src/hooks/hook-child.ts"),
          }
        : { program: main },
    platform: "node",
    // The binaries of a package beside have its name with the machine's behind it; "redis-errors" is no part of "redis".
    external: (id) =>
      [...beside, ...optional].some((name) => id === name || id.startsWith(`${name}/`)) ||
      beside.some((name) => id.startsWith(`${name}-`)),
    plugins: [ownVersion, unusedYaml, leanHttp, unusedUndici, ownEval, shortScripts],
  });
  const keptSinceMs = values.programs === undefined ? 0 : writtenMs(join(folderOf(app), "main.js")) - 600_000;
  const { output } = await bundle.write({
    dir: folderOf(app),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    minify,
    sourcemap: false,
  });
  await bundle.close();
  const written = output.map(({ fileName }) => fileName);
  for (const name of written) inOneByteText(join(folderOf(app), name));
  // A daemon that runs loads parts as it needs them: those of the bundling before stay.
  for (const name of readdirSync(folderOf(app)))
    if (!written.includes(name) && writtenMs(join(folderOf(app), name)) < keptSinceMs)
      rmSync(join(folderOf(app), name));
  // A Node that is too old fails in reading the program, before a line of it could say why.
  writeFileSync(
    join(folderOf(app), "main.js"),
    `if (Number(process.versions.node.split(".")[0]) < ${leastNode}) {
  console.error(\`parley: ${tooOld("${process.versions.node}")}\`);
  process.exit(78);
}
await import("./program.js");
`,
  );
}
if (values.programs !== undefined) {
  for (const app of ["gateway", "cli"])
    writeFileSync(join(out, app, "package.json"), JSON.stringify({ type: "module" }));
  for (const [name, user] of Object.entries(packages)) link(name, user);
  process.exit(0);
}
for (const folder of ["config/templates", "config/skills", "config/hooks", "docs", "apps/web/dist"]) {
  if (!existsSync(join(root, folder))) continue;
  // The set-up's stamp is of no use without the set-up.
  const filter = (from) => basename(from) !== ".built";
  cpSync(join(root, folder), join(out, folder), { recursive: true, filter });
}
packPage(join(out, "apps/web/dist"));
for (const file of ["LICENSE", "README.md"]) cpSync(join(root, file), join(out, file));
for (const name of beside) copyPackage(name);
writeFileSync(
  join(out, "package.json"),
  `${JSON.stringify({ name: "parley", version, private: true, type: "module" }, null, 2)}\n`,
);
mkdirSync(join(out, "bin"));
writeFileSync(
  join(out, "bin/parley"),
  `#!/bin/sh
# \`parley <command>\` from a bundle; without a command, or with \`start\`, the daemon. A Node that lies in node/ is used, else the PATH's.
here=$(readlink -f -- "$0") && root=\${here%/bin/parley} || exit 1
node=$root/node/bin/node
if [ ! -x "$node" ]; then
  node=node
  found=$(node --version) || { echo "parley: there is no Node on the PATH: install Node ${leastNode} or newer (https://nodejs.org)" >&2; exit 78; }
  major=\${found#v} && major=\${major%%.*}
  if [ "$major" -lt ${leastNode} ]; then
    [ -e "$root/bin/bring-node.mjs" ] || { echo "parley: ${tooOld("$found")}" >&2; exit 78; }
    # Installed from npm: npm brings a Node that is new enough, once.
    node=$(node "$root/bin/bring-node.mjs") || exit 78
  fi
fi
if [ "\${1-start}" = start ]; then
  [ $# -eq 0 ] || shift
  # What a restart in place runs: of versions beside each other, the one that is current then.
  case $root in
  */versions/*) export PARLEY_LAUNCHER="\${root%/versions/*}/bin/parley" ;;
  *) export PARLEY_LAUNCHER="$root/bin/parley" ;;
  esac
  export MALLOC_ARENA_MAX="\${MALLOC_ARENA_MAX:-1}"
  exec "$node" --disable-sigusr1 --max-semi-space-size=2 --max-old-space-size=512 "$root/apps/gateway/src/main.js" "$@"
fi
exec "$node" --disable-sigusr1 "$root/apps/cli/src/main.js" "$@"
`,
);
chmodSync(join(out, "bin/parley"), 0o755);
console.log(out);

/**
 * One character above U+00FF makes V8 keep two bytes for each one of the file; an escape of it means the same, also in the `String.raw` of
 * a regular expression, which is all that ours hold.
 */
function inOneByteText(file) {
  const code = readFileSync(file, "utf8")
    // A key beyond U+FFFF is no name in two escapes.
    .replaceAll(/(?<=[{,])(\p{ID_Start})(?=:)/gu, (key) => (key.length > 1 ? `"${key}"` : key))
    .replaceAll(/(\\*)([^\0-\xff])/g, (_, slashes, unit) => {
      // An odd backslash stands before a character that means itself.
      const kept = slashes.length % 2 === 0 ? slashes : slashes.slice(1);
      return `${kept}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  writeFileSync(file, code);
}

/** 0 for a file that is not there. */
function writtenMs(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Browsers take the page compressed, and the gateway sends what lies there: a fourth of its size. */
function packPage(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = join(folder, name);
    if (!/\.(?:js|css|svg|html|webmanifest)$/.test(name) || statSync(file).size < 4_096) continue;
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
    rmSync(file);
  }
}

/** The programs of a checkout find packages where their users have them. */
function link(name, user) {
  const to = join(out, "gateway/node_modules", name);
  mkdirSync(dirname(to), { recursive: true });
  rmSync(to, { force: true });
  symlinkSync(relative(dirname(to), join(root, user, "node_modules", name)), to);
}

/** With what it needs, among it the binaries for this kind of machine. */
function copyPackage(name) {
  const from = realpathSync(join(root, packages[name], "node_modules", name));
  copy(from, name);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  // pnpm puts what a package needs beside it; binaries for other kinds of machines are not there.
  const beside = join(from, ...name.split("/").map(() => ".."));
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) {
    if (existsSync(join(beside, needed))) copy(realpathSync(join(beside, needed)), needed);
  }
}

function copy(from, name) {
  const to = join(out, "node_modules", name);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, dereference: true, filter: (path) => !idle.test(path) });
  if (name === "playwright-core") shortenPlaywright(to);
}
