// Proxies parts that are built from the config: each call reaches the part of the current config, although
// its users got the proxy once. Work that began with an old config ends with it, so a turn never sees half of
// a change.

/**
 * Stands for the object that `now` returns at each use. Its functions must not need `this`; our factories'
 * objects do not.
 */
export function live<T extends object>(now: () => T): T {
  return new Proxy({} as T, {
    get: (_target, key) => Reflect.get(now(), key) as unknown,
    has: (_target, key) => Reflect.has(now(), key),
  });
}

/** Stands for an object that is rebuilt for each config: its functions call those of the current one. */
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
