// Reads an event part by part: keeps the parts that have the form the platform promises, and names and drops
// the others. A part goes along with another only when it makes no sense alone. Only known keys get through,
// so later code sees nothing unchecked.

/** Returns the usable value, or undefined. `left` collects the paths of dropped parts. */
export type Part = (value: unknown, at: string, left: string[]) => unknown;

/** A part that one test decides. */
function when(test: (value: unknown) => boolean): Part {
  return (value, at, left) => {
    if (test(value)) return value;
    left.push(at);
    return undefined;
  };
}

export const text = when((value) => typeof value === "string");
export const flag = when((value) => typeof value === "boolean");
export const integer = when((value) => Number.isSafeInteger(value));
export const finite = when((value) => typeof value === "number" && Number.isFinite(value));
/** A non-negative number of bytes, characters or seconds. */
export const amount = when((value) => typeof value === "number" && Number.isFinite(value) && value >= 0);
export const count = when((value) => Number.isSafeInteger(value) && (value as number) >= 0);
/** A Discord id. */
export const snowflakeId = when((value) => typeof value === "string" && /^\d{1,20}$/.test(value));

/** Drops unreadable elements one by one. */
export function list(part: Part): Part {
  return (value, at, left) => {
    if (Array.isArray(value))
      return value.map((one, index) => part(one, `${at}[${index}]`, left)).filter((one) => one !== undefined);
    left.push(at);
    return undefined;
  };
}

type Parts = { readonly [key: string]: Part };

/** Null counts as absent, because some servers write it for absent values. */
export function object(needed: Parts, more: Parts = {}): Part {
  return (value, at, left) => {
    const given =
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? (value as Readonly<Record<string, unknown>>)
        : null;
    if (given === null) {
      left.push(at);
      return undefined;
    }
    const read: Record<string, unknown> = {};
    for (const [key, part] of Object.entries(needed)) {
      const found = part(given[key], `${at}.${key}`, left);
      if (found === undefined) return undefined;
      read[key] = found;
    }
    for (const [key, part] of Object.entries(more)) {
      const found =
        given[key] === undefined || given[key] === null ? undefined : part(given[key], `${at}.${key}`, left);
      if (found !== undefined) read[key] = found;
    }
    return read;
  };
}
