// Hands pictures to the process that decodes and scales them. What is no picture by its first bytes is
// refused without it.
import { isFault, type Clock } from "@parley/protocol";
import { readablePicture, whyUnreadable } from "./picture-kind.ts";
import type { FitPicture, PictureReply, PictureTask } from "./picture-worker.ts";
import { workerProcess } from "./worker-process.ts";

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
const taskMs = 15_000;

export function pictureReader({ clock }: { readonly clock: Clock }): PictureReader {
  const worker = workerProcess<PictureTask, PictureReply>({
    clock,
    program: "picture-worker",
    what: "pictures",
    taskMs,
  });
  return {
    async fit(bytes, signal) {
      if (readablePicture(bytes) === null) return { refused: whyUnreadable(bytes) };
      if (bytes.length > inputBytes)
        return { refused: `it has ${bytes.length} bytes, and at most ${inputBytes} are read` };
      try {
        return await worker.run({ bytes, mostSide, mostBytes, mostPixels }, signal);
      } catch (error) {
        if (isFault(error, "unsupported")) return { refused: error.message };
        throw error;
      }
    },
    processes: worker.processes,
    close: worker.close,
  };
}
