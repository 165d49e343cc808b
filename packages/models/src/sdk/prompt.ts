// Converts our request to the SDK's prompt. Two decisions serve the providers' prompt caches, which match
// from the front:
// - The volatile zone directly follows the stable one. It changes only with surface, level or model, so
//   within a conversation the whole prefix through the history stays the same; behind the history it would
//   have to be read anew on every call.
// - Signed content (thinking, Gemini's call signatures) goes back only to the provider that signed it.
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { AssistantContent, ImageContent, JsonObject, TextContent } from "@parley/protocol";
import type { ModelMessage, ModelRequest } from "../model.ts";
import { isObject, jsonIn } from "./json.ts";

/** Reads an image of the transcript by its path under the media folder. */
export type ReadImage = (path: string) => Promise<Uint8Array>;

export interface PromptOptions {
  /** The name under which the SDK keeps this provider's options. */
  readonly provider: string;
  /** The provider whose seals are opened. */
  readonly signer: string;
  /** Absent: images are described in words, for models that take none. */
  readonly readImage?: ReadImage | undefined;
  /** Marks the ends of the stable zone and of the history, for providers whose caches need marks. */
  readonly cacheMark?: SharedV4ProviderOptions;
}

type UserPart = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];
type ToolPart = Extract<LanguageModelV4Message, { role: "tool" }>["content"][number];

export async function promptOf(
  request: ModelRequest,
  options: PromptOptions,
): Promise<LanguageModelV4Prompt> {
  const messages = joined(await Promise.all(request.messages.map((message) => messageOf(message, options))));
  const prompt: LanguageModelV4Prompt = [...systemOf(request.system, options), ...messages];
  const last = prompt.at(-1);
  if (options.cacheMark !== undefined && last !== undefined && messages.length > 0) {
    prompt[prompt.length - 1] = { ...last, providerOptions: options.cacheMark };
  }
  return prompt;
}

/**
 * Puts the results of parallel calls into one message, because Gemini requires all answers in the message
 * after the calls.
 */
function joined(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const done: LanguageModelV4Message[] = [];
  for (const message of messages) {
    const last = done.at(-1);
    if (message.role === "tool" && last?.role === "tool")
      done[done.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else done.push(message);
  }
  return done;
}

/**
 * One message where caches work by themselves (some servers accept only one); two where the boundary needs a
 * mark.
 */
function systemOf(
  { stable, volatile }: ModelRequest["system"],
  { cacheMark }: PromptOptions,
): LanguageModelV4Prompt {
  const filled = [stable, volatile].filter((zone) => zone !== "");
  if (cacheMark === undefined)
    return filled.length === 0 ? [] : [{ role: "system", content: filled.join("\n\n") }];
  return filled.map((content) => ({
    role: "system",
    content,
    ...(content === stable ? { providerOptions: cacheMark } : {}),
  }));
}

async function messageOf(message: ModelMessage, options: PromptOptions): Promise<LanguageModelV4Message> {
  if (message.role === "user") {
    return {
      role: "user",
      content: await Promise.all(message.content.map((part) => userPart(part, options))),
    };
  }
  if (message.role === "assistant")
    return { role: "assistant", content: answerParts(message.content, options) };
  return { role: "tool", content: [await toolPart(message, options)] };
}

async function userPart(part: TextContent | ImageContent, { readImage }: PromptOptions): Promise<UserPart> {
  if (part.type === "text") return { type: "text", text: part.text };
  const bytes = await bytesOf(part, readImage);
  return bytes === null
    ? { type: "text", text: imageInWords(part) }
    : { type: "file", mediaType: part.mediaType, data: { type: "data", data: bytes } };
}

function answerParts(
  content: readonly AssistantContent[],
  { provider, signer }: PromptOptions,
): AssistantPart[] {
  const parts: AssistantPart[] = [];
  let forNextCall: JsonObject | undefined;
  for (const part of content) {
    if (part.type === "text") {
      parts.push({ type: "text", text: part.text });
    } else if (part.type === "toolCall") {
      const signed = forNextCall === undefined ? {} : { providerOptions: { [provider]: { ...forNextCall } } };
      parts.push({
        type: "tool-call",
        toolCallId: part.id,
        toolName: part.name,
        input: part.args,
        ...signed,
      });
      forNextCall = undefined;
    } else {
      const seal = part.signature === undefined ? null : openSeal(part.signature);
      if (seal?.by !== signer) continue;
      if (seal.of === "call") forNextCall = seal.meta;
      else
        parts.push({ type: "reasoning", text: part.text, providerOptions: { [provider]: { ...seal.meta } } });
    }
  }
  return parts;
}

async function toolPart(
  message: Extract<ModelMessage, { role: "tool" }>,
  { readImage }: PromptOptions,
): Promise<ToolPart> {
  const text = message.content
    .map((part) => (part.type === "text" ? part.text : imageInWords(part)))
    .join("\n");
  const images = message.content.filter((part) => part.type === "image");
  const value = await Promise.all(
    images.map(async (image) => ({ image, bytes: await bytesOf(image, readImage) })),
  );
  const seen = value.flatMap(({ image, bytes }) =>
    bytes === null
      ? []
      : [{ type: "file" as const, mediaType: image.mediaType, data: { type: "data" as const, data: bytes } }],
  );
  const output = message.isError
    ? { type: "error-text" as const, value: text }
    : seen.length === 0
      ? { type: "text" as const, value: text }
      : { type: "content" as const, value: [{ type: "text" as const, text }, ...seen] };
  return { type: "tool-result", toolCallId: message.callId, toolName: message.name, output };
}

async function bytesOf(image: ImageContent, readImage: ReadImage | undefined): Promise<Uint8Array | null> {
  // A picture that retention removed must not make the conversation unanswerable.
  return (await readImage?.(image.path).catch(() => null)) ?? null;
}

function imageInWords(image: ImageContent): string {
  return `[image: ${image.path.slice(image.path.lastIndexOf("/") + 1)}, ${image.mediaType}]`;
}

// ---- seals: data that a provider wants back unchanged, as the text of `Thinking.signature` ----

export interface Seal {
  readonly by: string;
  /** Belongs to the thought itself, or to the tool call that follows it. */
  readonly of: "thought" | "call";
  readonly meta: JsonObject;
}

export function closeSeal(seal: Seal): string {
  return JSON.stringify(seal);
}

function openSeal(signature: string): Seal | null {
  // Not written by this code, so not ours to return.
  const seal = jsonIn(signature);
  return isObject(seal) && "by" in seal && "meta" in seal ? (seal as unknown as Seal) : null;
}
