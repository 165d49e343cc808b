// Group commit: all calls of one event-loop turn share one transaction and one fsync, each in a savepoint of
// its own. A promise resolves only after COMMIT (I1). A refused call rolls back alone. Listeners for work are
// called before the COMMIT, so that taking a message needs no second fsync after storing it. The driver waits
// for another process's lock between turns of the event loop and never inside one, so the daemon keeps
// answering. What only reads waits for no transaction: it sees all that was confirmed so far, at once.
import { Fault, isFault } from "@parley/protocol";
import type { Clock, Timer } from "@parley/protocol";
import { isFatal, isPassing, lostFault, troubleOf, verbFault } from "./failure.ts";

/** The one method that is needed of a connection; tests pass in one whose disk fails. */
export interface Connection {
  exec(sql: string): void;
  /** Also false when SQLite itself rolled back, as it may on a full disk. */
  readonly isTransaction: boolean;
}

export interface Transactions {
  /**
   * Runs `work` inside the next shared transaction. Rejects with what it threw, or with the Fault of a failed
   * commit.
   */
  run<T>(work: () => T): Promise<T>;
  /** Runs `work`, which only reads: at once, or as `run` where `look` cannot. */
  read<T>(work: () => T): Promise<T>;
  /**
   * Runs `work`, which only reads, at once and returns what it found. Null when it has to go through `run`:
   * calls before it are not committed yet, a transaction is open, or it threw.
   */
  look<T>(work: () => T): Found<T> | null;
  /**
   * Called inside `work`. Listeners run while the transaction is open, and what they call at once joins it.
   * If its commit fails, the listeners' calls are rejected with the rest.
   */
  ready(pool: string): void;
  onReady(wake: (pool: string) => void): () => void;
  /** Commits what waits, then refuses every later call. */
  close(): void;
}

interface Found<T> {
  readonly value: T;
}

