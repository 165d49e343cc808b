// Runs the schema over the file's value and says what is wrong in terms of the file: an unknown key gets the
// key that was probably meant.
import type { z } from "zod";
import { configJsonSchema, keysAt } from "../json-schema.ts";
import { fixOfKnownAgentKey } from "./known-elsewhere-agents.ts";
import { fixOfKnownElsewhere } from "./known-elsewhere.ts";
import { nearestWord } from "./nearest.ts";
import type { ConfigPath, ConfigProblem } from "../problem.ts";
import { isSecretPath } from "../references.ts";
import { schemaFix } from "./schema-fix.ts";
import { configSchema, type ConfigFile } from "../schema/root.ts";

/** A problem with its place as a path, not yet as a line. */
export interface Finding {
  readonly at: ConfigPath;
  readonly problem: Omit<ConfigProblem, "path">;
  /** The key is in no schema: a file of a newer version may have it. */
  readonly unknownKey?: true;
}

/** `at`: where in the file. `fix`: what to do, an imperative. */
export function finding(at: ConfigPath, message: string, fix: string): Finding {
  return { at, problem: { message, fix } };
}

export type Validation =
  | { readonly ok: true; readonly file: ConfigFile }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/** More than anybody mends at once. Each is looked up in the schema and in the file, which takes its time. */
const mostFindings = 1_000;

export function validate(value: unknown): Validation {
  // To compile the schema takes as long as ten parses without that, and a process seldom needs two.
  const parsed = configSchema.safeParse(value, { reportInput: true, jitless: true });
  if (parsed.success) return { ok: true, file: parsed.data };
  const { issues } = parsed.error;
  const listed = issues.slice(0, mostFindings).flatMap(findings).slice(0, mostFindings);
  const count = issues.reduce((sum, issue) => sum + mistakesIn(issue), 0);
  if (count <= mostFindings) return { ok: false, findings: listed };
  const more = finding([], `${count} mistakes, of which ${mostFindings} are listed`, "Mend these first");
  return { ok: false, findings: [more, ...listed] };
}

function mistakesIn(issue: z.core.$ZodIssue): number {
  return issue.code === "unrecognized_keys" ? issue.keys.length : 1;
}

function findings(issue: z.core.$ZodIssue): readonly Finding[] {
  const at = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys")
    return issue.keys.slice(0, mostFindings).map((key) => unknownKey([...at, key], key));
  if (issue.code === "invalid_key")
    return [finding(at, issue.issues[0]?.message ?? "not a valid key", "Rename the key")];
  if (issue.code === "invalid_union") {
    // An object can only have been meant as the object form: its own mistakes say more than "no form fits".
    const inner = issue.errors
      .flat()
      .filter((each) => each.path.length > 0 || each.code === "unrecognized_keys");
    if (inner.length > 0)
      return inner.flatMap((each) => findings({ ...each, path: [...issue.path, ...each.path] }));
  }
  const fix: unknown = issue.code === "custom" ? issue.params?.["fix"] : undefined;
  const isSecret = isSecretPath(at) || (at[0] === "skills" && at[3] === "env");
  const got = typeof fix === "string" || isSecret ? null : describeInput(issue.input);
  const message = got === null ? issue.message : `${got}: ${lowerFirst(issue.message)}`;
  return [finding(at, message, typeof fix === "string" ? fix : schemaFix(issue, at))];
}

function unknownKey(at: ConfigPath, key: string): Finding {
  const known = keysAt(configJsonSchema(), at.slice(0, -1));
  const near = nearestWord(key, known);
  const guess = near !== null ? `Did you mean "${near}"?` : `Known here: ${known.toSorted().join(", ")}`;
  const fix = fixOfKnownElsewhere(at) ?? fixOfKnownAgentKey(at) ?? guess;
  return { at, problem: { message: `unknown key "${key}"`, fix }, unknownKey: true };
}

/** What stands in the file may be long. */
export const shownInputChars = 40;

/** Plain values only, and short. */
function describeInput(input: unknown): string | null {
  if (typeof input === "string")
    return JSON.stringify(input.length > shownInputChars ? `${input.slice(0, shownInputChars)}…` : input);
  return typeof input === "number" || typeof input === "boolean" || input === null ? String(input) : null;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
