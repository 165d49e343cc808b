// Makes a tool from a zod schema: the same schema describes the arguments to the model and checks the model's
// call. Tools are made for every turn, but their schemas and the schemas' descriptions only once.
import { z } from "zod";
import type { JsonObject } from "@parley/protocol";
import type { ExecAction } from "./exec/exec-action.ts";
import type { Heard, Tool, ToolEffect, ToolResult, ToolScope } from "./tool.ts";

export interface ToolDefinition<S extends z.ZodType> {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly args: S;
  readonly effect: ToolEffect;
  readonly keyed?: boolean;
  readonly endsPreview?: boolean;
  action?(args: z.output<S>, scope: ToolScope): Promise<ExecAction | null>;
  outside?(args: z.output<S>, scope: ToolScope, heard: Heard): string | null;
  run(args: z.output<S>, scope: ToolScope): Promise<ToolResult>;
}

export function defineTool<S extends z.ZodType>(definition: ToolDefinition<S>): Tool {
  const {
    name,
    summary,
    description,
    effect,
    keyed = false,
    endsPreview = false,
    args,
    action,
    outside,
  } = definition;
  return {
    name,
    summary,
    description,
    effect,
    keyed,
    endsPreview,
    parameters: parametersOf(args),
    parse(sent) {
      const parsed = args.safeParse(sent);
      return parsed.success
        ? { ok: true, args: parsed.data }
        : { ok: false, reason: z.prettifyError(parsed.error) };
    },
    // Both only ever get what `parse` accepted.
    ...(action === undefined
      ? {}
      : { action: (parsed: unknown, scope: ToolScope) => action(parsed as z.output<S>, scope) }),
    ...(outside === undefined
      ? {}
      : {
          outside: (parsed: unknown, scope: ToolScope, heard: Heard) =>
            outside(parsed as z.output<S>, scope, heard),
        }),
    run: (parsed, scope) => definition.run(parsed as z.output<S>, scope),
  };
}

const described = new WeakMap<z.ZodType, JsonObject>();

function parametersOf(args: z.ZodType): JsonObject {
  const known = described.get(args);
  if (known !== undefined) return known;
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(args, { io: "input" });
  // A JSON Schema is plain data; zod types it more narrowly than JSON.
  const plain = parameters as unknown as JsonObject;
  described.set(args, plain);
  return plain;
}

/** Of what a port told, with its mark. */
export function toldResult({
  text,
  ...more
}: Pick<ToolResult, "untrusted"> & { readonly text: string }): ToolResult {
  return { content: [{ type: "text", text }], ...more };
}

export function textResult(text: string, isError = false): ToolResult {
  return { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
}