interface Call {
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface TransactionsOptions {
  /**
   * Called once when the disk failed inside a transaction or the file is gone: the daemon exits and its
   * supervisor restarts it.
   */
  readonly onFatal: (error: unknown) => void;
  /**
   * Asked after each COMMIT: null while the committed data is where the next start will look for it,
   * otherwise the problem.
   */
  readonly gone?: () => string | null;
  /** Called when writes were undone, of one call or of all. */
  readonly onUndone?: () => void;
  /** Called before the work of each transaction and of each look: other connections may have written. */
  readonly onOpen?: () => void;
  readonly clock: Pick<Clock, "mono" | "after">;
}

/** One attempt to get the lock may block the event loop for this long. */
export const lockBlocksMs = 20;
const lockAgainMs = 100;
/**
 * After this time callers are told about the lock. Each new call tries again, so it recovers by itself (I10).
 */
const lockPatienceMs = 5_000;

export function transactions(
  db: Connection,
  { onFatal, gone = () => null, onUndone = () => {}, onOpen = () => {}, clock }: TransactionsOptions,
): Transactions {
  const listeners = new Set<(pool: string) => void>();
  const woken = new Set<string>();
  let waiting: Call[] = [];
  let closed: Fault | null = null;
  let lockedSinceMono: number | null = null;
  let again: Timer | null = null;

  const fail = (error: unknown): void => {
    const why = isFault(error) ? error.message : "the store stopped after a disk error: restart Parley";
    closed = new Fault("unavailable", why, { cause: error });
    onFatal(error);
  };

  /**
   * False when another process holds the lock: the calls then wait with later ones, or were told that it
   * takes too long.
   */
  const begin = (calls: readonly Call[]): boolean => {
    try {
      db.exec("begin immediate");
      onOpen();
      lockedSinceMono = null;
      return true;
    } catch (error) {
      if (troubleOf(error) !== "busy") throw error;
      const nowMono = clock.mono();
      lockedSinceMono ??= nowMono;
      if (nowMono - lockedSinceMono < lockPatienceMs) {
        waiting = [...calls, ...waiting];
        again ??= clock.after(lockAgainMs, () => {
          again = null;
          flush();
        });
      } else {
        const fault = verbFault(error);
        for (const call of calls) call.reject(fault);
      }
      return false;
    }
  };

  /** Runs the only call of a transaction, which needs no savepoint: refused, it takes nobody along. */
  const attemptAlone = (call: Call): (() => void) => {
    try {
      const value = call.work();
      return () => call.resolve(value as never);
    } catch (error) {
      if (isFatal(error) || !db.isTransaction) throw error;
      db.exec("rollback");
      onUndone();
      db.exec("begin immediate");
      onOpen();
      return () => call.reject(verbFault(error));
    }
  };

  /**
   * Runs one call in its savepoint and returns how to answer it after the commit. Throws when the whole
   * transaction is lost.
   */
  const attempt = (call: Call): (() => void) => {
    db.exec("savepoint call");
    try {
      const value = call.work();
      db.exec("release call");
      return () => call.resolve(value as never);
    } catch (error) {
      if (isFatal(error) || !db.isTransaction) throw error;
      db.exec("rollback to call; release call");
      onUndone();
      return () => call.reject(verbFault(error));
    }
  };

  const flush = (): void => {
    const calls = waitingNow();
    if (calls.length > 0) commitTogether(calls);
  };

  const waitingNow = (): Call[] => {
    const calls = waiting;
    waiting = [];
    return calls;
  };

  const tellReady = (): void => {
    const pools = [...woken];
    woken.clear();
    for (const pool of pools) for (const wake of listeners) wake(pool);
  };

  const commitTogether = (asked: readonly Call[], mayGrow = true): void => {
    let calls = asked;
    let answers: readonly (() => void)[] | null = null;
    try {
      if (!begin(calls)) return;
      const [only] = calls;
      let attempted = calls.length === 1 && only !== undefined ? [attemptAlone(only)] : calls.map(attempt);
      if (mayGrow && woken.size > 0) {
        tellReady();
        // Once only: work that these calls make ready is announced after the commit, so that a transaction
        // cannot go on for ever.
        const joined = waitingNow();
        calls = [...calls, ...joined];
        attempted = [...attempted, ...joined.map(attempt)];
      }
      answers = attempted;
      db.exec("commit");
      const lost = gone();
      if (lost !== null) throw new Fault("ambiguous", lost);
    } catch (error) {
      woken.clear();
      rollBack();
      const isLost = isFatal(error) || (answers !== null && !isPassing(error));
      // On a full disk one write fails its whole group; alone, calls that only read still succeed.
      if (calls.length > 1 && troubleOf(error) === "full") return commitAlone(calls);
      const fault = isFault(error) ? error : isLost ? lostFault(error) : verbFault(error);
      for (const call of calls) call.reject(fault);
      if (isLost) fail(error);
      return;
    }
    for (const answer of answers) answer();
    tellReady();
  };

  const commitAlone = (calls: readonly Call[]): void => {
    for (const call of calls) {
      if (closed === null) commitTogether([call], false);
      else call.reject(closed);
    }
  };

  const rollBack = (): void => {
    onUndone();
    try {
      if (db.isTransaction) db.exec("rollback");
    } catch {
      // The first error is the one to report; the process drops a connection that cannot roll back.
    }
  };

  const run: Transactions["run"] = (work) =>
    new Promise((resolve, reject) => {
      if (closed !== null) return reject(closed);
      if (waiting.length === 0 && again === null) setImmediate(flush);
      waiting.push({ work, resolve, reject });
    });

  const look: Transactions["look"] = (work) => {
    if (closed !== null || waiting.length > 0 || db.isTransaction) return null;
    onOpen();
    try {
      return { value: work() };
    } catch {
      // The same work fails again in its transaction, where refusals, locks and disk errors are told apart.
      return null;
    }
  };

  return {
    run,
    read(work) {
      const found = look(work);
      return found === null ? run(work) : Promise.resolve(found.value);
    },
    look,
    ready: (pool) => void woken.add(pool),
    onReady(wake) {
      listeners.add(wake);
      return () => void listeners.delete(wake);
    },
    close() {
      if (closed === null) flush();
      closed ??= new Fault("unavailable", "the store is closed");
      again?.cancel();
      for (const call of waitingNow()) call.reject(closed);
    },
  };
}
