// Writes a transcript for people to keep: as JSON lines, and as a page that needs nothing else. Secrets and
// hidden paths are taken out of both (I8).
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import type { Entry, Json } from "@parley/protocol";
import type { StoredEntry } from "@parley/store";
import { readEntry } from "../transcript/history.ts";
import { transcriptLines } from "./transcript-lines.ts";

/** One JSON object a line, as the entries are stored. */
export function exportLines(stored: readonly StoredEntry[], redaction: Redaction): string {
  return stored
    .flatMap(({ seq, body }) => {
      const entry: Entry | null = readEntry(body);
      return entry === null ? [] : [`${JSON.stringify({ seq, ...clean(entry, redaction) })}\n`];
    })
    .join("");
}

function clean(entry: Entry, redaction: Redaction): { readonly [name: string]: Json } {
  return cleaned(JSON.parse(JSON.stringify(entry)) as Json, redaction) as { readonly [name: string]: Json };
}

function cleaned(value: Json, redaction: Redaction): Json {
  if (typeof value === "string") return sanitizeOutbound(value, redaction);
  if (Array.isArray(value)) return value.map((each) => cleaned(each, redaction));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cleaned(each, redaction)]));
}

export function exportPage(title: string, stored: readonly StoredEntry[], redaction: Redaction): string {
  const rows = stored.flatMap((entry) =>
    transcriptLines([entry], redaction).map((line) => {
      const who = /^(user|assistant)/.exec(line)?.[1] ?? "other";
      return `<p class="${who}">${escaped(line)}</p>`;
    }),
  );
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>`,
    "<style>body{font:16px sans-serif;max-width:50rem;margin:2rem auto}p{white-space:pre-wrap;padding:.5rem 1rem;",
    "border-radius:.5rem;overflow-wrap:anywhere}.user{background:#e8f0fe}.assistant{background:#f1f3f4}",
    ".other{color:#666;font-size:.85em}</style></head><body>",
    `<h1>${escaped(title)}</h1>`,
    ...rows,
    "</body></html>\n",
  ].join("\n");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
