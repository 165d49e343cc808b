// Reads a JSON schema for a form: what a place takes, in what kind of field, and how a value is put there.
// Nothing here knows what the schema is about.

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

export type Path = readonly (string | number)[];

/**
 * How a place is filled in. `block` has places of its own, `named` has entries that people name, `list` has
 * entries in an order, `lines` is a list of short texts; `json` is what no other field can hold.
 */
export type Kind = "switch" | "choice" | "number" | "text" | "lines" | "block" | "named" | "list" | "json";

export function kindOf(schema: Schema, value: unknown): Kind {
  const { type, properties, additionalProperties, items, anyOf } = schema;
  if (anyOf !== undefined) return kindOfSome(anyOf, value);
  if (schema.enum !== undefined || schema.const !== undefined) return "choice";
  if (properties !== undefined && Object.keys(properties).length > 0) return "block";
  if (typeof additionalProperties === "object") return "named";
  if (type === "boolean") return "switch";
  if (type === "integer" || type === "number") return "number";
  if (type === "string") return "text";
  if (type !== "array" || items === undefined) return "json";
  if (items.properties !== undefined) return "list";
  const isShort = (items.type === "string" || Array.isArray(items.type)) && items.anyOf === undefined;
  return isShort ? "lines" : "json";
}

/** A place that takes several kinds is shown by the value that it has, else by the plainest. */
function kindOfSome(some: readonly Schema[], value: unknown): Kind {
  const plain = some.find(({ type }) => type === "string");
  if (some.every((each) => each.const !== undefined || each.enum !== undefined)) return "choice";
  if (plain !== undefined && (value === undefined || typeof value === "string")) return "text";
  return "json";
}

export function choicesOf(schema: Schema): readonly string[] {
  const some =
    schema.anyOf?.flatMap(choicesOf) ?? schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return some.map(String);
}

/** The schema of one more step into a place; null where nothing may stand. */
export function below(schema: Schema, step: string | number): Schema | null {
  if (typeof step === "number") return schema.items ?? null;
  const named = schema.properties?.[step];
  if (named !== undefined) return named;
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : null;
}

export interface Place {
  readonly path: Path;
  readonly schema: Schema;
}

/**
 * Places that are filled in, whose names or help have all the words. Entries are those that the value has.
 */
export function found(schema: Schema, value: unknown, words: string, most: number): readonly Place[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const places: Place[] = [];
  const walk = (at: Schema, now: unknown, path: Path): void => {
    if (places.length >= most) return;
    const kind = kindOf(at, now);
    if (kind === "block" || kind === "named") {
      const names = kind === "block" ? Object.keys(at.properties ?? {}) : Object.keys(blockOf(now));
      for (const name of names) {
        const next = below(at, name);
        if (next !== null) walk(next, blockOf(now)[name], [...path, name]);
      }
      return;
    }
    if (kind === "list" && Array.isArray(now) && at.items !== undefined) {
      for (const [index, each] of now.entries()) walk(at.items, each, [...path, index]);
      return;
    }
    const text = `${path.join(".")} ${at.description ?? ""}`.toLowerCase();
    if (wanted.every((word) => text.includes(word))) places.push({ path, schema: at });
  };
  walk(schema, value, []);
  return places;
}

export function blockOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { readonly [name: string]: unknown })
    : {};
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((now, step) => {
    if (Array.isArray(now)) return (now as unknown[])[Number(step)];
    const block = blockOf(now);
    // What every object inherits is no value of the file.
    return Object.hasOwn(block, step) ? block[step] : undefined;
  }, value);
}

/** A copy in which the place has another value; undefined takes it away, and blocks that it leaves empty. */
export function withValue(value: unknown, path: Path, to: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return to;
  const next = withValue(valueAt(value, [step]), rest, to);
  if (typeof step === "number") {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    if (next === undefined) return list.filter((_, index) => index !== step);
    return step < list.length ? list.with(step, next) : [...list, next];
  }
  const { [step]: _before, ...others } = blockOf(value);
  if (next !== undefined)
    return Object.hasOwn(blockOf(value), step) ? inPlace(value, step, next) : { ...others, [step]: next };
  return path.length > 0 && Object.keys(others).length === 0 ? undefined : others;
}

/** Keeps the order of the keys, so that a difference shows one line. */
function inPlace(value: unknown, step: string, next: unknown): unknown {
  return Object.fromEntries(
    Object.entries(blockOf(value)).map(([name, each]) => [name, name === step ? next : each]),
  );
}
