// Implements answers to interactions: the callback within its three seconds, then the original and follow-ups
// by token for fifteen minutes.
import {
  type APIInteractionResponse,
  type APIMessage,
  InteractionResponseType as Type,
  InteractionType,
  MessageFlags,
  MessageType,
} from "discord-api-types/v10";
import { tellMessage } from "../events.ts";
import { interactionState, tokenLifeMs } from "../interaction.ts";
import type { Interaction } from "../model.ts";
import { messageJson } from "../payloads.ts";
import { Answer, type RouteCall, type Routes } from "./call.ts";
import { composed, type MessageBody, recomposed } from "./compose.ts";
import type { FormName } from "./form.ts";
import { removeMessages, replaceMessage } from "./messages.ts";
import { badField, refuse } from "./refusal.ts";

const limit = { calls: 5, perMs: 2_000 };

const callbackForms: { readonly [type: number]: FormName } = {
  [Type.ChannelMessageWithSource]: "CreateMessageInteractionCallbackRequest",
  [Type.DeferredChannelMessageWithSource]: "CreateMessageInteractionCallbackRequest",
  [Type.DeferredMessageUpdate]: "UpdateMessageInteractionCallbackRequest",
  [Type.UpdateMessage]: "UpdateMessageInteractionCallbackRequest",
  [Type.ApplicationCommandAutocompleteResult]: "ApplicationCommandAutocompleteCallbackRequest",
  [Type.Modal]: "ModalInteractionCallbackRequest",
};

/** The answers that each kind of interaction takes. */
const answersOf: { readonly [type: number]: readonly Type[] } = {
  [InteractionType.ApplicationCommand]: [4, 5, 9],
  [InteractionType.ApplicationCommandAutocomplete]: [8],
  [InteractionType.MessageComponent]: [4, 5, 6, 7, 9],
  [InteractionType.ModalSubmit]: [4, 5, 6, 7],
};

export const interactionRoutes: Routes = {
  "POST /interactions/:interaction/:token/callback": {
    isOpen: true,
    form({ body }) {
      const form = callbackForms[Number((body as { type?: unknown } | null)?.type)];
      if (form === undefined)
        throw badField(["type"], "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7, 8, 9}.");
      return form;
    },
    run: answer,
  },
  "POST /webhooks/:application/:token": {
    isOpen: true,
    limit,
    form: "IncomingWebhookRequestPartial",
    run(call) {
      const interaction = interactionOf(call);
      // Documented: the first follow-up to a deferral edits the loading message.
      const { originalId, messageId, isDeferred } = interaction;
      if (isDeferred && originalId !== undefined && originalId !== messageId)
        return edit(call, interaction, originalId);
      const body = call.body as MessageBody;
      const isEphemeral = ((body.flags ?? 0) & MessageFlags.Ephemeral) !== 0;
      const message = post(call, interaction, composed(call, interaction.channel, body), isEphemeral);
      return messageJson(call.state, interaction.channel, message, interaction.bot, true);
    },
  },
  "GET /webhooks/:application/:token/messages/:message": {
    isOpen: true,
    limit,
    run(call) {
      const interaction = interactionOf(call);
      return messageJson(call.state, interaction.channel, answered(call, interaction), interaction.bot, true);
    },
  },
  "PATCH /webhooks/:application/:token/messages/:message": {
    isOpen: true,
    limit,
    form: "IncomingWebhookUpdateRequestPartial",
    run(call) {
      const interaction = interactionOf(call);
      return edit(call, interaction, answered(call, interaction).id);
    },
  },
  "DELETE /webhooks/:application/:token/messages/:message": {
    isOpen: true,
    limit,
    run(call) {
      const interaction = interactionOf(call);
      removeMessages(call, interaction.channel, [answered(call, interaction).id]);
    },
  },
};

/** Throws the real server's refusals: a late answer is unknown, a second one is 40060. */
function answer(call: RouteCall): unknown {
  const { state, params } = call;
  const interaction = state.interactions.get(params["interaction"] ?? "");
  if (interaction === undefined || interaction.token !== params["token"]) throw refuse("unknownInteraction");
  const before = interactionState(interaction, state.clock);
  if (before === "failed") throw refuse("unknownInteraction");
  if (before !== "waiting") throw refuse("alreadyAnswered");
  const response = call.body as APIInteractionResponse & { readonly data?: MessageBody };
  if (answersOf[interaction.type]?.includes(response.type) !== true)
    throw badField(
      ["type"],
      "BASE_TYPE_CHOICES",
      `Value must be one of {${answersOf[interaction.type]?.join(", ") ?? ""}}.`,
    );
  const message = act(call, interaction, response.type, response.data ?? {});
  interaction.response = response;
  if (call.query.get("with_response") !== "true") return undefined;
  const resource =
    message === undefined
      ? { type: response.type }
      : {
          type: response.type,
          message: messageJson(state, interaction.channel, message, interaction.bot, true),
        };
  const { id, type } = interaction;
  return new Answer(200, {
    interaction: { id, type, ...(message === undefined ? {} : { response_message_id: message.id }) },
    resource,
  });
}

