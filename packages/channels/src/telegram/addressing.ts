// Whether a Telegram message is meant for us: by exact entities and ids only, never by looking for a name in the text.
import type { Message, MessageEntity } from "grammy/types";

/** Who we are, from getMe. */
export interface BotIdentity {
  readonly id: string;
  readonly username: string;
}

export interface Addressing {
  /** Ids of people (and of us) named by exact entities. */
  readonly mentions: readonly string[];
  /** The message begins with a command that is not for another bot. */
  readonly isCommand: boolean;
  /** `/cmd@us` becomes `/cmd`. */
  readonly text: string;
  /** By mention, by reply to us, or by a command with our name. A bare `/cmd` in a group is a command but not addressed: the gateway knows its own. */
  readonly toUs: boolean;
}

/** `text` is what will be read: without a forward's heading only when nothing was forwarded. */
export function addressing(message: Message, text: string, me: BotIdentity): Addressing {
  const source = message.text ?? message.caption ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  const isForward = message.forward_origin !== undefined;
  const mentions = entities.flatMap((entity) => mentioned(entity, source, me));
  const repliesToUs = isReplyTo(message, me);
  const command = isForward ? null : leadingCommand(entities, source);
  // Words passed on are somebody else's: they neither command nor call us.
  const mentionsUs = !isForward && mentions.includes(me.id);
  if (command === null) return { mentions, isCommand: false, text, toUs: mentionsUs || repliesToUs };
  const forUs = command.bot !== null && sameName(command.bot, me.username);
  if (command.bot !== null && !forUs) return { mentions, isCommand: false, text, toUs: mentionsUs };
  const shortened = forUs ? `${command.name}${source.slice(command.length)}` : text;
  return { mentions, isCommand: true, text: shortened, toUs: forUs || mentionsUs || repliesToUs };
}

/** In a topic every message "replies" to the service message that made the topic: that is no reply. */
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
  // A plain @name carries no id; ours is the only name that we can tie to one.
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
