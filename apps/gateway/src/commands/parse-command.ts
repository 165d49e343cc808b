// Recognises chat commands. A command is the whole message; the table of commands lists the names and where
// each one acts.
import { directiveCommand, directiveNames } from "@parley/runner";
import { carriedMessage, commandIn, type Carries, type ChatCommand } from "./chat-command.ts";
import { chatCommands } from "./table.ts";

export interface Command {
  readonly name: string;
  /** The text after the name, trimmed. */
  readonly args: string;
  /** Of /new: the model that its first word names. */
  readonly model?: string;
  readonly place: ChatCommand["place"];
}

const byName: ReadonlyMap<string, ChatCommand> = new Map(
  chatCommands.map((command) => [command.name, command]),
);
/** Maps aliases to their commands. */
const byAlias: ReadonlyMap<string, Command> = new Map(
  chatCommands.flatMap(({ name, place, aliases = {} }) =>
    Object.entries(aliases).map(([alias, args]): [string, Command] => [alias, { name, args, place }]),
  ),
);

/** Null for anything but a known command: such text goes to the agent as it is. */
export function parseCommand(text: string): Command | null {
  const given = commandIn(text);
  if (given === null) return null;
  const directive = directiveCommand(text);
  if (directive !== null) return { ...directive, place: "in-lane" };
  const found = byName.get(given.name);
  if (found === undefined) {
    const meant = byAlias.get(given.name);
    return meant === undefined ? null : { ...meant, args: meant.args === "" ? given.args : meant.args };
  }
  // Text that only begins like a directive is a message that contains one.
  return found.place === "in-lane" && found.isDirective ? null : { ...given, place: found.place };
}

/** Names that no skill's command may take. */
export function knownCommands(): readonly string[] {
  return [...new Set([...byName.keys(), ...byAlias.keys(), ...directiveNames])];
}

/** Commands whose answers concern the person who asked alone: they report, or show what is private. */
export const tellingCommands: readonly string[] = chatCommands
  .filter(({ onlyTells }) => onlyTells)
  .map(({ name }) => name);

export function isForOwners(name: string): boolean {
  return byName.get(name)?.ownersOnly === true;
}

/** Splits off the model that the first word of /new names, if `find` knows it as one. */
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
