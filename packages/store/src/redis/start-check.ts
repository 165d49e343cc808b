// Checks that a Redis server is safe to use, at start and while it runs. Each refusal names the line of
// redis.conf to change. INFO alone decides where it can, because hosted servers forbid CONFIG.
import { Fault, type Log } from "@parley/protocol";
import type { Connection } from "./connection.ts";

/** The oldest Redis version that has all commands of our scripts. */
const oldest = [6, 2] as const;

type Server = Pick<Connection, "info" | "setting" | "place">;

export interface CheckOptions {
  readonly acceptDataLoss?: boolean;
  readonly log: Log;
}

/** Throws Fault("unsupported") when no setting helps, Fault("invalid") for wrong settings. */
export async function checkServer(
  server: Server,
  { acceptDataLoss = false, log }: CheckOptions,
): Promise<void> {
  const { place } = server;
  const [about, replication, cluster] = await Promise.all(
    ["server", "replication", "cluster"].map((section) => server.info(section)),
  );
  const version = about?.get("redis_version") ?? "0";
  if (isOlder(version)) {
    throw new Fault(
      "unsupported",
      `Redis at ${place} is version ${version}: Parley needs ${oldest.join(".")} or newer`,
    );
  }
  if (about?.get("redis_mode") === "cluster" || cluster?.get("cluster_enabled") === "1") {
    throw new Fault(
      "unsupported",
      `Redis at ${place} is a cluster: Parley needs one primary. Set "cluster-enabled no" in redis.conf`,
    );
  }
  if (replication?.get("role") === "slave") {
    throw new Fault("invalid", `Redis at ${place} is a replica: let store.redis.url name its primary`);
  }

  const { dangers, fsync } = await look(server);
  for (const text of dangers) {
    if (!acceptDataLoss)
      throw new Fault("invalid", `${text}; store.redis.acceptDataLoss: true starts all the same`);
    log.warn({ redis: place }, text);
  }
  if (fsync === "everysec") {
    log.info(
      { redis: place },
      'Redis writes to its disk once a second ("appendfsync everysec"): a power cut may lose the last second',
    );
  }
}

/**
 * The ways in which this server may lose data, each with the line to change. Asked again while the gateway
 * runs, because settings can change and servers can be replaced.
 */
export async function serverDangers(server: Server): Promise<readonly string[]> {
  return (await look(server)).dangers;
}

async function look(
  server: Server,
): Promise<{ readonly dangers: readonly string[]; readonly fsync: string | null }> {
  const [memory, persistence, fsync] = await Promise.all([
    server.info("memory"),
    server.info("persistence"),
    server.setting("appendfsync"),
  ]);
  const found = [
    ...evictionDanger(memory.get("maxmemory_policy")),
    ...persistenceDanger(persistence.get("aof_enabled") === "1", fsync),
  ];
  return {
    dangers: found.map(({ what, line }) => `Redis at ${server.place} ${what}. Set "${line}" in redis.conf`),
    fsync,
  };
}

interface Danger {
  readonly what: string;
  readonly line: string;
}

function evictionDanger(policy: string | undefined): readonly Danger[] {
  if (policy === undefined || policy === "noeviction") return [];
  return [
    {
      what: `throws keys away when its memory is full (maxmemory-policy is ${policy})`,
      line: "maxmemory-policy noeviction",
    },
  ];
}

/** Snapshots alone lose minutes of acknowledged events, so they do not count as persistence. */
function persistenceDanger(appends: boolean, fsync: string | null): readonly Danger[] {
  if (!appends)
    return [
      { what: "forgets what it stored when it dies (the append-only file is off)", line: "appendonly yes" },
    ];
  if (fsync === "no")
    return [
      {
        what: "leaves it to the system when to write to the disk (appendfsync is no)",
        line: "appendfsync everysec",
      },
    ];
  return [];
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
}
