// Defines how a command ends. The exit codes are part of the interface: scripts and service managers read
// them.

export const exitCodes = { ok: 0, failed: 1, usage: 2, config: 78 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with a message for people. Not a bug: it prints without a stack. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  /** Machine-readable: a Fault's code, or what stands for it here. */
  readonly code: string;

  constructor(code: string, message: string, exitCode: ExitCode = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.exitCode = exitCode;
  }
}
