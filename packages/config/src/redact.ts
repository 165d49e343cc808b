// The config as it may be shown: secrets masked, passwords in URLs too.
import type { Json } from "@parley/protocol";
import type { Config } from "./config.ts";
import { isSecret } from "./secret.ts";

/** Plain JSON. Safe for `status`, logs and bug reports. */
export function redact(config: Config): Json {
  return shown(config);
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
