// Implements application commands: global and of one guild, overwritten in bulk or one by one, within
// Discord's limits.
import { type APIApplicationCommand, ApplicationCommandType as Kind } from "discord-api-types/v10";
import type { Bot } from "../model.ts";
import { Answer, type RouteCall, type Routes } from "./call.ts";
import { badField, refuse } from "./refusal.ts";

/** Discord's documentation, "Application Commands": counts by kind, and creations in a day. */
const maxOfKind: { readonly [kind: number]: number } = {
  [Kind.ChatInput]: 100,
  [Kind.User]: 15,
  [Kind.Message]: 15,
};
const maxCreatesPerDay = 200;
const dayMs = 86_400_000;
/** Names, descriptions and choice values of one command together. */
const maxChars = 8_000;
/** Names of chat commands and their options; lower case where the script has one. */
const namePattern = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;

interface Option {
  readonly type: number;
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly choices?: readonly { readonly name: string; readonly value: string | number }[];
  readonly options?: readonly Option[];
}

interface CommandBody {
  readonly name: string;
  readonly description?: string;
  readonly type?: number;
  readonly options?: readonly Option[];
}

const overwriteLimit = { calls: 2, perMs: 5_000 };
const places = [
  "/applications/:application/commands",
  "/applications/:application/guilds/:guild/commands",
] as const;

export const commandRoutes: Routes = Object.fromEntries(
  places.flatMap((path) => [
    [`GET ${path}`, { run: (call: RouteCall) => [...commandsAt(call).values()] }],
    [`PUT ${path}`, { form: listForm, limit: overwriteLimit, run: overwrite }],
    [
      `POST ${path}`,
      { form: "ApplicationCommandCreateRequest", limit: { calls: 5, perMs: 20_000 }, run: create },
    ],
    [`GET ${path}/:command`, { run: commandAt }],
    [
      `PATCH ${path}/:command`,
      { form: "ApplicationCommandPatchRequestPartial", limit: { calls: 5, perMs: 20_000 }, run: change },
    ],
    [`DELETE ${path}/:command`, { limit: { calls: 5, perMs: 20_000 }, run: remove }],
  ]),
) as Routes;

