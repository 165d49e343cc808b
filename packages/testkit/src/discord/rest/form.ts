// Checks requests against a description that is not ours: the zod schemas of discord-api-spec, made from
// Discord's own OpenAPI. Refusals have the real server's form (code 50035). Fields that Discord would
// silently ignore are recorded as the client's mistakes but refuse nothing.
import type * as z from "zod/v4/core";
import { type FormErrors, nested } from "./refusal.ts";

/** Names of request bodies in Discord's description. */
const formNames = [
  "ApplicationCommandCreateRequest",
  "ApplicationCommandPatchRequestPartial",
  "ApplicationCommandUpdateRequest",
  "CreateForumThreadRequest",
  "CreateMessageInteractionCallbackRequest",
  "ApplicationCommandAutocompleteCallbackRequest",
  "CreatePrivateChannelRequest",
  "CreateTextThreadWithMessageRequest",
  "CreateTextThreadWithoutMessageRequest",
  "IncomingWebhookRequestPartial",
  "IncomingWebhookUpdateRequestPartial",
  "MessageCreateRequest",
  "MessageEditRequestPartial",
  "ModalInteractionCallbackRequest",
  "UpdateMessageInteractionCallbackRequest",
  "UpdateThreadRequestPartial",
] as const;
export type FormName = (typeof formNames)[number];

interface FormCheck {
  readonly errors: FormErrors | null;
  /** Paths of fields that the description does not have. */
  readonly unknown: readonly string[];
}

export interface Forms {
  check(name: FormName, body: unknown): FormCheck;
}

type Schema = {
  safeParse(
    body: unknown,
  ):
    | { readonly success: true; readonly data: unknown }
    | { readonly success: false; readonly error: z.$ZodError };
};

let once: Promise<Forms> | undefined;

/** One per process. The import is late: tests that only want a clock do not pay for 300 KB of schemas. */
export function forms(): Promise<Forms> {
  once ??= loadForms();
  return once;
}

async function loadForms(): Promise<Forms> {
  // @ts-expect-error: the package names a JavaScript file as its types, so there are none.
  const spec = (await import("discord-api-spec/zod")) as { readonly [schema: string]: Schema };
  return {
    check(name, sent) {
      const body = asDescribed(sent);
      const schema = spec[`${name}Schema`];
      if (schema === undefined) throw new Error(`discord-api-spec has no ${name}Schema`);
      const result = schema.safeParse(body);
      if (!result.success) return { errors: formErrors(result.error.issues, body), unknown: [] };
      return { errors: null, unknown: lostFields(body, result.data, "") };
    },
  };
}

/**
 * The description is stricter than the server in two places: numbers are as good as text for ids, and text
 * for permissions.
 */
function asDescribed(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => asDescribed(item, field));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === "id" && field !== "attachments" ? inner : asDescribed(inner, key),
      ]),
    );
  }
  if (field === "id" && typeof value === "number") return String(value);
  return field === "default_member_permissions" && typeof value === "string" ? Number(value) : value;
}

/**
 * Objects of the description drop what they do not know: what is gone from the result was never asked for.
 */
function lostFields(sent: unknown, kept: unknown, path: string): string[] {
  if (typeof sent !== "object" || sent === null || typeof kept !== "object" || kept === null) return [];
  return Object.entries(sent).flatMap(([key, value]) => {
    const here = path === "" ? key : `${path}.${key}`;
    return key in kept ? lostFields(value, (kept as Record<string, unknown>)[key], here) : [here];
  });
}

function formErrors(issues: readonly z.$ZodIssue[], body: unknown): FormErrors {
  const merged: FormErrors = {};
  for (const { path, code, message } of issues.flatMap((issue) => flat(issue, body, [])))
    merge(merged, nested(path, [{ code, message }]));
  return merged;
}

function merge(into: FormErrors, from: FormErrors): void {
  for (const [key, value] of Object.entries(from)) {
    const known = into[key];
    if (known === undefined || Array.isArray(known) || Array.isArray(value)) into[key] = value;
    else merge(known as FormErrors, value as FormErrors);
  }
}

interface Problem {
  readonly path: readonly (string | number)[];
  readonly code: string;
  readonly message: string;
}

function flat(issue: z.$ZodIssue, body: unknown, under: readonly (string | number)[]): Problem[] {
  const path = [...under, ...issue.path.map((step) => (typeof step === "symbol" ? String(step) : step))];
  if (issue.code === "invalid_union") {
    const branch = likeliest(issue.errors);
    if (branch !== undefined) return branch.flatMap((inner) => flat(inner, body, path));
    return [
      { path, code: "UNION_TYPE_CHOICES", message: "Value fits none of the types that this field takes." },
    ];
  }
  return [{ path, ...worded(issue, valueAt(body, path)) }];
}

/** Finds the branch of a union that the client meant: the one whose `type` fits, with the fewest problems. */
function likeliest(branches: readonly (readonly z.$ZodIssue[])[]): readonly z.$ZodIssue[] | undefined {
  const meant = branches.filter(
    (issues) => !issues.some((issue) => issue.path.length === 1 && issue.path[0] === "type"),
  );
  return meant.toSorted((a, b) => a.length - b.length)[0];
}

function valueAt(body: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null ? (value as Record<string, unknown>)[step] : undefined,
    body,
  );
}

/** Maps zod's issues to Discord's codes and messages. */
function worded(issue: z.$ZodIssue, value: unknown): { readonly code: string; readonly message: string } {
  if (value === undefined) return { code: "BASE_TYPE_REQUIRED", message: "This field is required" };
  switch (issue.code) {
    case "too_big":
      if (issue.origin === "number" || issue.origin === "int")
        return {
          code: "NUMBER_TYPE_MAX",
          message: `int value should be less than or equal to ${issue.maximum}.`,
        };
      return { code: "BASE_TYPE_MAX_LENGTH", message: `Must be ${issue.maximum} or fewer in length.` };
    case "too_small":
      if (issue.origin === "number" || issue.origin === "int")
        return {
          code: "NUMBER_TYPE_MIN",
          message: `int value should be greater than or equal to ${issue.minimum}.`,
        };
      return { code: "BASE_TYPE_MIN_LENGTH", message: `Must be ${issue.minimum} or more in length.` };
    case "invalid_format":
      return issue.format === "url"
        ? { code: "URL_TYPE_INVALID_URL", message: "Not a well formed URL." }
        : { code: "NUMBER_TYPE_COERCE", message: `Value ${shown(value)} is not snowflake.` };
    case "invalid_value":
      return {
        code: "BASE_TYPE_CHOICES",
        message: `Value must be one of {${issue.values.map(String).join(", ")}}.`,
      };
    case "invalid_type":
      return (
        typeWords[issue.expected] ?? {
          code: "NUMBER_TYPE_COERCE",
          message: `Value ${shown(value)} is not ${issue.expected}.`,
        }
      );
    default:
      return { code: "BASE_TYPE_INVALID", message: issue.message };
  }
}

const typeWords: { readonly [expected: string]: { readonly code: string; readonly message: string } } = {
  string: { code: "STRING_TYPE_CONVERT", message: "Could not interpret the value as string." },
  boolean: { code: "BOOLEAN_TYPE_CONVERT", message: "Must be either true or false." },
  array: { code: "LIST_TYPE_CONVERT", message: "Only iterables may be used in a ListType" },
  object: { code: "DICT_TYPE_CONVERT", message: "Only dictionaries may be used in a DictType" },
  record: { code: "DICT_TYPE_CONVERT", message: "Only dictionaries may be used in a DictType" },
};

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "").slice(0, 80);
}
