// The only error that carries a decision. Its code alone decides what the lane runner or the caller does next;
// drivers translate SDK errors into it at their edge. Anything else that is thrown is a bug.

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
 * - `denied`, `missing`: the other side refuses for good, or what was named is gone.
 * - `conflict`: a lease, a version or an idempotency key is no longer ours; the holder stops and writes nothing.
 * - `rate_limited`: certainly not done; wait `retryAfterMs`.
 * - `unavailable`: certainly not done; may be tried again.
 * - `ambiguous`: it may have been done; only an idempotent repeat is safe.
 * - `aborted`: a signal said stop before anything was done.
 */
export type FaultCode = (typeof faultCodes)[number];

export interface FaultOptions extends ErrorOptions {
  /** Milliseconds that the other side asked us to wait. */
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
