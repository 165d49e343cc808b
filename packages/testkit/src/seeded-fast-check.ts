// Replaces "fast-check" in tests: the library with one seed for every property, so that a run draws the same
// cases as the run before. vitest.config.ts puts it in place. PARLEY_SEED=<n> draws other cases,
// PARLEY_SEED=random new ones in each run; a failing property prints its seed.
import fc from "fast-check";

const asked = process.env["PARLEY_SEED"] ?? "1";
if (asked !== "random" && !/^-?\d{1,10}$/.test(asked))
  throw new Error(`PARLEY_SEED is ${asked}: write a number or "random"`);
if (asked !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(asked) });

/** @public Tests name it "fast-check", so knip sees no import of it. */
// oxlint-disable-next-line import/no-default-export -- tests import the library by its default export
export { fc as default };