function act(
  call: RouteCall,
  interaction: Interaction,
  type: Type,
  body: MessageBody,
): APIMessage | undefined {
  const { channel } = interaction;
  const isEphemeral = ((body.flags ?? 0) & MessageFlags.Ephemeral) !== 0;
  interaction.isDeferred =
    type === Type.DeferredChannelMessageWithSource || type === Type.DeferredMessageUpdate;
  switch (type) {
    case Type.ChannelMessageWithSource: {
      const message = post(call, interaction, composed(call, channel, body), isEphemeral);
      interaction.originalId = message.id;
      return message;
    }
    case Type.DeferredChannelMessageWithSource: {
      const message = post(call, interaction, { flags: MessageFlags.Loading }, isEphemeral);
      interaction.originalId = message.id;
      return message;
    }
    case Type.DeferredMessageUpdate:
    case Type.UpdateMessage: {
      const message = channel.messages.get(interaction.messageId ?? "");
      if (message === undefined) throw refuse("unknownMessage");
      interaction.originalId = message.id;
      if (type === Type.DeferredMessageUpdate) return message;
      return replaceMessage(call, channel, { ...message, ...recomposed(call, channel, message, body) }, true);
    }
    default:
      return undefined;
  }
}

/** A message that the bot writes by the interaction's token: no right of the channel is asked. */
function post(
  { state }: RouteCall,
  interaction: Interaction,
  fields: Partial<APIMessage>,
  isEphemeral: boolean,
): APIMessage {
  const { bot, channel, user, type, id } = interaction;
  const isCommand = type === InteractionType.ApplicationCommand;
  const message = state.addMessage(channel, {
    type: isCommand ? MessageType.ChatInputCommand : MessageType.Default,
    ...fields,
    flags: (fields.flags ?? 0) | (isEphemeral ? MessageFlags.Ephemeral : 0),
    author: bot.user,
    webhook_id: bot.user.id,
    application_id: bot.user.id,
    interaction_metadata: { id, type, user, authorizing_integration_owners: {} } as unknown as NonNullable<
      APIMessage["interaction_metadata"]
    >,
  });
  if (isEphemeral) channel.ephemeral.set(message.id, user.id);
  tellMessage(state, channel, message);
  return message;
}

/**
 * The interaction that the token stands for. Throws once its fifteen minutes are over, and before it was
 * answered.
 */
function interactionOf({ state, params }: RouteCall): Interaction {
  const interaction = [...state.interactions.values()].find(({ token }) => token === params["token"]);
  if (interaction === undefined || interaction.bot.user.id !== params["application"])
    throw refuse("unknownWebhook");
  if (state.clock.now() - interaction.atMs > tokenLifeMs) throw refuse("badWebhookToken");
  if (interaction.response === null) throw refuse("unknownWebhook");
  return interaction;
}

function answered({ params }: RouteCall, { channel, bot, originalId }: Interaction): APIMessage {
  const id = params["message"] === "@original" ? originalId : params["message"];
  const message = channel.messages.get(id ?? "");
  if (message === undefined || message.author.id !== bot.user.id) throw refuse("unknownMessage");
  return message;
}

function edit(call: RouteCall, interaction: Interaction, messageId: string): APIMessage {
  const { channel, bot } = interaction;
  const before = channel.messages.get(messageId);
  if (before === undefined) throw refuse("unknownMessage");
  const wasLoading = ((before.flags ?? 0) & MessageFlags.Loading) !== 0;
  const message: APIMessage = { ...before, flags: (before.flags ?? 0) & ~MessageFlags.Loading };
  const body = call.body as MessageBody;
  // People do not see the end of a loading message as an edit.
  const edited = replaceMessage(
    call,
    channel,
    { ...message, ...recomposed(call, channel, message, body) },
    !wasLoading,
  );
  if (messageId === interaction.originalId) interaction.isDeferred = false;
  return messageJson(call.state, channel, edited, bot, true);
}
