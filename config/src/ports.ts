// Checks that time, randomness and the environment enter the product at one place each. Everywhere else they
// are arguments, because otherwise no run could be repeated.
import type { SourceFile } from "./source.ts";
import type { Findings, Tree } from "./tree.ts";

interface Port {
  readonly instead: string;
  readonly places: readonly string[];
  readonly uses: readonly string[];
  /** Names that may not be imported, as "module name". */
  readonly imports: readonly string[];
}

const clock: Port = {
  instead: "take a Clock",
  places: ["packages/protocol/src/clock.ts"],
  uses: [
    "Date.now",
    "performance.now",
    "process.hrtime",
    "process.hrtime.bigint",
    "setTimeout",
    "setInterval",
    "globalThis.setTimeout",
    "globalThis.setInterval",
    "AbortSignal.timeout",
  ],
  imports: ["node:timers *", "node:timers/promises *", "node:perf_hooks performance"],
};

const chance: Port = {
  instead: "take an Ids",
  places: ["packages/protocol/src/ids.ts"],
  uses: [
    "Math.random",
    "crypto.randomUUID",
    "crypto.getRandomValues",
    "globalThis.crypto.randomUUID",
    "globalThis.crypto.getRandomValues",
  ],
  imports: [
    "node:crypto randomUUID",
    "node:crypto randomBytes",
    "node:crypto randomInt",
    "node:crypto getRandomValues",
  ],
};

const environment: Port = {
  instead: "let packages/config read it and take the value as an argument",
  // The main file of a process may pass its environment on.
  places: ["packages/config/src/", "apps/gateway/src/main.ts", "apps/cli/src/main.ts"],
  uses: ["process.env"],
  imports: ["node:process env"],
};

function findingsOf(file: SourceFile, port: Port): string[] {
  if (port.places.some((place) => file.path.startsWith(place))) return [];
  const used = file.uses.filter(
    (use) => port.uses.includes(use.name) || (port === clock && use.name === "Date" && use.args === 0),
  );
  const imported = file.imports.flatMap((found) =>
    found.typeOnly
      ? []
      : found.names.filter(
          (name) =>
            port.imports.includes(`${found.from} ${name}`) || port.imports.includes(`${found.from} *`),
        ),
  );
  const lines = new Set(
    used.map(
      (use) =>
        `${file.path}:${use.line} uses ${use.args === 0 && use.name === "Date" ? "new Date()" : use.name}: ${port.instead}`,
    ),
  );
  return [...lines, ...imported.map((name) => `${file.path} imports ${name}: ${port.instead}`)];
}

/**
 * Checks every src folder except the testkit's, whose programs stand for other people's machines and use real
 * time.
 */
export function portFindings(tree: Tree): Findings {
  const sources = tree.files.filter(
    (file) => file.area === "src" && file.member !== "packages/testkit" && file.member !== "config",
  );
  return sources.flatMap((file) => [clock, chance, environment].flatMap((port) => findingsOf(file, port)));
}
