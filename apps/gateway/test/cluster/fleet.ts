// Several daemons on one Redis in homes of their own, before one fake Telegram, Discord or web and one fake
// model.
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { redisServer, type RedisServer } from "@parley/testkit";
import { freshHome, startDaemon, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";

export type Role = "all" | "edge" | "worker";

export interface Node extends Daemon {
  readonly name: string;
  readonly role: Role;
}

type AnyWorld = Pick<World, "config" | "close">;

export interface Fleet<W extends AnyWorld = World> {
  readonly world: W;
  readonly redis: RedisServer;
  /** Starts a node; the same name again is a restart in the same home. Homes share workspace and media. */
  start(name: string, role: Role, config?: object): Promise<Node>;
  close(): Promise<void>;
}

export async function fleet(telegram: object = {}): Promise<Fleet> {
  return fleetIn(await world(telegram));
}

export async function fleetIn<W extends AnyWorld>(w: W): Promise<Fleet<W>> {
  const [redis, shared] = await Promise.all([redisServer(), freshHome()]);
  const homes = new Map<string, string>();
  for (const folder of ["workspace", "media"]) await mkdir(join(shared, folder), { recursive: true });

  async function homeOf(name: string): Promise<string> {
    const known = homes.get(name);
    if (known !== undefined) return known;
    const home = await freshHome();
    for (const folder of ["workspace", "media"]) await symlink(join(shared, folder), join(home, folder));
    homes.set(name, home);
    return home;
  }

  return {
    world: w,
    redis,
    async start(name, role, config = {}) {
      const daemon = await startDaemon({
        home: await homeOf(name),
        args: ["--role", role, "--node", name],
        config: { ...w.config, store: { driver: "redis", redis: { url: redis.url } }, ...config },
      });
      return { ...daemon, name, role };
    },
    close: async () => void (await Promise.all([w.close(), redis.close()])),
  };
}
