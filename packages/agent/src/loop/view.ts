// Turns transcript entries into what a model reads, without changing the transcript. Any history becomes
// valid for every provider, so that nothing written down can make a session unanswerable: each tool call has
// exactly one result, ids are unique, names and texts are acceptable everywhere, roles alternate, nothing is
// empty, images are few (I11).
import type { ModelMessage } from "@parley/models";
import type {
  AssistantContent,
  AssistantEntry,
  Entry,
  ImageContent,
  Json,
  JsonObject,
  TextContent,
  ToolCall,
  ToolResultEntry,
} from "@parley/protocol";

const noResult = "No result of this call was recorded.";
const noOutput = "(no output)";
const noWords = "(an empty message)";
const summaryTitle = "Summary of the conversation so far:";
const opening = "(The conversation begins here.)";
/**
 * Anthropic takes 100 images of modest size in a request, others fewer; more than these cost more than they
 * tell.
 */
const mostImages = 20;
const tooManyImages = "[image left out: only the newest ones are shown]";

/**
 * Everything before the last summary is left out: the summary stands for it. Notices are for people and never
 * shown to a model.
 */
export function viewOf(entries: readonly Entry[]): readonly ModelMessage[] {
  const messages: ModelMessage[] = [];
  const taken = new Set<string>();
  const start = Math.max(
    0,
    entries.findLastIndex((entry) => entry.type === "summary"),
  );
  const results = resultsByAnswer(entries, start);
  for (let at = start; at < entries.length; at += 1) {
    const entry = entries[at];
    if (entry?.type === "user") {
      addUser(messages, entry.content);
    } else if (entry?.type === "summary") {
      addUser(messages, [{ type: "text", text: `${summaryTitle}\n${entry.text}` }]);
    } else if (entry?.type === "assistant") {
      addAnswer(messages, entry, results.get(entry) ?? [], taken);
    }
  }
  if (messages.length > 0 && messages[0]?.role !== "user") {
    messages.unshift({ role: "user", content: [{ type: "text", text: opening }] });
  }
  return withFewImages(messages);
}

function addUser(messages: ModelMessage[], content: readonly (TextContent | ImageContent)[]): void {
  const kept = readable(content, noWords);
  const last = messages.at(-1);
  if (last?.role === "user")
    messages[messages.length - 1] = { role: "user", content: [...last.content, ...kept] };
  else messages.push({ role: "user", content: kept });
}

/** The results that belong to an answer: those before the next answer. */
function resultsByAnswer(
  entries: readonly Entry[],
  start: number,
): ReadonlyMap<AssistantEntry, readonly ToolResultEntry[]> {
  const found = new Map<AssistantEntry, ToolResultEntry[]>();
  let group: ToolResultEntry[] = [];
  for (const entry of entries.slice(start)) {
    if (entry.type === "toolResult") group.push(entry);
    if (entry.type === "assistant") found.set(entry, (group = []));
  }
  return found;
}

function addAnswer(
  messages: ModelMessage[],
  entry: AssistantEntry,
  results: readonly ToolResultEntry[],
  taken: Set<string>,
): void {
  const left = [...results];
  const content: AssistantContent[] = [];
  const answers: ModelMessage[] = [];
  for (const part of entry.content) {
    if (part.type !== "toolCall") {
      // A thought goes back to its signer as it came.
      if (part.type === "thinking") content.push(part);
      else if (part.text.trim() !== "") content.push({ ...part, text: part.text.toWellFormed() });
      continue;
    }
    const call = callable(part, taken);
    const found = left.findIndex((result) => result.callId === part.id);
    const result = found < 0 ? undefined : left.splice(found, 1)[0];
    content.push(call);
    answers.push({
      role: "tool",
      callId: call.id,
      name: call.name,
      content: readable(result?.content ?? [], result === undefined ? noResult : noOutput),
      isError: result?.isError ?? true,
    });
  }
  // A failed or merely thoughtful answer says nothing; providers refuse such messages.
  if (content.every((part) => part.type === "thinking")) return;
  const last = messages.at(-1);
  if (last?.role === "assistant")
    messages[messages.length - 1] = { role: "assistant", content: [...last.content, ...content] };
  else messages.push({ role: "assistant", content });
  messages.push(...answers);
}

/** Without blank texts and half characters; `otherwise` where nothing is left. */
function readable(
  content: readonly (TextContent | ImageContent)[],
  otherwise: string,
): readonly (TextContent | ImageContent)[] {
  const kept = content.flatMap((part): (TextContent | ImageContent)[] => {
    if (part.type === "image") return [part];
    return part.text.trim() === "" ? [] : [{ ...part, text: part.text.toWellFormed() }];
  });
  return kept.length > 0 ? kept : [{ type: "text", text: otherwise }];
}

/** A model may have made up a name or arguments that its provider takes from it and does not take back. */
function callable(call: ToolCall, taken: Set<string>): ToolCall {
  const args =
    typeof call.args === "object" && call.args !== null && !Array.isArray(call.args)
      ? wellFormed(call.args)
      : {};
  const name = call.name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unknown";
  return { ...call, id: freshCallId(call.id, taken), name, args: args as JsonObject };
}

function wellFormed(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]),
  );
}

function withFewImages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  let extra =
    messages.reduce((count, message) => count + message.content.filter(isImage).length, 0) - mostImages;
  if (extra <= 0) return messages;
  return messages.map((message): ModelMessage => {
    if (message.role === "assistant" || extra <= 0) return message;
    const content = message.content.map((part) => {
      if (!isImage(part) || extra <= 0) return part;
      extra -= 1;
      return { type: "text" as const, text: tooManyImages };
    });
    return { ...message, content };
  });
}

function isImage(part: { readonly type: string }): boolean {
  return part.type === "image";
}

/**
 * `id` in the alphabet that every provider accepts, made different from all `taken` ones and added to them.
 */
export function freshCallId(id: string, taken: Set<string>): string {
  const clean = id.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 56) || "call";
  let fresh = clean;
  for (let nth = 2; taken.has(fresh); nth += 1) fresh = `${clean}_${nth}`;
  taken.add(fresh);
  return fresh;
}
