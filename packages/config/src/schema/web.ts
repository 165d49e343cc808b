// tools.web: how agents read the open web: fetching pages, searching, and which addresses may be dialled.
import { isIP } from "node:net";
import { z } from "zod";
import { secretField } from "./fields.ts";

/** Each has a block of its own, where its key and its address stand. */
export const webSearchProviders = [
  "brave",
  "tavily",
  "exa",
  "perplexity",
  "searxng",
  "gemini",
  "openai",
  "anthropic",
  "duckduckgo",
] as const;

const baseUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .exactOptional()
  .describe("In place of the provider's own address. It is dialled as it stands, also in a private network.");
const apiKey = secretField("The API key.").exactOptional();
const keyed = (what: string) => z.strictObject({ apiKey, baseUrl }).prefault({}).describe(what);
const native = (what: string, provider: string) =>
  z
    .strictObject({
      apiKey: secretField(
        `The API key. Default with provider: the one of models.providers.${provider}.`,
      ).exactOptional(),
      baseUrl,
      model: z.string().min(1).max(200).exactOptional().describe("The model that searches."),
    })
    .prefault({})
    .describe(what);

/** As a URL has it: a name or an address, perhaps with a port; `*.` before it means all hosts below. */
function isHost(entry: string): boolean {
  if (isIP(entry) === 6) return true;
  const host = entry.replace(/^\*\./, "");
  return !/[\s/?#@*\\]/.test(host) && URL.canParse(`http://${host}/`);
}

function isNetwork(entry: string): boolean {
  const [network = "", prefix = "", ...rest] = entry.split("/");
  const family = isIP(network);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return family !== 0 && rest.length === 0 && bits <= (family === 4 ? 32 : 128);
}

const place = z.string().refine((entry) => isNetwork(entry) || isHost(entry), {
  error: "is no host and no network: write wiki.example.org, 10.0.0.7:8080 or 10.1.0.0/16",
});

const egress = z
  .strictObject({
    allow: z
      .array(place.refine((entry) => !entry.startsWith("*."), { error: "only exact hosts can be opened" }))
      .default([])
      .describe(
        'Hosts ("wiki.corp.example", "10.0.0.7:8080") and networks ("10.1.0.0/16") that may be dialled although they are private, at every port unless one is named. Link-local and metadata addresses stay closed.',
      ),
    deny: z
      .array(place)
      .default([])
      .describe('Hosts, all hosts below one ("*.example.org") and networks that are never dialled.'),
  })
  .prefault({})
  .describe(
    "Which addresses may be dialled for what agents and pages name; public ones at ports 80 and 443 always.",
  );

export const webSchema = z
  .strictObject({
    fetch: z
      .strictObject({
        enabled: z.boolean().default(true).describe("Whether agents have the tool web_fetch."),
        maxChars: z
          .number()
          .int()
          .min(100)
          .max(1_000_000)
          .default(20_000)
          .describe("Most characters of a page that one call returns."),
        maxBytes: z
          .number()
          .int()
          .min(1_000)
          .max(100_000_000)
          .default(20_000_000)
          .describe(
            "Most bytes of an answer, after decompression. Of HTML and text 2 MB are read, of JSON 5 MB.",
          ),
        timeoutSeconds: z.number().int().min(1).max(300).default(30).describe("Longest time of one fetch."),
        cacheTtlMinutes: z
          .number()
          .min(0)
          .max(1_440)
          .default(15)
          .describe("How long a page is not fetched again. 0: never kept."),
        maxRedirects: z
          .number()
          .int()
          .min(0)
          .max(20)
          .default(5)
          .describe("Most redirects that are followed."),
      })
      .prefault({})
      .describe("Fetching pages."),
    search: z
      .strictObject({
        enabled: z.boolean().default(true).describe("Whether agents have the tool web_search."),
        provider: z
          .enum(webSearchProviders)
          .exactOptional()
          .describe(
            "Who is asked first. Default: the first of brave, tavily, exa, perplexity, searxng, gemini, openai, anthropic that has a key or an address here; else duckduckgo.",
          ),
        apiKey: secretField("The key of provider; without provider that of brave.").exactOptional(),
        maxResults: z
          .number()
          .int()
          .min(1)
          .max(20)
          .default(5)
          .describe("Results when the agent names no number."),
        timeoutSeconds: z
          .number()
          .int()
          .min(1)
          .max(300)
          .default(30)
          .describe("Longest time of one provider."),
        cacheTtlMinutes: z
          .number()
          .min(0)
          .max(1_440)
          .default(15)
          .describe("How long an answer is not asked for again. 0: never kept."),
        brave: keyed("Brave Search. Key in the environment: BRAVE_API_KEY."),
        tavily: keyed("Tavily. Key in the environment: TAVILY_API_KEY."),
        exa: keyed("Exa. Key in the environment: EXA_API_KEY."),
        perplexity: keyed("Perplexity Search. Key in the environment: PERPLEXITY_API_KEY."),
        searxng: keyed("A SearXNG of yours, by its baseUrl; its settings.yml must allow the format json."),
        gemini: native("Google Search by a Gemini model.", "google"),
        openai: native("Web search by an OpenAI model.", "openai"),
        anthropic: native("Web search by an Anthropic model.", "anthropic"),
        duckduckgo: keyed(
          "DuckDuckGo's page for browsers without scripts: no key, and it refuses many searches at once.",
        ),
      })
      .refine(({ provider, searxng }) => provider !== "searxng" || searxng.baseUrl !== undefined, {
        path: ["searxng", "baseUrl"],
        error: 'is needed with provider: "searxng": the address of your SearXNG',
      })
      .prefault({})
      .describe("Searching. A provider that fails is stood in for by the next that has a key or an address."),
    egress,
  })
  .prefault({})
  .describe("The open web.");
