// Classifies whatever an SDK threw or streamed into the kind of failure that decides what happens next. Words
// come before status codes: providers use one status for several things (429 for an empty account, 400 for a
// full context), but their codes and texts differ.
import type { ModelError, ModelErrorKind } from "../model.ts";
import { jsonIn } from "./json.ts";
import { retryAfterMs } from "./retry-after.ts";
import { NotAStream, TooLarge } from "./wire.ts";

export interface FailureContext {
  readonly nowMs: number;
  /** True when response headers had come, so the answer was under way. */
  readonly answering: boolean;
  /** The API key, which is removed from messages because some providers repeat it there. */
  readonly secret?: string | undefined;
}

/** The known facts of a failure, from any source. */
interface Failure {
  readonly status: number | undefined;
  readonly text: string;
  readonly message: string;
  readonly headers: { readonly [name: string]: string | undefined };
}

const messageChars = 300;

/** Checked in order; the first match decides. `status`: only with one of these, or without any status. */
const byWords: readonly {
  readonly kind: ModelErrorKind;
  readonly words: RegExp;
  readonly status?: readonly number[];
}[] = [
  {
    kind: "context_overflow",
    words:
      /context_length_exceeded|context (length|window|size|limit)|prompt is too long|input is too long|too many (input )?tokens|token count[^"]*exceeds|exceeds[^"]*(maximum|max)[^"]*tokens|request_too_large/i,
    status: [400, 413, 422],
  },
  // Google says "check your plan and billing details" for every quota; only a quota of zero needs another
  // plan.
  { kind: "billing", words: /RESOURCE_EXHAUSTED[\s\S]*(?:"quotaValue":\s*"0"|\blimit: 0\b)/ },
  { kind: "rate_limited", words: /RESOURCE_EXHAUSTED/ },
  // OpenAI and Groq name the page where a higher limit can be bought, which is called billing.
  { kind: "rate_limited", words: /rate_limit_exceeded|rate limit reached/i },
  {
    kind: "billing",
    words: /insufficient_quota|billing|credit balance|payment.required|insufficient (balance|credits)/i,
  },
  {
    kind: "auth",
    words:
      /authentication_error|permission_error|invalid_api_key|API_KEY_INVALID|api key not valid|PERMISSION_DENIED|UNAUTHENTICATED/i,
  },
  {
    kind: "not_found",
    words: /model_not_found|not_found_error|model[^"]{0,80}(does not exist|not found)/i,
    status: [400, 404],
  },
  {
    kind: "refused",
    words:
      /content_filter|content_policy|content management policy|responsible ?ai|safety system|PROHIBITED_CONTENT/i,
    status: [400, 403, 422],
  },
  { kind: "overloaded", words: /overloaded|over capacity|model is currently loading/i },
  { kind: "rate_limited", words: /rate_limit|rate limit|too many requests/i },
  { kind: "timeout", words: /timeout_error|deadline_exceeded/i },
  { kind: "unavailable", words: /server_error|api_error|internal_error|INTERNAL|UNAVAILABLE/ },
];

export function classify(error: unknown, context: FailureContext): ModelError {
  const failure = readFailure(error);
  const kind = kindOf(error, failure, context.answering);
  const waitMs = retryAfterMs(failure.headers, failure.text, context.nowMs);
  const message = context.secret ? failure.message.replaceAll(context.secret, "***") : failure.message;
  return {
    kind,
    message: message.replaceAll(/\s+/g, " ").trim().slice(0, messageChars).toWellFormed(),
    ...(failure.status === undefined ? {} : { status: failure.status }),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  };
}

function kindOf(error: unknown, { status, text }: Failure, answering: boolean): ModelErrorKind {
  if (error instanceof TooLarge) return "invalid";
  const found = byWords.find(
    (row) =>
      row.words.test(text) &&
      (row.status === undefined || status === undefined || row.status.includes(status)),
  );
  if (found !== undefined) return found.kind;
  if (error instanceof NotAStream) return byStatus(status) ?? "unavailable";
  return byStatus(status) ?? (answering ? "torn" : "unavailable");
}

/** 529 is Anthropic's "overloaded"; 408 and 504 are timeouts of the server or of a proxy in front of it. */
function byStatus(status: number | undefined): ModelErrorKind | undefined {
  if (status === undefined || status < 300) return undefined;
  const exact: { readonly [status: number]: ModelErrorKind } = {
    401: "auth",
    402: "billing",
    403: "auth",
    404: "not_found",
    408: "timeout",
    413: "context_overflow",
    429: "rate_limited",
    504: "timeout",
    529: "overloaded",
  };
  return exact[status] ?? (status >= 500 ? "unavailable" : "invalid");
}

/**
 * SDK errors carry `statusCode`, `responseBody` and `responseHeaders`; error events inside a stream are plain
 * objects or such errors.
 */
function readFailure(error: unknown): Failure {
  if (error instanceof NotAStream)
    return {
      status: codeIn(jsonIn(error.body)) ?? error.status,
      text: error.body,
      message: error.message,
      headers: {},
    };
  if (typeof error !== "object" || error === null)
    return { status: undefined, text: String(error), message: String(error), headers: {} };
  const body = "responseBody" in error && typeof error.responseBody === "string" ? error.responseBody : "";
  const payload = "data" in error ? error.data : error instanceof Error ? undefined : error;
  const plain = payload === undefined ? "" : (JSON.stringify(payload) ?? "");
  const own = "message" in error && typeof error.message === "string" ? error.message : "";
  return {
    status:
      "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : codeIn(payload),
    text: `${own}\n${body}\n${plain}`,
    message: own || plain.slice(0, messageChars) || "the provider gave no reason",
    headers:
      "responseHeaders" in error && typeof error.responseHeaders === "object"
        ? { ...error.responseHeaders }
        : {},
  };
}

/** OpenRouter and Google write the status of an error behind a 200 into it, as its code. */
function codeIn(payload: unknown): number | undefined {
  if (typeof payload !== "object" || payload === null) return undefined;
  if ("error" in payload) return codeIn(payload.error);
  const code = "code" in payload ? Number(payload.code) : Number.NaN;
  return Number.isInteger(code) && code >= 400 && code < 600 ? code : undefined;
}