/** A list is checked item by item. */
function listForm({ body }: RouteCall): "ApplicationCommandUpdateRequest" {
  if (!Array.isArray(body))
    throw badField([], "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
  return "ApplicationCommandUpdateRequest";
}

function commandsAt({ state, bot, params }: RouteCall): Map<string, APIApplicationCommand> {
  if (params["application"] !== bot.user.id) throw refuse("missingAccess");
  const guild = params["guild"] ?? "";
  if (guild !== "" && state.guilds.get(guild)?.members.has(bot.user.id) !== true)
    throw refuse("missingAccess");
  const known = bot.commands.get(guild) ?? new Map<string, APIApplicationCommand>();
  bot.commands.set(guild, known);
  return known;
}

function overwrite(call: RouteCall): readonly APIApplicationCommand[] {
  const known = commandsAt(call);
  const bodies = call.body as readonly CommandBody[];
  bodies.forEach((body, index) => checkCommand(body, [index]));
  bodies.forEach((body, index) => {
    if (bodies.findIndex((other) => keyOf(other) === keyOf(body)) < index)
      throw badField(
        [index, "name"],
        "APPLICATION_COMMANDS_DUPLICATE_NAME",
        "Application command names must be unique",
      );
  });
  for (const kind of [Kind.ChatInput, Kind.User, Kind.Message])
    if (bodies.filter((body) => kindOf(body) === kind).length > (maxOfKind[kind] ?? 0))
      throw refuse("tooManyCommands");
  countCreations(call, bodies.filter((body) => !known.has(keyOf(body))).length);
  const next = bodies.map((body) => made(call, body, known.get(keyOf(body))));
  known.clear();
  for (const command of next) known.set(keyOf(command), command);
  return next;
}

function create(call: RouteCall): Answer {
  const known = commandsAt(call);
  const body = call.body as CommandBody;
  checkCommand(body, []);
  const before = known.get(keyOf(body));
  if (before === undefined) {
    const ofKind = [...known.values()].filter((command) => kindOf(command) === kindOf(body)).length;
    if (ofKind >= (maxOfKind[kindOf(body)] ?? 0)) throw refuse("tooManyCommands");
    countCreations(call, 1);
  }
  const command = made(call, body, before);
  known.set(keyOf(command), command);
  return new Answer(before === undefined ? 201 : 200, command);
}

function change(call: RouteCall): APIApplicationCommand {
  const before = commandAt(call);
  const body = { ...before, ...(call.body as Partial<CommandBody>) } as CommandBody;
  checkCommand(body, []);
  const known = commandsAt(call);
  const command = made(call, body, before);
  known.delete(keyOf(before));
  known.set(keyOf(command), command);
  return command;
}

function remove(call: RouteCall): void {
  commandsAt(call).delete(keyOf(commandAt(call)));
}

function commandAt(call: RouteCall): APIApplicationCommand {
  const found = [...commandsAt(call).values()].find((command) => command.id === call.params["command"]);
  if (found === undefined) throw refuse("unknownCommand");
  return found;
}

function made(
  { state, bot, params }: RouteCall,
  body: CommandBody,
  before: APIApplicationCommand | undefined,
): APIApplicationCommand {
  const { guild } = params;
  return {
    default_member_permissions: null,
    nsfw: false,
    ...body,
    id: before?.id ?? state.nextId(),
    application_id: bot.user.id,
    type: kindOf(body),
    description: body.description ?? "",
    version: state.nextId(),
    ...(guild === undefined ? {} : { guild_id: guild }),
  } as unknown as APIApplicationCommand;
}

function countCreations({ state, bot }: RouteCall, count: number): void {
  const now = state.clock.now();
  const today = bot.commandCreations.filter((atMs) => now - atMs < dayMs).length;
  if (today + count > maxCreatesPerDay) throw refuse("tooManyCommandCreates");
  bot.commandCreations.push(...Array.from({ length: count }, () => now));
}

function kindOf({ type }: { readonly type?: number }): Kind {
  return type ?? Kind.ChatInput;
}

function keyOf(command: { readonly name: string; readonly type?: number }): string {
  return `${kindOf(command)} ${command.name}`;
}

/** The command that people see under this name in a guild (or in direct messages). */
export function shownCommand(
  bot: Bot,
  name: string,
  guild: string | undefined,
): APIApplicationCommand | undefined {
  const key = keyOf({ name });
  return (
    (guild === undefined ? undefined : bot.commands.get(guild)?.get(key)) ?? bot.commands.get("")?.get(key)
  );
}

function checkCommand(body: CommandBody, path: readonly number[]): void {
  if (kindOf(body) !== Kind.ChatInput) {
    if ((body.description ?? "") !== "")
      throw badField(
        [...path, "description"],
        "APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED",
        "Context menu commands cannot have description",
      );
    return;
  }
  checkName(body.name, path);
  if ((body.description ?? "") === "")
    throw badField([...path, "description"], "BASE_TYPE_REQUIRED", "This field is required");
  checkOptions(body.options ?? [], path);
  if (charsOf(body) > maxChars)
    throw badField(path, "APPLICATION_COMMAND_TOO_LARGE", `Command exceeds maximum size (${maxChars})`);
}

function checkName(name: string, path: readonly (string | number)[]): void {
  if (!namePattern.test(name) || name !== name.toLowerCase())
    throw badField([...path, "name"], "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
}

function checkOptions(options: readonly Option[], path: readonly (string | number)[]): void {
  let isOptionalBefore = false;
  options.forEach((option, index) => {
    const here = [...path, "options", index];
    checkName(option.name, here);
    if (options.findIndex((other) => other.name === option.name) < index)
      throw badField(here, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists");
    if (option.required === true && isOptionalBefore)
      throw badField(
        here,
        "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        "Required options must be placed before non-required options",
      );
    isOptionalBefore ||= option.required !== true && option.type > 2;
    checkOptions(option.options ?? [], here);
  });
}

function charsOf(part: Option | CommandBody): number {
  const choices = "choices" in part ? (part.choices ?? []) : [];
  const own =
    part.name.length +
    (part.description?.length ?? 0) +
    choices.reduce((sum, { name, value }) => sum + name.length + String(value).length, 0);
  return own + (part.options ?? []).reduce((sum, option) => sum + charsOf(option), 0);
}
