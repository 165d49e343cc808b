// Reads and changes places in a tree of plain values, as a config is before anybody has checked it. Every
// change returns a new tree, so that the source stays what was read.
import type { Json, JsonObject } from "@parley/protocol";

export type Path = readonly (string | number)[];

export function isBlock(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function at(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((now, step) => {
    if (typeof step === "number") return Array.isArray(now) ? (now as readonly Json[])[step] : undefined;
    return isBlock(now) && Object.hasOwn(now, step) ? now[step] : undefined;
  }, value);
}

/** Blocks that are missing on the way are made; a list's own entries only are set. */
export function withValue(value: Json | undefined, path: Path, to: Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return to;
  if (Array.isArray(value))
    return (value as readonly Json[]).map((each, index) =>
      index === step ? withValue(each, rest, to) : each,
    );
  const block = isBlock(value) ? value : {};
  const key = String(step);
  return { ...block, [key]: withValue(Object.hasOwn(block, key) ? block[key] : undefined, rest, to) };
}

export function without(value: Json, path: Path): Json {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    return rest.length === 0
      ? list.filter((_, index) => index !== step)
      : list.map((each, index) => (index === step ? without(each, rest) : each));
  }
  if (!isBlock(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => rest.length > 0 || key !== step)
      .map(([key, each]) => [key, key === step ? without(each, rest) : each]),
  );
}

/** An id or a name, which people write as text or as a number; null for anything else. */
export function textIn(value: Json | undefined): string | null {
  return typeof value === "string" || typeof value === "number" ? `${value}` : null;
}

/** Every place that holds a value of its own: a list of plain values is one, an empty block too. */
export function leaves(
  value: Json,
  path: Path = [],
): readonly { readonly path: Path; readonly value: Json }[] {
  if (isBlock(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, each]) => leaves(each, [...path, key]));
  if (
    Array.isArray(value) &&
    (value as readonly Json[]).some((each) => typeof each === "object" && each !== null)
  )
    return (value as readonly Json[]).flatMap((each, index) => leaves(each, [...path, index]));
  return [{ path, value }];
}
