// Checks whether a restart would come up before anything ends: it validates the config, and tries the port
// and the store. A gateway on an old config is better than none on a new one.
import { basename } from "node:path";
import {
  changedKeys,
  listenAddress,
  listenerAt,
  listenTrouble,
  restartKeys,
  type Config,
} from "@parley/config";
import { isFault, type Clock, type Log } from "@parley/protocol";
import type { Role } from "@parley/cluster";
import type { Restarting } from "@parley/runner";
import { wireStore } from "../wiring/store.ts";

export interface RestartingOptions {
  /** Applies the file as it is now. */
  readonly reload: (
    cause: string,
  ) => Promise<{ readonly outcome: "taken" | "unchanged" | "refused"; readonly problems: readonly string[] }>;
  /** The config that the daemon started with. */
  readonly started: Config;
  readonly configNow: () => Config;
  readonly configPath: string;
  readonly home: string;
  readonly role: Role;
  /** The port given to the process in place of the config's. */
  readonly port: number | undefined;
  /** The port that this process listens on. */
  readonly ownPort: () => number;
  readonly begin: () => void;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function restarting(options: RestartingOptions): Restarting {
  const { reload, started, configNow, configPath, home, role, bootId, clock, log } = options;

  async function addressTrouble({ gateway }: Config): Promise<string | null> {
    const wanted = options.port ?? gateway.port;
    // Our own port will be free; whether the address exists can be tested at any other port.
    const isOurs = wanted === options.ownPort();
    const address = listenAddress(gateway.bind);
    const code = await listenTrouble(address, isOurs ? 0 : wanted);
    if (code === null) return null;
    const why = code === "EADDRINUSE" ? `${await listenerAt(address, wanted)} listens there` : code;
    return `gateway.port: the gateway could not listen on ${gateway.bind}, port ${wanted}: ${why}`;
  }

  async function storeTrouble(config: Config): Promise<string | null> {
    if (role !== "all" && config.store.driver !== "redis")
      return `store.driver: this process runs as --role ${role}, which needs "redis"`;
    if (!restartKeys(changedKeys(started, config)).some((key) => key.startsWith("store"))) return null;
    try {
      const store = await wireStore({
        config,
        home,
        bootId,
        exclusive: false,
        onFatal: () => {},
        clock,
        log,
      });
      await store.close();
      return null;
    } catch (error) {
      if (!isFault(error)) throw error;
      return `store: ${error.message}`;
    }
  }

  return {
    async trouble() {
      const { outcome, problems } = await reload("a restart was asked for");
      const config = configNow();
      const found =
        outcome === "refused"
          ? problems.join("\n")
          : ((await addressTrouble(config)) ?? (await storeTrouble(config)));
      // A chat need not know paths of this machine.
      return found === null
        ? null
        : found.replaceAll(configPath, basename(configPath)).replaceAll(`${home}/`, "");
    },
    begin: options.begin,
  };
}
