// Plays people who use a bot's commands, buttons, selects and modals. Each use becomes an interaction that
// the bot must answer.
import {
  type APIMessage,
  type APIUser,
  ApplicationCommandOptionType as OptionType,
  ApplicationCommandType,
  ComponentType,
  GatewayDispatchEvents as Event,
  InteractionResponseType,
  InteractionType,
} from "discord-api-types/v10";
import { bareMember, channelJson, messageJson } from "./payloads.ts";
import { shownCommand } from "./rest/commands.ts";
import type { Bot, Channel, Interaction } from "./model.ts";
import type { World } from "./world.ts";

export type OptionValues = { readonly [option: string]: string | number | boolean };

/** Sends the interaction to the bot alone; no intent is needed for it. */
function begin(
  state: World,
  bot: Bot,
  user: APIUser,
  channel: Channel,
  type: InteractionType,
  data: unknown,
  message?: APIMessage,
): Interaction {
  const id = state.nextId();
  const interaction: Interaction = {
    id,
    token: `interaction-${id}-${"x".repeat(120)}`,
    type,
    bot,
    user,
    channel,
    atMs: state.clock.now(),
    messageId: message?.id,
    response: null,
    isDeferred: false,
    originalId: undefined,
  };
  state.interactions.set(id, interaction);
  const member = channel.guild?.members.get(user.id);
  state.tell({
    event: Event.InteractionCreate,
    to: [bot],
    intents: 0,
    body: () => ({
      id,
      application_id: bot.user.id,
      type,
      data,
      token: interaction.token,
      version: 1,
      channel_id: channel.id,
      channel: channelJson(channel, bot),
      ...(channel.guild === undefined || member === undefined
        ? { user, context: 1 }
        : {
            guild_id: channel.guild.id,
            guild: { id: channel.guild.id, locale: "en-US", features: [] },
            guild_locale: "en-US",
            member: { user, ...bareMember(member), permissions: "2248473465835073" },
            context: 0,
          }),
      ...(message === undefined ? {} : { message: messageJson(state, channel, message, bot, true) }),
      app_permissions: "2248473465835073",
      locale: "en-US",
      entitlements: [],
      authorizing_integration_owners: { "0": channel.guild?.id ?? "0" },
      attachment_size_limit: 10 * 2 ** 20,
    }),
  });
  return interaction;
}

/**
 * Runs a command that the bot registered. Throws when it did not, or when a required option is missing, as
 * the app would not send it.
 */
export function runCommand(
  state: World,
  bot: Bot,
  user: APIUser,
  channel: Channel,
  name: string,
  values: OptionValues,
): Interaction {
  const command = shownCommand(bot, name, channel.guild?.id);
  if (command === undefined) throw new Error(`the bot has registered no command /${name}`);
  const known = (command.options ?? []) as readonly {
    readonly name: string;
    readonly type: number;
    readonly required?: boolean;
  }[];
  for (const option of known)
    if (option.required === true && values[option.name] === undefined)
      throw new Error(`/${name} needs ${option.name}`);
  const options = Object.entries(values).map(([option, value]) => {
    const found = known.find((candidate) => candidate.name === option);
    if (found === undefined) throw new Error(`/${name} has no option ${option}`);
    return { name: option, type: found.type, value };
  });
  const users = options.flatMap(({ type, value }) =>
    type === OptionType.User ? (state.users.get(String(value)) ?? []) : [],
  );
  return begin(state, bot, user, channel, InteractionType.ApplicationCommand, {
    id: command.id,
    name,
    type: ApplicationCommandType.ChatInput,
    ...(options.length === 0 ? {} : { options }),
    ...(users.length === 0
      ? {}
      : { resolved: { users: Object.fromEntries(users.map((each) => [each.id, each])) } }),
    ...(command.guild_id === undefined ? {} : { guild_id: command.guild_id }),
  });
}

/**
 * Types behind a registered command, whose one option asks the bot what to offer. Throws when it does not, as
 * the app would not ask.
 */
