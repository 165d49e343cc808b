// Runs in each test worker before anything else (vitest.config.ts): whoever imports "fast-check" gets the one
// that draws under a seed.
import { registerHooks } from "node:module";

const seeded = new URL("./seeded-fast-check.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "fast-check" && context.parentURL !== seeded
      ? { url: seeded, format: "module-typescript", shortCircuit: true }
      : next(specifier, context),
});
