// Fields that several blocks use: secrets, platform ids, agent ids, time zones. Ids are strings always,
// because snowflakes exceed 2^53.
import { isAgentId } from "@parley/protocol";
import { z } from "zod";
import { secret } from "../secret.ts";

/**
 * A string, or where to find one; references are resolved before the schema runs, so an object that is left
 * is malformed.
 */
export function secretField(description: string) {
  const reference = 'Or { env: "NAME" } or { file: "path" }.';
  return z
    .union(
      [
        z.string().min(1),
        z.strictObject({ env: z.string().min(1) }),
        z.strictObject({ file: z.string().min(1) }),
      ],
      {
        error: 'a secret is a string, { env: "NAME" } or { file: "path" }',
      },
    )
    .transform((value, context) => {
      if (typeof value === "string") return secret(value);
      context.addIssue({ code: "custom", message: "could not be read" });
      return z.NEVER;
    })
    .describe(`${description} ${reference}`);
}

/** One entry of an allow list: an id or "*". A bare number is taken where no digit can have been lost. */
export function idField(platform: "telegram" | "discord") {
  const prefix = platform === "telegram" ? /^(?:tg|telegram):/i : /^discord:/i;
  const form = /^[1-9]\d{0,19}$/;
  const fail = (context: z.RefinementCtx, message: string, fix: string): never => {
    context.addIssue({ code: "custom", message, params: { fix } });
    return z.NEVER;
  };
  return z
    .union([z.string(), z.number()], { error: "an id is a string of digits" })
    .transform((value, context): string => {
      if (typeof value === "number") {
        if (Number.isSafeInteger(value) && value > 0) return String(value);
        if (value < 0)
          return fail(context, `${value} is a group, not a person`, "Groups are listed under groups");
        return fail(
          context,
          `the number ${value} is not exact`,
          "Put the id into quotes: numbers of this size lose digits",
        );
      }
      const id = value.trim().replace(prefix, "");
      if (id === "*" || form.test(id)) return id;
      if (id.startsWith("@")) {
        return fail(
          context,
          `"${value}" is a name, and names can be taken over by others`,
          "Use the numeric id; the pairing message shows it",
        );
      }
      if (/^-\d+$/.test(id))
        return fail(context, `"${value}" is a group, not a person`, "Groups are listed under groups");
      return fail(context, `"${value}" is not a ${platform} id`, 'Use the numeric id, or "*" for everybody');
    });
}

export const agentName = z.string().refine(isAgentId, {
  error: 'an agent id has a-z, 0-9, "_" and "-", begins with a letter or digit and has at most 64 characters',
});

/** A person on a channel, as owners and links name them. */
export const personId = z.string().regex(/^[a-z][a-z0-9_-]*:\S+$/, {
  error: 'an id is written "<channel>:<id>", for example "telegram:123"',
});

/** Keys of `groups`, `topics`, `guilds`: an id or "*". */
export const placeKey = z
  .string()
  .regex(/^(?:-?[1-9]\d{0,19}|\*)$/, { error: 'must be a numeric id in quotes, or "*"' });

export const modelRef = z
  .string()
  .regex(/^[^/\s]+\/\S+$/, { error: 'a model is named "PROVIDER/MODEL"' })
  .describe('"PROVIDER/MODEL", for example "openai/gpt-5".');

export const timeZone = z
  .string()
  .refine(isTimeZone, { error: 'not a time zone; use a name like "Europe/Berlin" or "UTC"' });

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    // Intl says "no such zone" only by throwing.
    return false;
  }
}
