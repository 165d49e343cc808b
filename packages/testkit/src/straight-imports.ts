// Resolves imports among our own files by their words alone, before Vitest's hook hears of them: that one
// tells Vitest's main process of every import of every file, thousands for each worker, and only a run that
// watches for changes makes use of it. So a run that watches is left alone.
import { registerHooks } from "node:module";

/** By name: all of ours come from one place, whoever imports them. */
const packages = new Map<string, string>();

const isOurs = (parent: string | undefined): parent is string =>
  parent?.startsWith("file:") === true && !parent.includes("/node_modules/");

if (process.env["VITEST_MODE"] === "RUN")
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (!isOurs(parentURL)) return next(specifier, context);
      if (specifier.startsWith("node:")) return { url: specifier, format: "builtin", shortCircuit: true };
      if (/^\.\.?\/.*\.ts$/.test(specifier)) {
        const url = new URL(specifier, parentURL).href;
        return { url, format: "module-typescript", shortCircuit: true };
      }
      if (!specifier.startsWith("@parley/")) return next(specifier, context);
      const known = packages.get(specifier);
      if (known !== undefined) return { url: known, format: "module-typescript", shortCircuit: true };
      const found = next(specifier, context);
      if (found.url.endsWith(".ts")) packages.set(specifier, found.url);
      return found;
    },
  });
