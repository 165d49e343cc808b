// One run over every package; each is a project of its own, named like its package.
// Files named *.ci.test.ts take minutes together: CI runs them after `npm test`. *.long.test.ts take minutes each. Both need PARLEY_LONG=1.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const long = process.env["PARLEY_LONG"] === "1";
const folders = ["apps", "packages"].flatMap((parent) =>
  readdirSync(parent).map((name) => `${parent}/${name}`),
);

const testkit = `${import.meta.dirname}/packages/testkit/src`;
const seeded = `${testkit}/seeded-fast-check.ts`;
const isPage = (folder: string): boolean => folder === "apps/web";

/** What seeded-hook.ts does, for sources that Vite loads. */
const seededFastCheck = {
  name: "seeded-fast-check",
  enforce: "pre" as const,
  resolveId: (id: string, importer?: string) => (id === "fast-check" && importer !== seeded ? seeded : null),
};

/** Suites whose files are short and whose runs are not: by its size vitest would begin them last, and one core would wait. */
const begunFirst = [
  "e2e/first-answer.ci.",
  "crash/hops.ci.",
  "update/mixed-versions.ci.",
  "update/update-traffic.ci.",
  "update/asked-by-agent.ci.",
  "crash/slow-model.ci.",
  "crash/traffic.ci.",
  "prompt/prompt-claims.ci.",
  "message-path/keyed-effects.ci.",
  "cluster/chaos.ci.",
  "sim/planted.ci.",
  "sim/simulate.",
  "sim/simulate-nodes.",
  "crash/hops.",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = begunFirst.findIndex((words) => moduleId.includes(words));
      return at === -1 ? begunFirst.length : at;
    };
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => rank(a) - rank(b)),
    );
  }
}

export default defineConfig({
  test: {
    // Most suites wait for processes and sockets: with one worker a core both cores stand idle a fifth of the time. The longer tier waits more.
    maxWorkers: long ? 4 : 3,
    sequence: { sequencer: LongestFirst },
    // Ends what hangs; a busy machine must never fail a test that would have passed.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    exclude: [...configDefaults.exclude, ...(long ? [] : ["**/*.{ci,long}.test.ts"])],
    projects: [...folders, "config"]
      .filter((folder) => existsSync(`${folder}/package.json`))
      .map((folder) => ({
        extends: true,
        root: folder,
        ...(isPage(folder) ? { plugins: [seededFastCheck] } : {}),
        test: {
          setupFiles: [`${testkit}/test-setup.ts`],
          name: JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).name as string,
          // A worker for each file would load the same sources again: 1.5 seconds of processor for each of the gateway's files.
          isolate: false,
          // Node runs the sources as they are, so the tests do not have them rewritten first: that was a fifth of all
          // their processor time in a fresh clone. The page's are the exception: a browser's sources are not Node's.
          ...(isPage(folder)
            ? {}
            : {
                execArgv: ["--import", `${testkit}/seeded-hook.ts`],
                experimental: { viteModuleRunner: false, nodeLoader: false },
              }),
        },
      })),
  },
});
