// Perplexity's Search API: https://docs.perplexity.ai/api-reference/search-post
import { json, listOf, parsed, resultOf, results } from "./read-json.ts";
import type { SearchProvider } from "./search-types.ts";

export const perplexity: SearchProvider = {
  title: "Perplexity",
  baseUrl: "https://api.perplexity.ai",
  call({ query, count, freshness, country, language }, { apiKey = "", baseUrl }) {
    return {
      url: `${baseUrl}/search`,
      method: "POST",
      headers: { ...json, authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        query,
        max_results: Math.min(count, 20),
        ...(freshness === undefined ? {} : { search_recency_filter: freshness }),
        ...(country === undefined ? {} : { country: country.toUpperCase() }),
        ...(language === undefined ? {} : { search_language_filter: [language.toLowerCase()] }),
      }),
      read: ({ text }) => ({
        results: results(
          listOf(parsed(text)["results"]).map((each) =>
            resultOf(each["url"], each["title"], each["snippet"], each["date"]),
          ),
        ),
      }),
    };
  },
};
