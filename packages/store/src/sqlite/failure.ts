// Maps errors of SQLite to Faults. Only this file reads result codes. Source: sqlite.org/rescode.html; the
// primary code is the low byte of the extended one.
import { Fault } from "@parley/protocol";

export type Trouble = "full" | "busy" | "damaged" | "foreign" | "unreadable" | "io" | "other";

const troubles: { readonly [code: number]: Trouble } = {
  5: "busy",
  6: "busy",
  8: "unreadable",
  10: "io",
  11: "damaged",
  13: "full",
  14: "unreadable",
  26: "foreign",
};

/** Null for errors that SQLite did not throw. */
export function troubleOf(error: unknown): Trouble | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return troubles[error.errcode & 0xff] ?? "other";
}

/** An I/O error or a damaged page: later successes prove nothing, so the process has to end. */
export function isFatal(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble === "io" || trouble === "damaged" || trouble === "foreign";
}

/**
 * A commit that failed this way certainly did not happen, and the next may succeed. Any other failed commit
 * is fatal.
 */
export function isPassing(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble === "full" || trouble === "busy";
}

/** The Fault that a verb rejects with. Faults and bugs pass unchanged. */
export function verbFault(error: unknown): unknown {
  switch (troubleOf(error)) {
    case "full":
      return new Fault(
        "unavailable",
        "the disk is full: nothing was stored; free some space and Parley goes on by itself",
        {
          cause: error,
        },
      );
    case "busy":
      return new Fault("unavailable", "the database is locked by another process: nothing was stored", {
        cause: error,
      });
    case "unreadable":
      return new Fault(
        "unavailable",
        "the database cannot be written: check its permissions and the file system",
        { cause: error },
      );
    default:
      return error;
  }
}

/** The Fault for every call in a transaction whose fate is unknown. */
export function lostFault(error: unknown): Fault {
  return new Fault(
    "ambiguous",
    "the database failed while writing: restart Parley and look at `parley status`",
    { cause: error },
  );
}

/** The Fault for a file that cannot be opened; it names the file and the next step. */
export function openFault(path: string, error: unknown): unknown {
  switch (troubleOf(error)) {
    case "damaged":
    case "foreign":
      return damagedFault(path, error instanceof Error ? error.message : String(error), error);
    case "busy":
      return new Fault(
        "unavailable",
        `${path} is locked by another process: stop that process, then start again`,
        { cause: error },
      );
    case "unreadable":
      return new Fault(
        "unavailable",
        `${path} cannot be opened for writing: check that the folder exists and that this user owns it`,
        {
          cause: error,
        },
      );
    case "full":
      return new Fault(
        "unavailable",
        `${path} cannot be opened, the disk is full: free some space, then start again`,
        { cause: error },
      );
    case "io":
      return new Fault(
        "unavailable",
        `${path} cannot be read, the disk reports an I/O error: check the disk, then start again`,
        {
          cause: error,
        },
      );
    default:
      return error;
  }
}

export function damagedFault(path: string, finding: string, cause?: unknown): Fault {
  const next =
    "restore a backup with `parley restore <file>`, which keeps this file aside; nothing was changed";
  return new Fault("invalid", `${path} is damaged or not a database (${finding}): ${next}`, { cause });
}
