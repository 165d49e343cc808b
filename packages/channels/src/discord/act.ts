// Discord actions other than sending. Repeating an edit is safe, because it sets the same content (I5).
import { type Action, type Address, Fault, isFault, type Receipt } from "@parley/protocol";
import { actionRows, content } from "./body.ts";
import { slashCommands } from "./capabilities.ts";
import { reactionEmoji } from "./emoji.ts";
import type { Forms } from "./interactions/forms.ts";
import type { Interactions } from "./interactions/interactions.ts";
import { isRefusal } from "./refusals.ts";
import type { DiscordRest } from "./rest.ts";
import { isSnowflake, snowflake } from "./snowflake.ts";
import { createThread, listOf, type ThreadContext } from "./threads.ts";
import type { Self } from "./resume-state.ts";

export interface ActContext extends ThreadContext {
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
          route: `${message(action.messageId)}/reactions/${encodeURIComponent(await reactionEmoji(context, channel, action.emoji, signal))}/@me`,
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
      return createThread(context, to, action, signal);
  }
}

/** Removes all reactions of the bot. */
async function unreact(
  rest: DiscordRest,
  message: `/channels/${string}`,
  signal: AbortSignal,
): Promise<void> {
  const { reactions } = ((await rest.call({ method: "GET", route: message, signal })) ?? {}) as {
    readonly reactions?: unknown;
  };
  for (const { me, emoji } of listOf(reactions)) {
    const { id = null, name: shown } = (emoji ?? {}) as { readonly id?: unknown; readonly name?: unknown };
    if (me !== true || typeof shown !== "string") continue;
    const name = isSnowflake(id) ? `${shown}:${id}` : shown;
    await unlessGone(
      rest.call({ method: "DELETE", route: `${message}/reactions/${encodeURIComponent(name)}/@me`, signal }),
    );
  }
}

/** Registers slash commands. Each takes one optional text for all arguments, so that it reads as if typed. */
async function setCommands(
  rest: DiscordRest,
  known: Self | null,
  commands: Extract<Action, { kind: "setCommands" }>["commands"],
  signal: AbortSignal,
): Promise<void> {
  const application = isSnowflake(known?.application)
    ? known.application
    : await applicationId(rest, known?.user, signal);
  // The list is cut at the limit; the caller puts the important commands first.
  const body = commands.slice(0, slashCommands).map(({ name, description, suggests }) => ({
    type: 1,
    name: name.toLowerCase(),
    description: description.slice(0, 100) || name,
    options: [
      {
        type: 3,
        name: "text",
        description: "What stands after the command",
        required: false,
        ...(suggests === true ? { autocomplete: true } : {}),
      },
    ],
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
