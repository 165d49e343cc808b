// Writes a request for Ollama's /api/chat: images as base64 beside the text, arguments as objects, results by
// the tool's name.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { JsonObject } from "@parley/protocol";
import { modelName } from "./dialects.ts";
import type { ProviderOptions } from "../provider.ts";

type Asked = Pick<ProviderOptions, "modelId" | "facts" | "declaredThinking">;

export function chatBody(asked: Asked, call: LanguageModelV4CallOptions): JsonObject {
  const { modelId, facts } = asked;
  const { prompt, tools = [], maxOutputTokens, reasoning } = call;
  return {
    model: modelId,
    messages: prompt.flatMap(chatMessages),
    stream: true,
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.flatMap((tool) =>
            tool.type === "function"
              ? [
                  {
                    type: "function",
                    function: {
                      name: tool.name,
                      description: tool.description ?? "",
                      parameters: tool.inputSchema as JsonObject,
                    },
                  },
                ]
              : [],
          ),
        }),
    ...(reasoning === undefined || reasoning === "provider-default"
      ? {}
      : { think: thinkOf(asked, reasoning) }),
    options: {
      // Without it Ollama takes a few thousand tokens and silently cuts the rest.
      num_ctx: facts.contextWindow,
      ...(maxOutputTokens === undefined ? {} : { num_predict: maxOutputTokens }),
    },
  };
}

/**
 * Models either think or do not, and refuse another word. Those with three levels are known by name or
 * declared in the config.
 */
function thinkOf(
  { modelId, declaredThinking = [] }: Asked,
  effort: NonNullable<LanguageModelV4CallOptions["reasoning"]>,
): boolean | string {
  if (effort === "none") return false;
  const takesLevels =
    modelName(modelId).startsWith("gpt-oss") ||
    (declaredThinking.includes("medium") && declaredThinking.includes("high"));
  if (!takesLevels) return true;
  if (effort === "minimal" || effort === "low") return "low";
  return effort === "medium" ? "medium" : "high";
}

function chatMessages(message: LanguageModelV4Message): JsonObject[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user": {
      const images = message.content.flatMap((part) => (part.type === "file" ? imageOf(part.data) : []));
      const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
      return [{ role: "user", content: text, ...(images.length === 0 ? {} : { images }) }];
    }
    case "assistant": {
      const calls = message.content.flatMap((part) =>
        part.type === "tool-call"
          ? [{ function: { name: part.toolName, arguments: (part.input ?? {}) as JsonObject } }]
          : [],
      );
      const thinking = message.content
        .flatMap((part) => (part.type === "reasoning" ? [part.text] : []))
        .join("\n");
      const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
      return [
        {
          role: "assistant",
          content: text,
          ...(thinking === "" ? {} : { thinking }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
      ];
    }
    case "tool":
      return message.content.flatMap((part) => (part.type === "tool-result" ? [resultOf(part)] : []));
  }
}

function resultOf({ toolName, output }: LanguageModelV4ToolResultPart): JsonObject {
  if (output.type === "content") {
    const text = output.value.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
    const images = output.value.flatMap((part) => (part.type === "file" ? imageOf(part.data) : []));
    return { role: "tool", tool_name: toolName, content: text, ...(images.length === 0 ? {} : { images }) };
  }
  const text =
    output.type === "text" || output.type === "error-text"
      ? output.value
      : JSON.stringify("value" in output ? output.value : "");
  return { role: "tool", tool_name: toolName, content: text };
}

function imageOf(data: { readonly type: string; readonly data?: unknown }): string[] {
  if (data.data instanceof Uint8Array) return [Buffer.from(data.data).toString("base64")];
  return typeof data.data === "string" ? [data.data] : [];
}
