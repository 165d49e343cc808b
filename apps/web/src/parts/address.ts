// Reads and writes the addresses of the page's places: `#/approvals/<id>?all=1`. They stand in the fragment,
// so the page works under any path that a proxy gives it, and the gateway serves one file.

export interface Address {
  /** The page's word; empty at the start. */
  readonly page: string;
  /** What follows it: the id of an object, say. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export function readAddress(hash: string): Address {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/").map(decoded);
  return { page, rest: rest.filter((part) => part !== ""), query: new URLSearchParams(query) };
}

export function addressOf(
  page: string,
  rest: readonly string[] = [],
  query: { readonly [name: string]: string | null } = {},
): string {
  const kept = Object.entries(query).flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  const asked = new URLSearchParams(kept).toString();
  return `#/${[page, ...rest].map(encodeURIComponent).join("/")}${asked === "" ? "" : `?${asked}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Somebody typed it: it names nothing, and is shown as it is.
    return part;
  }
}
