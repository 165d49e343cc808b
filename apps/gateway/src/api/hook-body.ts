// Reads JSON that strangers send: how deep it is, before anything recurses into it, and what stands at a
// path.

/** How deeply brackets nest outside strings; of what is not JSON, some number. */
export function jsonDepth(text: string): number {
  let [depth, deepest, inString] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") deepest = Math.max(deepest, (depth += 1));
    else if (char === "}" || char === "]") depth -= 1;
  }
  return deepest;
}

/** Undefined for what is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // It is not JSON, so the agent reads it as text.
    return undefined;
  }
}

/** Reads a path such as `a.b.0.c` or `a.b[0].c`; undefined where a value is missing. */
export function valueAt(json: unknown, path: string): string | undefined {
  let value = json;
  for (const step of path.replace(/\[(\d+)\]/g, ".$1").split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as { readonly [key: string]: unknown })[step];
  }
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
