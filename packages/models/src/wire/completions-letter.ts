// Writes a request of chat completions as its SDK does, byte for byte, so that it does not matter who sends
// it. Schemas of tools are the largest part and the same in every turn: each is written out once.
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider";
import type { JsonObject } from "@parley/protocol";
import type { Letter } from "./post.ts";

export interface CompletionsLetter {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly modelId: string;
  /** The name under which the call's own fields stand. */
  readonly provider: string;
  readonly asksUsage: boolean;
}

type Message<Role extends LanguageModelV4Message["role"]> = Extract<LanguageModelV4Message, { role: Role }>;
type UserPart = Message<"user">["content"][number];
type Result = Extract<Message<"tool">["content"][number], { type: "tool-result" }>;
type Tools = NonNullable<LanguageModelV4CallOptions["tools"]>;

/** The name under which the SDK copies fields into a message unchanged. */
const raw = "openaiCompatible";

export function completionsLetter(
  { url, headers, modelId, provider, asksUsage }: CompletionsLetter,
  { prompt, tools = [], toolChoice, providerOptions }: LanguageModelV4CallOptions,
): Letter {
  const { reasoningEffort, ...own } = (providerOptions?.[provider] ?? {}) as JsonObject;
  const body = {
    model: modelId,
    ...own,
    ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
    messages: prompt.flatMap(messagesOf),
  };
  const rest = {
    ...(toolChoice === undefined || tools.length === 0 ? {} : { tool_choice: toolChoice.type }),
    stream: true,
    ...(asksUsage ? { stream_options: { include_usage: true } } : {}),
  };
  const listed = tools.length === 0 ? "" : `"tools":[${tools.map(toolText).join(",")}],`;
  return {
    url,
    headers,
    body: `${JSON.stringify(body).slice(0, -1)},${listed}${JSON.stringify(rest).slice(1)}`,
  };
}

interface Known {
  readonly name: string;
  readonly description: string | undefined;
  readonly text: string;
}

const known = new WeakMap<object, Known>();

/** A tool has the same schema object in every turn. */
function toolText(tool: Tools[number]): string {
  if (tool.type !== "function") throw new Error(`${tool.name} is no tool of ours`);
  const { name, description, inputSchema } = tool;
  const before = known.get(inputSchema);
  if (before?.name === name && before.description === description) return before.text;
  const text = JSON.stringify({
    type: "function",
    function: { name, description, parameters: inputSchema },
  });
  known.set(inputSchema, { name, description, text });
  return text;
}

function messagesOf(message: LanguageModelV4Message): JsonObject[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content, ...rawFields(message) }];
    case "user": {
      const [only] = message.content;
      if (message.content.length === 1 && only?.type === "text")
        return [{ role: "user", content: only.text, ...rawFields(only) }];
      return [{ role: "user", content: message.content.map(userPart), ...rawFields(message) }];
    }
    case "assistant":
      return [answerMessage(message)];
    case "tool":
      return message.content.flatMap((part) =>
        part.type === "tool-result"
          ? [{ role: "tool", tool_call_id: part.toolCallId, content: resultText(part), ...rawFields(part) }]
          : [],
      );
  }
}

function answerMessage(message: Message<"assistant">): JsonObject {
  let text = "";
  let thought = "";
  const calls: JsonObject[] = [];
  for (const part of message.content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") thought += part.text;
    else if (part.type === "tool-call") {
      const signature = signatureOf(part);
      calls.push({
        id: part.toolCallId,
        type: "function",
        function: { name: part.toolName, arguments: JSON.stringify(part.input) },
        ...rawFields(part),
        ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
      });
    }
  }
  return {
    role: "assistant",
    content: calls.length > 0 ? text || null : text,
    ...(thought === "" ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...rawFields(message),
  };
}

/** Gemini's, behind this API: whoever signed the call is the only one who gets this message. */
function signatureOf({
  providerOptions = {},
}: Pick<Message<"assistant">, "providerOptions">): string | undefined {
  const signed = Object.values(providerOptions).find((fields) => "thoughtSignature" in fields);
  return typeof signed?.["thoughtSignature"] === "string" ? signed["thoughtSignature"] : undefined;
}

function userPart(part: UserPart): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text, ...rawFields(part) };
  if (part.data.type !== "data") throw new Error("pictures are sent as their bytes");
  const { data } = part.data;
  const base64 =
    typeof data === "string"
      ? data
      : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  return {
    type: "image_url",
    image_url: { url: `data:${part.mediaType};base64,${base64}` },
    ...rawFields(part),
  };
}

/** Pictures of a result were taken out before (providers/completions-prompt.ts). */
function resultText({ output }: Result): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "execution-denied":
      return output.reason ?? "Tool call execution denied.";
    default:
      return JSON.stringify(output.value);
  }
}

function rawFields({
  providerOptions,
}: {
  readonly providerOptions?: LanguageModelV4Message["providerOptions"];
}): JsonObject {
  return (providerOptions?.[raw] ?? {}) as JsonObject;
}
