// Reads what a server says of its tools. All of it is a stranger's text that will stand in prompts: sizes are
// bounded, invisible characters and what poses as a chat template go, and a tool that is too large or cannot
// be spelt is left out with a reason. The hash over the result is what an owner approves.
import { label, type Json, type JsonObject } from "@parley/protocol";
import { hashOf } from "./settings.ts";

export interface Definition {
  /** As the server spells it. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly schema: JsonObject;
  /** The server says that a call changes nothing. */
  readonly readOnly: boolean;
}

export interface Listing {
  readonly tools: readonly Definition[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

/** Longest description: what does not fit no model needs to choose a tool. */
const descriptionChars = 4_000;
const schemaBytes = 32_768;
const schemaDepth = 24;
const mostTools = 512;
/** Of all that a server says of its tools together. */
const listingBytes = 1_000_000;
const nameChars = 200;

/** `offered`: the entries of `tools/list`, unchecked. */
export function readListing(offered: readonly unknown[]): Listing {
  const tools: Definition[] = [];
  const leftOut: { name: string; reason: string }[] = [];
  const names = new Set<string>();
  let bytes = 0;
  for (const entry of offered) {
    const found = readTool(entry);
    const name = "reason" in found ? found.name : found.definition.name;
    const reason =
      "reason" in found
        ? found.reason
        : names.has(name)
          ? "another tool of the server has the same name"
          : tools.length >= mostTools
            ? `a server may have ${mostTools} tools`
            : bytes > listingBytes
              ? `the descriptions of a server's tools may have ${listingBytes / 1_000_000} MB`
              : null;
    if ("definition" in found && reason === null) {
      bytes += JSON.stringify(found.definition).length;
      names.add(name);
      tools.push(found.definition);
    } else if (leftOut.length < mostTools) leftOut.push({ name, reason: reason ?? "" });
  }
  return { tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)), leftOut };
}

type Read = { readonly definition: Definition } | { readonly name: string; readonly reason: string };

function readTool(entry: unknown): Read {
  if (!isObject(entry) || typeof entry["name"] !== "string" || entry["name"] === "")
    return { name: "?", reason: "it has no name" };
  const name = entry["name"];
  const shown = label(name, 80);
  if (name.length > nameChars)
    return { name: shown, reason: `its name is longer than ${nameChars} characters` };
  const { inputSchema, description, annotations } = entry;
  const schema = isObject(inputSchema) ? inputSchema : {};
  if ((JSON.stringify(schema)?.length ?? 0) > schemaBytes)
    return { name: shown, reason: `its schema is larger than ${schemaBytes / 1024} KB` };
  if (isDeeper(schema, schemaDepth))
    return { name: shown, reason: `its schema is nested deeper than ${schemaDepth}` };
  const said = typeof description === "string" ? description : "";
  const text = plainText(said);
  return {
    definition: {
      name,
      description:
        text.length > descriptionChars ? `${text.slice(0, descriptionChars).toWellFormed()}…` : text,
      schema: objectSchema(schema),
      readOnly: isObject(annotations) && annotations["readOnlyHint"] === true,
    },
  };
}

/**
 * Providers want an object at the top. References out of the schema would be fetched by whoever follows them,
 * so they go; texts inside are cleaned as the description is.
 */
function objectSchema(schema: JsonObject): JsonObject {
  const { $schema: _dialect, $id: _id, ...rest } = cleaned(schema) as JsonObject;
  return { ...rest, type: "object", ...(isObject(rest["properties"]) ? {} : { properties: {} }) };
}

function cleaned(value: Json): Json {
  if (typeof value === "string") return plainText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => key !== "$ref" || (typeof inner === "string" && inner.startsWith("#")))
      .map(([key, inner]) => [key, cleaned(inner)]),
  );
}

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return most === 0 || Object.values(value).some((inner) => isDeeper(inner, most - 1));
}

const unseen = /[[\p{C}\p{Default_Ignorable_Code_Point}]--[\n\t]]/gv;
/** Chat template tokens and our own fences: a bracket of another form makes plain words of them. */
const tokens = /<(?=[|｜/]|<{2,}|(?:start|end)_of_turn|\/?s>)|\[(?=\/?INST\])/gu;

function plainText(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029]/gu, "\n")
    .replace(unseen, "")
    .replace(tokens, (bracket) => (bracket === "[" ? "(" : "‹"));
}

/** What an owner approves: this tool, with these words and arguments, of exactly this server. */
export function definitionHash(server: string, identity: string, definition: Definition): string {
  return hashOf([server, identity, definition]);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
