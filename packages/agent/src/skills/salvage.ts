// Front matter that is no YAML as a whole, read entry by entry: a broken optional entry is left out with a
// note, and the text of name and description is taken as it stands. Other programs read such files, or only
// these two keys of them.

export interface Salvaged {
  readonly data: { readonly [key: string]: unknown };
  readonly notes: readonly string[];
}

type Read = (block: string) => { readonly [key: string]: unknown } | null;

const required = new Set(["name", "description"]);

/**
 * `read` gives null for what is no YAML. Null where no entry can be told from the next, or where one of the
 * required two stands twice.
 */
export function salvaged(block: string, read: Read): Salvaged | null {
  const found = new Map<string, unknown>();
  const notes: string[] = [];
  for (const { key, text } of entriesOf(block)) {
    if (key === null || (found.has(key) && required.has(key))) return null;
    const value = valueOf(key, text, read);
    if (value === undefined) notes.push(`${key} is left out: it is no YAML`);
    else {
      if (found.has(key)) notes.push(`${key} stands twice: the last one counts`);
      found.set(key, value);
    }
  }
  return { data: Object.fromEntries(found), notes };
}

function valueOf(key: string, text: string, read: Read): unknown {
  const data = read(text);
  if (data !== null && Object.hasOwn(data, key)) return data[key];
  if (!required.has(key)) return undefined;
  const said = text.slice(text.indexOf(":") + 1).replaceAll(/\s+/g, " ");
  return said.trim().replace(/^(["'])(.*)\1$/, "$2");
}

interface Entry {
  /** Null for lines that belong to no key. */
  readonly key: string | null;
  readonly text: string;
}

/** A line that is not indented begins an entry, unless it goes on with a list, a bracket or a comment. */
function entriesOf(block: string): readonly Entry[] {
  const entries: { key: string | null; lines: string[] }[] = [];
  for (const line of block.split("\n")) {
    const key = /^(?:([A-Za-z_][\w.-]*)|"([^"\\]+)"|'([^']+)')[ \t]*:(?:[ \t]|$)/.exec(line);
    const last = entries.at(-1);
    if (key !== null) entries.push({ key: key[1] ?? key[2] ?? key[3] ?? null, lines: [line] });
    else if (last !== undefined) last.lines.push(line);
    else if (line.trim() !== "" && !line.startsWith("#")) entries.push({ key: null, lines: [line] });
  }
  return entries.map(({ key, lines }) => ({ key, text: lines.join("\n") }));
}
