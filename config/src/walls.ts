// Holds the table of the packages that each package may import against every import and every manifest. Types
// count as imports.
import { members, type Findings, type Manifest, type Tree } from "./tree.ts";
import { packageOf, type Import, type SourceFile } from "./source.ts";

interface Wall {
  readonly imports: readonly string[];
  /** Packages that src may import only as types; tests may run them. */
  readonly types?: readonly string[];
  /** When given, the only packages from outside the workspace that src may import, Node's own included. */
  readonly outside?: readonly string[];
}

const everything =
  "protocol config store queue channels models memory tools agent access delivery control cluster runner schedules egress browser mcp media devices update"
    .split(" ")
    .map((name) => `@parley/${name}`);

/** A member that is not listed may import nothing from the workspace. */
const walls: Readonly<Record<string, Wall>> = {
  "packages/protocol": { imports: [], outside: ["zod"] },
  "packages/config": { imports: ["@parley/protocol"] },
  "packages/store": { imports: ["@parley/protocol"] },
  "packages/queue": { imports: ["@parley/protocol"], types: ["@parley/store"] },
  "packages/channels": { imports: ["@parley/protocol"] },
  "packages/models": { imports: ["@parley/protocol"] },
  "packages/memory": { imports: ["@parley/protocol"] },
  "packages/tools": { imports: ["@parley/protocol"], types: ["@parley/memory", "@parley/store"] },
  "packages/agent": { imports: ["@parley/protocol"], types: ["@parley/models", "@parley/tools"] },
  // Security decisions see no agent and no model.
  "packages/access": {
    imports: ["@parley/protocol", "@parley/config", "@parley/channels"],
    types: ["@parley/store", "@parley/tools"],
  },
  // Sending cannot see the agent.
  "packages/delivery": {
    imports: ["@parley/protocol", "@parley/channels", "@parley/queue", "@parley/access"],
    types: ["@parley/config", "@parley/store"],
  },
  // The transport cannot see turns.
  "packages/control": {
    imports: ["@parley/protocol", "@parley/config"],
    types: ["@parley/access", "@parley/channels", "@parley/store"],
  },
  // A gateway with one process never needs it.
  "packages/cluster": {
    imports: ["@parley/protocol", "@parley/store", "@parley/queue", "@parley/access"],
    types: ["@parley/channels", "@parley/config", "@parley/control", "@parley/tools"],
  },
  // A turn sees no HTTP and no daemon.
  "packages/runner": {
    imports: [
      "protocol",
      "config",
      "channels",
      "models",
      "tools",
      "agent",
      "queue",
      "access",
      "delivery",
      "schedules",
    ].map((name) => `@parley/${name}`),
    types: ["@parley/memory", "@parley/store"],
  },
  // Room for what comes: rules for packages that do not stand yet, so that they begin behind their walls.
  // Schedules compute the instants of a job. Sub-agents need no package: they are rows that the runner takes.
  "packages/schedules": { imports: ["@parley/protocol"], types: ["@parley/store"] },
  // Egress is the one dialler to the open web: fetch, MCP and media by address go through it.
  "packages/egress": { imports: ["@parley/protocol"] },
  // A browser's heavy library stays behind a package of its own.
  "packages/browser": { imports: ["@parley/protocol"], types: ["@parley/egress"] },
  "packages/mcp": { imports: ["@parley/protocol", "@parley/egress"], types: ["@parley/tools"] },
  // Pictures and speech as files by their content, read in a process that can be killed.
  "packages/media": { imports: ["@parley/protocol", "@parley/egress"] },
  // Paired devices: grants, calls with a deadline, untrusted results.
  "packages/devices": { imports: ["@parley/protocol"], types: ["@parley/store", "@parley/control"] },
  // Releases and how one takes the place of another: the command line runs it, the gateway asks for it.
  "packages/update": { imports: ["@parley/protocol"] },
  "packages/testkit": { imports: ["@parley/protocol"] },
  "apps/gateway": { imports: everything },
  "apps/cli": { imports: ["@parley/protocol", "@parley/config", "@parley/update"] },
  "apps/web": { imports: ["@parley/protocol"] },
  bench: { imports: [...everything, "@parley/testkit", "@parley/gateway"] },
};

/** Members that only tests and the house test use, so a devDependency is enough for them. */
const neverShipped = ["packages/testkit", "config"];

const fromWorkspace = (name: string): boolean => name.startsWith("@parley/");
const fromOutside = (name: string): boolean =>
  !name.startsWith(".") && !name.startsWith("node:") && !fromWorkspace(name);

