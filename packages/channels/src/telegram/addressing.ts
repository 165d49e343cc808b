// Decides whether a Telegram message is meant for the bot, by exact entities and ids only and never by a name
// in the text.
import type { Message, MessageEntity } from "grammy/types";

/** The bot's own identity, from getMe. */
export interface BotIdentity {
  readonly id: string;
  readonly username: string;
}

export interface Addressing {
  /** Ids of the people (and of the bot) named by exact entities. */
  readonly mentions: readonly string[];
  /** True when the message begins with a command that is not for another bot. */
  readonly isCommand: boolean;
  /** The text with `/cmd@us` shortened to `/cmd`. */
  readonly text: string;
  /**
   * True for a mention of the bot, a reply to it, or a command with its name. A bare `/cmd` in a group is a
   * command but not addressed; the gateway knows its own commands.
   */
  readonly toUs: boolean;
}

/** `text` is the text to read, which for a forward leaves out the heading. */
export function addressing(message: Message, text: string, me: BotIdentity): Addressing {
  const source = message.text ?? message.caption ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  const isForward = message.forward_origin !== undefined;
  const mentions = entities.flatMap((entity) => mentioned(entity, source, me));
  const repliesToUs = isReplyTo(message, me);
  const command = isForward ? null : leadingCommand(entities, source);
  // Forwarded words are somebody else's, so they neither command nor address the bot.
  const mentionsUs = !isForward && mentions.includes(me.id);
  if (command === null) return { mentions, isCommand: false, text, toUs: mentionsUs || repliesToUs };
  const forUs = command.bot !== null && sameName(command.bot, me.username);
  if (command.bot !== null && !forUs) return { mentions, isCommand: false, text, toUs: mentionsUs };
  const shortened = forUs ? `${command.name}${source.slice(command.length)}` : text;
  return { mentions, isCommand: true, text: shortened, toUs: forUs || mentionsUs || repliesToUs };
}

/** In a topic every message "replies" to the service message that created the topic; that is no reply. */
export function quotedMessage(message: Message): NonNullable<Message["reply_to_message"]> | null {
  const quoted = message.reply_to_message;
  return quoted === undefined || quoted.forum_topic_created !== undefined ? null : quoted;
}

function isReplyTo(message: Message, me: BotIdentity): boolean {
  return String(quotedMessage(message)?.from?.id) === me.id;
}

function mentioned(entity: MessageEntity, text: string, me: BotIdentity): string[] {
  if (entity.type === "text_mention")
    return (entity as Partial<typeof entity>).user === undefined ? [] : [String(entity.user.id)];
  // A plain @name carries no id; the bot's own name is the only one we can resolve.
  return entity.type === "mention" && sameName(slice(text, entity).slice(1), me.username) ? [me.id] : [];
}

function leadingCommand(
  entities: readonly MessageEntity[],
  text: string,
): { readonly name: string; readonly bot: string | null; readonly length: number } | null {
  const entity = entities.find((candidate) => candidate.type === "bot_command" && candidate.offset === 0);
  if (entity === undefined) return null;
  const [name = "", bot = null] = slice(text, entity).split("@");
  return { name, bot, length: entity.length };
}

function slice(text: string, { offset, length }: MessageEntity): string {
  return text.slice(offset, offset + length);
}

/** Telegram's user names ignore case. */
function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
