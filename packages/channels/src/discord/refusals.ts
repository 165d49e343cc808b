// Maps Discord's refusals to Faults. Source: "JSON error codes" in the developer documentation; the table is
// failure-model section 2.
import { Fault, type FaultCode } from "@parley/protocol";

/**
 * Discord's refusal, kept as the Fault's cause. It holds no payload and no address, because those carry
 * people's texts and tokens.
 */
export class DiscordRefusal extends Error {
  override readonly name = "DiscordRefusal";
  readonly call: string;
  readonly status: number;
  readonly code: number;

  constructor(call: string, status: number, code: number, words: string) {
    super(`${call}: ${status} ${code} ${words}`);
    this.call = call;
    this.status = status;
    this.code = code;
  }
}

/** The cause of a rate limit's Fault; says how far the limit reaches. */
export class DiscordLimit extends Error {
  override readonly name = "DiscordLimit";
  readonly reach: "chat" | "account";

  constructor(reach: "chat" | "account") {
    super(`a limit of the ${reach}`);
    this.reach = reach;
  }
}

/** Null for a Fault that is not a rate limit of Discord. */
export function discordLimitReach(error: unknown): "chat" | "account" | null {
  return error instanceof Fault && error.cause instanceof DiscordLimit ? error.cause.reach : null;
}

export const refusalCodes = {
  unknownChannel: 10003,
  unknownGuild: 10004,
  unknownUser: 10013,
  unknownMessage: 10008,
  unknownWebhook: 10015,
  unknownInteraction: 10062,
  tooManyCommandsToday: 30034,
  alreadyAcknowledged: 40060,
  missingAccess: 50001,
  cannotWriteToUser: 50007,
  noMutualGuild: 50278,
  invalidWebhookToken: 50027,
  emptyMessage: 50006,
  invalidForm: 50035,
  tooLarge: 40005,
  voiceWithContent: 50159,
  voiceWithoutAudio: 50160,
  voiceWithoutFacts: 50161,
  voiceForbidden: 50173,
  replyWithoutHistory: 160002,
  hasThread: 160004,
} as const;

/** Codes for which the HTTP status alone would mislead. */
const table: ReadonlyMap<number, FaultCode> = new Map([
  [10003, "missing"],
  [10004, "missing"],
  [10008, "missing"],
  [10013, "missing"],
  [10014, "unsupported"],
  [10015, "missing"],
  [10062, "missing"],
  [30003, "denied"],
  [30010, "denied"],
  [40005, "invalid"],
  [40060, "conflict"],
  [50001, "denied"],
  [50005, "denied"],
  [50007, "denied"],
  [50013, "denied"],
  [50024, "unsupported"],
  [50027, "missing"],
  [50083, "denied"],
  [50278, "denied"],
  [90001, "denied"],
  [160002, "denied"],
  [160005, "denied"],
]);

/** The daily allowance of new commands recovers within a day; asking once an hour is enough. */
const commandsAgainMs = 3_600_000;

/** 5xx and 408 may have been carried out, so they are `ambiguous`; 4xx were not. */
export function faultOf(cause: DiscordRefusal): Fault {
  const { status, code } = cause;
  const words = `Discord refused ${cause.message}`;
  if (code === refusalCodes.tooManyCommandsToday)
    return new Fault("rate_limited", words, { cause, retryAfterMs: commandsAgainMs });
  const known = table.get(code);
  if (known !== undefined) return new Fault(known, words, { cause });
  // 401 is only about the bot's token; the call is still wanted once the token works again.
  if (status === 401) return new Fault("unavailable", words, { cause });
  if (status === 403) return new Fault("denied", words, { cause });
  if (status === 404) return new Fault("missing", words, { cause });
  if (status === 409) return new Fault("conflict", words, { cause });
  if (status >= 500 || status === 408) return new Fault("ambiguous", words, { cause });
  return new Fault("invalid", words, { cause });
}

/** Discord's error code behind a Fault; 0 when it was no refusal of Discord. */
export function refusalCode(error: unknown): number {
  return error instanceof Fault && error.cause instanceof DiscordRefusal ? error.cause.code : 0;
}

/** The HTTP status of Discord's refusal behind a Fault; 0 when it was none. */
export function refusalStatus(error: unknown): number {
  return error instanceof Fault && error.cause instanceof DiscordRefusal ? error.cause.status : 0;
}

export function isRefusal(error: unknown, ...names: readonly (keyof typeof refusalCodes)[]): error is Fault {
  const code = refusalCode(error);
  return names.some((name) => refusalCodes[name] === code);
}

/** True when a Fault says that the conversation is closed to us until something comes from it. */
export function discordChatIsClosed(error: unknown): boolean {
  return isRefusal(
    error,
    "unknownChannel",
    "unknownGuild",
    "unknownUser",
    "missingAccess",
    "cannotWriteToUser",
    "noMutualGuild",
  );
}

/** True when the channel that was named is gone: of a message for a thread, the thread alone. */
export function discordChannelIsGone(error: unknown): boolean {
  return isRefusal(error, "unknownChannel");
}

/** True when Discord sees nothing in a message that had something for us. */
export function isDiscordBlank(error: unknown): boolean {
  return isRefusal(error, "emptyMessage");
}

/** True when Discord, or a proxy in front of it, refused the size of what was uploaded. */
export function isDiscordTooLarge(error: unknown): boolean {
  return isRefusal(error, "tooLarge") || refusalStatus(error) === 413;
}
