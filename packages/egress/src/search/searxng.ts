// SearXNG, a search engine that operators run themselves: https://docs.searxng.org/dev/search_api.html
import { Fault } from "@parley/protocol";
import { listOf, parsed, resultOf, results } from "./read-json.ts";
import type { SearchProvider } from "./search-types.ts";

export const searxng: SearchProvider = {
  title: "SearXNG",
  baseUrl: "",
  call({ query, freshness, language }, { baseUrl }) {
    const asked = new URLSearchParams({
      q: query,
      format: "json",
      ...(freshness === undefined ? {} : { time_range: freshness === "week" ? "month" : freshness }),
      ...(language === undefined ? {} : { language }),
    });
    return {
      url: `${baseUrl}/search?${asked.toString()}`,
      method: "GET",
      headers: { accept: "application/json" },
      read({ status, text }) {
        // Its own default: 403 for every format but HTML.
        if (status === 403)
          throw new Fault("denied", "gives no JSON: add json to search.formats in its settings.yml");
        return {
          results: results(
            listOf(parsed(text)["results"]).map((each) =>
              resultOf(each["url"], each["title"], each["content"], each["publishedDate"]),
            ),
          ),
        };
      },
    };
  },
};
