// Writes docs/configuration.md from the schema, one table for each block of the file, so that the page never
// says what the code does not.
import type { JsonSchema } from "./json-schema.ts";

interface Key {
  readonly path: string;
  readonly takes: string;
  readonly standard: string;
  readonly says: string;
}

const introduction = `# Every key of the config

Written from the schema by \`pnpm --filter @parley/config schema\`; a test fails when it is stale. The file is \`parley.json5\` in the state
folder (\`PARLEY_CONFIG\` names another one): JSON with comments. Every key has a default, so there need be none. \`NAME\` stands for a name that
you choose, \`[]\` for each entry of a list. A string may hold \`\${NAME}\`, a variable of the environment. A secret may also be
\`{ env: "NAME" }\` or \`{ file: "path" }\`. How a change is taken up: [operations.md](operations.md#changing-the-config).
`;

/** Markdown. */
export function configReference(schema: JsonSchema): string {
  const blocks = Object.entries(propertiesOf(schema)).filter(([key]) => key !== "$schema");
  const plain = blocks.filter(([, block]) => belowOf(block, "").length === 0);
  const sections = blocks.filter((each) => !plain.includes(each));
  return [
    introduction,
    table(plain.map(([key, block]) => keyOf(key, block))),
    ...sections.map(([key, block]) => `## ${key}\n\n${describe(block)}\n\n${table(belowOf(block, key))}`),
  ].join("\n");
}

function table(keys: readonly Key[]): string {
  const rows = keys.map(
    ({ path, takes, standard, says }) => `| \`${path}\` | ${takes} | ${standard} | ${says} |`,
  );
  return `${["| key | takes | default | |", "| --- | --- | --- | --- |", ...rows].join("\n")}\n`;
}

/** The leaves below a block, in the order of the schema. */
function keysIn(block: JsonSchema, path: string): readonly Key[] {
  const named = Object.entries(propertiesOf(block)).map(
    ([key, each]) => [path === "" ? key : `${path}.${key}`, each] as const,
  );
  const any = block["additionalProperties"];
  const free = isSchema(any) && Object.keys(any).length > 0 ? [[`${path}.NAME`, any] as const] : [];
  return [...named, ...free].flatMap(([at, each]) => {
    const below = belowOf(each, at);
    if (below.length === 0) return [keyOf(at, each)];
    const own =
      describe(each) === "" ? [] : [{ path: at, takes: "block", standard: "", says: describe(each) }];
    return [...own, ...below];
  });
}

function belowOf(schema: JsonSchema, path: string): readonly Key[] {
  const items = schema["items"];
  if (isSchema(items)) return belowOf(items, `${path}[]`);
  const forms = formsOf(schema).filter((form) => form["type"] === "object" && !isReference(form));
  return forms.flatMap((form) => keysIn(form, path));
}

/** \`{ env }\` and \`{ file }\` are ways to write a secret, told once above. */
function isReference(form: JsonSchema): boolean {
  const keys = Object.keys(propertiesOf(form));
  return keys.length === 1 && (keys[0] === "env" || keys[0] === "file");
}

function keyOf(path: string, schema: JsonSchema): Key {
  return { path, takes: takesOf(schema), standard: standardOf(schema), says: describe(schema) };
}

function takesOf(schema: JsonSchema): string {
  const {
    type,
    const: fixed,
    enum: choices,
    minimum,
    maximum,
  } = schema as { readonly [keyword: string]: unknown };
  if (formsOf(schema).some(isReference)) return "secret";
  if (Array.isArray(schema["anyOf"])) return [...new Set(formsOf(schema).map(takesOf))].join(" or ");
  if (fixed !== undefined) return code(fixed);
  if (Array.isArray(choices)) return choices.map(code).join(", ");
  if (type === "array") return isSchema(schema["items"]) ? `list of ${takesOf(schema["items"])}` : "list";
  if (type === "object") return "block";
  if (type !== "integer" && type !== "number") return typeof type === "string" ? type : "anything";
  // zod tells "any safe integer" as these bounds.
  const [least, most] = [minimum, maximum].map((bound) =>
    typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined,
  );
  if (least !== undefined && most !== undefined) return `${type}, ${least} to ${most}`;
  return least === undefined ? type : `${type}, at least ${least}`;
}

function standardOf(schema: JsonSchema): string {
  const value = schema["default"];
  return value === undefined ? "" : code(value);
}

function describe(schema: JsonSchema): string {
  const own = schema["description"];
  return (typeof own === "string" ? own : "")
    .replace(/ Or \{ env: "NAME" \} or \{ file: "path" \}\.$/, "")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;");
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value).replaceAll("|", "\\|").replaceAll("`", "'")}\``;
}

function formsOf(schema: JsonSchema): readonly JsonSchema[] {
  const choices = schema["anyOf"];
  return Array.isArray(choices) ? (choices as readonly JsonSchema[]).flatMap(formsOf) : [schema];
}

function propertiesOf(schema: JsonSchema): { readonly [key: string]: JsonSchema } {
  return (schema["properties"] ?? {}) as { readonly [key: string]: JsonSchema };
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
