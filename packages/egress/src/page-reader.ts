// The reader takes one page after the other in a process of its own, which is killed when a page keeps it too
// long, takes too much memory, or nobody wants its answer any more; the next page gets a new one (I9). A
// thread would not do: one that runs out of memory can abort the whole daemon. An idle process ends.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Fault, type Clock, type Timer } from "@parley/protocol";
import { workedMs } from "./process-time.ts";
import type { PageKind, PageReply, PageTask } from "./page-worker.ts";
import type { ReadPage } from "./page/readable.ts";

export interface ReadLimits {
  /**
   * Of work, from the moment that its libraries stand; where a machine is so busy that a process hardly
   * works, a page gets `patience` times as long.
   */
  readonly readMs: Readonly<Record<PageKind, number>>;
  readonly heapMb: number;
  readonly idleMs: number;
}

const defaultReadLimits: ReadLimits = {
  readMs: { html: 3_000, text: 3_000, json: 3_000, pdf: 10_000 },
  heapMb: 256,
  idleMs: 30_000,
};
/** A busy machine takes seconds to load the libraries. */
const startMs = 30_000;
const patience = 5;
/** Pages that wait; more calls at once than any agent makes. */
const mostWaiting = 32;

export interface PageReader {
  /** Throws Fault. */
  read(task: PageTask, signal: AbortSignal): Promise<ReadPage>;
  /** Processes that are alive: none or one. */
  processes(): number;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  readonly clock: Clock;
  readonly limits?: Partial<ReadLimits>;
}

const stopped = (): Fault => new Fault("aborted", "reading the page was stopped");

/** As a bundle, this file and the worker are JavaScript side by side. */
const program = new URL(
  import.meta.url.endsWith(".ts") ? "./page-worker.ts" : "./page-worker.js",
  import.meta.url,
);

export function pageReader({ clock, limits: asked }: PageReaderOptions): PageReader {
  const limits = { ...defaultReadLimits, ...asked };
  const alive = new Set<ChildProcess>();
  let idle: { readonly worker: ChildProcess; readonly timer: Timer } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const end = async (worker: ChildProcess): Promise<void> => {
    if (!alive.has(worker)) return;
    const gone = once(worker, "exit");
    worker.kill("SIGKILL");
    await gone;
  };

  const start = (): ChildProcess => {
    const worker = fork(program, {
      env: {},
      execArgv: [`--max-old-space-size=${limits.heapMb}`, "--max-semi-space-size=8"],
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

  /** What the process says to a task. A process that gives no answer is ended. */
  const answer = async (worker: ChildProcess, task: PageTask, signal: AbortSignal): Promise<PageReply> => {
    const { promise, resolve, reject } = Promise.withResolvers<PageReply>();
    const fail = (says: string) => (): void => reject(new Fault("unsupported", says));
    const aborted = (): void => reject(stopped());
    const died = fail("its page takes too much memory to be read");
    let timer = clock.after(startMs, () =>
      reject(new Fault("unavailable", "the reader of pages did not start")),
    );
    const heard = (message: unknown): void => {
      const reply = message as PageReply;
      if (!("ready" in reply)) return resolve(reply);
      const readMs = limits.readMs[task.kind];
      const tooLong = fail(`its page takes longer than ${readMs / 1000} s to be read`);
      const before = workedMs(worker.pid) ?? 0;
      const begun = clock.mono();
      const look = (): void => {
        const worked = workedMs(worker.pid);
        const leftMs = worked === null ? 0 : readMs - (worked - before);
        if (leftMs <= 0 || clock.mono() - begun >= patience * readMs) return tooLong();
        timer = clock.after(leftMs, look);
      };
      timer.cancel();
      timer = clock.after(readMs, look);
    };
    worker.on("message", heard).on("error", died).on("exit", died);
    signal.addEventListener("abort", aborted, { once: true });
    worker.send(task);
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

  const take = (): ChildProcess => {
    const known = idle;
    idle = null;
    known?.timer.cancel();
    return known !== null && alive.has(known.worker) ? known.worker : start();
  };

  const read = async (task: PageTask, signal: AbortSignal): Promise<ReadPage> => {
    if (signal.aborted) throw stopped();
    const worker = take();
    const said = await answer(worker, task, signal);
    const timer = clock.after(limits.idleMs, () => {
      idle = null;
      void end(worker);
    });
    idle = { worker, timer };
    if ("page" in said) return said.page;
    throw new Fault("unsupported", "refused" in said ? said.refused : "it cannot be read");
  };

  return {
    async read(task, signal) {
      if (waiting >= mostWaiting) throw new Fault("rate_limited", "too many pages wait to be read");
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
