// Checks what the config needs of this machine: folders, files and an address to listen on. A start that
// would not find them is refused with the place in the config, and so is a change that would lead there.
import { readFile, stat } from "node:fs/promises";
import { createServer, isIP } from "node:net";
import { dirname, join } from "node:path";
import { createSecureContext } from "node:tls";
import type { Config } from "../config.ts";
import { expandPath, type Places } from "../home.ts";
import type { ConfigPath } from "../problem.ts";
import type { ConfigFile } from "../schema/root.ts";
import { folderTrouble, pathTrouble } from "./usable-folder.ts";
import { finding, type Finding } from "../validate/validate.ts";

export interface MachineFindings {
  readonly findings: readonly Finding[];
  /** What is missed later, and keeps no gateway from starting. */
  readonly warnings: readonly Finding[];
}

/**
 * `address`: also whether it can be listened on here. An interface may come up late, so a start waits for it
 * and does not ask. `everyAgent`: one that cannot work is refused; else that is a warning, as long as another
 * one can.
 */
export async function machineFindings(
  file: ConfigFile,
  config: Config,
  {
    places,
    address,
    everyAgent,
  }: { readonly places: Places; readonly address: boolean; readonly everyAgent: boolean },
): Promise<MachineFindings> {
  const agents = await Promise.all(
    config.agents.list.map((_, index) => workspaceFindings(file, config, index)),
  );
  const someWork = !everyAgent && agents.some((trouble) => trouble.length === 0);
  const found = await Promise.all([
    keptSecretFindings(config, places),
    tlsFindings(config),
    address ? listenFindings(config) : [],
  ]);
  const warnings = [...(someWork ? agents.flat() : []), ...(await hookWarnings(config, places))];
  return { findings: [...(someWork ? [] : agents.flat()), ...found.flat(), ...pathFindings(file)], warnings };
}

async function workspaceFindings(file: ConfigFile, { agents }: Config, index: number): Promise<Finding[]> {
  const agent = agents.list[index];
  const trouble = agent === undefined ? null : await folderTrouble(agent.workspace);
  if (trouble === null) return [];
  const isOwn = file.agents.list[index]?.workspace !== undefined;
  const at: ConfigPath =
    isOwn || index > 0 ? ["agents", "list", index, "workspace"] : ["agents", "defaults", "workspace"];
  return [finding(at, trouble, "Name a folder that the user of the daemon may write to")];
}

/** Paths that are looked at later, each time: what is missing may come, what can be no path may not. */
function pathFindings({ agents, tools, skills, hooks, store }: ConfigFile): Finding[] {
  const paths: (readonly [ConfigPath, string | undefined])[] = [
    [["agents", "defaults", "repoRoot"], agents.defaults.repoRoot],
    ...tools.fs.readRoots.map((path, index) => [["tools", "fs", "readRoots", index], path] as const),
    ...skills.load.extraDirs.map((path, index) => [["skills", "load", "extraDirs", index], path] as const),
    ...hooks.internal.load.extraDirs.map(
      (path, index) => [["hooks", "internal", "load", "extraDirs", index], path] as const,
    ),
    ...hooks.internal.handlers.map(
      ({ module }, index) => [["hooks", "internal", "handlers", index, "module"], module] as const,
    ),
    ...Object.entries(store.redis?.tls ?? {}).map(
      ([key, path]) => [["store", "redis", "tls", key], path] as const,
    ),
  ];
  return paths.flatMap(([at, path]) => {
    const trouble = path === undefined ? null : pathTrouble(path);
    return trouble === null ? [] : [finding(at, trouble, "Write another path")];
  });
}

/** Keys that the gateway made, in place of some that the config does not have. */
async function keptSecretFindings(
  { gateway, commands }: Config,
  { home, tokenPath }: Places,
): Promise<Finding[]> {
  const kept: (readonly [ConfigPath, string])[] = [
    ...(gateway.auth.token === undefined ? [[["gateway", "auth", "token"], tokenPath] as const] : []),
    ...(commands.ownerDisplay === "hash" && commands.ownerDisplaySecret === undefined
      ? [[["commands", "ownerDisplaySecret"], join(home, "owner-display-key")] as const]
      : []),
  ];
  const found = await Promise.all(
    kept.map(async ([at, path]): Promise<Finding[]> => {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => error);
      if (text instanceof Error) {
        const lasts =
          text.code === "EACCES" ||
          text.code === "EPERM" ||
          text.code === "EISDIR" ||
          text.code === "ENOTDIR";
        return lasts
          ? [
              finding(
                at,
                `is not set, and ${path} cannot be read: ${text.message}`,
                "Give the file to the user of the daemon",
              ),
            ]
          : [];
      }
      const isShort = text.trim().length < leastKeptChars;
      return isShort
        ? [
            finding(
              at,
              `is not set, and what ${path} holds is too short to be safe`,
              "Delete the file: it is made anew",
            ),
          ]
        : [];
    }),
  );
  return found.flat();
}

/** As the gateway makes and takes them. */
const leastKeptChars = 16;

async function tlsFindings({ store: { driver, redis } }: Config): Promise<Finding[]> {
  const tls = redis?.tls;
  if (driver !== "redis" || tls === undefined) return [];
  const at = ["store", "redis", "tls"];
  const found: Finding[] = [];
  const read = async (key: "caFile" | "certFile" | "keyFile"): Promise<string | undefined> => {
    const path = tls[key];
    if (path === undefined || pathTrouble(path) !== null) return undefined;
    return readFile(path, "utf8").catch((error: Error) => {
      found.push(
        finding(
          [...at, key],
          `${path} cannot be read: ${error.message}`,
          "Name a PEM file that the user of the daemon may read",
        ),
      );
      return undefined;
    });
  };
  const [ca, cert, key] = await Promise.all([read("caFile"), read("certFile"), read("keyFile")]);
  try {
    createSecureContext({ ca, cert, key });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    found.push(
      finding(
        at,
        `these certificates cannot be used: ${why}`,
        "Name PEM files; certFile and keyFile belong together",
      ),
    );
  }
  return found;
}

/** The address only: a port may be in use by the gateway that runs, or be for the daemon's user alone. */
async function listenFindings({ gateway: { bind } }: Config): Promise<Finding[]> {
  if (isIP(bind) === 0) return [];
  const code = await listenTrouble(bind, 0);
  if (code === null) return [];
  return [
    finding(
      ["gateway", "bind"],
      `this machine has no address ${bind} to listen on (${code})`,
      'Use "lan" or an address of it',
    ),
  ];
}

/** The system's code; null when it can be listened on. It is, for a moment. */
export function listenTrouble(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** A hook that is not there blocks calls or fails turns, and a file may still come. */
async function hookWarnings({ hooks: { internal } }: Config, { configPath }: Places): Promise<Finding[]> {
  if (!internal.enabled) return [];
  const found = await Promise.all(
    internal.handlers.map(async ({ module }, index): Promise<Finding[]> => {
      const path = expandPath(module, dirname(configPath));
      if (pathTrouble(path) !== null) return [];
      const isThere = await stat(path).then(
        (file) => file.isFile(),
        () => false,
      );
      return isThere
        ? []
        : [
            finding(
              ["hooks", "internal", "handlers", index, "module"],
              `there is no file ${path}`,
              "A tool:before hook that is missing blocks every call",
            ),
          ];
    }),
  );
  return found.flat();
}
