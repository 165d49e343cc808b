// Handles an answer that came in one piece although a stream was asked for. The SDK reads it as the answer to
// a request without a stream. The server is not asked again, because that would be paid for twice.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { WholeAnswer, watching, type WireWatch } from "./wire.ts";

/** The parts of the answer, whether it was streamed or came in one piece. */
export async function streamed(
  model: LanguageModelV4,
  written: LanguageModelV4CallOptions,
  watch: WireWatch,
): Promise<ReadableStream<LanguageModelV4StreamPart>> {
  try {
    return (await model.doStream(written)).stream;
  } catch (error) {
    if (!(error instanceof WholeAnswer)) throw error;
    return ReadableStream.from(await partsOfWhole(model, written, watch, error.body));
  }
}

/** The parts of an answer that came whole. */
export async function partsOfWhole(
  model: LanguageModelV4,
  written: LanguageModelV4CallOptions,
  watch: WireWatch,
  body: string,
): Promise<readonly LanguageModelV4StreamPart[]> {
  return partsOf(await watching({ ...watch, whole: body }, () => model.doGenerate(written)));
}

function partsOf({
  content,
  finishReason,
  usage,
  providerMetadata,
}: LanguageModelV4GenerateResult): LanguageModelV4StreamPart[] {
  const parts = content.flatMap((part, at): LanguageModelV4StreamPart[] => {
    const meta = part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
    const id = String(at);
    if (part.type === "text") return [{ type: "text-delta", id, delta: part.text }];
    if (part.type === "tool-call") return [part];
    if (part.type !== "reasoning") return [];
    return [
      { type: "reasoning-start", id, ...meta },
      { type: "reasoning-delta", id, delta: part.text },
      { type: "reasoning-end", id },
    ];
  });
  const more = providerMetadata === undefined ? {} : { providerMetadata };
  return [...parts, { type: "finish", finishReason, usage, ...more }];
}
