// Reads one page after the other in a thread of its own, which is killed when a page keeps it too long,
// takes too much memory, or nobody wants its answer any more; the next page gets a new one (I9). An idle
// thread ends.
import { Worker } from "node:worker_threads";
import { Fault, type Clock, type Timer } from "@parley/protocol";
import type { PageKind, PageReply, PageTask } from "./page-worker.ts";
import type { ReadPage } from "./page/readable.ts";

export interface ReadLimits {
  /** From the moment that the thread takes the page. */
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
/** Pages that wait; more calls at once than any agent makes. */
const mostWaiting = 32;

export interface PageReader {
  /** Throws Fault. */
  read(task: PageTask, signal: AbortSignal): Promise<ReadPage>;
  /** Threads that are alive: none or one. */
  threads(): number;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  readonly clock: Clock;
  readonly limits?: Partial<ReadLimits>;
}

const stopped = (): Fault => new Fault("aborted", "reading the page was stopped");

/** As a bundle, this file and the thread's are JavaScript side by side. */
const program = new URL(
  import.meta.url.endsWith(".ts") ? "./page-worker.ts" : "./page-worker.js",
  import.meta.url,
);

export function pageReader({ clock, limits: asked }: PageReaderOptions): PageReader {
  const limits = { ...defaultReadLimits, ...asked };
  const alive = new Set<Worker>();
  let idle: { readonly worker: Worker; readonly timer: Timer } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const end = async (worker: Worker): Promise<void> => {
    await worker.terminate();
    alive.delete(worker);
  };

  const start = (): Worker => {
    const worker = new Worker(program, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    });
    alive.add(worker);
    worker.unref();
    worker.on("exit", () => alive.delete(worker));
    // The exchange below hears of it; without a listener it would end the process.
    worker.on("error", () => {});
    return worker;
  };

  /** What the thread says to a task. A thread that gives no answer is ended. */
  const answer = async (worker: Worker, task: PageTask, signal: AbortSignal): Promise<PageReply> => {
    const { promise, resolve, reject } = Promise.withResolvers<PageReply>();
    const fail = (says: string) => (): void => reject(new Fault("unsupported", says));
    const aborted = (): void => reject(stopped());
    const died = fail("its page takes too much memory to be read");
    let timer = clock.after(startMs, () =>
      reject(new Fault("unavailable", "the reader of pages did not start")),
    );
    const heard = (reply: PageReply): void => {
      if (!("ready" in reply)) return resolve(reply);
      const readMs = limits.readMs[task.kind];
      timer.cancel();
      timer = clock.after(readMs, fail(`its page takes longer than ${readMs / 1000} s to be read`));
    };
    worker.on("message", heard).on("error", died).on("exit", died);
    signal.addEventListener("abort", aborted, { once: true });
    worker.postMessage(task);
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

  const take = (): Worker => {
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
    threads: () => alive.size,
    async close() {
      idle?.timer.cancel();
      idle = null;
      await Promise.all([...alive].map(end));
    },
  };
}
