// The port to the open web: pages, files and searches.
import type { Usage } from "@parley/protocol";
import type { Unavailable } from "./done.ts";

/** What a person would read at an address. */
export interface WebPage {
  /** After redirects. */
  readonly url: string;
  /** 400 and above: the text is what the server says to it. */
  readonly status: number;
  readonly contentType: string;
  readonly title: string | null;
  readonly byline: string | null;
  /** Markdown of HTML; else text. */
  readonly text: string;
  /** The page goes on behind the text. */
  readonly truncated: boolean;
  readonly cached: boolean;
}

interface WebPages {
  /** That one call returns at most. */
  readonly maxChars: number;
  /** Throws Fault, which names the host and the reason. */
  read(url: string, signal: AbortSignal): Promise<WebPage>;
}

interface WebQuery {
  readonly query: string;
  readonly count: number;
  readonly freshness?: "day" | "week" | "month" | "year" | undefined;
  readonly country?: string | undefined;
  readonly language?: string | undefined;
}

export interface WebFindings {
  readonly results: readonly {
    readonly title: string;
    readonly url: string;
    readonly snippet: string;
    readonly age?: string;
  }[];
  /** Of providers that write one. */
  readonly answer?: string;
  /** By a model that searched. */
  readonly usage?: Usage;
  readonly provider: string;
  /** Providers that were asked before and failed. */
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
  readonly cached: boolean;
}

interface WebSearch {
  /** The one that is asked first, as the config calls it. */
  readonly provider: string;
  /** Results when a call names no number. */
  readonly maxResults: number;
  /** Throws Fault when no provider answers. */
  search(query: WebQuery, signal: AbortSignal): Promise<WebFindings>;
}

interface WebFiles {
  /** Throws Fault, which names the host and the reason. */
  fetch(
    url: string,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly url: string; readonly bytes: Uint8Array }>;
}

/** The open web, as the config has it at that moment. */
export interface Web {
  pages(): WebPages | Unavailable;
  files(): WebFiles | Unavailable;
  search(): WebSearch | Unavailable;
}
