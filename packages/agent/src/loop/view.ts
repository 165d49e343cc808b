// From transcript entries to what a model reads. A view never changes the transcript; it makes any history valid for every provider:
// each tool call is followed by exactly one result, ids are unique, roles alternate, nothing is empty (I11).
import type { ModelMessage } from "@parley/models";
import type { AssistantContent, AssistantEntry, Entry, ImageContent, TextContent, ToolResultEntry } from "@parley/protocol";

const noResult = "No result of this call was recorded.";
const summaryTitle = "Summary of the conversation so far:";
const opening = "(The conversation begins here.)";

/** Everything before the last summary is left out: the summary stands for it. Notices are for people and never shown to a model. */
export function viewOf(entries: readonly Entry[]): readonly ModelMessage[] {
  const messages: ModelMessage[] = [];
  const taken = new Set<string>();
  const start = Math.max(
    0,
    entries.findLastIndex((entry) => entry.type === "summary"),
  );
  for (let at = start; at < entries.length; at += 1) {
    const entry = entries[at];
    if (entry?.type === "user") {
      addUser(messages, entry.content);
    } else if (entry?.type === "summary") {
      addUser(messages, [{ type: "text", text: `${summaryTitle}\n${entry.text}` }]);
    } else if (entry?.type === "assistant") {
      addAnswer(messages, entry, resultsAfter(entries, at), taken);
    }
  }
  if (messages.length > 0 && messages[0]?.role !== "user") {
    messages.unshift({ role: "user", content: [{ type: "text", text: opening }] });
  }
  return messages;
}

function addUser(messages: ModelMessage[], content: readonly (TextContent | ImageContent)[]): void {
  const kept = content.filter((part) => part.type === "image" || part.text.trim() !== "");
  if (kept.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === "user") messages[messages.length - 1] = { role: "user", content: [...last.content, ...kept] };
  else messages.push({ role: "user", content: kept });
}

/** The results that belong to the answer at `at`: those before the next answer. */
function resultsAfter(entries: readonly Entry[], at: number): readonly ToolResultEntry[] {
  const next = entries.findIndex((entry, index) => index > at && entry.type === "assistant");
  const group = entries.slice(at + 1, next < 0 ? entries.length : next);
  return group.filter((entry) => entry.type === "toolResult");
}

function addAnswer(messages: ModelMessage[], entry: AssistantEntry, results: readonly ToolResultEntry[], taken: Set<string>): void {
  const left = [...results];
  const content: AssistantContent[] = [];
  const answers: ModelMessage[] = [];
  for (const part of entry.content) {
    if (part.type !== "toolCall") {
      if (part.type === "thinking" || part.text.trim() !== "") content.push(part);
      continue;
    }
    const id = freshCallId(part.id, taken);
    const found = left.findIndex((result) => result.callId === part.id);
    const result = found < 0 ? undefined : left.splice(found, 1)[0];
    content.push({ ...part, id });
    answers.push({
      role: "tool",
      callId: id,
      name: part.name,
      content: result === undefined || result.content.length === 0 ? [{ type: "text", text: noResult }] : result.content,
      isError: result?.isError ?? true,
    });
  }
  // A failed or merely thoughtful answer says nothing; providers refuse such messages.
  if (content.every((part) => part.type === "thinking")) return;
  const last = messages.at(-1);
  if (last?.role === "assistant") messages[messages.length - 1] = { role: "assistant", content: [...last.content, ...content] };
  else messages.push({ role: "assistant", content });
  messages.push(...answers);
}

/** `id` in the alphabet that every provider accepts, made different from all `taken` ones and added to them. */
export function freshCallId(id: string, taken: Set<string>): string {
  const clean = id.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 56) || "call";
  let fresh = clean;
  for (let nth = 2; taken.has(fresh); nth += 1) fresh = `${clean}_${nth}`;
  taken.add(fresh);
  return fresh;
}
