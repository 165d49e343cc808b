// Reads what providers answer, of which nothing is sure: each field is taken only when it has its type.
import { Fault } from "@parley/protocol";
import type { SearchResult, SearchUsage } from "./search-types.ts";

type Fields = { readonly [name: string]: unknown };

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function parsed(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch (error) {
    throw new Fault("unavailable", "its answer is no JSON", { cause: error });
  }
}

/** Null for what has no address of the web. */
export function resultOf(url: unknown, title: unknown, snippet: unknown, age?: unknown): SearchResult | null {
  const address = URL.parse(textOf(url));
  if (address === null || (address.protocol !== "https:" && address.protocol !== "http:")) return null;
  return {
    url: address.href,
    title: textOf(title),
    snippet: textOf(snippet),
    ...(textOf(age) === "" ? {} : { age: textOf(age) }),
  };
}

/** Tokens as a vendor counts them; absent where it says nothing that can be true. */
export function usedOf(
  model: string,
  input: unknown,
  output: readonly unknown[],
): { readonly used?: SearchUsage } {
  const counts = [input, ...output].map((count) => (Number.isSafeInteger(count) ? Number(count) : 0));
  const [inputTokens = 0, ...outputs] = counts.map((count) => Math.max(0, count));
  const outputTokens = outputs.reduce((sum, count) => sum + count, 0);
  return inputTokens + outputTokens === 0 ? {} : { used: { model, inputTokens, outputTokens } };
}

export function results(found: readonly (SearchResult | null)[]): readonly SearchResult[] {
  const seen = new Set<string>();
  return found.flatMap((each) => {
    if (each === null || seen.has(each.url)) return [];
    seen.add(each.url);
    return [each];
  });
}

export const json = { "content-type": "application/json", accept: "application/json" } as const;
