// Lists the nodes: each writes its line every few seconds into a cell of its own, for `parley nodes` and for
// people. It decides only whether another node could take over an account. A process alone on its store
// writes only when asked, so that an idle disk may sleep.
import type { Clock, Log } from "@parley/protocol";
import type { Cells } from "@parley/store";
import type { Role } from "./node-identity.ts";

export interface NodeLine {
  readonly node: string;
  readonly boot: string;
  readonly role: Role;
  readonly version: string;
  readonly pid: number;
  readonly url: string;
  readonly startedAtMs: number;
  readonly state: string;
  readonly turns: number;
  readonly deliveries: number;
  /** Accounts that it leads. */
  readonly leads: readonly string[];
}

export interface NodeView extends NodeLine {
  /** True when it wrote its line within the last seconds. */
  readonly up: boolean;
  /** Milliseconds since its last line. */
  readonly silentMs: number;
}

/** Returns whether the node could lead an account now. */
export const canLead = ({ up, role, state }: NodeView): boolean =>
  up && role !== "worker" && state === "running";

export interface NodeRegistry {
  list(): Promise<readonly NodeView[]>;
  /**
   * Returns whether another node could lead an account now. Writes this node's line first, for others that
   * ask at the same moment.
   */
  othersLead(): Promise<boolean>;
  /** Records that this node is gone. */
  leave(): Promise<void>;
}

const prefix = "node:";
const writeEveryMs = 3_000;
const silentAfterMs = 10_000;
/** A node that does not come back stays in the list for a day. */
const shownMs = 24 * 3_600_000;
const mostNodes = 1_000;

export function readNodeRegistry(
  cells: Pick<Cells, "list">,
  clock: Pick<Clock, "now">,
): () => Promise<readonly NodeView[]> {
  return async () => {
    const found = (await cells.list(prefix, mostNodes)).map(({ value, expiresAtMs }) => ({
      ...(JSON.parse(value) as NodeLine),
      // Taken from the store's clock, so that clocks of nodes need not agree.
      writtenAtMs: (expiresAtMs ?? 0) - shownMs,
    }));
    const newestMs = Math.max(0, ...found.map(({ writtenAtMs }) => writtenAtMs));
    // When nobody writes any more, this process' own clock is the best there is.
    const nowMs = Math.max(newestMs, found.length === 0 ? 0 : Math.min(clock.now(), newestMs + shownMs));
    return found.map(({ writtenAtMs, ...line }) => {
      const silentMs = Math.max(0, nowMs - writtenAtMs);
      return { ...line, silentMs, up: silentMs < silentAfterMs && line.state !== "gone" };
    });
  };
}

export interface NodeRegistryOptions {
  /** True when no other process reads the registry. */
  readonly alone: boolean;
  readonly cells: Pick<Cells, "list" | "put">;
  readonly line: () => NodeLine;
  readonly clock: Clock;
  readonly log: Log;
}

export function keepNodeRegistry({ alone, cells, line, clock, log }: NodeRegistryOptions): NodeRegistry {
  let left = false;
  const write = (state?: string): Promise<unknown> => {
    const now = line();
    return cells.put(
      `${prefix}${now.node}`,
      JSON.stringify(state === undefined ? now : { ...now, state, leads: [] }),
      { ttlMs: shownMs },
    );
  };
  const beat = (): void => {
    write()
      .catch((error: unknown) => log.debug({ error }, "the roll of nodes could not be written"))
      .finally(() => {
        if (!left && !alone) timer = clock.after(writeEveryMs, beat);
      });
  };
  let timer = clock.after(0, beat);
  const read = readNodeRegistry(cells, clock);
  const list: NodeRegistry["list"] = async () => {
    if (alone && !left) await write();
    return read();
  };
  return {
    list,
    async othersLead() {
      if (alone) return false;
      await write();
      const own = line().boot;
      return (await list()).some((each) => each.boot !== own && canLead(each));
    },
    async leave() {
      left = true;
      timer.cancel();
      await write("gone").catch((error: unknown) =>
        log.debug({ error }, "the roll of nodes could not be written"),
      );
    },
  };
}
