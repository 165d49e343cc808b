// Wraps a value that must not be printed. The value leaves only through `reveal`, so a log line, a JSON dump
// or an error cannot carry it by accident (I8).

/** What is shown in the place of a secret. */
export const mask = "[secret]";
/** Alternatives of a pattern: how the name of what holds a secret ends, also of a key that nobody knows. */
export const secretWords = "token|secret|password|passwd|passphrase|api_?key";
const inspectHook = Symbol.for("nodejs.util.inspect.custom");

export interface Secret {
  /** The value itself: for the one place that sends or compares it. */
  reveal(): string;
  toString(): string;
  toJSON(): string;
}

const secrets = new WeakSet<object>();

export function secret(value: string): Secret {
  const shown = (): string => mask;
  const holder: Secret & { [inspectHook]: () => string } = {
    reveal: () => value,
    toString: shown,
    toJSON: shown,
    [inspectHook]: shown,
  };
  secrets.add(holder);
  return Object.freeze(holder);
}

export function isSecret(value: unknown): value is Secret {
  return typeof value === "object" && value !== null && secrets.has(value);
}
