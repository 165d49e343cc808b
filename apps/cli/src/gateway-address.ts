// Finds the running gateway: where it listens and its token for this run stand in the state folder. Where
// that says nothing, as from another machine or of an older gateway, the config does: its own block, the last
// good file or the defaults, with a warning where it is broken.
import { stat } from "node:fs/promises";
import {
  ConfigFault,
  describeProblem,
  listenAddress,
  loadBlocks,
  textFile,
  loadConfig,
  placesIn,
  type Env,
  type GatewayConfig,
  type Places,
} from "@parley/config";
import { CommandFailure, exitCodes } from "./exit.ts";
import { isAlive } from "./is-alive.ts";

export interface GatewayAddress {
  readonly url: string;
  readonly token: string;
  /** Where the token stands: a key of the config, or a file. */
  readonly tokenFrom: string;
  /** Its process; null where only the config says where it is. */
  readonly pid: number | null;
  /** What is wrong with the config; empty when all is well. */
  readonly configTrouble: readonly string[];
}

export async function gatewayAddress(env: Env): Promise<GatewayAddress> {
  const places = placesIn(env);
  const said = await sinceConfig(places);
  if (said !== null) return said;
  let configTrouble: readonly string[] = [];
  let gateway: GatewayConfig | null = null;
  try {
    gateway = (await loadConfig({ env })).config.gateway;
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    configTrouble = error.problems.map((problem) => describeProblem(places.configPath, problem));
    // It may be broken elsewhere only, or name variables that only the gateway has.
    const read =
      (await loadBlocks(env, ["gateway"])) ??
      (await loadBlocks(env, ["gateway"], `${places.configPath}.bak`));
    gateway = read?.config.gateway ?? null;
  }
  const { port, bind, ...running } = await listening(
    places.portPath,
    gateway ?? { port: 7275, bind: "loopback" },
  );
  const url = urlOf(bind, port);
  const { pid = null } = running;
  if (running.token !== undefined)
    return { url, token: running.token, tokenFrom: places.portPath, pid, configTrouble };
  const own = gateway?.auth.token?.reveal();
  const token = own ?? (await tokenIn(places.tokenPath));
  if (token === null)
    throw notRunning(
      url,
      configTrouble,
      `there is no token in ${places.tokenPath}, so no gateway has started here yet`,
    );
  return {
    url,
    token,
    tokenFrom: own === undefined ? places.tokenPath : "gateway.auth.token",
    pid,
    configTrouble,
  };
}

/**
 * What the gateway that runs wrote down after the config last changed: it would not have started by a broken
 * one, so that reading it, which takes longer than all the rest, can tell nothing. Null where that is not so.
 */
async function sinceConfig({ portPath, configPath }: Places): Promise<GatewayAddress | null> {
  try {
    const [told, config] = await Promise.all([
      stat(portPath),
      // No file is no mistake.
      stat(configPath).catch(() => ({ mtimeMs: 0, ctimeMs: 0 })),
    ]);
    if (Math.max(config.mtimeMs, config.ctimeMs) >= told.mtimeMs) return null;
    const { port, bind, pid, token } = await listening(portPath, { port: 0, bind: "loopback" });
    if (pid === undefined || token === undefined) return null;
    return { url: urlOf(bind, port), token, tokenFrom: portPath, pid, configTrouble: [] };
  } catch (error) {
    // No gateway has written anything down; what else is wrong is told where the config is read.
    if (error instanceof Error) return null;
    throw error;
  }
}

function urlOf(bind: string, port: number): string {
  const address = listenAddress(bind);
  const host = address === "0.0.0.0" ? "127.0.0.1" : address;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function notRunning(
  url: string,
  configTrouble: readonly string[],
  detail: string,
  toStart = "Start it with `parley start`.",
): CommandFailure {
  const exitCode = configTrouble.length > 0 ? exitCodes.config : exitCodes.failed;
  const advice = configTrouble.length > 0 ? "Mend the config, then run `parley start`." : toStart;
  return new CommandFailure(
    "unavailable",
    `The gateway is not running at ${url}: ${detail}.\n${advice}`,
    exitCode,
  );
}

interface Listening {
  readonly port: number;
  readonly bind: string;
  readonly pid?: number;
  readonly token?: string;
}

/**
 * Where the gateway that runs listens, and what it takes: a change of either in the config waits for its
 * restart.
 */
async function listening(path: string, said: Listening): Promise<Listening> {
  let text: string | null;
  try {
    text = await textFile(path);
  } catch (cause) {
    throw new CommandFailure(
      "denied",
      `The file ${path} cannot be read: ${(cause as Error).message}.`,
      exitCodes.failed,
      { cause },
    );
  }
  if (text === null) return said;
  const [port = "", pid = "", bind = said.bind, token = ""] = text.trim().split(" ");
  if (!/^[1-9]\d*$/.test(port)) return said;
  // It outlives a gateway that was killed; a port of the system's choice stands nowhere else.
  if (!isAlive(Number(pid))) return said.port === 0 ? { port: Number(port), bind } : said;
  return { port: Number(port), bind, pid: Number(pid), ...(token === "" ? {} : { token }) };
}

async function tokenIn(path: string): Promise<string | null> {
  try {
    return (await textFile(path))?.trim() ?? null;
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandFailure(
      "denied",
      `The token file ${path} cannot be read: ${message}.\nRun this as the user of the daemon.`,
      exitCodes.failed,
      { cause },
    );
  }
}
