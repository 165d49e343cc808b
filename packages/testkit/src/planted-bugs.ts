// Plants known bugs, one at a time, in a copy of a package: the suite named with each must fail, or it could
// never have noticed that bug.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Names the bug, the suite that must notice it (a part of its file's path), and the replaced text of
 * `src/<file>` with its replacement.
 */
export type PlantedBug = readonly [bug: string, suite: string, file: string, from: string, to: string];

export interface PlantedBugs {
  /** True when the suite passes. */
  passes(suite: string): Promise<boolean>;
  /**
   * Whether the suite finds this one. Throws when its place is not there: the source has changed, and the bug
   * with it.
   */
  isNoticed(bug: PlantedBug): Promise<boolean>;
  close(): void;
}

/** A workspace package that carries the bugs, where the suites belong to another one. */
export interface CarryingPackage {
  readonly name: string;
  readonly root: string;
}

/**
 * `root`: the package of the suites, with its `src`, `test` and `node_modules`. `env`: the suites'
 * environment, beside PARLEY_LONG. `carrier`: the package that gets the bugs; default: the same one.
 */
export function plantedBugs(
  root: string,
  env: { readonly [name: string]: string | undefined },
  carrier?: CarryingPackage,
): PlantedBugs {
  const vitest = fileURLToPath(new URL("../vitest.mjs", import.meta.resolve("vitest")));
  const copy = mkdtempSync(join(tmpdir(), "parley-planted-"));
  chmodSync(copy, 0o755); // A suite may run a part of it as another user.
  for (const name of ["src", "test", "package.json"])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const carrierCopy = carrier === undefined ? copy : join(copy, "carrier");
  if (carrier !== undefined) {
    cpSync(join(carrier.root, "src"), join(carrierCopy, "src"), { recursive: true });
    symlinkSync(join(carrier.root, "node_modules"), join(carrierCopy, "node_modules"));
  }
  const alias = carrier === undefined ? {} : { [carrier.name]: join(carrierCopy, "src/index.ts") };
  const config = { resolve: { alias }, test: { testTimeout: 30_000, maxWorkers: 1 } };
  writeFileSync(join(copy, "vitest.config.ts"), `export default ${JSON.stringify(config)};\n`);

  async function passes(suite: string): Promise<boolean> {
    const child = spawn("node", [vitest, "run", "--root", copy, "--bail", "1", suite], {
      stdio: "ignore",
      env: { ...env, PARLEY_LONG: "0" },
    });
    const [code] = (await once(child, "exit")) as [number | null];
    return code === 0;
  }

  return {
    passes,
    async isNoticed([bug, suite, file, from, to]) {
      const path = join(carrierCopy, "src", file);
      const source = readFileSync(path, "utf8");
      if (!source.includes(from)) throw new Error(`"${bug}" has no place in ${file} any more: ${from}`);
      writeFileSync(
        path,
        source.replace(from, () => to),
      );
      try {
        return !(await passes(suite));
      } finally {
        writeFileSync(path, source);
      }
    },
    close: () => rmSync(copy, { recursive: true, force: true }),
  };
}
