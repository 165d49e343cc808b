// DuckDuckGo has no API for results: this reads the page that it makes for browsers without scripts. It asks
// strangers to prove that they are people, with a status 202 or a page of the word "anomaly": an error, since
// what stands there are no results.
import { Fault } from "@parley/protocol";
import { resultOf, results } from "./read-json.ts";
import type { SearchAnswer, SearchProvider, SearchResult } from "./search-types.ts";

const freshness = { day: "d", week: "w", month: "m", year: "y" } as const;
const isChallenge = (text: string): boolean =>
  /anomaly(?:\.js|-modal|_modal|\/)|id="challenge-form"|class="challenge/i.test(text);

export const duckduckgo: SearchProvider = {
  title: "DuckDuckGo",
  baseUrl: "https://html.duckduckgo.com",
  call({ query, freshness: since, country, language }, { baseUrl }) {
    const region =
      country === undefined ? {} : { kl: `${country.toLowerCase()}-${(language ?? "en").toLowerCase()}` };
    const asked = new URLSearchParams({
      q: query,
      ...region,
      ...(since === undefined ? {} : { df: freshness[since] }),
    });
    return {
      url: `${baseUrl}/html/`,
      method: "POST",
      headers: {
        accept: "text/html",
        "content-type": "application/x-www-form-urlencoded",
        "user-agent": "Mozilla/5.0 (compatible; Parley)",
      },
      body: asked.toString(),
      async read({ status, text }) {
        if (status === 202 || isChallenge(text))
          throw new Fault("rate_limited", "asks for proof that a person searches", {
            retryAfterMs: 600_000,
          });
        return resultsIn(text);
      },
    };
  },
};

/** The form of its page as of 2026; a page without results and without its word for that is no answer. */
async function resultsIn(page: string): Promise<SearchAnswer> {
  const { Parser } = await import("htmlparser2");
  const found: (SearchResult | null)[] = [];
  let entry: { href: string; title: string; snippet: string; isAd: boolean } | null = null;
  let into: "title" | "snippet" | null = null;
  let intoTag = "";
  let isNone = false;
  const keep = (): void => {
    if (entry !== null && !entry.isAd)
      found.push(resultOf(targetOf(entry.href), spaced(entry.title), spaced(entry.snippet)));
    entry = null;
  };
  const parser = new Parser({
    onopentag(name, { class: classes = "", href = "" }) {
      const has = (word: string): boolean => classes.split(/\s+/).includes(word);
      if (has("no-results") || has("result--no-result")) isNone = true;
      if (has("result")) {
        keep();
        entry = { href: "", title: "", snippet: "", isAd: has("result--ad") };
      }
      if (entry === null && has("result__a")) entry = { href: "", title: "", snippet: "", isAd: false };
      if (entry === null) return;
      if (has("result__a") && entry.href === "") {
        entry.href = href;
        [into, intoTag] = ["title", name];
      } else if (has("result__snippet")) [into, intoTag] = ["snippet", name];
    },
    ontext(text) {
      if (entry !== null && into !== null) entry[into] += text;
    },
    onclosetag(name) {
      if (name === intoTag) into = null;
    },
  });
  parser.end(page);
  keep();
  const kept = results(found);
  if (kept.length === 0 && !isNone && !/no\s+results/i.test(page))
    throw new Fault("unavailable", "answers with a page that has no results in it");
  return { results: kept };
}

const spaced = (text: string): string => text.replace(/\s+/g, " ").trim();

/** Its links lead through itself: `//duckduckgo.com/l/?uddg=<address>`. */
function targetOf(href: string): string {
  const url = URL.parse(href, "https://duckduckgo.com/");
  if (url === null) return "";
  const isOwn = url.hostname === "duckduckgo.com" || url.hostname.endsWith(".duckduckgo.com");
  if (!isOwn) return url.href;
  return url.pathname === "/l/" ? (url.searchParams.get("uddg") ?? "") : "";
}
