// Leases as plain data: the reference that the model test compares a driver's lanes with.

export interface ModelLane {
  readonly lane: string;
  pool: string;
  at: number | null;
  token: number;
  holder: string | null;
  turn: string | null;
}

export interface ModelLease {
  readonly lane: string;
  readonly token: number;
  readonly holder: string;
}

export class Refusal extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export function laneBook(now: () => number) {
  const lanes = new Map<string, ModelLane>();
  return {
    all: () => [...lanes.values()],
    get: (lane: string) => lanes.get(lane),
    open(lane: string, pool: string): ModelLane {
      const known = lanes.get(lane) ?? { lane, pool, at: null, token: 0, holder: null, turn: null };
      lanes.set(lane, known);
      return known;
    },
    due: (pool: string) =>
      [...lanes.values()].filter((lane) => lane.pool === pool && lane.at !== null && lane.at <= now()),
    nextAt: (pool: string): number | null => {
      const times = [...lanes.values()].flatMap((lane) =>
        lane.pool === pool && lane.at !== null ? [lane.at] : [],
      );
      return times.length === 0 ? null : Math.min(...times);
    },
    lease(
      lane: ModelLane,
      holder: string,
      leaseMs: number,
    ): ModelLease & { readonly before: ModelLease | null } {
      const before =
        lane.holder === null ? null : { lane: lane.lane, token: lane.token, holder: lane.holder };
      lane.token += 1;
      lane.holder = holder;
      lane.at = now() + leaseMs;
      return { lane: lane.lane, token: lane.token, holder, before };
    },
    fenced(lease: ModelLease): ModelLane {
      const lane = lanes.get(lease.lane);
      if (lane === undefined || lane.token !== lease.token || lane.holder !== lease.holder)
        throw new Refusal("conflict");
      return lane;
    },
  };
}
