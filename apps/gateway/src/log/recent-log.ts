// Keeps the newest log lines for operators who read them remotely. Bounded in lines and in characters (I9);
// the lines were redacted before.

export interface RecentLog {
  /** Adds one line, a JSON object. */
  add(line: string): void;
  /** Returns the newest `count` lines, oldest first. */
  last(count: number): readonly string[];
  /** Calls `hear` with every line from now on. Returns a function that stops it. */
  follow(hear: (line: string) => void): () => void;
}

const mostLines = 1_000;
const mostChars = 1_048_576;
/** A stack inside an error makes a line long, but never this long. */
const lineChars = 16_384;

export function recentLog(): RecentLog {
  let lines: string[] = [];
  let chars = 0;
  const listeners = new Set<(line: string) => void>();

  return {
    add(written) {
      const line = shortened(written.trimEnd());
      lines.push(line);
      chars += line.length;
      // Cut now and then instead of at every line.
      if (lines.length > 2 * mostLines || chars > 2 * mostChars) {
        lines = newest(lines);
        chars = lines.reduce((sum, each) => sum + each.length, 0);
      }
      for (const hear of listeners) hear(line);
    },
    last: (count) => (count === 0 ? [] : newest(lines).slice(-count)),
    follow(hear) {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
  };
}

function newest(lines: readonly string[]): string[] {
  let room = mostChars;
  const kept = lines.slice(-mostLines).toReversed();
  const end = kept.findIndex((line) => (room -= line.length) < 0);
  return (end < 0 ? kept : kept.slice(0, end)).toReversed();
}

/** The result is still a JSON object, so that readers need no special case. */
function shortened(line: string): string {
  return line.length <= lineChars
    ? line
    : JSON.stringify({ msg: "a line too long to show", beginning: line.slice(0, 1_000) });
}
