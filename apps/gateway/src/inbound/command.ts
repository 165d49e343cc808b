// Recognises chat commands. A command is the whole message; its name decides whether it acts past the lane or waits its turn in it.
import { directiveCommand } from "../turn/directives.ts";

export interface Command {
  readonly name: string;
  /** What stands after the name, trimmed. */
  readonly args: string;
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
const ownersOnly = new Set(["pair", "activation", "estop"]);
/** What stands after these is the first message of the new conversation. */
const openers = new Set(["new", "reset"]);

const form = /^\/([a-z0-9_]{1,32})(?:@[a-z0-9_]+)?(?::|\s|$)\s*([\s\S]*)$/i;

/** Null for anything that is no known command: such text goes to the agent as it is. Whether `/cmd@bot` means us is the channel's to say. */
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

/** The message that the command carries along; null when it carries none. */
export function messageAfter({ name, args }: Pick<Command, "name" | "args">): string | null {
  // Of /model the first word is the model.
  const after = openers.has(name) ? args : name === "model" ? args.replace(/^\S+\s*/, "") : "";
  return after === "" ? null : after;
}
