// What an owner's agent may change, held against the schema and the docs: a key that nobody put on the list
// is protected.
import { readFileSync } from "node:fs";
import { configJsonSchema, configSchemaAt } from "@parley/config";
import type { Json, JsonObject } from "@parley/protocol";
import { freeSettings, protectedChanges } from "@parley/tools";
import { expect, test } from "vitest";

type Schema = { readonly [word: string]: unknown };

/** Every place of the file where a value may stand, "*" for a name or an index. */
function leaves(schema: Schema, path: readonly string[] = []): readonly (readonly string[])[] {
  const forms = (schema["anyOf"] ?? [schema]) as readonly Schema[];
  const below = forms.flatMap((form) => [
    ...Object.entries((form["properties"] ?? {}) as { readonly [key: string]: Schema }),
    ...[form["additionalProperties"], form["items"]].flatMap((each) =>
      typeof each === "object" && each !== null && Object.keys(each).length > 0
        ? [["*", each as Schema] as const]
        : [],
    ),
  ]);
  return below.length === 0 ? [path] : below.flatMap(([key, each]) => leaves(each, [...path, key]));
}

const free = freeSettings.map(({ path }) => path.split("."));
const freeOver = (leaf: readonly string[]): readonly string[] | undefined =>
  free.find((steps) => steps.every((step, at) => step === leaf[at]));

/** The file with this value at the leaf; names are "a", lists have one entry. */
function fileWith(leaf: readonly string[], value: Json): JsonObject {
  const file = leaf.reduceRight<Json>((inner, step, at) => {
    if (step !== "*") return { [step]: inner };
    return leaf[at - 1] === "accounts" || leaf[at - 1] === "resetByChannel" ? { a: inner } : [inner];
  }, value);
  return file as JsonObject;
}

test("each free setting is a key of the config", () => {
  for (const { path } of freeSettings) {
    expect(
      configSchemaAt(path.replace("agents.list.*", "agents.list[0]").replace("accounts.*", "accounts.NAME")),
      path,
    ).not.toBeNull();
  }
});

test("every other key of the schema is protected", () => {
  const all = leaves(configJsonSchema());
  expect(all.length).toBeGreaterThan(300);
  for (const leaf of all) {
    const steps = freeOver(leaf);
    // Models have values that are not free; the tool's own test has them.
    const isFree = steps !== undefined && steps.at(-1) !== "model";
    const name = leaf.join(".");
    expect(protectedChanges(fileWith(leaf, "one"), fileWith(leaf, ["another"])).length === 0, name).toBe(
      isFree,
    );
    // An agent or an account comes into being by the operator's hand only.
    expect(protectedChanges({}, fileWith(leaf, "one")).length === 0, `${name}, new`).toBe(
      isFree && !steps.includes("*"),
    );
  }
});

test("docs/tools.md has the list", () => {
  const docs = readFileSync(new URL("../../../docs/tools.md", import.meta.url), "utf8");
  const rows = freeSettings.map(({ path, says }) => `| \`${path}\` | ${says} |`);
  expect(docs).toContain(["| the agent may change | |", "| --- | --- |", ...rows, ""].join("\n"));
});
