// Refuses with Discord's codes, messages and HTTP status, as its documentation ("Opcodes and Status Codes")
// lists them.
import type { Trouble } from "../../faults.ts";

/** The tree of form errors, by field; the errors are under `_errors`. */
export interface FormErrors {
  [field: string]: FormErrors | readonly { readonly code: string; readonly message: string }[];
}

export class DiscordRefusal extends Error {
  override readonly name = "DiscordRefusal";
  readonly status: number;
  readonly code: number;
  readonly errors: FormErrors | undefined;

  constructor(status: number, code: number, message: string, errors?: FormErrors) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  body(): unknown {
    return {
      message: this.message,
      code: this.code,
      ...(this.errors === undefined ? {} : { errors: this.errors }),
    };
  }
}

const refusals = {
  general: [400, 0, "400: Bad Request"],
  unauthorized: [401, 0, "401: Unauthorized"],
  notFound: [404, 0, "404: Not Found"],
  methodNotAllowed: [405, 0, "405: Method Not Allowed"],
  unknownChannel: [404, 10_003, "Unknown Channel"],
  unknownGuild: [404, 10_004, "Unknown Guild"],
  unknownMember: [404, 10_007, "Unknown Member"],
  unknownMessage: [404, 10_008, "Unknown Message"],
  unknownUser: [404, 10_013, "Unknown User"],
  unknownEmoji: [400, 10_014, "Unknown Emoji"],
  unknownWebhook: [404, 10_015, "Unknown Webhook"],
  unknownInteraction: [404, 10_062, "Unknown interaction"],
  unknownCommand: [404, 10_063, "Unknown application command"],
  tooManyCommands: [400, 30_032, "Maximum number of application commands reached (100)"],
  tooManyPins: [400, 30_003, "Maximum number of pins reached (50)"],
  tooManyReactions: [400, 30_010, "Maximum number of reactions reached (20)"],
  tooManyCommandCreates: [
    400,
    30_034,
    "Max number of daily application command creates has been reached (200)",
  ],
  tooLarge: [413, 40_005, "Request entity too large"],
  alreadyAnswered: [400, 40_060, "Interaction has already been acknowledged."],
  missingAccess: [403, 50_001, "Missing Access"],
  notInDm: [403, 50_003, "Cannot execute action on a DM channel"],
  editsOther: [403, 50_005, "Cannot edit a message authored by another user"],
  empty: [400, 50_006, "Cannot send an empty message"],
  dmRefused: [403, 50_007, "Cannot send messages to this user"],
  notText: [400, 50_008, "Cannot send messages in a non-text channel"],
  missingPermissions: [403, 50_013, "Missing Permissions"],
  wrongChannelType: [400, 50_024, "Cannot execute action on this channel type"],
  badWebhookToken: [401, 50_027, "Invalid Webhook Token"],
  tooOldForBulk: [400, 50_034, "You can only bulk delete messages that are under 14 days old."],
  badForm: [400, 50_035, "Invalid Form Body"],
  voiceWithContent: [400, 50_159, "Voice messages do not support additional content."],
  voiceWithoutAudio: [400, 50_160, "Voice messages must have a single audio attachment."],
  voiceWithoutFacts: [400, 50_161, "Voice messages must have supporting metadata."],
  voiceEdited: [400, 50_162, "Voice messages cannot be edited."],
  voiceForbidden: [403, 50_173, "You cannot send voice messages in this channel"],
  archived: [400, 50_083, "Thread is archived"],
  badJson: [400, 50_109, "The request body contains invalid JSON."],
  hasThread: [400, 160_004, "A thread has already been created for this message"],
  locked: [400, 160_005, "Thread is locked"],
} as const satisfies { readonly [name: string]: readonly [status: number, code: number, message: string] };

export type RefusalName = keyof typeof refusals;

export function refuse(name: RefusalName, errors?: FormErrors): DiscordRefusal {
  const [status, code, message] = refusals[name];
  return new DiscordRefusal(status, code, message, errors);
}

/** Makes a fault rule's answer for one of Discord's refusals. */
export function discordRefusal(name: RefusalName): Trouble {
  return { kind: "answer", status: refusals[name][0], body: refuse(name).body() };
}

/** 50035 about one field, which may lie deeper: `["embeds", 0, "title"]`. */
export function badField(path: readonly (string | number)[], code: string, message: string): DiscordRefusal {
  return refuse("badForm", nested(path, [{ code, message }]));
}

export function nested(
  path: readonly (string | number)[],
  leaf: readonly { readonly code: string; readonly message: string }[],
): FormErrors {
  return path.reduceRight<FormErrors>((inside, step) => ({ [String(step)]: inside }), { _errors: leaf });
}
