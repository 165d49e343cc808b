// The optional fields of a SKILL.md, read one by one: other programs write them in forms of their own, and a
// skill is not worse for that. What cannot be understood is left out with a note that says where it stood.
import { z } from "zod";
import { objectFromText } from "./front-matter.ts";

type Source = { readonly [key: string]: unknown };

/**
 * Of one block; `at` is its place, "metadata.parley." for example. Each gives undefined for what is absent or
 * left out.
 */
export interface LenientFields {
  text(key: string): string | undefined;
  flag(key: string): boolean | undefined;
  /** A list, or one text with commas. */
  list(key: string): readonly string[];
  /** Keys and values, or JSON as a text. */
  block(key: string): Source | undefined;
}

const listItems = 50;
const itemChars = 128;

export const plainText = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);

const flag = z.union([
  z.boolean(),
  z
    .string()
    .transform((value) => value.trim().toLowerCase())
    .pipe(z.enum(["true", "false", "yes", "no", "on", "off"]))
    .transform((value) => ["true", "yes", "on"].includes(value)),
]);

export function lenientFields(source: Source, at: string, notes: string[]): LenientFields {
  const leaveOut = (key: string, what: string): void => void notes.push(`${at}${key} is left out: ${what}`);
  const valueOf = (key: string): unknown =>
    Object.hasOwn(source, key) ? (source[key] ?? undefined) : undefined;

  function read<T>(key: string, form: z.ZodType<T>, what: string): T | undefined {
    const value = valueOf(key);
    if (value === undefined) return undefined;
    const { success, data } = form.safeParse(value);
    if (success) return data;
    leaveOut(key, what);
    return undefined;
  }

  return {
    text: (key) => read(key, plainText, "it is no text"),
    flag: (key) => read(key, flag, "it is neither true nor false"),
    list(key) {
      const value = valueOf(key);
      if (value === undefined) return [];
      const raw: readonly unknown[] = Array.isArray(value)
        ? value
        : typeof value === "string"
          ? value.split(",")
          : [value];
      const items = raw.flatMap((item) => plainText.safeParse(item).data?.trim() ?? []);
      const good = [...new Set(items.filter((item) => item !== "" && item.length <= itemChars))].slice(
        0,
        listItems,
      );
      if (items.length < raw.length || items.some((item) => item !== "" && !good.includes(item))) {
        leaveOut(key, good.length === 0 ? "it is no list of names" : `all of it but ${good.length} names`);
      }
      return good;
    },
    block(key) {
      const value = valueOf(key);
      if (value === undefined || (typeof value === "string" && value.trim() === "")) return undefined;
      const found = typeof value === "string" ? objectFromText(value) : value;
      if (typeof found === "object" && found !== null && !Array.isArray(found)) return found as Source;
      leaveOut(key, "it is neither keys and values nor JSON");
      return undefined;
    },
  };
}
