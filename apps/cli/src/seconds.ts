// Reads a number of seconds from the command line.
import { CommandFailure, exitCodes } from "./exit.ts";

/** In milliseconds. Throws CommandFailure for what is no number of seconds. */
export function secondsOf(flag: string, text: string): number {
  const seconds = Number(text);
  if (text.trim() === "" || !(seconds >= 0 && seconds <= 86_400)) {
    throw new CommandFailure("invalid", `${flag} takes a number of seconds, not "${text}"`, exitCodes.usage);
  }
  return seconds * 1000;
}
