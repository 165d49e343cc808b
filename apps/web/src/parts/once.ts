// Makes a thing when it is first needed, and keeps it.

export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => (made ??= make());
}
