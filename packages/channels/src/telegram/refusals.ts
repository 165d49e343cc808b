// Maps Telegram's refusals to Faults. The table is failure-model section 1.2; descriptions are the real
// server's words, matched without case.
import { Fault, type FaultCode } from "@parley/protocol";

/**
 * Telegram's refusal, kept as the Fault's cause. It holds no payload, because payloads carry people's texts
 * and the webhook's secret.
 */
class TelegramRefusal extends Error {
  override readonly name = "TelegramRefusal";
  readonly method: string;
  readonly errorCode: number;
  readonly description: string;
  /** The group's new id, when it became a supergroup. */
  readonly migratedTo: string | undefined;

  constructor(method: string, { error_code: errorCode, description, parameters }: RefusedAnswer) {
    super(`${method}: ${errorCode} ${description}`);
    this.method = method;
    this.errorCode = errorCode;
    this.description = description;
    const to = parameters?.migrate_to_chat_id;
    this.migratedTo = Number.isSafeInteger(to) ? String(to) : undefined;
  }
}

export interface RefusedAnswer {
  readonly ok: false;
  readonly error_code: number;
  readonly description: string;
  /** Not checked: a server or a proxy in front of it may write anything here. */
  readonly parameters?: { readonly retry_after?: unknown; readonly migrate_to_chat_id?: unknown } | null;
}

/**
 * The group's new id when a Fault says that the chat moved: send there, and rewrite what names the old one.
 * Null otherwise.
 */
export function migratedChatId(error: unknown): string | null {
  return error instanceof Fault && error.cause instanceof TelegramRefusal
    ? (error.cause.migratedTo ?? null)
    : null;
}

/** A 400 about the chat itself; what was deleted in a chat is no such thing. */
const goneChat =
  /chat not found|chat was (?:deleted|deactivated)|channel_private|user_is_blocked|user is deactivated|input_user_deactivated|peer_id_invalid/i;

/**
 * True when a Fault says that the chat is closed to us until something comes from it: blocked, removed,
 * deleted.
 */
export function chatIsClosed(error: unknown): boolean {
  if (!(error instanceof Fault && error.cause instanceof TelegramRefusal)) return false;
  const { errorCode, description } = error.cause;
  return errorCode === 403 || (errorCode === 400 && goneChat.test(description));
}

/**
 * Only 401 is about the token; 403 and 404 for a call that worked before come from a proxy in front of the
 * Bot API.
 */
export function isTokenRefused(error: unknown): boolean {
  return error instanceof Fault && error.cause instanceof TelegramRefusal && error.cause.errorCode === 401;
}

/** Telegram's own words behind a Fault; empty when it was no refusal. */
export function refusalWords(error: unknown): string {
  return error instanceof Fault && error.cause instanceof TelegramRefusal ? error.cause.description : "";
}

/** True when Telegram, or a proxy in front of it, refused the size of what was uploaded. */
export function isTelegramTooLarge(error: unknown): boolean {
  if (!(error instanceof Fault && error.cause instanceof TelegramRefusal)) return false;
  const { errorCode, description } = error.cause;
  return errorCode === 413 || /file is too big|request entity too large/i.test(description);
}

/** True when Telegram sees nothing in a text or caption that had something for us, such as a blank sign. */
export function isTelegramBlank(error: unknown): boolean {
  return /(?:text|caption) is empty|text must be non-empty/i.test(refusalWords(error));
}

const table: readonly (readonly [RegExp, FaultCode])[] = [
  [/upgraded to a supergroup/, "missing"],
  [
    /(?:wrong|invalid) (?:remote )?file[ _]id|file_id_invalid|file is temporarily unavailable|file_reference_/,
    "missing",
  ],
  [/chat not found|user not found|thread not found|topic_deleted|topic_id_invalid/, "missing"],
  [
    /message to \w+(?: \w+)? not found|message_id_invalid|message can't be edited|query is too old|query_id_invalid/,
    "missing",
  ],
  [
    /topic_closed|not enough rights|have no rights|chat_write_forbidden|chat_admin_required|_forbidden|need administrator rights/,
    "denied",
  ],
  [/message can't be deleted|chat_restricted|user_is_blocked|bot was blocked|peer_id_invalid/, "denied"],
  [/chat was (?:deleted|deactivated)|channel_private|user is deactivated|input_user_deactivated/, "denied"],
  [/reaction_invalid|the chat is not a forum/, "unsupported"],
];

/**
 * Methods that carry answers. When the token is refused the answer certainly was not sent, and is still
 * wanted once the token works again.
 */
const carriesAnswers = /^(?:send|edit)(?!ChatAction)/;

/** The wait for a limit that names none, or nothing that can be waited for. */
const usualWaitSeconds = 1;
/** Telegram bans for hours at most; whoever is asked to wait for longer asks again after a day. */
const longestWaitSeconds = 86_400;

function waitMs(asked: unknown): number {
  const seconds = Number(asked);
  return (seconds > 0 ? Math.min(seconds, longestWaitSeconds) : usualWaitSeconds) * 1_000;
}

/**
 * 429 is `rate_limited` with its wait; 409 is `conflict`; 413 is `invalid`; 400 goes by the table, else
 * `invalid`. 403 is `denied`, and so are 401 and 404 (Telegram's answer to a malformed token), except for
 * methods that carry answers: `unavailable`. Everything else, above all 5xx, may have been carried out:
 * `ambiguous`.
 */
export function faultOf(method: string, answer: RefusedAnswer): Fault {
  const cause = new TelegramRefusal(method, answer);
  const { error_code: code, description, parameters } = answer;
  const words = `Telegram refused ${method}: ${code} ${description}`;
  if (code === 429)
    return new Fault("rate_limited", words, { cause, retryAfterMs: waitMs(parameters?.retry_after) });
  if ((code === 401 || code === 404) && carriesAnswers.test(method))
    return new Fault("unavailable", words, { cause });
  if (code === 401 || code === 403 || code === 404) return new Fault("denied", words, { cause });
  if (code === 409) return new Fault("conflict", words, { cause });
  if (code === 413) return new Fault("invalid", words, { cause });
  if (code === 400) {
    if (cause.migratedTo !== undefined) return new Fault("missing", words, { cause });
    const known = table.find(([pattern]) => pattern.test(description.toLowerCase()));
    return new Fault(known?.[1] ?? "invalid", words, { cause });
  }
  return new Fault("ambiguous", words, { cause });
}
