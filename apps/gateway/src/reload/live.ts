// Parts that are built from the config, for holders that were given them once: each use reaches the part of
// the config in force. What began with the old one ends with it: a turn never sees half of a change.

/**
 * Stands for what `now` gives at each use. Only for objects of functions that need no `this`, as our
 * factories make them.
 */
export function live<T extends object>(now: () => T): T {
  return new Proxy({} as T, {
    get: (_target, key) => Reflect.get(now(), key) as unknown,
    has: (_target, key) => Reflect.has(now(), key),
  });
}

/**
 * An object of functions that is built anew for each config: its functions call those of the one in force.
 */
export function perConfig<Settings extends object, T extends object>(
  now: () => Settings,
  build: (settings: Settings) => T,
): T {
  let builtFor = now();
  let built = build(builtFor);
  const current = (): T => {
    if (builtFor !== now()) {
      builtFor = now();
      built = build(builtFor);
    }
    return built;
  };
  const call =
    (name: string) =>
    (...args: never[]): unknown =>
      (current() as { readonly [name: string]: (...args: never[]) => unknown })[name]?.(...args);
  return Object.fromEntries(Object.keys(built).map((name) => [name, call(name)])) as T;
}
