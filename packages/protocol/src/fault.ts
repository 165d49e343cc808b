// Fault is the only error that carries a decision: its code decides what the lane runner or the caller does
// next. Drivers translate SDK errors into Faults where they call the SDK. Any other thrown error is a bug.

export const faultCodes = [
  "invalid",
  "unsupported",
  "denied",
  "missing",
  "conflict",
  "rate_limited",
  "unavailable",
  "ambiguous",
  "aborted",
] as const;

/**
 * - `invalid`, `unsupported`: the request can never succeed as it stands.
 * - `denied`, `missing`: the other side refuses for good, or the thing named is gone.
 * - `conflict`: a lease, a version or an idempotency key is no longer ours; the holder stops and writes
 *   nothing.
 * - `rate_limited`: certainly not done; wait `retryAfterMs`.
 * - `unavailable`: certainly not done; may be tried again.
 * - `ambiguous`: may have been done; only an idempotent repeat is safe.
 * - `aborted`: a signal stopped it before anything was done.
 */
export type FaultCode = (typeof faultCodes)[number];

export interface FaultOptions extends ErrorOptions {
  /** How long the other side asked us to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, options);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function isFault(error: unknown, code?: FaultCode): error is Fault {
  return error instanceof Fault && (code === undefined || error.code === code);
}