function importFindings(file: SourceFile, wall: Wall, manifest: Manifest, root: Manifest): string[] {
  const inSrc = file.area === "src";
  const shipped = inSrc && !neverShipped.includes(file.member);
  const declared = {
    ...manifest.dependencies,
    ...(shipped ? {} : { ...manifest.devDependencies, ...root.devDependencies }),
  };
  return file.imports.flatMap((found) => {
    const name = packageOf(found.from);
    if (found.from.startsWith(".") || name === manifest.name) return [];
    const where = `${file.path} imports ${found.from}`;
    if (fromWorkspace(name)) {
      if (found.from !== name)
        return [`${where}: import ${name} and let its src/index.ts export what you need`];
      const reason = forbidden(found, name, wall, inSrc);
      if (reason !== null) return [`${where}: ${reason}`];
    } else if (inSrc && wall.outside !== undefined && !wall.outside.includes(name)) {
      return [`${where}: ${file.member} may use only ${wall.outside.join(", ")} (config/src/walls.ts)`];
    }
    // A type of a package that is only there for its types may come from devDependencies.
    const known =
      name.startsWith("node:") ||
      name in declared ||
      (found.typeOnly && name in { ...manifest.devDependencies });
    return known
      ? []
      : [`${where}: not declared in ${file.member}/package.json; add it and run npm run setup -- --update`];
  });
}

function forbidden(found: Import, name: string, wall: Wall, inSrc: boolean): string | null {
  if (wall.imports.includes(name)) return null;
  if (wall.types?.includes(name) === true)
    return found.typeOnly || !inSrc ? null : "only its types may be imported there; write `import type`";
  if (name === "@parley/testkit" && !inSrc) return null;
  return "the table of imports does not allow it (config/src/walls.ts; the map is in docs/ARCHITECTURE.md)";
}

/**
 * Packages that are used without an import: by a script, by name in a string (a logger's transport), or for
 * their types alone.
 */
function usedOtherwise(name: string, manifest: Manifest, files: readonly SourceFile[]): boolean {
  const scripts = Object.values(manifest.scripts ?? {}).join(" ");
  if (scripts.split(/\W+/).includes(name)) return true;
  if (name.startsWith("@types/"))
    return name.slice("@types/".length) in { ...manifest.dependencies, ...manifest.devDependencies };
  return files.some((file) => file.strings.has(name));
}

function manifestFindings(folder: string, manifest: Manifest, files: readonly SourceFile[]): string[] {
  if (files.length === 0) return []; // Nothing is written yet.
  const imported = (area: (file: SourceFile) => boolean): Set<string> =>
    new Set(files.filter(area).flatMap((file) => file.imports.map((found) => packageOf(found.from))));
  const bySrc = imported((file) => file.area !== "test");
  const byAny = imported(() => true);
  const unused = (names: readonly string[], used: ReadonlySet<string>): string[] =>
    names.filter((name) => !used.has(name) && !usedOtherwise(name, manifest, files));
  return [
    ...unused(Object.keys(manifest.dependencies ?? {}), bySrc).map(
      (name) =>
        `${folder}/package.json declares ${name}, which no source file imports; remove it and run npm run setup -- --update`,
    ),
    ...unused(Object.keys(manifest.devDependencies ?? {}), byAny).map(
      (name) =>
        `${folder}/package.json declares ${name}, which nothing imports; remove it and run npm run setup -- --update`,
    ),
  ];
}

export function wallFindings(tree: Tree): Findings {
  const root = tree.manifests.get(".") ?? { name: "" };
  return members(tree).flatMap((folder) => {
    const manifest = tree.manifests.get(folder);
    if (manifest === undefined) return [];
    const files = tree.files.filter((file) => file.member === folder);
    const wall = walls[folder] ?? { imports: [] };
    return [
      ...files.flatMap((file) => importFindings(file, wall, manifest, root)),
      ...manifestFindings(folder, manifest, files),
    ];
  });
}

/** Libraries too heavy to load before they are needed: each takes 50 to 200 ms and 10 to 50 MB, measured. */
const heavy = (name: string): boolean =>
  "grammy discord.js ai ioredis bullmq undici linkedom turndown unpdf playwright-core sharp"
    .split(" ")
    .includes(name) ||
  [
    "@discordjs/",
    "@ai-sdk/",
    "@mozilla/readability",
    "@huggingface/",
    "onnxruntime",
    "@modelcontextprotocol/",
  ].some((start) => name.startsWith(start));

/** A package's entry must load without its drivers' libraries, which are imported lazily. */
export function heavyFindings(tree: Tree): Findings {
  const byPath = new Map(tree.files.map((file) => [file.path, file]));
  return members(tree).flatMap((folder) => {
    const seen = new Set<string>();
    const findings: string[] = [];
    const walk = (at: string): void => {
      const file = byPath.get(at);
      if (file === undefined || seen.has(at)) return;
      seen.add(at);
      for (const found of file.imports) {
        if (found.lazy || found.typeOnly) continue;
        if (fromOutside(found.from) && heavy(packageOf(found.from)))
          findings.push(`${at} loads ${found.from} with the package; use await import()`);
        else if (found.from.startsWith(".")) walk(new URL(found.from, `file:///${at}`).pathname.slice(1));
      }
    };
    walk(`${folder}/src/index.ts`);
    return findings;
  });
}
