// Gives this process a place among others of its home: a name, and a lock which proves that the process
// before it in this place is dead. So what that one held on a shared store is free at once instead of when
// its leases expire.
import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { Fault, isFault } from "@parley/protocol";
import { lockHome, type HomeLock } from "@parley/store";

const roles = ["all", "edge", "worker"] as const;
/** `edge`: holds connections, receives and delivers. `worker`: runs turns. `all`: both. */
export type Role = (typeof roles)[number];

export interface NodePlace extends HomeLock {
  /** Unique among the nodes of one store. */
  readonly name: string;
  /**
   * The previous process of this place that ended without a word; null when there is none or it is not proven
   * dead.
   */
  readonly deadBoot: string | null;
  /** Records this boot as the holder of the place. */
  settle(bootId: string): void;
}

export interface PlaceOptions {
  readonly home: string;
  readonly pid: number;
  /** Given by the operator; absent: the host's name, with a number for further processes. */
  readonly name: string | undefined;
  /** True when several processes may share the home, which needs a shared store. */
  readonly shared: boolean;
}

/** Most processes of one home on one host. */
const mostPlaces = 64;
const wellFormed = /^[\w.-]{1,63}$/;

/** Throws Fault("conflict") where another process has the place. */
export function takePlace({ home, pid, name, shared }: PlaceOptions): NodePlace {
  if (name !== undefined && !wellFormed.test(name))
    throw new Fault(
      "invalid",
      `--node ${JSON.stringify(name)}: up to 63 letters, digits, dots, dashes and underscores`,
    );
  const folderOf = (node: string): string => join(home, "nodes", node);
  const host = hostname();
  if (name !== undefined && shared) return placeIn(folderOf(name), name, lockHome(folderOf(name), pid));
  for (let n = 1; ; n += 1) {
    const dir = n === 1 ? home : folderOf(`${host}-${n}`);
    try {
      return placeIn(dir, n === 1 ? host : `${host}-${n}`, lockHome(dir, pid));
    } catch (error) {
      if (!shared || n === mostPlaces || !isFault(error, "conflict")) throw error;
    }
  }
}

interface Stood {
  readonly boot: string;
  readonly host: string;
}

function placeIn(dir: string, name: string, lock: HomeLock): NodePlace {
  const file = join(dir, "daemon.boot");
  const before = stoodIn(file);
  return {
    name,
    // A lock of this host says nothing about processes of another host that mounts the same folder.
    deadBoot: before !== null && before.host === hostname() ? before.boot : null,
    settle: (boot) =>
      writeFileSync(file, JSON.stringify({ boot, host: hostname() } satisfies Stood), { mode: 0o600 }),
    release: lock.release,
  };
}

function stoodIn(file: string): Stood | null {
  try {
    const { boot, host } = JSON.parse(readFileSync(file, "utf8")) as Partial<Stood>;
    return typeof boot === "string" && typeof host === "string" ? { boot, host } : null;
  } catch {
    // The place is new, or a crash cut the file: then leases end by time.
    return null;
  }
}

/** Throws Fault("invalid") that names the valid roles. */
export function roleOf(word: string | undefined): Role {
  if (word === undefined) return "all";
  const role = roles.find((known) => known === word);
  if (role === undefined)
    throw new Fault("invalid", `--role ${JSON.stringify(word)}: write ${roles.join(", ")}`);
  return role;
}
