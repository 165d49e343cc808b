// Plans a service before anything is written: the program that it runs and the place of its file.
import { homedir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { placesIn, type Env } from "@parley/config";
import { CommandFailure, exitCodes } from "../exit.ts";
import { gatewayProgram } from "../gateway-program.ts";

type SupervisorName = "systemd" | "launchd";

export interface UnitFlags {
  readonly system?: boolean;
  readonly name?: string;
  readonly manager?: string;
  readonly runAs?: string;
  readonly start?: boolean;
  readonly print?: boolean;
}

export interface UnitPlan {
  readonly manager: SupervisorName;
  readonly scope: "user" | "system";
  readonly name: string;
  /** The unit or property list. */
  readonly file: string;
  /** The checkout or bundle. */
  readonly root: string;
  readonly home: string;
  /** What the service needs of this environment. */
  readonly env: { readonly [name: string]: string };
  /** The user of a system service; null for the user's own. */
  readonly runAs: string | null;
}

/** Stands in every file that Parley wrote; others are never replaced or removed. */
export const marker =
  "Written by `parley service install`: change it there, or remove this line to keep it as your own.";

const root = resolve(dirname(gatewayProgram), "../../..");

export function unitPlan(env: Env, flags: UnitFlags, platform: NodeJS.Platform = process.platform): UnitPlan {
  const manager = flags.manager ?? (platform === "darwin" ? "launchd" : "systemd");
  if (manager !== "systemd" && manager !== "launchd")
    throw mistake(`--manager is systemd or launchd, not "${manager}"`);
  const name = flags.name ?? "parley";
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name))
    throw mistake(`--name has letters, digits, dot, dash and underscore, not "${name}"`);
  const scope = flags.system === true ? "system" : "user";
  if (scope === "user" && flags.runAs !== undefined)
    throw mistake("--run-as goes with --system; without it the service runs as you");
  const { home, configPath } = placesIn(env);
  const runAs = scope === "system" ? (flags.runAs ?? env["SUDO_USER"] ?? userInfo().username) : null;
  const plan = {
    manager,
    scope,
    name,
    root,
    home,
    env: {
      PARLEY_HOME: home,
      ...(configPath === join(home, "parley.json5") ? {} : { PARLEY_CONFIG: configPath }),
      PATH: env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    },
    runAs,
  } as const;
  if ([root, home, ...Object.values(plan.env), runAs ?? ""].some(hasControl))
    throw mistake("A path with a line end cannot stand in a service file");
  return { ...plan, file: fileOf(plan, env) };
}

/**
 * Whether a written file is what would be written now. The search path is that of the shell at the time, and
 * no difference.
 */
export function isSameUnit(written: string, wanted: string): boolean {
  const bare = (text: string): string =>
    text.replace(/^Environment="PATH=.*$/m, "").replace(/<key>PATH<\/key><string>.*<\/string>/, "");
  return bare(written) === bare(wanted);
}

/** The name under which launchd knows the service. */
export function launchdLabel(name: string): string {
  return name === "parley" ? "dev.parley.gateway" : `dev.parley.${name}`;
}

function fileOf({ manager, scope, name }: Pick<UnitPlan, "manager" | "scope" | "name">, env: Env): string {
  const userHome = env["HOME"] ?? homedir();
  if (manager === "launchd") {
    const folder = scope === "system" ? "/Library/LaunchDaemons" : join(userHome, "Library/LaunchAgents");
    return join(folder, `${launchdLabel(name)}.plist`);
  }
  const own = env["XDG_CONFIG_HOME"];
  const folder =
    scope === "system"
      ? "/etc/systemd"
      : join(own === undefined || own === "" ? join(userHome, ".config") : own, "systemd");
  return join(folder, scope === "system" ? "system" : "user", `${name}.service`);
}

function hasControl(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  return /[\u0000-\u001F]/.test(text);
}

function mistake(words: string): CommandFailure {
  return new CommandFailure("invalid", words, exitCodes.usage);
}
