// Compares two configs: lists the keys that differ, and which of them a running daemon cannot take up.
import type { Config } from "./config.ts";
import { formatPath, type ConfigPath } from "./problem.ts";
import { isSecret } from "./secret.ts";

/**
 * The smallest blocks that differ, as `channels.telegram.default.botToken`; a list counts as one. Tells keys,
 * never values.
 */
export function changedKeys(before: Config, after: Config): readonly string[] {
  return differing(before, after, []);
}

/**
 * Sockets, files and servers that were opened with these stay what they are until the daemon starts again.
 */
const untilRestart = [
  "gateway.port",
  "gateway.bind",
  "gateway.allowedHosts",
  "gateway.trustedProxies",
  "gateway.auth",
  "gateway.metrics.enabled",
  "store",
  "logging.file",
  "telemetry",
] as const;

/** Of these keys those that only a restart takes up. */
export function restartKeys(keys: readonly string[]): readonly string[] {
  return keys.filter((key) => untilRestart.some((fixed) => key === fixed || key.startsWith(`${fixed}.`)));
}

function differing(before: unknown, after: unknown, path: ConfigPath): string[] {
  if (!isBlock(before) || !isBlock(after)) return textOf(before) === textOf(after) ? [] : [formatPath(path)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => differing(before[key], after[key], [...path, key]));
}

function isBlock(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isSecret(value);
}

/** Secrets by their value: compared here, shown nowhere. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(revealed(value));
}

function revealed(value: unknown): unknown {
  if (isSecret(value)) return { revealed: value.reveal() };
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, revealed(each)]));
}
