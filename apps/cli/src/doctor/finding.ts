// What the doctor finds. Each finding says what to do; some can be mended by the doctor, again and again with
// the same end.

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
