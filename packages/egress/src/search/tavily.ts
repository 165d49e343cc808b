// Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search
import { json, listOf, parsed, resultOf, results } from "./read-json.ts";
import type { SearchProvider } from "./search-types.ts";

export const tavily: SearchProvider = {
  title: "Tavily",
  baseUrl: "https://api.tavily.com",
  call({ query, count, freshness }, { apiKey = "", baseUrl }) {
    return {
      url: `${baseUrl}/search`,
      method: "POST",
      headers: { ...json, authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        query,
        max_results: Math.min(count, 20),
        search_depth: "basic",
        ...(freshness === undefined ? {} : { time_range: freshness }),
      }),
      read: ({ text }) => ({
        results: results(
          listOf(parsed(text)["results"]).map((each) =>
            resultOf(each["url"], each["title"], each["content"], each["published_date"]),
          ),
        ),
      }),
    };
  },
};
