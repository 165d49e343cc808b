// Recognises chat commands. A command is the whole message; the table of commands says which names there are
// and where each acts.
import { directiveCommand, directiveNames } from "@parley/runner";
import { carriedMessage, commandIn, type Carries, type ChatCommand } from "../commands/chat-command.ts";
import { chatCommands } from "../commands/table.ts";

export interface Command {
  readonly name: string;
  /** What stands after the name, trimmed. */
  readonly args: string;
  /** Of /new: the model that its first word names. */
  readonly model?: string;
  readonly place: ChatCommand["place"];
}

const byName: ReadonlyMap<string, ChatCommand> = new Map(
  chatCommands.map((command) => [command.name, command]),
);
/** Other names, with what they stand for. */
const byAlias: ReadonlyMap<string, Command> = new Map(
  chatCommands.flatMap(({ name, place, aliases = {} }) =>
    Object.entries(aliases).map(([alias, args]): [string, Command] => [alias, { name, args, place }]),
  ),
);

/** Null for anything that is no known command: such text goes to the agent as it is. */
export function parseCommand(text: string): Command | null {
  const given = commandIn(text);
  if (given === null) return null;
  const directive = directiveCommand(text);
  if (directive !== null) return { ...directive, place: "in-lane" };
  const found = byName.get(given.name);
  if (found === undefined) return byAlias.get(given.name) ?? null;
  // What only begins like a directive is a message that holds one.
  return found.place === "in-lane" && found.isDirective ? null : { ...given, place: found.place };
}

/** Names that no skill's command may take. */
export function knownCommands(): readonly string[] {
  return [...new Set([...byName.keys(), ...byAlias.keys(), ...directiveNames])];
}

/** These only tell something, to whoever asked. */
export const tellingCommands: readonly string[] = chatCommands
  .filter(({ onlyTells }) => onlyTells)
  .map(({ name }) => name);

export function isForOwners(name: string): boolean {
  return byName.get(name)?.ownersOnly === true;
}

/** /new with the model that its first word names, if it names one: `find` knows which words do. */
export function withModel(command: Command, find: (word: string) => string | null): Command {
  const [word = ""] = carriedBy(command) === "message" ? command.args.split(/\s/, 1) : [];
  const model = word === "" ? null : find(word);
  return model === null ? command : { ...command, model };
}

/** The message that the command carries along; null when it carries none. */
export function messageAfter(command: Command): string | null {
  return carriedMessage(carriedBy(command), command);
}

function carriedBy({ name }: Command): Carries | undefined {
  const command = byName.get(name);
  return command?.place === "in-lane" ? command.carries : undefined;
}
