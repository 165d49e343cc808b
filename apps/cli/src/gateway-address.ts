// Finds the running gateway: its address from the config, its token from the config or the state folder. A broken config does not keep
// an operator from asking a daemon that runs: then the defaults are tried, with a warning.
import { readFile } from "node:fs/promises";
import { ConfigFault, describeProblem, isLoopbackBind, loadConfig, placesIn, type Env } from "@parley/config";
import { CommandFailure, exitCodes } from "./exit.ts";

export interface GatewayAddress {
  readonly url: string;
  readonly token: string;
  /** What is wrong with the config; empty when all is well. */
  readonly configTrouble: readonly string[];
}

export async function gatewayAddress(env: Env): Promise<GatewayAddress> {
  const places = placesIn(env);
  let gateway: { port: number; bind: string; token?: string } = { port: 7275, bind: "loopback" };
  let configTrouble: readonly string[] = [];
  try {
    const { config } = await loadConfig({ env });
    const token = config.gateway.auth.token?.reveal();
    gateway = { port: config.gateway.port, bind: config.gateway.bind, ...(token === undefined ? {} : { token }) };
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    configTrouble = error.problems.map((problem) => describeProblem(places.configPath, problem));
  }
  const host = isLoopbackBind(gateway.bind) || gateway.bind === "lan" || gateway.bind === "0.0.0.0" ? "127.0.0.1" : gateway.bind;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${gateway.port}`;
  const token = gateway.token ?? (await tokenIn(places.tokenPath));
  if (token === null) throw notRunning(url, configTrouble, `there is no token in ${places.tokenPath}, so no gateway has started here yet`);
  return { url, token, configTrouble };
}

export function notRunning(url: string, configTrouble: readonly string[], detail: string): CommandFailure {
  const exitCode = configTrouble.length > 0 ? exitCodes.config : exitCodes.failed;
  const advice = configTrouble.length > 0 ? "Mend the config, then run `parley start`." : "Start it with `parley start`.";
  return new CommandFailure("unavailable", `The gateway is not running at ${url}: ${detail}.\n${advice}`, exitCode);
}

async function tokenIn(path: string): Promise<string | null> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new CommandFailure(
      "denied",
      `The token file ${path} cannot be read: ${message}.\nRun this as the user of the daemon.`,
      exitCodes.failed,
      { cause },
    );
  }
}