export function typeArgument(
  state: World,
  bot: Bot,
  user: APIUser,
  channel: Channel,
  name: string,
  typed: string,
): Interaction {
  const command = shownCommand(bot, name, channel.guild?.id);
  const option = command?.options?.find((each) => "autocomplete" in each && each.autocomplete === true);
  if (command === undefined || option === undefined)
    throw new Error(`no registered command /${name} asks for suggestions`);
  return begin(state, bot, user, channel, InteractionType.ApplicationCommandAutocomplete, {
    id: command.id,
    name,
    type: ApplicationCommandType.ChatInput,
    options: [{ name: option.name, type: option.type, value: typed, focused: true }],
  });
}

interface Offered {
  readonly type: number;
  readonly custom_id?: string;
  readonly disabled?: boolean;
  readonly options?: readonly { readonly value: string }[];
  readonly components?: readonly Offered[];
  readonly component?: Offered;
  readonly accessory?: Offered;
}

function offered(parts: readonly Offered[]): Offered[] {
  return parts.flatMap((part) => [
    part,
    ...offered([
      ...(part.components ?? []),
      ...[part.component, part.accessory].flatMap((inner) => inner ?? []),
    ]),
  ]);
}

/**
 * Uses a component: a button without values, a select with those chosen. Throws when the message does not
 * offer it.
 */
export function useComponent(
  state: World,
  bot: Bot,
  user: APIUser,
  channel: Channel,
  messageId: string,
  customId: string,
  values?: readonly string[],
): Interaction {
  const message = channel.messages.get(messageId);
  const part = offered((message?.components ?? []) as readonly Offered[]).find(
    (candidate) => candidate.custom_id === customId,
  );
  if (message === undefined || part === undefined || part.disabled === true)
    throw new Error(`message ${messageId} offers no component "${customId}"`);
  if ((channel.ephemeral.get(messageId) ?? user.id) !== user.id)
    throw new Error(`message ${messageId} is shown to somebody else alone`);
  if ((part.type === ComponentType.Button) !== (values === undefined))
    throw new Error(`"${customId}" is ${values === undefined ? "a select" : "a button"}`);
  for (const value of values ?? [])
    if (part.options?.some((option) => option.value === value) === false)
      throw new Error(`"${customId}" has no option "${value}"`);
  const data = {
    custom_id: customId,
    component_type: part.type,
    id: 1,
    ...(values === undefined ? {} : { values }),
  };
  return begin(state, bot, user, channel, InteractionType.MessageComponent, data, message);
}

/** Sends the modal that an interaction was answered with. Throws when it was answered otherwise. */
export function submitModal(
  state: World,
  user: APIUser,
  opener: Interaction,
  fields: { readonly [customId: string]: string },
): Interaction {
  const { response, bot, channel, messageId } = opener;
  if (response?.type !== InteractionResponseType.Modal)
    throw new Error(`interaction ${opener.id} opened no modal`);
  const modal = response.data as { readonly custom_id: string; readonly components: readonly Offered[] };
  for (const field of Object.keys(fields))
    if (!offered(modal.components).some((part) => part.custom_id === field))
      throw new Error(`the modal has no field "${field}"`);
  const filled = (part: Offered): unknown => ({
    type: part.type,
    id: 1,
    ...(part.custom_id === undefined
      ? {}
      : { custom_id: part.custom_id, ...filledIn(part, fields[part.custom_id]) }),
    ...(part.components === undefined ? {} : { components: part.components.map(filled) }),
    ...(part.component === undefined ? {} : { component: filled(part.component) }),
  });
  const data = { custom_id: modal.custom_id, components: modal.components.map(filled) };
  const message = messageId === undefined ? undefined : channel.messages.get(messageId);
  return begin(state, bot, user, channel, InteractionType.ModalSubmit, data, message);
}

function filledIn(
  part: Offered,
  value = "",
): { readonly value: string } | { readonly values: readonly string[] } {
  return part.type === ComponentType.TextInput ? { value } : { values: value === "" ? [] : value.split(",") };
}
