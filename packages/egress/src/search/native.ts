// The searches that model vendors make themselves: a model searches and writes an answer with its sources.
// They cost tokens beside the search.
import { Fault } from "@parley/protocol";
import { fieldsOf, json, listOf, parsed, resultOf, results, textOf, usedOf } from "./read-json.ts";
import type { SearchProvider, SearchQuery } from "./search-types.ts";

const answerTokens = 1_024;

function asked({ query, freshness, country, language }: SearchQuery): string {
  const limits = [
    ...(freshness === undefined ? [] : [`from the last ${freshness}`]),
    ...(country === undefined ? [] : [`for the country ${country.toUpperCase()}`]),
    ...(language === undefined ? [] : [`in the language ${language}`]),
  ];
  return `Search the web${limits.length === 0 ? "" : ` (${limits.join(", ")})`} and answer shortly, with sources: ${query}`;
}

/** https://platform.openai.com/docs/guides/tools-web-search */
export const openai: SearchProvider = {
  title: "OpenAI web search",
  baseUrl: "https://api.openai.com/v1",
  call(query, { apiKey = "", baseUrl, model = "gpt-5-mini" }) {
    const place =
      query.country === undefined
        ? {}
        : { user_location: { type: "approximate", country: query.country.toUpperCase() } };
    return {
      url: `${baseUrl}/responses`,
      method: "POST",
      headers: { ...json, authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, input: asked(query), tools: [{ type: "web_search", ...place }] }),
      read({ text }) {
        const whole = parsed(text);
        const usage = fieldsOf(whole["usage"]);
        const said = listOf(whole["output"])
          .filter(({ type }) => type === "message")
          .flatMap(({ content }) => listOf(content));
        return {
          ...usedOf(model, usage["input_tokens"], [usage["output_tokens"]]),
          answer: said.map((part) => textOf(part["text"])).join("\n"),
          results: results(
            said
              .flatMap(({ annotations }) => listOf(annotations))
              .map((each) => resultOf(each["url"], each["title"], "")),
          ),
        };
      },
    };
  },
};

/** https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool */
export const anthropic: SearchProvider = {
  title: "Anthropic web search",
  baseUrl: "https://api.anthropic.com/v1",
  call(query, { apiKey = "", baseUrl, model = "claude-haiku-4-5" }) {
    return {
      url: `${baseUrl}/messages`,
      method: "POST",
      headers: { ...json, "x-api-key": apiKey, "anthropic-version": "2023-06-01" },
      body: JSON.stringify({
        model,
        max_tokens: answerTokens,
        tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }],
        messages: [{ role: "user", content: asked(query) }],
      }),
      read({ text }) {
        const whole = parsed(text);
        const usage = fieldsOf(whole["usage"]);
        const content = listOf(whole["content"]);
        const found = content.filter(({ type }) => type === "web_search_tool_result");
        // An error stands in place of the list.
        const error = found.map((each) => textOf(fieldsOf(each["content"])["error_code"])).find(Boolean);
        const list = results(
          found
            .flatMap((each) => listOf(each["content"]))
            .map((each) => resultOf(each["url"], each["title"], "", each["page_age"])),
        );
        if (error !== undefined && list.length === 0)
          throw new Fault(error === "too_many_requests" ? "rate_limited" : "unavailable", `says ${error}`);
        const answer = content.filter(({ type }) => type === "text").map((part) => textOf(part["text"]));
        return {
          ...usedOf(model, usage["input_tokens"], [usage["output_tokens"]]),
          answer: answer.join(""),
          results: list,
        };
      },
    };
  },
};

/** https://ai.google.dev/gemini-api/docs/google-search */
export const gemini: SearchProvider = {
  title: "Gemini with Google Search",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  call(query, { apiKey = "", baseUrl, model = "gemini-2.5-flash" }) {
    return {
      url: `${baseUrl}/models/${encodeURIComponent(model)}:generateContent`,
      method: "POST",
      headers: { ...json, "x-goog-api-key": apiKey },
      body: JSON.stringify({
        contents: [{ role: "user", parts: [{ text: asked(query) }] }],
        tools: [{ google_search: {} }],
      }),
      read({ text }) {
        const whole = parsed(text);
        const usage = fieldsOf(whole["usageMetadata"]);
        const [first] = listOf(whole["candidates"]);
        const parts = listOf(fieldsOf(first?.["content"])["parts"]);
        const chunks = listOf(fieldsOf(first?.["groundingMetadata"])["groundingChunks"]);
        return {
          ...usedOf(model, usage["promptTokenCount"], [
            usage["candidatesTokenCount"],
            usage["thoughtsTokenCount"],
          ]),
          answer: parts.map((part) => textOf(part["text"])).join(""),
          results: results(
            chunks.map((chunk) => {
              const web = fieldsOf(chunk["web"]);
              return resultOf(web["uri"], web["title"] ?? web["domain"], "");
            }),
          ),
        };
      },
    };
  },
};
