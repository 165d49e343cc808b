// Where set-up keeps things, and the environment in which the pinned tools run. Everything here is ignored by git.
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const at = (...parts) => path.join(root, ...parts);

export const toolchain = at(".toolchain");
export const toolchainBin = at(".toolchain/node_modules/.bin");

/** bin/parley reads this file: the first line is the Node to run, the second the content hash of the manifests. */
export const readyStamp = at("node_modules/.parley-ready");

/** The caller's environment with the pinned tools first on PATH. */
export function toolEnv() {
  return {
    ...process.env,
    PATH: [toolchainBin, at("node_modules/.bin"), process.env.PATH ?? ""].join(path.delimiter),
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? at(".toolchain/compile-cache"),
    TURBO_TELEMETRY_DISABLED: "1",
    DO_NOT_TRACK: "1",
  };
}

/** bin/parley runs the bundled programs while no source changed since this file's time; it holds the sources' content hash. */
export const bundledStamp = at(".toolchain/bundled");
