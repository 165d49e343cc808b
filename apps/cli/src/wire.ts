// Carries control frames as text, to a running gateway or to one that is run for this command alone.
import type { CommandFailure } from "./exit.ts";

export interface Wire {
  /** Throws CommandFailure once the wire is closed. */
  send(text: string): void;
  /** One listener; frames that come before it is set are not lost. */
  listen(listener: (text: string) => void): void;
  /** Resolves when nothing more will come, with what to tell whoever still waits. */
  readonly closed: Promise<CommandFailure>;
  close(): void;
}
