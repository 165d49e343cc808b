// Words the fix for a value that the schema refuses: an imperative, made from what the schema expects at that
// place.
import type { z } from "zod";
import { formatPath, type ConfigPath } from "../problem.ts";

const forms: { readonly [expected: string]: string } = {
  string: "Write text in quotes",
  number: "Write a number, without quotes",
  int: "Write a whole number, without quotes",
  boolean: "Write true or false, without quotes",
  array: "Write a list, in [ ]",
  object: "Write a block, in { }",
  record: "Write a block, in { }",
};

/** `at`: the place in the file, for what only the schema's own words can tell. */
export function schemaFix(issue: z.core.$ZodIssue, at: ConfigPath): string {
  const form = issue.code === "invalid_type" ? forms[String(issue.expected)] : undefined;
  if (form !== undefined) return form;
  if (issue.code === "invalid_value")
    return `Use ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
  if (issue.code === "too_big") return `Use at most ${issue.maximum}${unitOf(issue.origin)}`;
  if (issue.code === "too_small") {
    const least = issue.inclusive === false ? "more than" : "at least";
    return `Use ${least} ${issue.minimum}${unitOf(issue.origin)}`;
  }
  // Elements are described with their list.
  const element = at.findIndex((step) => typeof step === "number");
  const keys = element === -1 ? at : at.slice(0, element);
  return `See ${formatPath(keys)} in docs/configuration.md`;
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " entries" : "";
}
