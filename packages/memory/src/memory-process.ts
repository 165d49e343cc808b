// Runs the engine in a process of its own, started by the first question and ended when nobody asks any more:
// a gateway whose memory is not searched has no such process. One that dies is started again, and the
// question is asked once more.
import { fork, type ChildProcess } from "node:child_process";
import { Fault, type Clock, type Timer } from "@parley/protocol";
import type { MemoryEngine, MemoryTarget } from "./contract.ts";
import type { WorkerReply, WorkerTask } from "./memory-worker.ts";
import { personFolder } from "./scope.ts";

export interface MemoryProcessOptions {
  readonly clock: Clock;
  readonly idleMs?: number;
  /** Nodes that share a state folder have an index each: SQLite's locks do not hold between machines. */
  readonly node?: string | undefined;
}

const defaultIdleMs = 60_000;
/** Most memory of its JavaScript; SQLite and vectors are beside it. */
const heapMb = 512;
/** Longer than any answer takes, but for an index that is built anew. */
const answerMs = 60_000;
const rebuildMs = 3_600_000;
/** The first may go to a process whose death is not known yet. */
const mostTries = 3;

/** As a bundle, this file and the worker are JavaScript side by side. */
const program = new URL(
  import.meta.url.endsWith(".ts") ? "./memory-worker.ts" : "./memory-worker.js",
  import.meta.url,
);

const forked = (): ChildProcess =>
  fork(program, {
    env: {},
    execArgv: [`--max-old-space-size=${heapMb}`, "--max-semi-space-size=4", "--no-warnings"],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });

interface Waiting {
  readonly child: ChildProcess;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface MemoryProcess extends MemoryEngine {
  /** Processes that are alive: none or one. */
  processes(): number;
}

export const memoryProcess = (options: MemoryProcessOptions): MemoryProcess => memoryOver(forked, options);

/** Over processes that `start` makes, one at a time. */
export function memoryOver(
  start: () => ChildProcess,
  { clock, idleMs = defaultIdleMs, node }: MemoryProcessOptions,
): MemoryProcess {
  let worker: ChildProcess | null = null;
  let idle: Timer | null = null;
  let closed = false;
  let asked = 0;
  const waiting = new Map<number, Waiting>();

  const started = (): ChildProcess => {
    const child = start();
    child.on("message", (message: WorkerReply) => {
      const waiter = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.ok) waiter?.resolve(message.value);
      else if (message.code === "internal") waiter?.reject(new Error(message.message));
      else waiter?.reject(new Fault(message.code, message.message));
    });
    child.on("exit", () => gone(child)).on("error", () => gone(child));
    return child;
  };

  const gone = (child: ChildProcess): void => {
    if (worker === child) worker = null;
    for (const [id, waiter] of waiting) {
      if (waiter.child !== child) continue;
      waiting.delete(id);
      waiter.reject(new WorkerDied());
    }
  };

  const rest = (): void => {
    idle?.cancel();
    idle = null;
    if (waiting.size > 0 || worker === null) return;
    // It never keeps the daemon from ending, and ends by itself when the daemon is gone.
    worker.unref();
    worker.channel?.unref();
    idle = clock.after(idleMs, () => {
      if (waiting.size > 0) return;
      // Passages may still be embedded: it is asked again later.
      void once("isBusy", []).then(
        (busy) => busy !== true && leave(),
        () => leave(),
      );
    });
  };

  const leave = (): void => {
    if (waiting.size > 0) return;
    idle?.cancel();
    worker?.disconnect();
    worker = null;
  };

  async function once(op: WorkerTask["op"], args: readonly unknown[]): Promise<unknown> {
    if (closed) throw new Fault("aborted", "the gateway stops");
    idle?.cancel();
    worker ??= started();
    worker.ref();
    worker.channel?.ref();
    asked += 1;
    const id = asked;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const child = worker;
    waiting.set(id, { child, resolve, reject });
    const timer = clock.after(op === "reindex" || op === "forget" ? rebuildMs : answerMs, () => {
      waiting.delete(id);
      reject(new Fault("unavailable", "the memory's index does not answer"));
      child.kill("SIGKILL");
    });
    child.send({ id, op, args } as unknown as WorkerTask, (error) => {
      // It is dead, and its end was not told yet: the next try must not go to it too.
      if (error !== null) gone(child);
    });
    try {
      return await promise;
    } finally {
      timer.cancel();
      waiting.delete(id);
      rest();
    }
  }

  const ownIndex = (target: MemoryTarget): MemoryTarget =>
    node === undefined
      ? target
      : { ...target, indexPath: target.indexPath.replace(/(?=\.sqlite$)/, `@${personFolder(node)}`) };

  async function ask(op: WorkerTask["op"], given: readonly unknown[]): Promise<unknown> {
    const [target, ...more] = given;
    const args = target === undefined ? given : [ownIndex(target as MemoryTarget), ...more];
    for (let tries = 1; ; tries += 1)
      try {
        return await once(op, args);
      } catch (error) {
        if (!(error instanceof WorkerDied)) throw error;
        if (tries === mostTries)
          throw new Fault("unavailable", `the process that keeps the memory's index died ${tries} times`);
      }
  }

  return {
    search: (...args) => ask("search", args) as ReturnType<MemoryEngine["search"]>,
    get: (...args) => ask("get", args) as ReturnType<MemoryEngine["get"]>,
    status: (...args) => ask("status", args) as ReturnType<MemoryEngine["status"]>,
    reindex: (...args) => ask("reindex", args) as ReturnType<MemoryEngine["reindex"]>,
    forget: (...args) => ask("forget", args) as ReturnType<MemoryEngine["forget"]>,
    undo: (...args) => ask("undo", args) as ReturnType<MemoryEngine["undo"]>,
    alike: (...args) => ask("alike", args) as ReturnType<MemoryEngine["alike"]>,
    tidied: (...args) => ask("tidied", args) as ReturnType<MemoryEngine["tidied"]>,
    rewrite: (...args) => ask("rewrite", args) as ReturnType<MemoryEngine["rewrite"]>,
    talks: (...args) => ask("talks", args) as ReturnType<MemoryEngine["talks"]>,
    takeTalk: (...args) => ask("takeTalk", args) as ReturnType<MemoryEngine["takeTalk"]>,
    dropTalk: (...args) => ask("dropTalk", args) as ReturnType<MemoryEngine["dropTalk"]>,
    isBusy: (...args) => ask("isBusy", args) as ReturnType<MemoryEngine["isBusy"]>,
    processes: () => (worker === null ? 0 : 1),
    close() {
      closed = true;
      idle?.cancel();
      worker?.disconnect();
      worker = null;
      for (const waiter of waiting.values()) waiter.reject(new Fault("aborted", "the gateway stops"));
      waiting.clear();
    },
  };
}

/** Nothing was done that counts: an index is a cache. */
class WorkerDied extends Error {}
