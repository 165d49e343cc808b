// Who may call what, and what comes back: the table of the control plane stands a second time in methods.txt. A right that widens, or a field that an
// operator no longer sees, is a line that differs. A new method need not be listed.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { methods } from "../src/index.ts";

type Schema = {
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
};

/** As `1..128`: of a text its length, of a number itself; empty where nothing is bound. */
function bounds({ minLength, maxLength, minimum = minLength, maximum = maxLength }: Schema): string {
  const told = [minimum, maximum].map((bound = Infinity) =>
    Math.abs(bound) < Number.MAX_SAFE_INTEGER ? String(bound) : "",
  );
  return told.join("") === "" ? "" : `<${told.join("..")}>`;
}

/**
 * Names of the fields, `?` after those that may be absent, then bounds and defaults; what is below them in
 * braces.
 */
function shape(schema: Schema): string {
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(
      ([name, each]) => `${name}${schema.required?.includes(name) === true ? "" : "?"}${shape(each)}`,
    );
    return `{${fields.join(" ")}}`;
  }
  if (schema.items !== undefined) return `[]${shape(schema.items)}`;
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(shape))].join("");
  if (schema.enum !== undefined) return `(${schema.enum.join("|")})`;
  return `${bounds(schema)}${schema.default === undefined ? "" : `=${JSON.stringify(schema.default)}`}`;
}

function line(name: string): string {
  const spec = methods[name as keyof typeof methods];
  if (spec === undefined) return `${name} is gone`;
  const read = (schema: z.ZodType, io: "input" | "output"): string =>
    shape(z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" }) as Schema);
  return `${name}: ${spec.scope}, ${spec.sessions}, ${spec.needs} ${read(spec.params, "input")} -> ${read(spec.result, "output")}`;
}

const listed = readFileSync(new URL("methods.txt", import.meta.url), "utf8")
  .trim()
  .split("\n");

test.each(listed.map((expected) => [expected.slice(0, expected.indexOf(":")), expected] as const))(
  "%s keeps its rights, its parameters and its result",
  (name, expected) => {
    expect(line(name)).toBe(expected);
  },
);
