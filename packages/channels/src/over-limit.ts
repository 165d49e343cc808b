// Refuses a file that a driver knows to be too large before anything is written.
import { Fault } from "@parley/protocol";

class OverLimit extends Error {
  override readonly name = "OverLimit";
}

/** Fault("invalid") with these words. */
export function overLimit(words: string): Fault {
  return new Fault("invalid", words, { cause: new OverLimit(words) });
}

export function isOverLimit(error: unknown): boolean {
  return error instanceof Fault && error.cause instanceof OverLimit;
}
