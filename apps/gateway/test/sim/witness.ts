// Stands between the product and the store and watches what no table shows afterwards: which lease wrote
// (I3), what a stop promised (I2), which lane was taken before which (I15), and in which conversation a
// session's rows came.
import type { Lease, NewRow, Stopped, Store, Turn } from "@parley/store";
import { leaderCell } from "@parley/cluster";
import type { World } from "./world.ts";

export interface WitnessBook {
  /** Turns that were told to stop, with the reason. */
  readonly stops: Map<string, string>;
  /** Ids of accepted rows. */
  readonly accepted: Set<string>;
  /** The newest lease of a lane of turns or deliveries that was seen. */
  readonly tokens: Map<string, number>;
  /** Turns that were committed, by the token that did it. */
  readonly commits: Map<string, number>;
  /** The newest term of an account that was written. */
  readonly terms: Map<string, number>;
}

export function witnessBook(): WitnessBook {
  return { stops: new Map(), accepted: new Set(), tokens: new Map(), commits: new Map(), terms: new Map() };
}

export function witnessed(world: World, book: WitnessBook, store: Store): Store {
  /** A write by a lease that was known to be lost must have been refused. */
  const fenced =
    <A extends readonly unknown[], T>(
      kind: "i" | "o",
      verb: string,
      run: (lease: Lease, ...rest: A) => Promise<T>,
    ) =>
    async (lease: Lease, ...rest: A): Promise<T> => {
      const newest = book.tokens.get(`${kind} ${lease.lane}`) ?? 0;
      const answer = await run(lease, ...rest);
      if (lease.token < newest)
        world.broken(
          "I3",
          `${verb} by lease ${lease.token} of ${lease.lane} was taken, though ${newest} holds it`,
        );
      return answer;
    };
  /** What a leader of an older term would still write must have been refused. */
  const inTerm = (pool: string, verb: string, term: number | undefined): (() => void) => {
    const newest = book.terms.get(pool) ?? 0;
    return () => {
      if ((term ?? 0) < newest)
        world.broken(
          "I3",
          `${verb} of ${pool} in term ${term ?? "(none)"} was taken, though ${newest} leads`,
        );
    };
  };
  const led =
    <A extends readonly unknown[], T>(verb: string, run: (lease: Lease, ...rest: A) => Promise<T>) =>
    async (lease: Lease, ...rest: A): Promise<T> => {
      const taken = inTerm(lease.lane.split(":", 2).join(":"), verb, lease.term);
      const answer = await run(lease, ...rest);
      taken();
      return answer;
    };
  const leased = (kind: "i" | "o", lease: Lease): void =>
    void book.tokens.set(`${kind} ${lease.lane}`, lease.token);

  return {
    ...store,
    inbox: {
      ...store.inbox,
      async accept(rows: readonly NewRow[]) {
        const verdicts = await store.inbox.accept(rows);
        for (const { id } of rows) book.accepted.add(id);
        return verdicts;
      },
      async stop(lane, what): Promise<Stopped> {
        const stopped = await store.inbox.stop(lane, what);
        if (stopped.turn !== null && !book.stops.has(stopped.turn)) {
          book.stops.set(stopped.turn, what.reason);
          // The fence was raised by one at least; the next lease tells the exact token.
          book.tokens.set(`i ${lane}`, (book.tokens.get(`i ${lane}`) ?? 0) + 0.5);
        }
        return stopped;
      },
    },
    turns: {
      ...store.turns,
      async take(want) {
        // Both in one transaction: how the lanes stood, and which of them was taken.
        const [[longest], found] = await Promise.all([
          store.turns.list(want.pool, 1),
          store.turns.take(want),
        ]);
        if ("idle" in found) return found;
        if (longest?.lane !== found.lane)
          world.broken("I15", `${found.lane} was taken before ${longest?.lane}, which was runnable longer`);
        leased("i", found);
        if (found.attempt === 1 && found.log.length === 0) open(found);
        return found;
      },
      extend: fenced("i", "extend", store.turns.extend),
      absorb: fenced("i", "absorb", store.turns.absorb),
      checkpoint: fenced("i", "checkpoint", store.turns.checkpoint),
      split: fenced("i", "split", store.turns.split),
      park: fenced("i", "park", store.turns.park),
      async commit(lease, turn, what) {
        // The same holder may ask again after its answer was lost.
        const repeated = book.commits.get(turn) === lease.token;
        const answer = repeated
          ? await store.turns.commit(lease, turn, what)
          : await fenced("i", "commit", store.turns.commit)(lease, turn, what);
        const before = book.commits.get(turn);
        if (before !== undefined && before !== lease.token)
          world.broken("I3", `${turn} was committed twice, by ${before} and ${lease.token}`);
        book.commits.set(turn, lease.token);
        return answer;
      },
    },
    outbox: {
      ...store.outbox,
      async take(want) {
        const taken = inTerm(want.pool, "take", want.term);
        const found = await store.outbox.take(want);
        taken();
        if (!("idle" in found)) leased("o", found);
        return found;
      },
      extend: fenced("o", "extend", led("extend", store.outbox.extend)),
      record: fenced("o", "record", led("record", store.outbox.record)),
    },
    cells: {
      ...store.cells,
      async put(key, value, how) {
        const cell = await store.cells.put(key, value, how);
        if (cell !== null && key.startsWith(leaderCell("")))
          book.terms.set(key.slice(leaderCell("").length), cell.version);
        return cell;
      },
    },
  };

  function open(turn: Turn): void {
    const [first] = turn.rows;
    for (const row of turn.rows) {
      if (row.conversation !== first?.conversation || row.authority !== first.authority) {
        world.broken(
          "I6",
          `${turn.id} holds rows of ${first?.conversation}/${first?.authority} and ${row.conversation}/${row.authority}`,
        );
      }
    }
  }
}
