// Discord actions other than sending. Repeating an edit is safe, because it sets the same content (I5).
import { type Action, type Address, Fault, isFault, type Receipt } from "@parley/protocol";
import { actionRows, type BodyOptions, content } from "./body.ts";
import { slashCommands } from "./capabilities.ts";
import type { Forms } from "./forms.ts";
import type { Interactions } from "./interactions.ts";
import { isForum, type Places } from "./places.ts";
import { isRefusal } from "./refusals.ts";
import type { DiscordRest } from "./rest.ts";
import { titleCut } from "./send.ts";
import { isSnowflake, snowflake } from "./snowflake.ts";
import type { Self } from "./resume-state.ts";

export interface ActContext extends BodyOptions {
  readonly rest: DiscordRest;
  readonly places: Places;
  readonly interactions: Interactions;
  readonly forms: Forms;
  /** The bot's own ids; null before the first session. */
  readonly self: () => Self | null;
}

export async function performAction(
  context: ActContext,
  to: Address,
  action: Action,
  signal: AbortSignal,
): Promise<Receipt | null> {
  const { rest, places, interactions } = context;
  if (signal.aborted) throw new Fault("aborted", "the action was aborted before it began");
  switch (action.kind) {
    case "answerCallback":
      await interactions.answer(action.callbackId, action.text, signal);
      return null;
    case "setCommands":
      await setCommands(rest, context.self(), action.commands, signal);
      return null;
    default:
      break;
  }
  const channel = await places.target(to, signal);
  const message = (id: string) => `/channels/${channel}/messages/${snowflake(id, "message")}` as const;
  switch (action.kind) {
    case "edit": {
      if (action.buttons !== undefined) await context.forms.keep(action.buttons);
      const components = action.buttons === undefined ? {} : { components: actionRows(action.buttons) };
      const body = {
        ...content(action.text),
        ...components,
        allowed_mentions: { parse: [] },
        ...(context.suppressEmbeds ? { flags: 4 } : {}),
      };
      await rest.call({ method: "PATCH", route: message(action.messageId), body, signal });
      return { messageId: action.messageId };
    }
    case "remove":
      await unlessGone(rest.call({ method: "DELETE", route: message(action.messageId), signal }));
      return null;
    case "react":
      if (action.emoji === null) await unreact(rest, message(action.messageId), signal);
      else
        await rest.call({
          method: "PUT",
          route: `${message(action.messageId)}/reactions/${encodeURIComponent(emojiName(action.emoji))}/@me`,
          signal,
        });
      return null;
    case "pin": {
      const method = action.pinned ? "PUT" : "DELETE";
      const call = rest.call({
        method,
        route: `/channels/${channel}/messages/pins/${snowflake(action.messageId, "message")}`,
        signal,
      });
      await (action.pinned ? call : unlessGone(call));
      return null;
    }
    case "createThread":
      return createThread(context, channel, action, signal);
  }
}

type CreateThread = Extract<Action, { kind: "createThread" }>;

const publicThread = 11;

async function createThread(
  { rest, places }: ActContext,
  channel: string,
  action: CreateThread,
  signal: AbortSignal,
): Promise<Receipt> {
  const name = titleCut(action.title);
  if (action.messageId === undefined && isForum((await places.look(channel)).type))
    throw new Fault(
      "unsupported",
      "a post in a forum begins with a text: send one there, and its first line is the title",
    );
  const made =
    action.messageId === undefined
      ? rest.call({
          method: "POST",
          route: `/channels/${channel}/threads`,
          body: { name, type: publicThread },
          signal,
        })
      : rest.call({
          method: "POST",
          route: `/channels/${channel}/messages/${snowflake(action.messageId, "message")}/threads`,
          body: { name },
          signal,
        });
  const thread = (await made) as { readonly id?: unknown } | undefined;
  if (!isSnowflake(thread?.id)) throw new Fault("ambiguous", "Discord made the thread without naming it");
  places.learn(thread);
  return { messageId: thread.id, extra: { thread: thread.id } };
}

/** Removes all reactions of the bot. */
async function unreact(
  rest: DiscordRest,
  message: `/channels/${string}`,
  signal: AbortSignal,
): Promise<void> {
  const { reactions = [] } = ((await rest.call({ method: "GET", route: message, signal })) ?? {}) as {
    readonly reactions?: readonly {
      readonly me?: boolean;
      readonly emoji: { readonly id: string | null; readonly name: string | null };
    }[];
  };
  for (const { me, emoji } of reactions) {
    if (me !== true || emoji.name === null) continue;
    const name = emoji.id === null ? emoji.name : `${emoji.name}:${emoji.id}`;
    await unlessGone(
      rest.call({ method: "DELETE", route: `${message}/reactions/${encodeURIComponent(name)}/@me`, signal }),
    );
  }
}

/** Turns `<:name:id>`, as texts write it, into `name:id`, as the API wants it. */
function emojiName(emoji: string): string {
  return /^<a?:(\w+:\d+)>$/.exec(emoji)?.[1] ?? emoji;
}

/** Registers slash commands. Each takes one optional text for all arguments, so that it reads as if typed. */
async function setCommands(
  rest: DiscordRest,
  known: Self | null,
  commands: readonly { readonly name: string; readonly description: string }[],
  signal: AbortSignal,
): Promise<void> {
  const application = isSnowflake(known?.application)
    ? known.application
    : await applicationId(rest, known?.user, signal);
  // The list is cut at the limit; the caller puts the important commands first.
  const body = commands.slice(0, slashCommands).map(({ name, description }) => ({
    type: 1,
    name: name.toLowerCase(),
    description: description.slice(0, 100) || name,
    options: [{ type: 3, name: "text", description: "What stands after the command", required: false }],
  }));
  await rest.call({ method: "PUT", route: `/applications/${application}/commands`, body, signal });
}

async function applicationId(
  rest: DiscordRest,
  me: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const application = (await rest
    .call({ method: "GET", route: "/applications/@me", signal })
    .catch((error: unknown) => {
      if (me === undefined || !isFault(error, "missing")) throw error;
      return { id: me }; // Bot and application have the same id, for every application since 2016.
    })) as { readonly id?: unknown } | undefined;
  if (!isSnowflake(application?.id))
    throw new Fault("unavailable", "Discord did not say which application this bot is");
  return application.id;
}

async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isFault(error) || !isRefusal(error, "unknownMessage")) throw error;
  }
}
