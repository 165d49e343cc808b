// Lists the search providers, in the order in which one is chosen when the config names none.
import { brave } from "./brave.ts";
import { duckduckgo } from "./duckduckgo.ts";
import { exa } from "./exa.ts";
import { anthropic, gemini, openai } from "./native.ts";
import { perplexity } from "./perplexity.ts";
import type { SearchProvider } from "./search-types.ts";
import { searxng } from "./searxng.ts";
import { tavily } from "./tavily.ts";

export const searchProviders = {
  brave,
  tavily,
  exa,
  perplexity,
  searxng,
  gemini,
  openai,
  anthropic,
  duckduckgo,
} as const satisfies Readonly<Record<string, SearchProvider>>;

export type SearchProviderName = keyof typeof searchProviders;
