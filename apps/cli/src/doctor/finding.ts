// Defines a finding of the doctor. Each says what to do; some the doctor can repair itself, and repeating the
// repair does no harm.

export interface Finding {
  /** Stable: scripts look for it. */
  readonly id: string;
  /** `error`: it does not work, or lets strangers in. `warn`: it works, but. `ok`: looked at, and well. */
  readonly level: "ok" | "warn" | "error";
  readonly message: string;
  /** An imperative; empty where all is well. */
  readonly fix: string;
  /** Mends it without losing anything; absent where a person has to. */
  readonly mend?: () => Promise<void>;
}

export function ok(id: string, message: string): Finding {
  return { id, level: "ok", message, fix: "" };
}

export function warn(id: string, message: string, fix: string, mend?: () => Promise<void>): Finding {
  return { id, level: "warn", message, fix, ...(mend === undefined ? {} : { mend }) };
}

export function error(id: string, message: string, fix: string, mend?: () => Promise<void>): Finding {
  return { id, level: "error", message, fix, ...(mend === undefined ? {} : { mend }) };
}
