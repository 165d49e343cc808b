// Brave's Search API: https://api-dashboard.search.brave.com/app/documentation/web-search
import { fieldsOf, listOf, parsed, resultOf, results, textOf } from "./read-json.ts";
import type { SearchProvider } from "./search-types.ts";

const freshness = { day: "pd", week: "pw", month: "pm", year: "py" } as const;
/** The API refuses longer queries. */
const most = { chars: 400, words: 50 };

export const brave: SearchProvider = {
  title: "Brave Search",
  baseUrl: "https://api.search.brave.com",
  call({ query, count, freshness: since, country, language }, { apiKey = "", baseUrl }) {
    const asked = new URLSearchParams({
      q: query.split(/\s+/).slice(0, most.words).join(" ").slice(0, most.chars),
      count: String(Math.min(count, 20)),
      // By default it puts markers around the words that were found.
      text_decorations: "false",
      ...(since === undefined ? {} : { freshness: freshness[since] }),
      ...(country === undefined ? {} : { country: country.toUpperCase() }),
      ...(language === undefined ? {} : { search_lang: language.toLowerCase() }),
    });
    return {
      url: `${baseUrl}/res/v1/web/search?${asked.toString()}`,
      method: "GET",
      headers: { accept: "application/json", "x-subscription-token": apiKey },
      read: ({ text }) => ({
        results: results(
          listOf(fieldsOf(parsed(text)["web"])["results"]).map((each) =>
            resultOf(
              each["url"],
              each["title"],
              each["description"],
              textOf(each["age"]) || each["page_age"],
            ),
          ),
        ),
      }),
    };
  },
};
