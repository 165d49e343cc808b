// Structured logging as a port that pino implements unchanged: fields first, then one constant sentence.

export type LogFields = { readonly [field: string]: unknown };

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Returns a log that adds these fields to every line. */
  child(fields: LogFields): Log;
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};
