// Hands tasks to a process of its own, one after the other. It is killed when a task keeps it too long or
// when nobody wants the answer any more, and an idle one ends, so that unused nothing runs (I9).
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Fault, type Clock, type Timer } from "@parley/protocol";

interface WorkerProcessOptions {
  readonly clock: Clock;
  /** The worker's file without its extension. As a bundle, it and this file are JavaScript side by side. */
  readonly program: string;
  /** What is read there, for messages. */
  readonly what: string;
  /** From the moment that its libraries stand. */
  readonly taskMs: number;
}

export interface WorkerProcess<Task, Reply> {
  /** Throws Fault: "unsupported" for a task that takes too long or breaks the process. */
  run(task: Task, signal: AbortSignal): Promise<Reply>;
  /** Processes that are alive: none or one. */
  processes(): number;
  close(): Promise<void>;
}

/** A busy machine takes seconds to load a library. */
const startMs = 30_000;
const idleMs = 30_000;
const mostWaiting = 64;

/** A worker says `{ ready: true }` once its libraries are loaded, then its reply. */
export function workerProcess<Task, Reply extends object>({
  clock,
  program,
  what,
  taskMs,
}: WorkerProcessOptions): WorkerProcess<Task, Reply> {
  const file = new URL(`./${program}.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
  const alive = new Set<ChildProcess>();
  let idle: { readonly worker: ChildProcess; readonly timer: Timer } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const stopped = (): Fault => new Fault("aborted", `reading ${what} was stopped`);

  const end = async (worker: ChildProcess): Promise<void> => {
    if (!alive.has(worker)) return;
    const gone = once(worker, "exit");
    worker.kill("SIGKILL");
    await gone;
  };

  const start = (): ChildProcess => {
    const worker = fork(file, {
      env: {},
      execArgv: ["--max-old-space-size=256"],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    // It never keeps the daemon from ending, and ends by itself when the daemon is gone.
    worker.unref();
    worker.channel?.unref();
    alive.add(worker);
    worker.on("exit", () => alive.delete(worker));
    // Whoever waits for its answer hears of it; without a listener it would end the daemon.
    worker.on("error", () => {
      if (worker.pid === undefined) alive.delete(worker);
    });
    return worker;
  };

  const take = (): ChildProcess => {
    const known = idle;
    idle = null;
    known?.timer.cancel();
    return known !== null && alive.has(known.worker) ? known.worker : start();
  };

  const answer = async (worker: ChildProcess, task: Task, signal: AbortSignal): Promise<Reply> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const fail = (code: "unavailable" | "unsupported", says: string) => (): void =>
      reject(new Fault(code, says));
    let timer = clock.after(startMs, fail("unavailable", `the reader of ${what} did not start`));
    const heard = (message: unknown): void => {
      if (!(typeof message === "object" && message !== null && "ready" in message))
        return resolve(message as Reply);
      timer.cancel();
      timer = clock.after(taskMs, fail("unsupported", "it takes too long to be decoded"));
    };
    const died = fail("unsupported", "its decoder broke down over it");
    const aborted = (): void => reject(stopped());
    worker.on("message", heard).on("error", died).on("exit", died);
    signal.addEventListener("abort", aborted, { once: true });
    worker.send(task as object);
    try {
      return await promise;
    } catch (error) {
      await end(worker);
      throw error;
    } finally {
      timer.cancel();
      worker.off("message", heard).off("error", died).off("exit", died);
      signal.removeEventListener("abort", aborted);
    }
  };

  const read = async (task: Task, signal: AbortSignal): Promise<Reply> => {
    if (signal.aborted) throw stopped();
    const worker = take();
    const reply = await answer(worker, task, signal);
    const timer = clock.after(idleMs, () => {
      idle = null;
      void end(worker);
    });
    idle = { worker, timer };
    return reply;
  };

  return {
    async run(task, signal) {
      if (waiting >= mostWaiting) throw new Fault("rate_limited", `too much of ${what} waits to be read`);
      waiting += 1;
      const mine = last.then(() => read(task, signal));
      // Whoever comes next waits for the end, whatever it is; the caller gets the error.
      last = mine.catch(() => {});
      try {
        return await mine;
      } finally {
        waiting -= 1;
      }
    },
    processes: () => alive.size,
    async close() {
      idle?.timer.cancel();
      idle = null;
      await Promise.all([...alive].map(end));
    },
  };
}
