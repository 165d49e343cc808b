// Resolves what a config takes from elsewhere: `${NAME}` inside any string, and `{ env }` or `{ file }` in
// the place of a secret. This happens before the schema sees the file; a reference that cannot be resolved is
// a problem at its own line.
import type { ConfigPath, ConfigProblem } from "./problem.ts";
import { isCredential } from "./credentials.ts";
import { mask } from "./secret.ts";

export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined };
  /** Null when there is no such file; any other trouble rejects. */
  readonly readFile: (path: string) => Promise<string | null>;
  /** Told of each value that is a secret, and of what stands for it where people read. */
  readonly took?: (value: string, name: string) => void;
  /** Makes a path of the file absolute: `~` and relative paths. */
  readonly absolute: (path: string) => string;
}

/**
 * Keys whose value is a secret, wherever they stand: only there a reference object is read, and no message
 * shows what was written.
 */
const secretKeys: ReadonlySet<string | number> = new Set([
  "apiKey",
  "botToken",
  "token",
  "webhookSecret",
  "ownerDisplaySecret",
  "secret",
  "clientSecret",
  "passphrase",
]);

/** `url` and `proxy` are secrets where they may hold a password; a header may be one. */
export function isSecretPath(path: ConfigPath): boolean {
  return (
    secretKeys.has(path.at(-1) ?? "") ||
    path.join(".") === "store.redis.url" ||
    (path[0] === "channels" && path.at(-1) === "proxy") ||
    ((path[0] === "models" || path[0] === "telemetry") && path.at(-2) === "headers") ||
    (path[0] === "mcp" && path.length === 5 && ["env", "headers"].includes(String(path.at(-2))))
  );
}

/** Stands in for a value that could not be had, so that one missing variable is one problem and not two. */
const unresolved = "unresolved";

/** The value with all references replaced; problems are appended without position. */
export async function resolveReferences(
  value: unknown,
  around: Surroundings,
  report: (path: ConfigPath, problem: Omit<ConfigProblem, "path">) => void,
): Promise<unknown> {
  async function walk(node: unknown, path: ConfigPath): Promise<unknown> {
    if (typeof node === "string") return substitute(node, path);
    if (Array.isArray(node)) return Promise.all(node.map((each, index) => walk(each, [...path, index])));
    if (typeof node !== "object" || node === null) return node;
    const reference = isSecretPath(path) ? referenceIn(node) : null;
    if (reference !== null) return resolve(reference, path);
    const entries = Object.entries(node).map(
      async ([key, each]) => [key, await walk(each, [...path, key])] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }

  function substitute(text: string, path: ConfigPath): string {
    return text.replace(/\$(\$?)\{([A-Za-z_]\w*)\}/g, (whole: string, escaped: string, name: string) =>
      escaped === "$"
        ? whole.slice(1)
        : fromEnv(name, path, `, or write "$\${${name}}" for these characters themselves`),
    );
  }

  function fromEnv(name: string, path: ConfigPath, orElse = ""): string {
    if (name === "") {
      report(path, { message: "the variable has no name", fix: 'Write it as { env: "NAME" }' });
      return unresolved;
    }
    const found = around.env[name];
    if (found !== undefined && found !== "") {
      if (isCredential(name, found)) around.took?.(found, `\${${name}}`);
      return found;
    }
    const what = found === undefined ? "is not set" : "is empty";
    report(path, {
      message: `the environment variable ${name} ${what}`,
      fix: `Set ${name}${orElse}`,
    });
    return unresolved;
  }

  async function resolve(reference: Reference, path: ConfigPath): Promise<string> {
    if ("env" in reference) return fromEnv(reference.env, path);
    const file = around.absolute(reference.file);
    let what: string;
    try {
      const text = await around.readFile(file);
      if (text !== null && text.trim() !== "") {
        around.took?.(text.trim(), mask);
        return text.trim();
      }
      what = text === null ? "does not exist" : "is empty";
    } catch (error) {
      // Reported with all other problems of the file instead of ending the list here.
      what = `cannot be read (${error instanceof Error ? error.message : String(error)})`;
    }
    report(path, {
      message: `the secret file ${file} ${what}`,
      fix: "Write the secret into it, readable only by the user of the daemon",
    });
    return unresolved;
  }

  return walk(value, []);
}

type Reference = { readonly env: string } | { readonly file: string };

function referenceIn(node: object): Reference | null {
  const [[key, value] = [], ...more] = Object.entries(node) as [string, unknown][];
  if (more.length > 0 || typeof value !== "string") return null;
  if (key === "env") return { env: value };
  return key === "file" ? { file: value } : null;
}
