// The schema as JSON Schema: for editors (config/parley.schema.json) and for finding the keys that are known
// at a place.
import { z } from "zod";
import { parseConfigPath } from "./path.ts";
import type { ConfigPath } from "./problem.ts";
import { configSchema } from "./schema/root.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

let schema: JsonSchema | undefined;

/** What may stand in the file, before defaults are filled in. */
export function configJsonSchema(): JsonSchema {
  schema ??= {
    ...z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" }),
    title: "Parley configuration",
  };
  return schema;
}

/** The keys of the block at `path`; empty where any key goes. */
export function keysAt(root: JsonSchema, path: ConfigPath): readonly string[] {
  let blocks = [root];
  for (const step of path) blocks = blocks.flatMap(forms).flatMap((block) => child(block, step));
  return [
    ...new Set(
      blocks
        .flatMap(forms)
        .flatMap((block) => Object.keys((block["properties"] as JsonSchema | undefined) ?? {})),
    ),
  ];
}

/**
 * What may stand at one place ("messages.queue", "" for the whole), blocks below it by their keys only; null
 * when there is no such key.
 */
export function configSchemaAt(text: string): JsonSchema | null {
  let blocks: readonly JsonSchema[] = [configJsonSchema()];
  for (const step of text.trim() === "" ? [] : parseConfigPath(text))
    blocks = blocks.flatMap(forms).flatMap((block) => child(block, step));
  const [first, ...more] = blocks;
  if (first === undefined) return null;
  return more.length === 0 ? shallow(first, true) : { anyOf: blocks.map((block) => shallow(block, true)) };
}

function shallow(block: JsonSchema, opened: boolean): JsonSchema {
  const told = Object.entries(block).map(([word, value]): readonly [string, unknown] => {
    if (word === "properties") {
      const below = value as { readonly [key: string]: JsonSchema };
      if (!opened) return ["keys", Object.keys(below)];
      return [
        word,
        Object.fromEntries(Object.entries(below).map(([key, each]) => [key, shallow(each, false)])),
      ];
    }
    if (word === "anyOf")
      return [word, (value as readonly JsonSchema[]).map((each) => shallow(each, opened))];
    return isSchema(value) && (word === "items" || word === "additionalProperties")
      ? [word, shallow(value, false)]
      : [word, value];
  });
  return Object.fromEntries(told);
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function forms(block: JsonSchema): readonly JsonSchema[] {
  const choices = block["anyOf"] as readonly JsonSchema[] | undefined;
  return choices === undefined ? [block] : choices.flatMap(forms);
}

function child(block: JsonSchema, step: string | number): readonly JsonSchema[] {
  const properties = (block["properties"] as { readonly [key: string]: JsonSchema } | undefined) ?? {};
  const next =
    typeof step === "number"
      ? block["items"]
      : (Object.hasOwn(properties, step) && properties[step]) || block["additionalProperties"];
  return typeof next === "object" && next !== null ? [next as JsonSchema] : [];
}
