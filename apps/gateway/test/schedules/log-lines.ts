// Keeps what was logged, so that a test compares all lines of a story.
import { isFault, type Log } from "@parley/protocol";

export function keptLog(): { readonly log: Log; readonly lines: unknown[] } {
  const lines: unknown[] = [];
  const line = (level: string) => (fields: object, message: string) =>
    void lines.push([
      level,
      message,
      { ...fields, ...("error" in fields ? { error: worded(fields.error) } : {}) },
    ]);
  const log: Log = {
    debug: () => {},
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: () => log,
  };
  return { log, lines };
}

function worded(error: unknown): string {
  if (isFault(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
