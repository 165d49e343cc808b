// The parts of a request that every SDK takes in the same form.
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ModelRequest } from "../model.ts";
import { nearestThinking } from "../thinking.ts";
import { type PromptOptions, promptOf } from "./prompt.ts";
import type { ProviderOptions } from "../provider.ts";

/** `reasoning` is the SDKs' own scale; each SDK maps it to an effort, a budget, or nothing. */
export async function callOptions(
  request: ModelRequest,
  options: ProviderOptions,
  prompt: PromptOptions,
): Promise<LanguageModelV4CallOptions> {
  const tools = toolsOf(request, prompt.cacheMark);
  const { facts, limited = false } = options;
  const maxTokens =
    request.maxTokens === undefined && !limited
      ? undefined
      : Math.min(request.maxTokens ?? Infinity, facts.maxTokens);
  return {
    prompt: await promptOf(request, prompt),
    ...(tools.length === 0 ? {} : { tools, toolChoice: { type: request.toolChoice ?? "auto" } }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(facts.reasoning ? { reasoning: effortOf(request, options) } : {}),
  };
}

/** The person set the level for another model, so a fallback gets the nearest level that it accepts. */
function effortOf(
  { thinking }: ModelRequest,
  { facts }: ProviderOptions,
): NonNullable<LanguageModelV4CallOptions["reasoning"]> {
  const level = nearestThinking(facts, thinking);
  return level === "off" ? "none" : level;
}

/** Images are sent only to models that accept them. */
export function promptOptions(provider: string, options: ProviderOptions): PromptOptions {
  const readImage = options.facts.input.includes("image") ? options.readImage : undefined;
  return { provider, signer: signerOf(options), readImage };
}

/** Signed content goes back to the provider named in the config, and not to another with the same API. */
export function signerOf({ id }: Pick<ProviderOptions, "id">): string {
  return id.slice(0, Math.max(id.indexOf("/"), 0)) || "compatible";
}

function toolsOf(
  request: ModelRequest,
  cacheMark: SharedV4ProviderOptions | undefined,
): NonNullable<LanguageModelV4CallOptions["tools"]> {
  return request.tools.map(({ name, description, parameters }, at) => ({
    type: "function",
    name,
    description,
    // Our schemas are plain JSON. The SDK's type for one is mutable, though it only writes them out.
    inputSchema: parameters as object,
    ...(cacheMark !== undefined && at === request.tools.length - 1 ? { providerOptions: cacheMark } : {}),
  }));
}
