// Hands pictures to a process that decodes and scales them, one after the other; the process is killed when a
// picture keeps it too long, and ends by itself when no more come (I9). Nothing of it runs before the first
// picture.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Fault, type Clock, type Timer } from "@parley/protocol";
import type { FitPicture, PictureReply } from "./picture-worker.ts";
import { readablePicture, whyUnreadable } from "./picture-kind.ts";

type Fitted = { readonly picture: FitPicture } | { readonly refused: string };

export interface PictureReader {
  /**
   * The picture as a model may see it, or why none is shown. The same bytes give the same picture. Throws
   * Fault("aborted"), and Fault("rate_limited") while too many wait.
   */
  fit(bytes: Uint8Array, signal: AbortSignal): Promise<Fitted>;
  /** Processes that are alive: none or one. */
  processes(): number;
  close(): Promise<void>;
}

/** Beyond about 1,600 pixels a side models scale down themselves; screenshots of text profit from more. */
const mostSide = 2_000;
/** Providers take 5 MB in base64 (Anthropic's limit for one image). */
const mostBytes = 3_750_000;
/** A camera has up to 50 million; decoded, this takes 256 MB. */
const mostPixels = 64_000_000;
/** Larger files are not read: no platform hands bots more than this for a picture. */
const inputBytes = 50_000_000;
const decodeMs = 15_000;
/** A busy machine takes seconds to load the library. */
const startMs = 30_000;
const idleMs = 30_000;
const mostWaiting = 64;

/** As a bundle, this file and the worker are JavaScript side by side. */
const program = new URL(
  import.meta.url.endsWith(".ts") ? "./picture-worker.ts" : "./picture-worker.js",
  import.meta.url,
);

const stopped = (): Fault => new Fault("aborted", "reading a picture was stopped");

export function pictureReader({ clock }: { readonly clock: Clock }): PictureReader {
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

  /** A process that gives no answer is ended. */
  const answer = async (worker: ChildProcess, bytes: Uint8Array, signal: AbortSignal): Promise<Fitted> => {
    const { promise, resolve, reject } = Promise.withResolvers<Fitted>();
    let timer = clock.after(startMs, () =>
      reject(new Fault("unavailable", "the reader of pictures did not start")),
    );
    const heard = (message: unknown): void => {
      const reply = message as PictureReply;
      if (!("ready" in reply)) return resolve(reply);
      timer.cancel();
      timer = clock.after(decodeMs, () =>
        reject(new Fault("unsupported", "it takes too long to be decoded")),
      );
    };
    const died = (): void => reject(new Fault("unsupported", "its decoder broke down over it"));
    const aborted = (): void => reject(stopped());
    worker.on("message", heard).on("error", died).on("exit", died);
    signal.addEventListener("abort", aborted, { once: true });
    worker.send({ bytes, mostSide, mostBytes, mostPixels });
    try {
      return await promise;
    } catch (error) {
      await end(worker);
      if (error instanceof Fault && error.code === "unsupported") return { refused: error.message };
      throw error;
    } finally {
      timer.cancel();
      worker.off("message", heard).off("error", died).off("exit", died);
      signal.removeEventListener("abort", aborted);
    }
  };

  const read = async (bytes: Uint8Array, signal: AbortSignal): Promise<Fitted> => {
    if (signal.aborted) throw stopped();
    const worker = take();
    const fitted = await answer(worker, bytes, signal);
    if (!alive.has(worker)) return fitted;
    const timer = clock.after(idleMs, () => {
      idle = null;
      void end(worker);
    });
    idle = { worker, timer };
    return fitted;
  };

  return {
    async fit(bytes, signal) {
      // Told without a process: most of what is no picture shows it in its first bytes.
      if (readablePicture(bytes) === null) return { refused: whyUnreadable(bytes) };
      if (bytes.length > inputBytes)
        return { refused: `it has ${bytes.length} bytes, and at most ${inputBytes} are read` };
      if (waiting >= mostWaiting) throw new Fault("rate_limited", "too many pictures wait to be read");
      waiting += 1;
      const mine = last.then(() => read(bytes, signal));
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
