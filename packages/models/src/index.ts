// Language models behind one contract. Providers load their SDK on the first call.
export * from "./cooldown.ts";
export * from "./fallback.ts";
export { knownModel, type ModelApi } from "./known.ts";
export * from "./model.ts";
export * from "./price.ts";
export * from "./providers/anthropic-messages.ts";
export * from "./providers/google.ts";
export * from "./providers/ollama.ts";
export * from "./providers/openai-completions.ts";
export * from "./providers/openai-responses.ts";
export * from "./provider.ts";
export * from "./registry.ts";
export * from "./rehearsal/rehearsal.ts";
export * from "./thinking.ts";
export * from "./transcribe.ts";
