// Masks secrets, and passwords in URLs, in a config that is to be shown.
import type { Json } from "@parley/protocol";
import type { Config } from "./config.ts";
import type { ConfigPath } from "./problem.ts";
import { isSecretPath } from "./references.ts";
import { isSecret, mask, secretWords } from "./secret.ts";

/** Plain JSON. Safe for `status`, logs and bug reports. */
export function redact(config: Config): Json {
  return shown(config);
}

/**
 * What the file itself says, which may be wrong in any way: masks by place and by name. References to a
 * secret are shown, they are none.
 */
export function redactFile(value: Json, path: ConfigPath = []): Json {
  if (typeof value === "string") return isMasked(path) && !/^\$\{\w+\}$/.test(value) ? mask : shown(value);
  if (typeof value !== "object" || value === null)
    return isMasked(path) && typeof value === "number" ? mask : value;
  if (isReference(value)) return value;
  if (Array.isArray(value)) return value.map((each, index) => redactFile(each, [...path, index]));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, redactFile(each, [...path, key])]),
  );
}

/** `skills.entries.x.env` is a block of variables, so what stands behind the word counts too. */
function isReference(value: object): boolean {
  const [[key, to] = [], ...more] = Object.entries(value) as [string, unknown][];
  return more.length === 0 && (key === "env" || key === "file") && typeof to === "string";
}

const saysSecret = new RegExp(`(?:${secretWords})$`, "i");

/** Also below such a key: a secret at the wrong depth is still one. */
function isMasked(path: ConfigPath): boolean {
  return path.some((step, depth) => {
    const at = path.slice(0, depth + 1);
    return (
      isSecretPath(at) ||
      saysSecret.test(String(step)) ||
      ((path[0] === "skills" || path[0] === "hooks") && at.at(-2) === "env")
    );
  });
}

/** Every secret of the config: for a log that masks by value, wherever a text came from. */
export function secretValues(config: Config): readonly string[] {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (isSecret(value)) found.add(value.reveal());
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(walk);
  };
  walk(config);
  return [...found];
}

function shown(value: unknown): Json {
  if (isSecret(value)) return value.toJSON();
  if (typeof value === "string") return value.replace(/^(https?:\/\/[^/\s:@]*:)[^/\s@]+@/, "$1[secret]@");
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value as Json;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .map(([key, each]) => [key, shown(each)]),
  );
}
