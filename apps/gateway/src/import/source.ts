// Finds what an OpenClaw home holds, or a folder of AGENTS.md and SOUL.md alone, and reads its config. It
// opens files for reading only, so the source stays as it is.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { ConfigFault, expandPath, parseDocument } from "@parley/config";
import { Fault, type Json, type JsonObject } from "@parley/protocol";
import { renamed } from "./older-homes.ts";
import { sourceDatabases, type SourceDatabases } from "./source-databases.ts";
import { sourceFiles, type SourceFiles } from "./source-files.ts";
import { at, isBlock } from "./tree.ts";

interface SourceAgent {
  readonly id: string;
  /** Absolute; it may be missing. */
  readonly workspace: string;
}

export interface Source {
  readonly folder: string;
  readonly files: SourceFiles;
  readonly databases: SourceDatabases;
  /** False for a folder of workspace files alone. */
  readonly isHome: boolean;
  /** Null where a home has lost its config. */
  readonly configPath: string | null;
  readonly config: JsonObject;
  /** Where keys of an older home stood, by where they stand in `config`. */
  readonly was: ReadonlyMap<string, string>;
  /** Of `.env` beside the config. */
  readonly env: { readonly [name: string]: string };
  /** The agent that answers what no binding names comes first. */
  readonly agents: readonly SourceAgent[];
}

const workspaceFiles = ["AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "TOOLS.md"];
const configNames = ["openclaw.json", "openclaw.json5", "clawdbot.json", "moltbot.json"];
/** Folders of a home whose config is gone. */
const homeFolders = ["agents", "credentials", "cron", "sessions", "workspace"];

/** Throws Fault("missing") and ConfigFault, each with what to do. */
export function readSource(folder: string): Source {
  if (!existsSync(folder))
    throw new Fault(
      "missing",
      `there is no folder ${folder}: name the one to import, parley import openclaw <folder>`,
    );
  if (!statSync(folder).isDirectory())
    throw new Fault("invalid", `${folder} is a file: name the folder that holds openclaw.json, or AGENTS.md`);
  const named = configNames.map((name) => join(folder, name)).find((path) => existsSync(path));
  const isHome = named !== undefined || homeFolders.some((name) => existsSync(join(folder, name)));
  const isWorkspace = workspaceFiles.some((name) => existsSync(join(folder, name)));
  const files = sourceFiles(folder);
  const databases = sourceDatabases(files);
  if (named === undefined && isWorkspace)
    return {
      folder,
      files,
      databases,
      isHome: false,
      configPath: null,
      config: {},
      was: new Map(),
      env: {},
      agents: [{ id: "main", workspace: folder }],
    };
  if (!isHome)
    throw new Fault(
      "missing",
      `${folder} holds neither openclaw.json nor AGENTS.md or SOUL.md: name the folder of an OpenClaw home (usually ~/.openclaw) or of an agent's files`,
    );
  const { config, was } = renamed(named === undefined ? {} : readConfig(named, []));
  const env = parseEnv(files.text(join(folder, ".env")) ?? "");
  return {
    folder,
    files,
    databases,
    isHome: true,
    configPath: named ?? null,
    config,
    was,
    env: Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    agents: agentsOf(config, folder),
  };
}

const mostIncludes = 10;

/** `within` are the files that include this one. */
function readConfig(path: string, within: readonly string[]): JsonObject {
  const { value, problems } = parseDocument(textOf(path));
  if (problems.length > 0) throw new ConfigFault(path, problems);
  if (!isBlock(value))
    throw new ConfigFault(path, [
      { path: "", message: "holds no block", fix: "It begins with { and ends with }" },
    ]);
  return included(value, path, [...within, path]) as JsonObject;
}

/** `$include` names files beside the config; what stands beside it in its block wins. */
function included(value: Json, path: string, within: readonly string[]): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => included(each, path, within));
  if (!isBlock(value)) return value;
  const { $include: named, ...own } = value;
  const inner = Object.fromEntries(
    Object.entries(own).map(([key, each]) => [key, included(each, path, within)]),
  );
  if (named === undefined) return inner;
  if (within.length > mostIncludes)
    throw new ConfigFault(path, [{ path: "$include", message: `goes deeper than ${mostIncludes} files` }]);
  const files = (Array.isArray(named) ? (named as readonly Json[]) : [named]).filter(
    (each): each is string => typeof each === "string",
  );
  const root = dirname(path);
  const read = files.map((file) => {
    const found = isAbsolute(file) ? file : resolve(root, file);
    if (!existsSync(found))
      throw new ConfigFault(path, [
        {
          path: "$include",
          message: `names ${found}, which does not exist`,
          fix: "Mend the name, or remove it",
        },
      ]);
    if (within.includes(found))
      throw new ConfigFault(path, [
        { path: "$include", message: `names ${found}, which includes this file`, fix: "Remove it" },
      ]);
    return readConfig(found, within);
  });
  return [...read, inner].reduce(merged, {});
}

