// The inbox, the turns and the transcript as plain data, written from the contract and not from a driver.
import type { As, Commit, NewDelivery, NewRow, Park, Release, Stop, Want } from "../../src/index.ts";
import { laneBook, type ModelLane, type ModelLease, Refusal } from "./lanes-model.ts";

export interface ModelRow {
  readonly row: NewRow;
  readonly accepted: number;
  readonly due: number;
  state: "waiting" | "claimed" | "context" | "ended";
  outcome: string | null;
  turn: string | null;
  payload: string;
  version: number;
  strikes: number;
}

interface ModelTurn {
  readonly id: string;
  readonly lane: string;
  readonly epoch: number;
  rows: ModelRow[];
  readonly log: string[];
  attempt: number;
  /** Token of the hold that was counted as a death last. */
  struck: number | null;
  alone: boolean;
  state: "running" | "parked" | "done";
  park: Park | null;
  stop: string | null;
  doneBy: number;
  seq: number;
}

interface ModelSession {
  epoch: number;
  readonly entries: { readonly epoch: number; readonly turn: string; readonly body: string }[];
}

const debounceLimitMs = 5000;

export function turnsModel(now: () => number, post: (deliveries: readonly NewDelivery[]) => void) {
  const lanes = laneBook(now);
  const rows: ModelRow[] = [];
  const turns = new Map<string, ModelTurn>();
  const sessions = new Map<string, ModelSession>();

  const session = (lane: string): ModelSession => {
    const known = sessions.get(lane) ?? { epoch: 1, entries: [] };
    sessions.set(lane, known);
    return known;
  };
  const waiting = (lane: string) => rows.filter((each) => each.row.lane === lane && each.state === "waiting");
  const end = (row: ModelRow, outcome: string): void => {
    row.state = "ended";
    row.outcome = outcome;
  };
  const work = (row: ModelRow) => (row.row.as.kind === "work" ? row.row.as : null);
  const isKin = (row: ModelRow, turn: ModelTurn): boolean =>
    row.row.conversation === turn.rows[0]?.row.conversation &&
    row.row.authority === turn.rows[0]?.row.authority;
  const isAnswer = (row: ModelRow, park: Park): boolean => park.tickets.includes(work(row)?.ticket ?? "");
  const isAlone = (row: ModelRow | undefined): boolean =>
    row !== undefined && (work(row)?.barrier === true || row.strikes > 0);
  const wakes = (row: ModelRow, turn: ModelTurn, park: Park): boolean =>
    isAnswer(row, park) || (park.wake === "any" && isKin(row, turn) && work(row)?.ticket === undefined);
  const claim = (turn: ModelTurn, found: readonly ModelRow[]): void => {
    for (const row of found) {
      row.state = "claimed";
      row.turn = turn.id;
      turn.rows.push(row);
    }
  };
  const absorbed = (found: readonly ModelRow[]): string =>
    `absorbed ${JSON.stringify(found.map(({ row }) => row.id))}`;
  const prefix = (found: readonly ModelRow[], fits: (row: ModelRow) => boolean): readonly ModelRow[] => {
    const stop = found.findIndex((row) => isAlone(row) || !fits(row));
    return stop === -1 ? found : found.slice(0, stop);
  };
  const settle = (lane: ModelLane): void => {
    const left = waiting(lane.lane);
    const [head] = left;
    lane.at =
      head === undefined
        ? null
        : Math.max(
            now(),
            Math.min(Math.max(...left.slice(0, 20).map(({ due }) => due)), head.accepted + debounceLimitMs),
          );
    lane.pool = head?.row.pool ?? lane.pool;
  };
  const held = (lease: ModelLease): { lane: ModelLane; turn: ModelTurn } => {
    const lane = lanes.fenced(lease);
    const turn = turns.get(lane.turn ?? "");
    if (turn === undefined) throw new Refusal("conflict");
    return { lane, turn };
  };

  const queue = (row: ModelRow, afterMs: number): void => {
    const lane = lanes.open(row.row.lane, row.row.pool);
    const turn = turns.get(lane.turn ?? "");
    if (lane.holder !== null) return;
    if (turn !== undefined) {
      if (turn.state === "parked" && turn.park !== null && wakes(row, turn, turn.park))
        lane.at = Math.min(lane.at ?? now(), now());
      return;
    }
    if (lane.at === null) {
      lane.at = now() + Math.min(afterMs, debounceLimitMs);
      lane.pool = row.row.pool;
    } else if (afterMs > 0) {
      const latest = (waiting(lane.lane)[0]?.accepted ?? now()) + debounceLimitMs;
      lane.at = Math.max(lane.at, Math.min(now() + afterMs, latest));
    }
  };

  const add = (given: NewRow): string => {
    const { as, subject, version = 0 } = given;
    const isKnown = rows.some(
      ({ row }) =>
        row.id === given.id ||
        (subject !== undefined && row.subject === subject && (row.version ?? 0) === version),
    );
    if (isKnown) return "duplicate";
    const made: ModelRow = {
      row: given,
      accepted: now(),
      due: now() + ((as.kind === "work" ? as.afterMs : 0) ?? 0),
      state: as.kind === "work" ? "waiting" : as.kind === "context" ? "context" : "ended",
      outcome: as.kind === "closed" ? as.outcome : as.kind === "edit" ? "superseded" : null,
      turn: null,
      payload: given.payload,
      version,
      strikes: 0,
    };
    rows.push(made);
    return place(made, as);
  };
  const place = (made: ModelRow, as: As): string => {
    if (as.kind === "closed") return "closed";
    if (as.kind === "work") {
      queue(made, as.afterMs ?? 0);
      return "queued";
    }
    if (as.kind === "context") {
      const kept = rows.filter((each) => each.row.lane === made.row.lane && each.state === "context");
      for (const old of kept.slice(0, Math.max(0, kept.length - as.keep))) end(old, "context");
      return "context";
    }
    const target = rows.find(
      (each) => each !== made && each.row.subject === made.row.subject && each.state !== "ended",
    );
    if (target === undefined || target.state === "claimed" || target.version >= made.version) return "late";
    target.payload = made.payload;
    target.version = made.version;
    return "replaced";
  };
  const accept = (list: readonly NewRow[]) =>
    list.map((row) => ({ id: row.id, verdict: add(row), waiting: waiting(row.lane).length }));

  return {
    lanes,
    rows,
    turns,
    sessions,
    waiting,
    accept,
    reset: (lane: string) => void (session(lane).epoch += 1),
    /** `chosen`: the lane that the driver gave; any of those that are due longest is right. */
    take(want: Want, chosen: string | null, id: string) {
      const due = lanes.due(want.pool);
      const lane = due.find((each) => each.lane === chosen);
      if (lane === undefined || due.some((each) => (each.at ?? 0) < (lane.at ?? 0))) {
        if (chosen === null && due.length === 0) return null;
        throw new Error(`${chosen ?? "nothing"} was taken, but due are ${JSON.stringify(due)}`);
      }
      const lease = lanes.lease(lane, want.holder, want.leaseMs);
      const known = turns.get(lane.turn ?? "");
      if (known !== undefined) {
        const answers =
          known.state === "parked" && known.park !== null
            ? waiting(lane.lane).filter((row) => isAnswer(row, known.park as Park))
            : [];
        claim(known, answers);
        if (answers.length > 0) known.log.push(absorbed(answers));
        if (lease.before?.holder !== lease.holder) {
          known.attempt += 1;
          known.struck = lease.before?.token ?? null;
        }
        known.state = "running";
        return { lease, turn: known };
      }
      const list = waiting(lane.lane).slice(0, want.maxRows);
      const [head] = list;
      const fits = (row: ModelRow) =>
        row.row.conversation === head?.row.conversation && row.row.authority === head.row.authority;
      const turn: ModelTurn = {
        id,
        lane: lane.lane,
        epoch: session(lane.lane).epoch,
        rows: [],
        log: [],
        attempt: (head?.strikes ?? 0) + 1,
        struck: null,
        alone: isAlone(head),
        state: "running",
        park: null,
        stop: null,
        doneBy: 0,
        seq: 0,
      };
      claim(turn, isAlone(head) ? list.slice(0, 1) : prefix(list, fits));
      turns.set(id, turn);
      lane.turn = id;
      return { lease, turn };
    },
    extend(lease: ModelLease, leaseMs: number): number {
      const lane = lanes.fenced(lease);
      lane.at = now() + leaseMs;
      return waiting(lane.lane).length;
    },
    release(lease: ModelLease, how: Release): void {
      const { lane, turn } = held(lease);
      if (how.refund === true) turn.attempt = Math.max(0, turn.attempt - 1);
      lane.holder = null;
      lane.at = now() + how.afterMs;
    },
    absorb(lease: ModelLease, at: number, maxRows: number): readonly string[] {
      const { lane, turn } = held(lease);
      const logged = turn.log[at];
      if (logged !== undefined)
        return logged.startsWith("absorbed ") ? (JSON.parse(logged.slice(9)) as readonly string[]) : [];
      if (at !== turn.log.length) throw new Refusal("invalid");
      const found = turn.alone ? [] : prefix(waiting(lane.lane).slice(0, maxRows), (row) => isKin(row, turn));
      claim(turn, found);
      if (found.length > 0) turn.log.push(absorbed(found));
      return found.map(({ row }) => row.id);
    },
    checkpoint(
      lease: ModelLease,
      at: number,
      bodies: readonly string[],
      deliveries: readonly NewDelivery[],
      rows: readonly NewRow[],
    ): number {
      const { turn } = held(lease);
      if (bodies.length > 0 && at + bodies.length <= turn.log.length) return turn.log.length;
      if (at !== turn.log.length) throw new Refusal("invalid");
      turn.log.push(...bodies);
      turn.attempt = 1;
      post(deliveries);
      accept(rows);
      return turn.log.length;
    },
    lived(lease: ModelLease): void {
      const lane = lanes.get(lease.lane);
      const turn = turns.get(lane?.turn ?? "");
      if (lane === undefined || turn === undefined) return;
      if (lane.token === lease.token && lane.holder === lease.holder) turn.attempt = 1;
      else if (turn.struck === lease.token && turn.attempt > 1) {
        turn.attempt -= 1;
        turn.struck = null;
      }
    },
    split(lease: ModelLease): readonly string[] {
      const { turn } = held(lease);
      turn.alone = true;
      if (turn.log.some((step) => !step.startsWith("absorbed "))) return turn.rows.map(({ row }) => row.id);
      for (const row of turn.rows.slice(1)) {
        row.state = "waiting";
        row.turn = null;
        row.strikes = Math.max(1, turn.attempt - 1);
      }
      turn.rows = turn.rows.slice(0, 1);
      turn.log.length = 0;
      turn.alone = true;
      return turn.rows.map(({ row }) => row.id);
    },
    park(lease: ModelLease, how: Park): void {
      const { lane, turn } = held(lease);
      turn.state = "parked";
      turn.attempt = 0;
      turn.park = how;
      lane.holder = null;
      lane.at = waiting(lane.lane).some((row) => wakes(row, turn, how)) ? now() : how.untilMs;
    },
    stop(name: string, what: Stop) {
      const lane = lanes.get(name);
      const turn = turns.get(lane?.turn ?? "");
      const told = turn !== undefined && (what.turn === "open" || what.turn === turn.id) ? turn : null;
      if (told !== null && told.stop === null && lane !== undefined) {
        told.stop = what.reason;
        told.state = "running";
        lane.token += 1;
        lane.holder = null;
        lane.at = now();
      }
      const list = waiting(name);
      const ending =
        what.rows === "all"
          ? list
          : what.rows !== undefined && "keepNewest" in what.rows
            ? list.slice(0, Math.max(0, list.length - what.rows.keepNewest))
            : [];
      for (const row of ending) end(row, what.outcome ?? "stopped");
      if (ending.length > 0 && lane !== undefined && lane.holder === null && lane.turn === null) {
        const [head] = waiting(name);
        lane.at = head === undefined ? null : lane.at;
        lane.pool = head?.row.pool ?? lane.pool;
      }
      return { turn: told?.id ?? null, rows: ending.map(({ row }) => row.id) };
    },
    commit(lease: ModelLease, id: string, what: Commit): number {
      const turn = turns.get(id);
      if (turn?.state === "done" && turn.lane === lease.lane && turn.doneBy === lease.token) return turn.seq;
      const lane = lanes.fenced(lease);
      if (turn === undefined || lane.turn !== id) throw new Refusal("conflict");
      const { entries } = session(turn.lane);
      entries.push(...what.entries.map((body) => ({ epoch: turn.epoch, turn: id, body })));
      for (const row of turn.rows) end(row, what.outcome);
      post(what.deliveries ?? []);
      turn.state = "done";
      turn.doneBy = lease.token;
      turn.seq = entries.length;
      lane.turn = null;
      lane.holder = null;
      settle(lane);
      accept(what.rows ?? []);
      return turn.seq;
    },
  };
}
