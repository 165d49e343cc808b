// A log that keeps what was said, as lines of level, words and fields, for tests that read all of it.
import type { Log, LogFields } from "@parley/protocol";

export function saidLog(): { readonly log: Log; readonly said: unknown[] } {
  const said: unknown[] = [];
  const of = (more: LogFields): Log => {
    const at = (level: string) => (fields: LogFields, message: string) =>
      void said.push([level, message, { ...more, ...fields }]);
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (fields) => of({ ...more, ...fields }),
    };
  };
  return { log: of({}), said };
}
