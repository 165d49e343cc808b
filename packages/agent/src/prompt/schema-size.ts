// Measures what a tool schema takes in a request: text, tokens and hash. A tool has the same schema object in
// every turn, so each is written out once and not for every turn.
import type { ToolSchema } from "@parley/models";
import { hashOf } from "./hash.ts";
import { estimateTokens } from "./tokens.ts";

export interface SchemaSize {
  readonly chars: number;
  /** Of UTF-8. */
  readonly bytes: number;
  /** By `tokenEstimator`. */
  readonly tokens: number;
  readonly hash: string;
}

interface Known extends SchemaSize {
  readonly name: string;
  readonly description: string;
}

const known = new WeakMap<object, Known>();

export function schemaSize({ name, description, parameters }: ToolSchema): SchemaSize {
  const before = known.get(parameters);
  if (before?.name === name && before.description === description) return before;
  const json = JSON.stringify({ name, description, parameters });
  const size = {
    name,
    description,
    chars: json.length,
    bytes: Buffer.byteLength(json),
    tokens: estimateTokens(json),
    hash: hashOf(json),
  };
  known.set(parameters, size);
  return size;
}
