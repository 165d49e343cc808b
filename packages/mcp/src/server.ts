// Runs one server in one place (the host, or a sandbox): started by its first call, ended when nobody calls
// it, started again after a crash, ever later while it keeps failing. Its failures are its own tools' alone.
import { Fault, isFault, type Clock, type Log } from "@parley/protocol";
import type { Connection } from "./connection.ts";
import type { Listing } from "./definition.ts";

export interface ServerOptions {
  readonly name: string;
  readonly idleMs: () => number;
  /** Makes a connection; `gone` tells that it broke. */
  readonly open: (events: {
    readonly gone: () => void;
    readonly toolsChanged: () => void;
  }) => Promise<Connection>;
  /** Told of every listing, before any call of that connection. */
  readonly listed: (listing: Listing) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ServerState {
  readonly state: "stopped" | "starting" | "running" | "failed";
  /** Why it failed last. */
  readonly reason?: string;
  readonly about?: Connection["about"];
  readonly pid?: number;
  /** Starts since the process began. */
  readonly starts: number;
}

export interface Server {
  state(): ServerState;
  /**
   * Starts it where it does not run; listed when it resolves. Throws Fault while it waits to be tried again.
   */
  ready(): Promise<Connection>;
  /**
   * `mayCall`: the last look before the call, when the server runs and was listed; throws where it may not.
   */
  call(
    tool: string,
    args: { readonly [name: string]: unknown },
    signal: AbortSignal,
    mayCall: () => Promise<void>,
  ): Promise<unknown>;
  /** Lists the tools again. */
  refresh(): Promise<void>;
  /** Forgets failures, so that the next call tries at once. */
  forgive(): void;
  stop(): Promise<void>;
}

/** Waits between starts that fail: people's configs are mended, and a crash loop must not take a core. */
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;
/** One that ran this long before it ended had no bad start. */
const settledMs = 60_000;
const relistMs = 500;

export function server({ name, idleMs, open, listed, clock, log }: ServerOptions): Server {
  let current: { readonly connection: Promise<Connection>; live: Connection | null; since: number } | null =
    null;
  let failures = 0;
  let retryAtMs = 0;
  let reason: string | undefined;
  let starts = 0;
  let calls = 0;
  let stopped = false;
  let idle: { cancel(): void } | null = null;

  const failed = (why: string): void => {
    failures += 1;
    reason = why;
    retryAtMs = clock.mono() + Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - 1, 16));
  };

  const end = async (): Promise<void> => {
    idle?.cancel();
    const ending = current;
    current = null;
    const connection = await ending?.connection.catch(() => null);
    await connection?.close();
  };

  const restIfIdle = (): void => {
    idle?.cancel();
    if (calls === 0 && current !== null && idleMs() > 0)
      idle = clock.after(idleMs(), () => {
        if (calls > 0) return;
        log.debug({ server: name }, "an MCP server that nobody called is ended");
        void end();
      });
  };

  const begin = (): NonNullable<typeof current> => {
    starts += 1;
    const mine: NonNullable<typeof current> = { connection: start(), live: null, since: clock.mono() };
    async function start(): Promise<Connection> {
      const connection = await open({
        gone: () => {
          if (current !== mine) return;
          current = null;
          idle?.cancel();
          if (clock.mono() - mine.since >= settledMs) failures = 0;
          failed("it ended, or its connection broke");
          void mine.live?.close();
          log.warn({ server: name }, "an MCP server ended by itself, or its connection broke");
        },
        toolsChanged: () => changed(),
      });
      // A server may say so as often as it likes; it is listed once in a while.
      let again: { cancel(): void } | null = null;
      const changed = (): void => {
        again ??= clock.after(relistMs, () => {
          again = null;
          if (current !== mine) return;
          relist(connection).catch((error: unknown) => {
            if (current === mine)
              log.warn({ server: name, error }, "the changed tools of an MCP server could not be listed");
          });
        });
      };
      try {
        await relist(connection);
      } catch (error) {
        await connection.close();
        throw error;
      }
      mine.live = connection;
      return connection;
    }
    mine.connection.then(
      () => {
        if (current === mine) reason = undefined;
        restIfIdle();
      },
      (error: unknown) => {
        if (current !== mine) return;
        current = null;
        failed(isFault(error) ? error.message : "it could not be started");
        log.warn({ server: name, error }, "an MCP server could not be started");
      },
    );
    return mine;
  };

  async function relist(connection: Connection): Promise<void> {
    await listed(await connection.list(new AbortController().signal));
  }

  async function ready(): Promise<Connection> {
    if (stopped) throw new Fault("unavailable", "it is being stopped");
    if (current === null) {
      const leftMs = retryAtMs - clock.mono();
      if (failures > 0 && leftMs > 0)
        throw new Fault(
          "unavailable",
          `${reason ?? "it failed"}; it is tried again in ${Math.ceil(leftMs / 1_000)} s`,
        );
      current = begin();
    }
    return current.connection;
  }

  return {
    state() {
      const live = current?.live ?? null;
      const pid = live?.pid;
      return {
        state:
          live !== null ? "running" : current !== null ? "starting" : failures > 0 ? "failed" : "stopped",
        ...(reason === undefined ? {} : { reason }),
        ...(live === null ? {} : { about: live.about }),
        ...(pid === undefined ? {} : { pid }),
        starts,
      };
    },
    ready,
    async call(tool, args, signal, mayCall) {
      calls += 1;
      idle?.cancel();
      try {
        const once = async (): Promise<unknown> => {
          const connection = await abortable(ready(), signal);
          await mayCall();
          try {
            return await connection.call(tool, args, signal);
          } catch (error) {
            if (isFault(error, "conflict") && current?.live === connection) await end();
            throw error;
          }
        };
        const answer = await once().catch((error: unknown) => {
          // A server that was started anew knows the session no more, and did nothing.
          if (isFault(error, "conflict")) return once();
          throw error;
        });
        failures = 0;
        return answer;
      } finally {
        calls -= 1;
        restIfIdle();
      }
    },
    async refresh() {
      await relist(await ready());
      restIfIdle();
    },
    forgive() {
      failures = 0;
      retryAtMs = 0;
    },
    async stop() {
      stopped = true;
      await end();
    },
  };
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Fault("aborted", "the call was stopped"));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
