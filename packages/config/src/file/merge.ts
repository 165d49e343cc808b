// Turns what a client wants the config to be, a merge patch (RFC 7396) or the whole value, into the changes
// that make it so. It changes only what differs, so that comments stay; a masked secret that comes back means
// "as it was".
import { isDeepStrictEqual } from "node:util";
import { Fault, type Json, type JsonObject } from "@parley/protocol";
import type { ConfigChange } from "./edit.ts";
import { formatPath, type ConfigPath } from "../problem.ts";
import { redactFile } from "../redact.ts";
import { mask } from "../secret.ts";

export interface MergeOptions {
  /** `patch`: null removes, what is absent stays. `whole`: what is absent goes. */
  readonly as: "patch" | "whole";
  /**
   * Lists that may lose entries, as `formatPath` writes them; a patch must name them, so that none is lost by
   * an old copy.
   */
  readonly replacePaths?: readonly string[];
}

/**
 * Throws Fault("invalid") for a mask where nothing is masked, and for a patch that would take entries out of
 * a list unsaid.
 */
export function changesTo(
  current: unknown,
  wanted: JsonObject,
  options: MergeOptions,
): readonly ConfigChange[] {
  return blockChanges(isBlock(current) ? current : {}, wanted, [], options);
}

function blockChanges(
  current: JsonObject,
  wanted: JsonObject,
  path: ConfigPath,
  options: MergeOptions,
): ConfigChange[] {
  const gone =
    options.as === "whole" ? Object.keys(current).filter((key) => !Object.hasOwn(wanted, key)) : [];
  return [
    ...gone.map((key) => ({ remove: [...path, key] })),
    ...Object.entries(wanted).flatMap(([key, value]) => {
      const known = Object.hasOwn(current, key) ? current[key] : undefined;
      return valueChanges(known, value, [...path, key], options);
    }),
  ];
}

function valueChanges(
  current: Json | undefined,
  wanted: Json,
  path: ConfigPath,
  options: MergeOptions,
): ConfigChange[] {
  const isPatch = options.as === "patch";
  if (wanted === null && isPatch) return current === undefined ? [] : [{ remove: path }];
  // As it was shown: also a URL whose password alone is masked.
  if (current !== undefined && isDeepStrictEqual(wanted, redactFile(current, path))) return [];
  if (isBlock(current) && isBlock(wanted) && !isReference(current) && !isReference(wanted)) {
    return blockChanges(current, wanted, path, options);
  }
  const to = isPatch ? withoutNulls(wanted) : wanted;
  if (isDeepStrictEqual(current, to)) return [];
  refuseMasks(to, path);
  if (isPatch && Array.isArray(current)) refuseLoss(current, to, path, options.replacePaths ?? []);
  return [{ set: path, to }];
}

function refuseLoss(
  current: readonly Json[],
  to: Json,
  path: ConfigPath,
  replacePaths: readonly string[],
): void {
  const kept: readonly Json[] = Array.isArray(to) ? to : [];
  const lost = current.filter((entry) => !kept.some((each) => isDeepStrictEqual(each, entry))).length;
  const name = formatPath(path);
  if (lost === 0 || replacePaths.includes(name)) return;
  throw new Fault(
    "invalid",
    `${name} would lose ${lost} of its ${current.length} entries. Name it in replacePaths if that is meant`,
  );
}

function refuseMasks(value: Json, path: ConfigPath): void {
  if (value === mask) {
    throw new Fault(
      "invalid",
      `${formatPath(path)}: "${mask}" stands for a secret that the file does not have there. Give the secret itself`,
    );
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, each] of Object.entries(value))
    refuseMasks(each, [...path, Array.isArray(value) ? Number(key) : key]);
}

export function isMask(value: Json): value is string {
  return typeof value === "string" && value.includes(mask);
}

export function noSecretThere(path: ConfigPath): Fault {
  const place = formatPath(path);
  return new Fault(
    "invalid",
    `${place}: "${mask}" stands for a secret, but the file has another or none there. Give the secret itself`,
  );
}

/** In a patch null means absence, also inside of what is new. */
function withoutNulls(value: Json): Json {
  if (!isBlock(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== null)
      .map(([key, each]) => [key, withoutNulls(each)]),
  );
}

/** `{ env }` and `{ file }` are values, not blocks: one key of theirs never joins another. */
function isReference(value: JsonObject): boolean {
  const [key, ...more] = Object.keys(value);
  return more.length === 0 && (key === "env" || key === "file") && typeof value[key] === "string";
}

function isBlock(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
