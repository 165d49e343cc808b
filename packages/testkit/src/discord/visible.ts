// Shows what a person would see in a channel now: every message once, in order, after all edits and
// deletions. A forum shows its posts.
import { type APIMessage, ComponentType, MessageFlags, MessageType } from "discord-api-types/v10";
import { snowflakeMs } from "./snowflake.ts";
import { type Channel, isForum } from "./model.ts";
import type { World } from "./world.ts";

export interface DiscordVisible {
  readonly id: string;
  /** The sender's shown name. */
  readonly from: string;
  readonly byBot: boolean;
  /** Content, or what Discord writes by itself ("pinned a message"). */
  readonly text: string;
  readonly kind: "text" | "service" | "post";
  readonly atMs: number;
  readonly replyTo?: string;
  readonly edited: boolean;
  readonly pinned: boolean;
  /** "is thinking ...": a deferral that was not followed yet. */
  readonly isLoading: boolean;
  /** The only viewer. */
  readonly onlyFor?: string;
  /** The thread that hangs on the message, or the post. */
  readonly thread?: { readonly id: string; readonly title: string };
  /** Rows of labels; a select shows its options. */
  readonly buttons: readonly (readonly string[])[];
  /** Emoji, one for each person or bot that reacted. */
  readonly reactions: readonly string[];
  /** Names of files. */
  readonly files: readonly string[];
  readonly embeds: number;
  readonly poll?: { readonly question: string; readonly answers: readonly string[] };
  /** Length of a voice message. */
  readonly voiceSeconds?: number;
  /** True when a link in the text would show a preview. */
  readonly hasPreview: boolean;
  /** Whom it notified: user ids, `&` and role ids, `everyone`. */
  readonly pings: readonly string[];
}

export function visibleMessages(state: World, channel: Channel, viewer?: string): readonly DiscordVisible[] {
  if (isForum(channel.type)) {
    const posts = [...state.channels.values()].filter((post) => post.parentId === channel.id);
    return posts.flatMap((post) =>
      visibleMessages(state, post, viewer)
        .slice(0, 1)
        .map((first) => ({ ...first, kind: "post" as const, thread: { id: post.id, title: post.name } })),
    );
  }
  return [...channel.messages.values()]
    .filter((message) => viewer === undefined || (channel.ephemeral.get(message.id) ?? viewer) === viewer)
    .map((message) => visibleMessage(state, channel, message));
}

const spoken = new Set([MessageType.Default, MessageType.Reply, MessageType.ChatInputCommand]);

function visibleMessage(state: World, channel: Channel, message: APIMessage): DiscordVisible {
  const flags = message.flags ?? 0;
  const onlyFor = channel.ephemeral.get(message.id);
  const thread = message.id === channel.id ? undefined : state.channels.get(message.id);
  const kinds = [...(channel.reactions.get(message.id)?.values() ?? [])];
  return {
    id: message.id,
    from: message.author.global_name ?? message.author.username,
    byBot: message.author.bot === true,
    text: message.content,
    kind: spoken.has(message.type) ? "text" : "service",
    atMs: snowflakeMs(message.id),
    ...(message.type === MessageType.Reply && message.message_reference?.message_id !== undefined
      ? { replyTo: message.message_reference.message_id }
      : {}),
    edited: message.edited_timestamp !== null,
    pinned: channel.pinned.has(message.id),
    isLoading: (flags & MessageFlags.Loading) !== 0,
    ...(onlyFor === undefined ? {} : { onlyFor }),
    ...(thread === undefined ? {} : { thread: { id: thread.id, title: thread.name } }),
    buttons: (message.components ?? []).flatMap((component) => rowsOf(component)),
    reactions: kinds.flatMap(({ emoji, users }) => [...users].map(() => emoji.name ?? "")),
    files: message.attachments.map((attachment) => attachment.filename),
    embeds: message.embeds.length,
    ...(message.poll === undefined ? {} : { poll: pollOf(message.poll) }),
    ...((flags & MessageFlags.IsVoiceMessage) === 0
      ? {}
      : { voiceSeconds: message.attachments[0]?.duration_secs ?? 0 }),
    hasPreview: (flags & MessageFlags.SuppressEmbeds) === 0 && /(?<!<)https?:\/\/\S/.test(message.content),
    pings: [
      ...message.mentions.map((user) => user.id),
      ...message.mention_roles.map((id) => `&${id}`),
      ...(message.mention_everyone ? ["everyone"] : []),
    ],
  };
}

function pollOf({ question, answers }: NonNullable<APIMessage["poll"]>): {
  readonly question: string;
  readonly answers: readonly string[];
} {
  return {
    question: question.text ?? "",
    answers: answers.map(({ poll_media: media }) => media.text ?? ""),
  };
}

interface Shown {
  readonly type: number;
  readonly label?: string;
  readonly emoji?: { readonly name?: string };
  readonly placeholder?: string;
  readonly options?: readonly { readonly label: string }[];
  readonly components?: readonly Shown[];
}

function rowsOf(component: Shown): (readonly string[])[] {
  const inside = component.components ?? [];
  if (component.type !== ComponentType.ActionRow) return inside.flatMap((inner) => rowsOf(inner));
  return [
    inside.flatMap((inner) =>
      inner.options === undefined
        ? [inner.label ?? inner.emoji?.name ?? inner.placeholder ?? ""]
        : inner.options.map((option) => option.label),
    ),
  ];
}
