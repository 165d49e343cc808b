// Recognises chat commands. A command is the whole message; its name decides whether it acts past the lane or waits its turn in it.
import { directiveCommand } from "@parley/runner";

export interface Command {
  readonly name: string;
  /** What stands after the name, trimmed. */
  readonly args: string;
  /** Of /new: the model that its first word names. */
  readonly model?: string;
  readonly place: "past-lane" | "in-lane";
}

/** These act at once, in receive: they must work while a turn runs. */
const pastLane = new Set([
  "stop",
  "estop",
  "status",
  "why",
  "queue",
  "help",
  "start",
  "whoami",
  "pair",
  "skill",
  "context",
  "tools",
  "restart",
  "usage",
  "approve",
  "deny",
]);
/** These change the session, so they keep their place among the messages; absorb never reads past one. */
const inLane = new Set(["new", "reset", "compact", "activation", "model"]);
/** Names that people know from elsewhere, with what they stand for. */
const otherNames: ReadonlyMap<string, Pick<Command, "name" | "args">> = new Map([
  ["commands", { name: "help", args: "" }],
  ["id", { name: "whoami", args: "" }],
  ["models", { name: "model", args: "list" }],
]);
/** Anybody else who gives one of these is ignored without a word. */
const ownersOnly = new Set(["pair", "activation", "estop", "restart"]);
/** These only tell something, to whoever asked. */
export const tellingCommands: readonly string[] = [
  "status",
  "why",
  "help",
  "start",
  "whoami",
  "context",
  "tools",
  "usage",
];
/** What stands after these is the first message of the new conversation. */
const openers = new Set(["new", "reset"]);

const form = /^\/([a-z0-9_]{1,32})(?::|\s|$)\s*([\s\S]*)$/i;

/** Null for anything that is no known command: such text goes to the agent as it is. A channel takes our own name off `/cmd@bot`; what still has
 *  a name is for another bot. */
export function parseCommand(text: string): Command | null {
  const given = commandIn(text);
  if (given === null) return null;
  const directive = directiveCommand(text);
  if (directive !== null) return { ...directive, place: "in-lane" };
  const { name, args } = otherNames.get(given.name) ?? given;
  if (pastLane.has(name)) return { name, args, place: "past-lane" };
  return inLane.has(name) ? { name, args, place: "in-lane" } : null;
}

/** What has the form of a command, known or not. */
export function commandIn(text: string): Pick<Command, "name" | "args"> | null {
  const match = form.exec(text.trim());
  return match === null ? null : { name: match[1]?.toLowerCase() ?? "", args: match[2]?.trim() ?? "" };
}

/** Names that no skill's command may take. */
export function knownCommands(): readonly string[] {
  return [...pastLane, ...inLane, ...otherNames.keys()];
}

export function isForOwners(name: string): boolean {
  return ownersOnly.has(name);
}

/** /new with the model that its first word names, if it names one: `find` knows which words do. */
export function withModel(command: Command, find: (word: string) => string | null): Command {
  const [word = ""] = openers.has(command.name) ? command.args.split(/\s/, 1) : [];
  const model = word === "" ? null : find(word);
  return model === null ? command : { ...command, model };
}

/** The message that the command carries along; null when it carries none. */
export function messageAfter({ name, args, model }: Pick<Command, "name" | "args" | "model">): string | null {
  const isModelFirst = name === "model" || model !== undefined;
  const after = isModelFirst ? args.replace(/^\S+\s*/, "") : openers.has(name) ? args : "";
  return after === "" ? null : after;
}
