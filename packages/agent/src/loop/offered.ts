// Writes out which tools a model is told of before it looked any up: always in one order, so that every
// question of a session begins alike for its provider's cache (I12).
import type { ToolSchema } from "@parley/models";
import type { Tool } from "@parley/tools";

export function offeredSchemas(tools: readonly Tool[]): readonly ToolSchema[] {
  return tools
    .filter(({ deferred }) => deferred !== true)
    .map(toolSchema)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function toolSchema({ name, description, parameters }: Tool): ToolSchema {
  return { name, description, parameters };
}
