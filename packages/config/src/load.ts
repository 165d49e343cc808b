// Reads the config: file, environment, defaults, checks. All problems at once, each with its line; nothing is
// used unless all is right.
import { advice } from "./check/advice.ts";
import { complete } from "./complete.ts";
import { withoutKeys } from "./credentials.ts";
import { check } from "./check/check.ts";
import { machineFindings } from "./check/machine.ts";
import type { Config } from "./config.ts";
import { emptyDocument, parseDocument, type ConfigDocument } from "./file/document.ts";
import { expandPath, placesIn, type Env, type Places } from "./home.ts";
import { migrated, type Migration } from "./file/migrate.ts";
import { textFile } from "./file/read-text.ts";
import { ConfigFault, formatPath, unreadable, type ConfigPath, type ConfigProblem } from "./problem.ts";
import { resolveReferences } from "./references.ts";
import { configVersion, type ConfigFile } from "./schema/root.ts";
import { shownInputChars, validate, type Finding } from "./validate/validate.ts";

export interface LoadConfigOptions {
  /** `hostEnv()`, handed in by the program. */
  readonly env: Env;
  /** In place of PARLEY_HOME. */
  readonly home?: string;
  /** Null when there is no such file. Default: the file system. */
  readonly readFile?: (path: string) => Promise<string | null>;
  /** Default: those that there are. */
  readonly migrations?: readonly Migration[];
  /**
   * Asks this machine too whether a gateway would come up with it: "start" by folders and files, "again" also
   * by the address to listen on. To both an agent that cannot work is a warning while another one can;
   * "change", for what is about to be written, is as "again" and refuses that. Absent: what the file says is
   * all that counts, for whoever does not start anything.
   */
  readonly wouldStart?: "start" | "again" | "change";
}

export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly ConfigProblem[];
  /** The config file, also when it does not exist. */
  readonly path: string;
  readonly places: Places;
  /** Files that it was read from: the config file, whether it exists or not, and those of secrets. */
  readonly reads: readonly string[];
  /** There is no file, or nothing stands in it. */
  readonly isBlank: boolean;
}

/** Throws ConfigFault, a Fault("invalid"), with every problem. Without a file everything has its default. */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  const { env } = options;
  const places = placesIn(env, options.home);
  const path = places.configPath;
  const reads = new Set<string>();
  let isBlank = true;
  const readText: ReadText = async (file) => {
    reads.add(file);
    const text = await (options.readFile ?? textFile)(file);
    if (file === path) isBlank = text === null || text.trim() === "";
    return text;
  };
  const document = await read(env, readText, path);
  const taken = new Map<string, string>();
  const located = (finding: Finding): ConfigProblem => ({
    path: withoutKeys(formatPath(finding.at)),
    ...document.locate(finding.at),
    ...shownOf(finding.problem, taken),
  });
  if (document.problems.length > 0) throw new ConfigFault(path, document.problems);

  const unresolved: Finding[] = [];
  const value = await resolveReferences(
    migrated(document.value, options.migrations).value,
    {
      env,
      readFile: readText,
      took: (read, name) => void taken.set(read, name),
      absolute: (file) => expandPath(file, places.home),
    },
    (at, problem) => unresolved.push({ at, problem }),
  );
  const { file, findings, warnings } = fileOf(value);
  if (file === null) throw new ConfigFault(path, inFileOrder([...unresolved, ...findings].map(located)));
  const config = complete(file, env, places.home);
  const machine =
    options.wouldStart === undefined
      ? { findings: [], warnings: [] }
      : await machineFindings(file, config, {
          places,
          address: options.wouldStart !== "start",
          everyAgent: options.wouldStart === "change",
        });
  const wrong = [...unresolved, ...check(file, config), ...machine.findings];
  if (wrong.length > 0) throw new ConfigFault(path, inFileOrder(wrong.map(located)));
  const told = [...warnings, ...advice(config), ...machine.warnings].map(located);
  return { config: freeze(config), warnings: told, path, places, reads: [...reads], isBlank };
}

/** A mistake names what stands there, which may be a secret at a wrong place, or one of a variable. */
function shownOf(problem: Finding["problem"], taken: ReadonlyMap<string, string>): Finding["problem"] {
  const clean = (text: string): string => {
    let shown = text;
    for (const [value, name] of taken)
      if (value.length >= leastHiddenChars)
        for (const part of [value, value.slice(0, shownInputChars)])
          shown = shown.replaceAll(JSON.stringify(part).slice(1, -1), () => name);
    return withoutKeys(shown);
  };
  const { message, fix } = problem;
  return { ...problem, message: clean(message), ...(fix === undefined ? {} : { fix: clean(fix) }) };
}

/** As in the log: what is shorter stands in other words too. */
const leastHiddenChars = 6;

type ReadText = (path: string) => Promise<string | null>;

async function read(env: Env, readText: ReadText, path: string): Promise<ConfigDocument> {
  let text: string | null;
  try {
    text = await readText(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (text !== null) return parseDocument(text);
  const named = env["PARLEY_CONFIG"];
  if (named === undefined || named === "") return emptyDocument;
  throw new ConfigFault(path, [
    {
      path: "",
      message: "does not exist, but PARLEY_CONFIG names it",
      fix: "Create it, or unset PARLEY_CONFIG",
    },
  ]);
}

function inFileOrder(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

interface FileReading {
  readonly file: ConfigFile | null;
  readonly findings: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/**
 * A file of a newer version may have keys that this build does not know: they are left out, with a warning,
 * so that a downgrade starts.
 */
function fileOf(value: unknown): FileReading {
  const first = validate(value);
  const version = versionOf(value);
  const newer: Finding = {
    at: ["configVersion"],
    problem: {
      message: `the file is of version ${version}, this Parley knows ${configVersion}`,
      fix: "Update Parley, or check the keys that are ignored",
    },
  };
  if (first.ok) return { file: first.file, findings: [], warnings: version > configVersion ? [newer] : [] };
  if (version <= configVersion) return { file: null, findings: first.findings, warnings: [] };
  const ignored = first.findings.filter((finding) => finding.unknownKey === true);
  const second = validate(ignored.reduce((rest, finding) => without(rest, finding.at), value));
  if (!second.ok) return { file: null, findings: second.findings, warnings: [] };
  return { file: second.file, findings: [], warnings: [newer, ...ignored] };
}

function versionOf(value: unknown): number {
  const version: unknown =
    typeof value === "object" && value !== null
      ? (value as { configVersion?: unknown }).configVersion
      : undefined;
  return typeof version === "number" ? version : configVersion;
}

function without(value: unknown, [step, ...rest]: ConfigPath): unknown {
  if (Array.isArray(value)) return value.map((each, index) => (index === step ? without(each, rest) : each));
  if (typeof value !== "object" || value === null || step === undefined) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== step || rest.length > 0)
      .map(([key, each]) => [key, key === step ? without(each, rest) : each]),
  );
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}
