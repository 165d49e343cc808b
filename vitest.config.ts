// One run over every package; each is a project of its own, named like its package.
// Files named *.ci.test.ts take minutes together: CI runs them after `npm test`. *.long.test.ts take minutes each. Both need PARLEY_LONG=1.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { configDefaults, defineConfig } from "vitest/config";

const long = process.env["PARLEY_LONG"] === "1";
const folders = ["apps", "packages"].flatMap((parent) =>
  readdirSync(parent).map((name) => `${parent}/${name}`),
);

const testkit = `${import.meta.dirname}/packages/testkit/src`;
const seeded = `${testkit}/seeded-fast-check.ts`;

export default defineConfig({
  test: {
    // Most suites wait for processes and sockets: with one worker a core both cores stand idle a fifth of the time.
    maxWorkers: 3,
    // Ends what hangs; a busy machine must never fail a test that would have passed.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    exclude: [...configDefaults.exclude, ...(long ? [] : ["**/*.{ci,long}.test.ts"])],
    projects: [...folders, "config"]
      .filter((folder) => existsSync(`${folder}/package.json`))
      .map((folder) => ({
        extends: true,
        root: folder,
        plugins: [
          {
            name: "seeded-fast-check",
            enforce: "pre" as const,
            resolveId: (id: string, importer?: string) =>
              id === "fast-check" && importer !== seeded ? seeded : null,
          },
        ],
        test: {
          setupFiles: [`${testkit}/test-setup.ts`],
          name: JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).name as string,
          // A worker for each file costs half a second of it. The gateway's suites start daemons and browsers: they keep their own.
          isolate: folder === "apps/gateway",
        },
      })),
  },
});
