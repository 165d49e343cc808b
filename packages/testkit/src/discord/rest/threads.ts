// Implements threads and forum posts: a thread on a message, one on its own, or a post with its first
// message.
import { type APIMessage, type APIUser, ChannelType, MessageFlags, MessageType } from "discord-api-types/v10";
import { tellChannel, tellMessage } from "../events.ts";
import { channelJson, messageJson } from "../payloads.ts";
import { type Channel, isForum, isThread } from "../model.ts";
import type { World } from "../world.ts";
import { Answer, type Routes } from "./call.ts";
import { composed, type MessageBody } from "./compose.ts";
import { reachChannel, reachMessage, requireAwake } from "./reach.ts";
import { badField, refuse } from "./refusal.ts";

interface ThreadBody {
  readonly name: string;
  readonly type?: number;
  readonly auto_archive_duration?: number;
  readonly applied_tags?: readonly string[];
  readonly message?: MessageBody;
}

const limit = { calls: 50, perMs: 300_000 };

export const threadRoutes: Routes = {
  "POST /channels/:channel/messages/:message/threads": {
    form: "CreateTextThreadWithMessageRequest",
    limit,
    run(call) {
      const channel = reachChannel(call, "threads");
      const message = reachMessage(call, channel);
      if (channel.guild === undefined || isThread(channel.type) || isForum(channel.type))
        throw refuse("wrongChannelType");
      if (call.state.channels.has(message.id)) throw refuse("hasThread");
      return new Answer(
        201,
        channelJson(
          openThread(call.state, channel, call.bot.user, { title: call.body.name, message }),
          call.bot,
        ),
      );
    },
  },
  "POST /channels/:channel/threads": {
    form: ({ state, params }) =>
      isForum(state.channels.get(params["channel"] ?? "")?.type ?? ChannelType.GuildText)
        ? "CreateForumThreadRequest"
        : "CreateTextThreadWithoutMessageRequest",
    limit,
    run(call) {
      const channel = reachChannel(call, "threads");
      const { state, bot } = call;
      const body = call.body as ThreadBody;
      if (channel.guild === undefined || isThread(channel.type)) throw refuse("wrongChannelType");
      if (!isForum(channel.type)) {
        const isPrivate = (body.type ?? ChannelType.PrivateThread) === ChannelType.PrivateThread;
        return new Answer(
          201,
          channelJson(openThread(state, channel, bot.user, { title: body.name, isPrivate }), bot),
        );
      }
      reachChannel(call, "send");
      const unknownTag =
        body.applied_tags?.findIndex((id) => !channel.tags.some((tag) => tag.id === id)) ?? -1;
      if (unknownTag >= 0) throw badField(["applied_tags", unknownTag], "FORUM_TAG_INVALID", "Unknown tag");
      const fields = composed(call, channel, body.message ?? {}, ["message"]);
      const { post, message } = openPost(
        state,
        channel,
        bot.user,
        { title: body.name, tags: body.applied_tags ?? [] },
        fields,
      );
      return new Answer(201, { ...channelJson(post, bot), message: messageJson(state, post, message, bot) });
    },
  },
  "PUT /channels/:channel/thread-members/@me": {
    run(call) {
      const channel = reachChannel(call);
      if (channel.thread === undefined) throw refuse("wrongChannelType");
      requireAwake(channel);
      channel.thread.members.add(call.bot.user.id);
    },
  },
  "DELETE /channels/:channel/thread-members/@me": {
    run(call) {
      const channel = reachChannel(call);
      if (channel.thread === undefined) throw refuse("wrongChannelType");
      channel.thread.members.delete(call.bot.user.id);
    },
  },
};

export interface NewThread {
  readonly title: string;
  readonly message?: APIMessage;
  readonly isPrivate?: boolean;
  readonly tags?: readonly string[];
}

/** A thread hung on a message takes its id; any other tells its channel that it began. */
export function openThread(
  state: World,
  parent: Channel,
  owner: APIUser,
  { title, message, isPrivate = false, tags = [] }: NewThread,
): Channel {
  const thread = addThread(state, parent, owner, { title, isPrivate, tags }, message?.id ?? state.nextId());
  if (message !== undefined) {
    parent.messages.set(message.id, { ...message, flags: (message.flags ?? 0) | MessageFlags.HasThread });
    const reference = { type: 0, message_id: message.id, channel_id: parent.id };
    state.addMessage(thread, {
      type: MessageType.ThreadStarterMessage,
      author: owner,
      message_reference: reference,
      referenced_message: message,
    });
  }
  tellChannel(state, thread, "Create");
  if (message === undefined && !isPrivate) {
    const reference = { type: 0, channel_id: thread.id };
    tellMessage(
      state,
      parent,
      state.addMessage(parent, {
        type: MessageType.ThreadCreated,
        content: title,
        author: owner,
        message_reference: reference,
      }),
    );
  }
  return thread;
}

/** A post of a forum: thread and first message share one id. */
export function openPost(
  state: World,
  forum: Channel,
  author: APIUser,
  { title, tags = [] }: Pick<NewThread, "title" | "tags">,
  fields: Partial<APIMessage>,
): { readonly post: Channel; readonly message: APIMessage } {
  const post = addThread(state, forum, author, { title, isPrivate: false, tags }, state.nextId());
  forum.lastMessageId = post.id;
  tellChannel(state, post, "Create");
  const message = state.addMessage(post, { ...fields, id: post.id, author });
  tellMessage(state, post, message);
  return { post, message };
}

function addThread(
  state: World,
  parent: Channel,
  owner: APIUser,
  { title, isPrivate, tags }: Required<Omit<NewThread, "message">>,
  id: string,
): Channel {
  const publicType =
    parent.type === ChannelType.GuildAnnouncement ? ChannelType.AnnouncementThread : ChannelType.PublicThread;
  return state.addChannel({
    id,
    type: isPrivate ? ChannelType.PrivateThread : publicType,
    name: title,
    guild: parent.guild,
    parentId: parent.id,
    thread: {
      ownerId: owner.id,
      isPrivate,
      archived: false,
      locked: false,
      autoArchiveMinutes: 1440,
      archivedAt: state.nowIso(),
      createdAt: state.nowIso(),
      members: new Set([owner.id]),
      tags,
      totalSent: 0,
    },
  });
}
