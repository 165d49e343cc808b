// Fetches an address and gives what a person would read there, as Markdown. What it returns is text of
// strangers: whoever shows it to a model marks it so.
import { Fault, isFault, type Clock, type FaultCode } from "@parley/protocol";
import type { DialAnswer, Dialler, DialLimits } from "./dialler.ts";
import { fetchCache, type CacheLimits } from "./fetch-cache.ts";
import { pageReader, type ReadLimits } from "./page-reader.ts";
import type { PageKind } from "./page-worker.ts";

interface Page {
  /** Where the page lies, after redirects. */
  readonly url: string;
  /** 400 and above: the text is what the server says to it. */
  readonly status: number;
  readonly kind: PageKind;
  /** Without its parameters. */
  readonly contentType: string;
  readonly title: string | null;
  readonly byline: string | null;
  /** Markdown for HTML; else the text. */
  readonly text: string;
  /** True when the page goes on: at the limit of characters, of bytes, or of elements. */
  readonly truncated: boolean;
  /** Decompressed, as far as it was read. */
  readonly bytes: number;
  /** True when it was not fetched again. */
  readonly cached: boolean;
}

export interface FetchPageOptions {
  /** Characters of text at most. */
  readonly textChars?: number;
  /** A page from the cache will not do. */
  readonly fresh?: boolean;
  readonly limits?: Partial<DialLimits>;
}

/** Throws Fault, which names the host and the reason. */
type FetchPage = (url: string, options: FetchPageOptions, signal: AbortSignal) => Promise<Page>;

export interface PageFetcher {
  readonly fetchPage: FetchPage;
  /** Processes that are alive, for tests and metrics. */
  processes(): number;
  close(): Promise<void>;
}

export interface PageFetcherOptions {
  readonly dialler: Dialler;
  readonly clock: Clock;
  readonly cache?: Partial<CacheLimits>;
  readonly read?: Partial<ReadLimits>;
}

const defaultTextChars = 200_000;
const mostTextChars = 1_000_000;
/** Of HTML and text the beginning is worth reading; half a PDF or half of a JSON value is not. */
const mostBytes: Readonly<Record<PageKind, number>> = {
  html: 2_000_000,
  text: 2_000_000,
  json: 5_000_000,
  pdf: 20_000_000,
};
const refusalBytes = 200_000;
const isCuttable = (kind: PageKind): boolean => kind === "html" || kind === "text";
const accept =
  "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.8,application/json;q=0.8,application/pdf;q=0.7,*/*;q=0.1";

export function pageFetcher({ dialler, clock, cache, read }: PageFetcherOptions): PageFetcher {
  const reader = pageReader({ clock, ...(read === undefined ? {} : { limits: read }) });
  const kept = fetchCache<Page>(clock, cache);

  const fetched = async (
    url: string,
    textChars: number,
    limits: Partial<DialLimits> | undefined,
    signal: AbortSignal,
  ): Promise<Page> => {
    const answer = await dialler.dial(
      { url, headers: { accept }, limits: { bodyBytes: mostBytes.pdf, ...limits } },
      signal,
    );
    const { hostname } = new URL(answer.url);
    const kind = kindOf(answer);
    try {
      const isGood = answer.status >= 200 && answer.status <= 299;
      // What a server says to its refusal is worth reading where it is text; a redirect without an address is
      // not.
      if (!isGood && (answer.status < 400 || kind === null || kind === "pdf"))
        throw statusFault(answer, hostname);
      if (kind === null)
        throw new Fault(
          "unsupported",
          `${hostname} answers with ${typeOf(answer)}, which is no text to read`,
        );
      const { bytes, cut } = await answer.bytes({
        cut: isCuttable(kind),
        maxBytes: isGood ? mostBytes[kind] : refusalBytes,
      });
      const size = bytes.byteLength;
      const task = {
        kind,
        bytes,
        contentType: answer.headers["content-type"] ?? "",
        url: answer.url,
        textChars,
      };
      const page = await reader.read(task, signal).catch((error: unknown) => {
        throw isGood || isFault(error, "aborted") ? error : statusFault(answer, hostname);
      });
      if (!isGood && page.text.trim() === "") throw statusFault(answer, hostname);
      return {
        url: answer.url,
        status: answer.status,
        kind,
        contentType: typeOf(answer),
        title: page.title,
        byline: page.byline,
        text: clipped(page.text, textChars),
        truncated: cut || page.cut || page.text.length > textChars,
        bytes: size,
        cached: false,
      };
    } catch (error) {
      if (error instanceof Fault && !error.message.includes(hostname))
        throw new Fault(error.code, `${hostname}: ${error.message}`, { cause: error });
      throw error;
    } finally {
      answer.discard();
    }
  };

  return {
    async fetchPage(url, options, signal) {
      const textChars = Math.min(options.textChars ?? defaultTextChars, mostTextChars);
      const key = JSON.stringify([withoutFragment(url), textChars, options.limits ?? null]);
      const known = options.fresh === true ? null : kept.get(key);
      if (known !== null) return { ...known, cached: true };
      const page = await fetched(url, textChars, options.limits, signal);
      // A page that is not there may be there the next time.
      if (page.status < 400) kept.put(key, page, page.text.length);
      return page;
    },
    processes: reader.processes,
    close: reader.close,
  };
}

const withoutFragment = (url: string): string => {
  const parsed = URL.parse(url);
  if (parsed === null) return url;
  parsed.hash = "";
  return parsed.href;
};

/** Never through the middle of a character. */
const clipped = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\ud800-\udbff]$/, "");

const typeOf = ({ headers }: DialAnswer): string =>
  (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase().slice(0, 100) || "text/html";

/** Null for what has no text to read. A server that names no type most often serves HTML. */
function kindOf(answer: DialAnswer): PageKind | null {
  const type = typeOf(answer);
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type === "application/pdf" || type === "application/x-pdf") return "pdf";
  if (/^(application|text)\/(json|[\w.-]+\+json)$/.test(type)) return "json";
  if (
    type.startsWith("text/") ||
    /^application\/(xml|yaml|x-yaml|toml|javascript|[\w.-]+\+xml|x-ndjson)$/.test(type)
  )
    return "text";
  return null;
}

function statusFault({ status, headers }: DialAnswer, host: string): Fault {
  const seconds = Number(headers["retry-after"]);
  const code: FaultCode =
    status === 404 || status === 410
      ? "missing"
      : status === 401 || status === 403 || status === 451
        ? "denied"
        : status === 429
          ? "rate_limited"
          : status >= 500
            ? "unavailable"
            : "invalid";
  const says = `${host} answered ${status}`;
  return code === "rate_limited" && seconds > 0
    ? new Fault(code, says, { retryAfterMs: Math.min(seconds, 3_600) * 1000 })
    : new Fault(code, says);
}
