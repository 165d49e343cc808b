// Turns a transcript of OpenClaw (one JSON line an entry, a tree by parents) into entries of Parley. Only the
// branch that the session stands on counts. Thoughts are left out, because their signatures hold for one
// provider and one prompt; calls without a result, and results without a call, are left out too.
import { noUsage, type AssistantContent, type Entry, type Json, type JsonObject } from "@parley/protocol";
import { isBlock } from "./tree.ts";

export interface ReadTranscript {
  readonly entries: readonly Entry[];
  /** What was left out, in words. */
  readonly left: readonly string[];
}

interface Line {
  readonly id: string | null;
  readonly parent: string | null;
  readonly value: JsonObject;
}

/** `name` is the file's, for what is told of its lines. */
export function readTranscript(text: string, name: string): ReadTranscript {
  const left: string[] = [];
  const lines: Line[] = [];
  const torn: number[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = lineOf(line);
    if (value === null) torn.push(index + 1);
    else if (value["type"] !== "session")
      lines.push({ id: word(value["id"]), parent: word(value["parentId"]), value });
  }
  if (torn.length > 0) left.push(tornWords(torn, name));
  const branch = branchOf(lines);
  const resetAt = branch.findLastIndex(({ value }) => value["type"] === "reset");
  if (resetAt > 0) left.push(`${resetAt === 1 ? "1 entry" : `${resetAt} entries`} of before the last /new`);
  const kept = branch.slice(resetAt + 1);

  const answered = new Set(kept.flatMap(({ value }) => resultIn(messageOf(value)) ?? []));
  const entries: Entry[] = [];
  /** Seq of the first entry that each line became, for summaries that name a line. */
  const seqOf = new Map<string, number>();
  const called = new Map<string, { readonly id: string; readonly name: string }>();
  let [images, thoughts, calls] = [0, 0, 0];
  for (const { id, value } of kept) {
    if (id !== null) seqOf.set(id, entries.length + 1);
    const atMs = instantOf(value);
    if (value["type"] === "compaction") {
      const said = word(value["summary"]);
      const first = seqOf.get(word(value["firstKeptEntryId"]) ?? "") ?? entries.length + 1;
      if (said !== null) entries.push({ type: "summary", text: said, throughSeq: first - 1, atMs });
      continue;
    }
    if (value["type"] === "custom_message") {
      const said = textIn(value["content"]);
      if (said !== "") entries.push({ type: "notice", text: said, atMs });
      continue;
    }
    const message = messageOf(value);
    if (message === null) continue;
    const parts = partsOf(message["content"]);
    const at = typeof message["timestamp"] === "number" ? message["timestamp"] : atMs;
    images += parts.filter(({ type }) => type === "image").length;
    thoughts += parts.filter(({ type }) => type === "thinking").length;
    const words = textIn(message["content"]);
    const content = [{ type: "text", text: words }] as const;
    switch (message["role"]) {
      case "user":
        if (words !== "") entries.push({ type: "user", content, rows: [], atMs: at });
        break;
      case "assistant": {
        const own = parts.flatMap((part): AssistantContent[] => {
          if (part["type"] === "text" && typeof part["text"] === "string" && part["text"] !== "")
            return [{ type: "text", text: part["text"] }];
          const call = part["type"] === "toolCall" ? word(part["id"]) : null;
          const name = word(part["name"]);
          if (call === null || name === null || !answered.has(call)) return [];
          calls += 1;
          const id = callIdOf(call, calls);
          called.set(call, { id, name });
          const args = part["arguments"] ?? part["args"];
          return [{ type: "toolCall", id, name, args: isBlock(args) ? args : {} }];
        });
        if (own.length === 0) break;
        const stop = own.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
        const model = [word(message["provider"]), word(message["model"])]
          .filter((each) => each !== null)
          .join("/");
        entries.push({
          type: "assistant",
          content: own,
          model: model === "" ? "imported/unknown" : model,
          stop,
          usage: noUsage,
          atMs: at,
        });
        break;
      }
      case "toolResult": {
        const callId = word(message["toolCallId"]);
        const call = callId === null ? undefined : called.get(callId);
        if (callId === null || call === undefined) break;
        called.delete(callId);
        entries.push({
          type: "toolResult",
          callId: call.id,
          name: call.name,
          content,
          isError: message["isError"] === true,
          untrusted: "OpenClaw",
          atMs: at,
        });
        break;
      }
      default:
    }
  }
  if (images > 0) left.push(images === 1 ? "1 image" : `${images} images`);
  if (thoughts > 0) left.push(thoughts === 1 ? "1 thought" : `${thoughts} thoughts`);
  return { entries, left };
}

const mostNamed = 5;

function tornWords(torn: readonly number[], name: string): string {
  const named = torn.slice(0, mostNamed).map((line) => `${name}:${line}`);
  const more = torn.length > mostNamed ? ` and ${torn.length - mostNamed} more` : "";
  const what = torn.length === 1 ? "1 line that is no JSON" : `${torn.length} lines that are no JSON`;
  return `${what} (${named.join(", ")}${more}: mend it before --apply, or go on without)`;
}

/** From the newest line up to the first; all lines, where they name no parents. */
function branchOf(lines: readonly Line[]): readonly Line[] {
  if (!lines.some(({ parent }) => parent !== null)) return lines;
  const byId = new Map(lines.flatMap((line) => (line.id === null ? [] : [[line.id, line] as const])));
  const placeOf = new Map(lines.map((line, index) => [line, index] as const));
  const branch: Line[] = [];
  const seen = new Set<Line>();
  for (let now = lines.at(-1); now !== undefined && !seen.has(now);) {
    seen.add(now);
    branch.push(now);
    // Where the parent is a line that could not be read, what stands before it is the nearest.
    now = now.parent === null ? undefined : (byId.get(now.parent) ?? lines[(placeOf.get(now) ?? 0) - 1]);
  }
  return branch.toReversed();
}

function lineOf(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isBlock(value) ? value : null;
  } catch {
    // A gateway that was killed leaves half a line; the rest of the conversation is worth having.
    return null;
  }
}

/** Some providers refuse the call ids of others: letters, digits, dashes, at most 64. */
function callIdOf(written: string, count: number): string {
  return /^[\w-]{1,64}$/.test(written) ? written : `call-${count}`;
}

function messageOf(value: JsonObject): JsonObject | null {
  const message = value["type"] === "message" ? value["message"] : value["role"] === undefined ? null : value;
  return isBlock(message) ? message : null;
}

function resultIn(message: JsonObject | null): string | null {
  return message?.["role"] === "toolResult" ? word(message["toolCallId"]) : null;
}

function partsOf(content: Json | undefined): readonly JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as readonly Json[]).filter(isBlock) : [];
}

function textIn(content: Json | undefined): string {
  return partsOf(content)
    .flatMap((part) => (part["type"] === "text" && typeof part["text"] === "string" ? [part["text"]] : []))
    .join("\n");
}

function instantOf(value: JsonObject): number {
  const written = value["timestamp"];
  const atMs =
    typeof written === "number" ? written : typeof written === "string" ? Date.parse(written) : Number.NaN;
  return Number.isFinite(atMs) ? atMs : 0;
}

function word(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
