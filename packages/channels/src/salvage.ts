// Reads an event part by part: what is not of the form that a platform promises is left out and named, what is is kept. Only a part that
// cannot stand without another takes that one along. Known keys alone get through, so nothing unread reaches the code behind.

/** The value as it may be used; undefined where it cannot be. `left` collects the paths of what was left out. */
export type Part = (value: unknown, at: string, left: string[]) => unknown;

/** A part by a test alone. */
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
/** Of bytes, characters, seconds. */
export const amount = when((value) => typeof value === "number" && Number.isFinite(value) && value >= 0);
export const count = when((value) => Number.isSafeInteger(value) && (value as number) >= 0);
/** As Discord writes ids. */
export const snowflakeId = when((value) => typeof value === "string" && /^\d{1,20}$/.test(value));

/** Elements that cannot be read are left out alone. */
export function list(part: Part): Part {
  return (value, at, left) => {
    if (Array.isArray(value))
      return value.map((one, index) => part(one, `${at}[${index}]`, left)).filter((one) => one !== undefined);
    left.push(at);
    return undefined;
  };
}

type Parts = { readonly [key: string]: Part };

/** Null counts as absent: some servers write it for what is not there. */
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
