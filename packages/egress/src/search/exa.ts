// Exa: https://docs.exa.ai/reference/search
import { json, listOf, parsed, resultOf, results, textOf } from "./read-json.ts";
import type { SearchProvider } from "./search-types.ts";

export const exa: SearchProvider = {
  title: "Exa",
  baseUrl: "https://api.exa.ai",
  call({ query, count }, { apiKey = "", baseUrl }) {
    return {
      url: `${baseUrl}/search`,
      method: "POST",
      headers: { ...json, "x-api-key": apiKey },
      // Text beside highlights is billed twice.
      body: JSON.stringify({ query, numResults: Math.min(count, 25), contents: { highlights: true } }),
      read: ({ text }) => ({
        results: results(
          listOf(parsed(text)["results"]).map((each) => {
            const { highlights } = each;
            const passages = Array.isArray(highlights) ? highlights.map(textOf).join(" … ") : "";
            return resultOf(each["url"], each["title"], passages || each["text"], each["publishedDate"]);
          }),
        ),
      }),
    };
  },
};
