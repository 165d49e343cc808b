// Translates a refusal of the file system into a Fault whose words a person can act on. Programs call it at
// their edge, because no code below them knows better.
import { Fault } from "@parley/protocol";

/**
 * Null for anything else. "unavailable" passes by itself when there is room again; "denied" needs a person.
 */
export function fileFault(error: unknown): Fault | null {
  if (!(error instanceof Error)) return null;
  const { code, path, message, syscall } = error as NodeJS.ErrnoException;
  const what = path ?? "A file";
  // A folder that is to be made, and is there as a file.
  switch (code === "EEXIST" && syscall === "mkdir" ? "ENOTDIR" : code) {
    case "ENOSPC":
    case "EDQUOT":
      return new Fault(
        "unavailable",
        `${what} could not be written, the disk is full: ${message}. Free some space, then try again`,
        {
          cause: error,
        },
      );
    case "EROFS":
      return new Fault(
        "denied",
        `${what} could not be written: ${message}. Mount it for writing, or set PARLEY_HOME to another folder`,
        {
          cause: error,
        },
      );
    case "EACCES":
    case "EPERM":
      return new Fault(
        "denied",
        `${what} may not be used: ${message}. Run this as the user whom it belongs to, or give it to this one`,
        {
          cause: error,
        },
      );
    case "ENOTDIR":
      return new Fault(
        "denied",
        `${what} cannot be there: ${message}. What should be a folder on its way is a file: move that, or name another place`,
        {
          cause: error,
        },
      );
    default:
      return null;
  }
}
