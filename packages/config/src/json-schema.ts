// The schema as JSON Schema: for editors (config/parley.schema.json) and for finding the keys that are known at a place.
import { z } from "zod";
import type { ConfigPath } from "./problem.ts";
import { configSchema } from "./schema/root.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

let schema: JsonSchema | undefined;

/** What may stand in the file, before defaults are filled in. */
export function configJsonSchema(): JsonSchema {
  schema ??= { ...z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" }), title: "Parley configuration" };
  return schema;
}

/** The keys of the block at `path`; empty where any key goes. */
export function keysAt(root: JsonSchema, path: ConfigPath): readonly string[] {
  let blocks = [root];
  for (const step of path) blocks = blocks.flatMap(forms).flatMap((block) => child(block, step));
  return [...new Set(blocks.flatMap(forms).flatMap((block) => Object.keys((block["properties"] as JsonSchema | undefined) ?? {})))];
}

function forms(block: JsonSchema): readonly JsonSchema[] {
  const choices = block["anyOf"] as readonly JsonSchema[] | undefined;
  return choices === undefined ? [block] : choices.flatMap(forms);
}

function child(block: JsonSchema, step: string | number): readonly JsonSchema[] {
  const properties = (block["properties"] as { readonly [key: string]: JsonSchema } | undefined) ?? {};
  const next =
    typeof step === "number" ? block["items"] : (Object.hasOwn(properties, step) && properties[step]) || block["additionalProperties"];
  return typeof next === "object" && next !== null ? [next as JsonSchema] : [];
}
