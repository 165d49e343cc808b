// Lets an SDK write a request and takes it before it is sent. For APIs whose requests depend on much that the
// SDK knows of their models; what comes back is read without it.
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { WrittenRequest, watching } from "../sdk/wire.ts";
import type { Letter } from "./post.ts";

const unheard = { headers: () => {}, progress: () => {}, lines: "events", writesOnly: true } as const;

export async function letterOfSdk(
  written: LanguageModelV4CallOptions,
  open: () => Promise<LanguageModelV4>,
): Promise<Letter> {
  const model = await open();
  try {
    await watching(unheard, () => model.doStream(written));
  } catch (error) {
    if (error instanceof WrittenRequest) return error;
    throw error;
  }
  throw new Error("an SDK sent no request");
}
