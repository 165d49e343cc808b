// Ollama through the OpenAI-compatible endpoint that it serves under /v1: streams, tools and reasoning efforts all work there.
import type { Model } from "../model.ts";
import { completionsDriver } from "./openai-completions.ts";
import type { ProviderOptions } from "./provider.ts";
import { sdkModel } from "../sdk/sdk-model.ts";

/** It sends no headers before the model is in memory, which takes minutes for a large one. */
const loadingMs = 300_000;

export function ollama(options: ProviderOptions): Model {
  return sdkModel(options, { ...completionsDriver(options), timers: { connectMs: loadingMs, firstTokenMs: loadingMs } });
}
