// Writes a prompt for servers of chat completions. Their tool results are text only, so pictures follow in a
// message from the person; dialects.ts decides about thoughts, ids and message order.
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { Json, JsonObject } from "@parley/protocol";
import type { Dialect } from "./dialects.ts";

type Message<Role extends LanguageModelV4Message["role"]> = Extract<LanguageModelV4Message, { role: Role }>;
type UserPart = Message<"user">["content"][number];
type Result = Extract<Message<"tool">["content"][number], { type: "tool-result" }>;

/** The name under which the SDK copies fields into a message unchanged. */
const raw = "openaiCompatible";
/** Stands in for a missing thought where a vendor requires one beside calls; some refuse an empty one. */
const noThought = " ";

export function completionsPrompt(
  prompt: LanguageModelV4Prompt,
  provider: string,
  dialect: Dialect,
  thinks: boolean,
): LanguageModelV4Prompt {
  const messages: LanguageModelV4Message[] = [];
  for (const message of prompt) {
    if (message.role === "assistant") {
      messages.push(withThoughts(withIds(message, dialect), provider, dialect, thinks));
    } else if (message.role === "tool") {
      const { results, pictures } = withoutPictures(message);
      messages.push(withIds({ ...message, content: results }, dialect));
      if (pictures.length > 0) addUser(messages, { role: "user", content: pictures }, dialect);
    } else if (message.role === "user") {
      addUser(messages, message, dialect);
    } else {
      messages.push(message);
    }
  }
  return messages;
}

function addUser(
  messages: LanguageModelV4Message[],
  message: Message<"user">,
  { afterTools }: Dialect,
): void {
  const last = messages.at(-1);
  if (last?.role === "user") {
    messages[messages.length - 1] = { ...last, content: [...last.content, ...message.content] };
    return;
  }
  if (last?.role === "tool" && afterTools !== undefined)
    messages.push({ role: "assistant", content: [{ type: "text", text: afterTools }] });
  messages.push(message);
}

/** The results as text, and their pictures with the name of the tool that made them. */
function withoutPictures({ content }: Message<"tool">): {
  readonly results: Message<"tool">["content"];
  readonly pictures: UserPart[];
} {
  const pictures: UserPart[] = [];
  const results = content.map((part) => {
    if (part.type !== "tool-result" || part.output.type !== "content") return part;
    const { value } = part.output;
    const files = value.flatMap((each): UserPart[] => (each.type === "file" ? [each as UserPart] : []));
    if (files.length > 0)
      pictures.push(
        { type: "text", text: `[The picture that the tool ${part.toolName} returned]` },
        ...files,
      );
    const text = value.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n");
    return { ...part, output: { type: "text", value: text } } satisfies Result;
  });
  return { results, pictures };
}

function withIds<Kind extends Message<"assistant"> | Message<"tool">>(
  message: Kind,
  { callId }: Dialect,
): Kind {
  if (callId === undefined) return message;
  const content = message.content.map((part) =>
    "toolCallId" in part ? { ...part, toolCallId: callId(part.toolCallId) } : part,
  );
  return { ...message, content } as Kind;
}

function withThoughts(
  message: Message<"assistant">,
  provider: string,
  { thoughts }: Dialect,
  thinks: boolean,
): Message<"assistant"> {
  const reasoning = message.content.filter((part) => part.type === "reasoning");
  const content = message.content.filter((part) => part.type !== "reasoning");
  if (thoughts === "reasoning_details") {
    const details = reasoning.flatMap((part) =>
      detailsIn(part.providerOptions?.[provider]?.["reasoningDetails"] as Json | undefined),
    );
    return details.length === 0
      ? { ...message, content }
      : { ...message, content, providerOptions: { [raw]: { reasoning_details: details } } };
  }
  const isCall = content.some((part) => part.type === "tool-call");
  if (
    thoughts === "reasoning_content" ||
    (thoughts === "beside calls" && isCall && reasoning.some(({ text }) => text !== ""))
  )
    return message;
  if (thoughts !== "beside calls" || !isCall || !thinks) return { ...message, content };
  return { ...message, content: [{ type: "reasoning", text: noThought }, ...content] };
}

function detailsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}
