// The way out to the open web: one dialler that judges the address it dials, and pages read as Markdown.
export * from "./address-rules.ts";
export * from "./dialler.ts";
export * from "./fetch-page.ts";
export * from "./search/providers.ts";
export type { SearchUsage } from "./search/search-types.ts";
export * from "./search/web-search.ts";
export * from "./written-rules.ts";
export * from "./forward-proxy.ts";
