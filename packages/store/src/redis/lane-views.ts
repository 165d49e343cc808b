// Reads lanes for operators.
import type { Lanes, Lease } from "../store.ts";
import type { Connection } from "./connection.ts";
import { listLanesScript } from "./verbs/outbox.ts";

type LaneReply = readonly [
  lane: string,
  pool: string,
  at: number | null,
  holder: string | null,
  token: number,
  waiting: number,
];

export function laneViews({ call }: Connection, kind: "i" | "o"): Lanes<Lease>["list"] {
  return async (pool, limit) => {
    const found = await call<readonly LaneReply[]>(listLanesScript, { kind, pool, limit });
    return found.map(([lane, of, atMs, holder, token, waiting]) => ({
      lane,
      pool: of,
      atMs,
      holder,
      token,
      waiting,
    }));
  };
}