function merged(below: Json, above: Json): JsonObject {
  if (!isBlock(below) || !isBlock(above)) return above as JsonObject;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries(
    [...keys].map((key) => {
      const [low, high] = [below[key], above[key]];
      const both = isBlock(low) && isBlock(high) ? merged(low, high) : (high ?? low ?? null);
      return [key, both];
    }),
  );
}

function agentsOf(config: JsonObject, folder: string): readonly SourceAgent[] {
  const defaults = at(config, ["agents", "defaults", "workspace"]);
  const first = typeof defaults === "string" ? workspaceAt(defaults, folder) : join(folder, "workspace");
  const listed = listOfAgents(config);
  const chosen = listed.find((each) => each["default"] === true) ?? listed[0];
  const configured = listed.flatMap((each): SourceAgent[] => {
    const { id, workspace } = each;
    if (typeof id !== "string") return [];
    const usual = each === chosen ? first : join(folder, `workspace-${id}`);
    return [
      {
        id: id.toLowerCase(),
        workspace: typeof workspace === "string" ? workspaceAt(workspace, folder) : usual,
      },
    ];
  });
  const chosenId = typeof chosen?.["id"] === "string" ? chosen["id"].toLowerCase() : null;
  const others = configured.filter(({ id }) => id !== chosenId);
  const agents = [...configured.filter((each) => !others.includes(each)), ...others];
  return agents.length > 0 ? agents : [{ id: "main", workspace: first }];
}

/**
 * A home that was copied from another place or machine still names its folders where they were, as
 * "~/.openclaw/workspace": what lies in the home itself is meant.
 */
function workspaceAt(named: string, folder: string): string {
  const below = /^(?:~|\/.*)?\/\.(?:openclaw|clawdbot|moltbot)\/(?<inside>[^/].*)$/.exec(named)?.groups?.[
    "inside"
  ];
  const inside = below === undefined ? null : resolve(folder, below);
  const isInside = inside !== null && inside.startsWith(`${folder}/`) && existsSync(inside);
  return isInside ? inside : expandPath(named, folder);
}

/** As a list: newer homes write a block of entries by id. */
export function listOfAgents(config: JsonObject): readonly JsonObject[] {
  const list = at(config, ["agents", "list"]);
  if (Array.isArray(list)) return (list as readonly Json[]).filter(isBlock);
  const entries = at(config, ["agents", "entries"]);
  return isBlock(entries)
    ? Object.entries(entries).map(([id, each]) => ({ id, ...(isBlock(each) ? each : {}) }))
    : [];
}

function textOf(path: string): string {
  try {
    if (!statSync(path).isFile()) throw new Error("it is no file");
    return readFileSync(path, "utf8");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Fault(
      "unavailable",
      `${path} cannot be read: ${reason}. Run the import as the user whose files these are`,
      {
        cause,
      },
    );
  }
}
